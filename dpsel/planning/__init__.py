"""`dpsel plan`: what an epsilon will buy, from public guesses and simulated tables.

The order in which to read:

    options.py, request.py  what a user can guess, and the guessed table, checked
    effects.py              how strongly features matter
    simulate.py             tables like the guessed one
    shares.py               the share of right picks, from real draws on simulated scores
    plan.py                 the plan: curves, advice, what more takes
    like.py                 plans with a public table in place of guesses
    text.py, report.py      a plan in words, and as a page with a figure
    api.py                  `dpsel.plan`
"""
