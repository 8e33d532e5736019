"""`select` and `baseline`, the two commands that release something.

The order in which to read:

    options.py          what a user can choose
    request.py          every choice of a run, checked before anything is opened
    run.py              the straight line of a run: open, check, charge, read, draw, store
    stump.py            `select` by the score stump, which is the default
    baseline.py         two-stage, dpkendall, sis and lasso
    lasso.py, exact.py  regressions, for two-stage too; the exact top k, without privacy
    with_dictionary.py  what a dictionary says about options and columns
    on_cluster.py       `select` with rows that other machines read
    api.py              `dpsel.select`, `dpsel.baseline`, and which job a request needs
"""
