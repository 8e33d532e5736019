"""The private core: from raw cells to what may be published, and nothing else.

The promise: whatever leaves this folder as a `Selection` with a guarantee was drawn within that
guarantee, with the operating system's randomness, from scores whose sensitivity is stated beside
them: by one mechanism once, or in steps whose parts of epsilon add up. A cell is private from
`Batch` to `Scores`, and `release.py` is the only way out. Nothing here opens a file, starts a
thread, or looks at the environment or the clock (see `tests/test_layers.py`), so what is computed
depends on the cells, the public choices and the random words alone. No value of a cell fails a
run, and no message quotes one.

The words, here and in all other folders:

    Request     Every public choice of one run, checked before anything is opened.
    Table       Named, typed columns, and rows that can be read once, from start to end.
    Layout      Which columns are features, target and person, by position.
    Batch       Raw cells of some rows and some neighboring features, in memory. Private.
    Bounds      Public intervals: the only way from cells to whole numbers.
    Score       Reduces batches to partials, which add up to scores in any order, on any machine.
    Partial     The whole-number sums of some batches. Private.
    Scores      One number a feature, and how far one unit can move it. Private.
    Guarantee   Epsilon and delta, for which neighbors, for which unit, for which steps.
    Mechanism   Draws k features from scores, once, and spends the guarantee.
    Selection   What may be published: the features, how they were found, the guarantee. Public.
    Account     What one run has to do with a ledger: was it released before, charge, store.
    Ledger      A limit that never changes; a Charge is one spending of it, with its release.
    Shard       The part of a table's files and features that one worker of a cluster reads.
    Reporter    Where the data's holder hears how things go; nothing of it is for release.

A block is a group of rows that votes in two-stage, and nothing else.

The order in which to read:

    guarantee.py                what is promised, to whom
    arrays.py, batch.py         what comes in: raw cells
    words.py                    cells that are words
    bounds.py                   from cells to whole numbers
    persons.py                  at most R rows of a person
    scores/base.py              what a score is; sums.py has the plainest two, dot and covariance
    scores/registry.py          the scores by name
    randomness.py, discrete.py  random words, and exact draws from them
    mechanisms/lipschitz.py     the default mechanism, with classes.py, samplers.py, ranking.py
                                and binomials.py
    mechanisms/noisy.py         others: peeling and one-shot Laplace; permute_and_flip.py, joint.py
    mechanisms/composition.py   what k rounds cost together, with a delta
    mechanisms/registry.py      the mechanisms by name
    release.py                  scores, one draw, a record: the way out; summary.py shows it

Then, what needs all rows of a column at once, and what spends epsilon in several steps:

    matrix.py, mapper.py        all rows, wherever they are; work that may be shared out
    row_ranks.py                numbers as their ranks within the row
    groups.py                   columns that are selected as one feature
    scores/kendall.py           pairs of rows that agree
    rounds.py                   dpkendall: k rounds
    votes.py                    two-stage: blocks of rows vote
    scores/stump.py             the best yes/no question, with questions.py, cell_keys.py and
                                float_bins.py
    target.py, median.py        what a row's target weighs, and what finding that out costs
    picks.py                    how many features an epsilon can pay for
"""
