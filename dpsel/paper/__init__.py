"""`dpsel reproduce`: the paper's experiments, and others that go beyond them.

The order in which to read:

    options.py                  the options that all experiments share
    experiments.py              how each experiment is run, and where its results go
    stability.py, synthetic.py  section 3, and the synthetic data
    comparisons.py              the paper's claims, and comparisons beyond them
"""

PAPER_EPSILONS = "0.1:20:log12"
PAPER_METHODS = ("dp-sis", "two-stage")
BEYOND = (
    "dot/margin-lipschitz",
    "dp-sis@robust",
    "dot/margin-lipschitz@robust",
    "dot/peeling",
    "dot/permute-and-flip",
    "dot/oneshot-laplace",
    "dot/joint",
    "dot/permute-and-flip@robust",
    "kendall/canonical-lipschitz",
    "kendall/margin-lipschitz",
    "kendall/permute-and-flip",
)
UNSEEN_EPSILONS = "0.5,1,2,5,10"
UNSEEN_METHODS = ("stump", "dp-sis")
"""The default of `dpsel select` on raw cells, and the paper's method on the paper's scaling."""
ROUNDS = "dpkendall"
"""A method that takes a hundred times as long as the others, so it has fewer trials."""
