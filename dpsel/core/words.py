"""Words in a batch of numbers: cells that can only be compared for equality.

Every cell is one float. It is a number; or missing, which is the NaN that numpy writes; or a word,
which is a NaN whose last 50 bits are a hash of the text. The hash is a fixed function of the cell,
so "is its hash v?" is a fixed question, whatever other cells hold. Two texts with the same hash
count as the same word, which does not weaken the guarantee.

Arithmetic, sorting and rounding may lose those bits; copies, files and memory maps keep them.
"""

import numpy as np

from dpsel.core.arrays import BoolArray, FloatArray, IntArray, RealArray, WordArray

HASH_BITS = 50
_HASH = np.uint64((1 << HASH_BITS) - 1)
_SHIFT = np.uint64(HASH_BITS)
# A quiet NaN with the next bit set as well. That bit is not set in the NaN of missing cells.
_MARK = np.uint64(0x7FFC << 48)


def boxed_words(hashes: WordArray) -> FloatArray:
    """Return words with the first 50 bits of these hashes, as floats."""
    words: FloatArray = ((hashes >> np.uint64(64 - HASH_BITS)) | _MARK).view(np.float64)
    return words


def words_of(X: FloatArray) -> tuple[BoolArray, IntArray]:
    """Return which cells are words, and their hashes as codes; -1 for any other cell.

    Privacy:
        Guarantee: none; the result is private input for a score.
        Tested by: tests/core/test_words.py
    """
    bits = X.view(np.uint64)
    is_word: BoolArray = (bits >> _SHIFT) == (_MARK >> _SHIFT)
    codes: IntArray = np.where(is_word, (bits & _HASH).view(np.int64), np.int64(-1))
    return is_word, codes


def without_words(X: RealArray) -> FloatArray:
    """Return numbers as doubles, in which any NaN, whatever its bits, is a missing cell."""
    numbers: FloatArray = plain_nans(X).astype(np.float64, copy=False)
    return numbers


def plain_nans(X: RealArray) -> RealArray:
    """Return numbers, in the same precision, in which any NaN is that of a missing cell.

    In single precision no cell is a word. But a NaN keeps its other bits when it is converted to a
    double, and could become one.
    """
    missing = np.isnan(X)
    if not missing.any():
        return X
    numbers: RealArray = X.copy(order="A")
    numbers[missing] = np.nan
    return numbers
