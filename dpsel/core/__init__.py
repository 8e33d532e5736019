"""The private core: everything between raw cells and a selection that may be published.

The promise: every `Selection` that leaves this folder with a guarantee was drawn within that
guarantee, with the operating system's randomness, from scores whose sensitivity is stated beside
them. It was drawn by one mechanism once, or in steps whose parts of epsilon add up. A cell is
private from `Batch` to `Scores`, and `release.py` is the only way out. Nothing here opens a file,
starts a thread, or looks at the environment or the clock (see `tests/test_layers.py`), so a result
depends on the cells, the public choices and the random words alone. No value of a cell makes a run
fail, and no message quotes one.

The words, here and in all other folders:

    Request     Every public choice of one run, checked before anything is opened.
    Table       Named, typed columns, and rows that can be read once, from start to end.
    Layout      Which columns are features, target and person, by position.
    Batch       Raw cells of some rows and some adjacent features, in memory. Private.
    Bounds      Public intervals: the only way from cells to integers.
    Score       Reduces batches to partials, which add up to scores in any order, on any machine.
    Partial     The integer sums of some batches. Private.
    Scores      One number per feature, and how much one unit can change it. Private.
    Guarantee   Epsilon and delta, for which neighbors, for which unit, for which steps.
    Mechanism   Draws k features from scores, once, and spends the guarantee.
    Selection   What may be published: the features, how they were found, the guarantee. Public.
    Account     Connects one run to a ledger: looks for an earlier release, charges, stores.
    Ledger      A limit that never changes; a Charge is one amount spent from it, with its release.
    Shard       The part of a table's files and features that one worker of a cluster reads.
    Reporter    Sends notes and progress to the data holder; none of it is for release.

A block is a group of rows that votes in two-stage, and nothing else.

The order in which to read:

    guarantee.py                what is promised, and to whom
    arrays.py, batch.py         the input: raw cells
    words.py                    how cells that are words are stored among numbers
    bounds.py                   from cells to integers
    persons.py                  at most R rows per person
    scores/base.py              what a score is; sums.py has the simplest two, dot and covariance
    scores/registry.py          the scores by name
    randomness.py               random words, and the draws made from them
    mechanisms/permute_and_flip.py  the default mechanism
    mechanisms/lipschitz.py     the paper's mechanism, with subset_classes.py, samplers.py,
                                ranking.py and binomials.py
    mechanisms/noisy.py         others: peeling and one-shot Laplace; joint.py
    mechanisms/composition.py   what k rounds cost together, with a delta
    mechanisms/registry.py      the mechanisms by name
    selection.py                what may be published
    release.py                  the way out: scores, one draw, a selection

Then the parts that need all rows of a column at once, or that spend epsilon in several steps:

    matrix.py                   all rows, in memory or on disk
    row_ranks.py                numbers replaced by their ranks within the row
    groups.py                   columns that are selected as one feature
    scores/kendall.py           pairs of rows that agree
    rounds.py                   dpkendall: k rounds
    votes.py                    two-stage: blocks of rows vote
    scores/stump.py             the best yes/no question, with questions.py, cell_keys.py and
                                float_bins.py
    epsilon_parts.py            how epsilon is split, and how many features it pays for
    target.py, median.py        the weight of a row by its target, and what finding it costs
"""
