"""Words in a batch of numbers: cells that can only be asked whether they are equal.

A cell is one float: a number, or missing, which is the one NaN that numpy writes, or a word, which
is a NaN whose last 50 bits are a hash of its text. The hash is a fixed function of the cell, so "is
its hash v?" is a fixed question, whatever other cells hold: texts that share a hash harm nothing.

Arithmetic, sorting and rounding may lose those bits; copies, files and maps do not.
"""

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray, RealArray, WordArray

HASH_BITS = 50
_HASH = np.uint64((1 << HASH_BITS) - 1)
_SHIFT = np.uint64(HASH_BITS)
# A quiet NaN with the next bit set as well, which the one for missing cells has not.
_MARK = np.uint64(0x7FFC << 48)


def boxed_words(hashes: WordArray) -> FloatArray:
    """Return words with these hashes, of which the first 50 bits count."""
    found: FloatArray = ((hashes >> np.uint64(64 - HASH_BITS)) | _MARK).view(np.float64)
    return found


def words_of(X: FloatArray) -> tuple[BoolArray, IntArray]:
    """Return which cells are words, and their codes; -1 for what is no word.

    Privacy:
        Guarantee: none; the result is private input for a score.
        Tested by: tests/core/test_words.py
    """
    bits = X.view(np.uint64)
    is_word: BoolArray = (bits >> _SHIFT) == (_MARK >> _SHIFT)
    codes: IntArray = np.where(is_word, (bits & _HASH).view(np.int64), np.int64(-1))
    return is_word, codes


def without_words(X: RealArray) -> FloatArray:
    """Return numbers as doubles; a NaN with whatever bits is a missing cell, and no word."""
    found: FloatArray = X.astype(np.float64, copy=False)
    no_number = np.isnan(found)
    if not no_number.any():
        return found
    if found is X:
        found = found.copy(order="A")
    found[no_number] = np.nan
    return found
