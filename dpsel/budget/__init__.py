"""The privacy budget on disk. This code is on the public side: it never sees a table.

The order in which to read:

    amounts.py              exact decimals of epsilon and delta
    account.py              connects a run to a ledger: earlier release, charge, store
    charges.py              the records of a ledger: terms, standing, charges, reservations
    ledger.py               the ledgers in a file: make, charge, store, reserve, verify, read
    schema.py, database.py  how they are stored: the SQL, and durable transactions
    chain.py                the log as a hash chain, which shows any later change
    place.py                which file, and which names are allowed
    payment.py, options.py  the options of runs that are charged, and those of `dpsel budget`
    reports.py              ledgers as JSON, CSV, text and HTML
    api.py                  `dpsel.Ledger`
"""
