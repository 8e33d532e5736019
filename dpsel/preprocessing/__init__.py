"""The command `preprocess`: makes bounded tables. It sees rows, and releases nothing.

The order in which to read:

    options.py, request.py  what a user can choose, and every choice of a run, checked
    run.py                  finds the scaling, then applies it to every row
    scaling.py              center, scale and clip
    statistics.py           centers and scales that are computed from the data
    prepared.py             what will be written, and what that changes
    writers.py              Parquet, Arrow and CSV, batch by batch
    api.py                  `dpsel.preprocess` and `dpsel.provenance`
"""
