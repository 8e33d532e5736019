"""`dpsel audit`: tests the guarantees of mechanisms, scores and the whole command from outside.

The order in which to read:

    options.py, request.py     what a user can choose, and every choice of an audit, checked
    mechanism.py               many draws from neighboring scores, against the exact law
    laws.py, pairs.py          the exact laws, and neighboring scores that show much of the loss
    score.py                   a score between neighboring tables, against its sensitivity
    command.py, file_pairs.py  `dpsel select` as a whole, on neighboring files
    loss.py                    the privacy loss: exact, or bounded from counts
    certificate.py             what was found, and the verdict
    api.py                     `dpsel.audit`
"""
