-- A ledger file as version 1 of the schema left it, dumped; its marks are at the end.
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
INSERT INTO "charges" VALUES('patients',1,'2026-11-17T20:06:28.571579Z','2','0','add-remove',NULL,1,'select','{"k": 5, "table": "/t.csv"}','a','{"x": 1}');
INSERT INTO "charges" VALUES('patients',2,'2026-11-17T20:06:28.603185Z','0.5','0','add-remove',NULL,1,'select','{"k": 5}',NULL,NULL);
CREATE TABLE ledgers (
        name TEXT PRIMARY KEY NOT NULL,
        epsilon TEXT NOT NULL,
        delta TEXT NOT NULL,
        neighbors TEXT NOT NULL,
        person TEXT,
        created TEXT NOT NULL
    );
INSERT INTO "ledgers" VALUES('patients','10','0','add-remove',NULL,'2026-11-17T20:06:28.568574Z');
INSERT INTO "ledgers" VALUES('visits','3','0.000001','add-remove',NULL,'2026-11-17T20:06:28.609734Z');
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
COMMIT;
PRAGMA application_id = 1685091180;
PRAGMA user_version = 1;
