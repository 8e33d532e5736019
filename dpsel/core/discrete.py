"""Draws that follow their law exactly: from random words and whole numbers, without any float."""

from fractions import Fraction

from dpsel.core.randomness import Randomness

_WORD_BITS = 64


def whole_below(rng: Randomness, bound: int) -> int:
    """Return a uniform whole number in 0..bound-1, of any size.

    Privacy:
        Guarantee: none by itself; the law is exact.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/privacy/test_target.py
    """
    bits = (bound - 1).bit_length()
    words = -(-bits // _WORD_BITS)
    while True:
        drawn = 0
        for word in rng.words(words).tolist():
            drawn = drawn << _WORD_BITS | word
        drawn >>= words * _WORD_BITS - bits
        if drawn < bound:
            return drawn


def discrete_laplace(rng: Randomness, epsilon: Fraction) -> int:
    """Return a whole number x with a chance in proportion to exp(-epsilon |x|) [CKS20].

    Privacy:
        Sensitivity: 1, for a whole number that the draw is added to.
        Guarantee: epsilon-DP for the sum, exactly.
        Assumes: an rng the adversary cannot predict.
        Tested by: tests/privacy/test_target.py

    References:
        [CKS20] Canonne, Kamath & Steinke (2020), arXiv:2004.00010, algorithm 2.
    """
    steps, scale = epsilon.numerator, epsilon.denominator
    while True:
        fine = whole_below(rng, scale)
        if not _chance_exp(rng, Fraction(fine, scale)):
            continue
        coarse = 0
        while _chance_exp(rng, Fraction(1)):
            coarse += 1
        size = (fine + scale * coarse) // steps
        negative = bool(whole_below(rng, 2))
        # 0 would come twice, with either sign.
        if size or not negative:
            return -size if negative else size


def _chance_exp(rng: Randomness, x: Fraction) -> bool:
    """Return True with a chance of exp(-x), for x in [0, 1] [CKS20, algorithm 1]."""
    trials = 1
    while whole_below(rng, x.denominator * trials) < x.numerator:
        trials += 1
    return trials % 2 == 1
