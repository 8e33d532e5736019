-- A ledger file as version 2 of the schema left it, dumped; its marks are at the end.
BEGIN TRANSACTION;
CREATE TABLE charges (
        ledger TEXT NOT NULL REFERENCES ledgers (name),
        number INTEGER NOT NULL,
        time TEXT NOT NULL,
        epsilon TEXT NOT NULL,
        delta TEXT NOT NULL,
        neighbors TEXT NOT NULL,
        person TEXT,
        rows_per_unit INTEGER NOT NULL,
        command TEXT NOT NULL,
        parameters TEXT NOT NULL,
        run_id TEXT,
        release TEXT,
        PRIMARY KEY (ledger, number)
    );
INSERT INTO "charges" VALUES('patients',1,'2026-11-17T23:15:54.711167Z','2','0','add-remove',NULL,1,'select','{"k": 5, "table": "/t.csv"}','a','{"x": 1}');
INSERT INTO "charges" VALUES('patients',2,'2026-11-17T23:15:54.745680Z','0.5','0','add-remove',NULL,1,'select','{"k": 5}',NULL,NULL);
CREATE TABLE entries (
        ledger TEXT NOT NULL REFERENCES ledgers (name),
        entry INTEGER NOT NULL,
        kind TEXT NOT NULL,
        charge INTEGER,
        previous TEXT NOT NULL,
        digest TEXT NOT NULL,
        PRIMARY KEY (ledger, entry)
    ) WITHOUT ROWID;
INSERT INTO "entries" VALUES('patients',1,'ledger',NULL,'','78eadb9c4eb0cebf4a6c2101e7f16a8906db7a3d0eb1abc53214f584b3dc0258');
INSERT INTO "entries" VALUES('patients',2,'charge',1,'78eadb9c4eb0cebf4a6c2101e7f16a8906db7a3d0eb1abc53214f584b3dc0258','aaace73aaea4f118cee5f8e66c65047f105efe73052b91ce11b26abf2a266d2f');
INSERT INTO "entries" VALUES('patients',3,'release',1,'aaace73aaea4f118cee5f8e66c65047f105efe73052b91ce11b26abf2a266d2f','5a3dc9917f416e2414f0b0d0fc6d752bac5c6e9255bd4a0f9a4a7eaf91da396b');
INSERT INTO "entries" VALUES('patients',4,'charge',2,'5a3dc9917f416e2414f0b0d0fc6d752bac5c6e9255bd4a0f9a4a7eaf91da396b','81a064807460ea7a93f3db9d9a820355b9a81f36ce021b12ab635cc5358fbe3b');
INSERT INTO "entries" VALUES('visits',1,'ledger',NULL,'','9470adcaeee0a0848dbd130631399c5da6a3cb8fe14653bbcab4478c2d763725');
CREATE TABLE ledgers (
        name TEXT PRIMARY KEY NOT NULL,
        epsilon TEXT NOT NULL,
        delta TEXT NOT NULL,
        neighbors TEXT NOT NULL,
        person TEXT,
        created TEXT NOT NULL
    );
INSERT INTO "ledgers" VALUES('patients','10','0','add-remove',NULL,'2026-11-17T23:15:54.692247Z');
INSERT INTO "ledgers" VALUES('visits','3','0.000001','add-remove',NULL,'2026-11-17T23:15:54.775160Z');
CREATE UNIQUE INDEX one_release_a_run ON charges (ledger, run_id)
        WHERE release IS NOT NULL;
CREATE TRIGGER ledgers_stay BEFORE DELETE ON ledgers
        BEGIN SELECT RAISE(ABORT, 'a ledger is never deleted'); END;
CREATE TRIGGER limits_stand BEFORE UPDATE ON ledgers
        BEGIN SELECT RAISE(ABORT, 'a limit never changes'); END;
CREATE TRIGGER charges_stay BEFORE DELETE ON charges
        BEGIN SELECT RAISE(ABORT, 'a charge is never taken back'); END;
CREATE TRIGGER charges_stand BEFORE UPDATE OF ledger, number, time, epsilon, delta,
        neighbors, person, rows_per_unit, command, parameters, run_id ON charges
        BEGIN SELECT RAISE(ABORT, 'a charge never changes'); END;
CREATE TRIGGER releases_stand BEFORE UPDATE OF release ON charges
        WHEN OLD.release IS NOT NULL
        BEGIN SELECT RAISE(ABORT, 'a release never changes'); END;
CREATE TRIGGER ledgers_come_once BEFORE INSERT ON ledgers
        WHEN EXISTS (SELECT 1 FROM ledgers WHERE name = NEW.name OR rowid = NEW.rowid)
        BEGIN SELECT RAISE(ABORT, 'a ledger is never replaced'); END;
CREATE TRIGGER charges_come_once BEFORE INSERT ON charges
        WHEN NEW.release IS NOT NULL OR EXISTS (SELECT 1 FROM charges
            WHERE (ledger = NEW.ledger AND number = NEW.number) OR rowid = NEW.rowid)
        BEGIN SELECT RAISE(ABORT, 'a charge is never replaced'); END;
CREATE TRIGGER charges_keep_their_rows BEFORE UPDATE ON charges
        WHEN NEW.rowid IS NOT OLD.rowid
        BEGIN SELECT RAISE(ABORT, 'a charge is never replaced'); END;
CREATE TRIGGER releases_come_once BEFORE UPDATE OF release ON charges
        WHEN EXISTS (SELECT 1 FROM charges WHERE ledger = NEW.ledger AND run_id = NEW.run_id
            AND release IS NOT NULL)
        BEGIN SELECT RAISE(ABORT, 'a run id has one release'); END;
CREATE TRIGGER entries_come_once BEFORE INSERT ON entries
        WHEN EXISTS (SELECT 1 FROM entries WHERE ledger = NEW.ledger AND entry = NEW.entry)
        BEGIN SELECT RAISE(ABORT, 'an entry is never replaced'); END;
CREATE TRIGGER entries_stand BEFORE UPDATE ON entries
        BEGIN SELECT RAISE(ABORT, 'an entry never changes'); END;
CREATE TRIGGER entries_stay BEFORE DELETE ON entries
        BEGIN SELECT RAISE(ABORT, 'an entry is never taken back'); END;
COMMIT;
PRAGMA application_id = 1685091180;
PRAGMA user_version = 2;
