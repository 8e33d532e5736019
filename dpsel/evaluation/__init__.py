"""`dpsel evaluate`: how well private selection works on the holder's data. Not for release.

The order in which to read:

    options.py, request.py  what a user can choose, and every choice of a run, checked
    grid.py                 lists and ranges of k and epsilon
    data.py                 the data sets: how they are read and scaled
    methods.py, truth.py    what is compared, and which features count as true
    metrics.py, unseen.py   how good picks are: by the truth, and by a model on unseen rows
    sweep.py, journal.py    every cell on all cores, and what is kept to resume
    run.py, results.py      one run, its tables and its conclusions
    notes.py                what the data holder is told about tables and results
    report.py               the page; report_figures.py chooses what figures/ draws
    api.py                  `dpsel.evaluate`
"""

STAMP = "not private, not for release"
"""Appears on everything that an evaluation prints, draws or writes."""
