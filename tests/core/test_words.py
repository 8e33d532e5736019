"""Words in a batch of numbers."""

import numpy as np

from dpsel.core.words import HASH_BITS, boxed_words, without_words, words_of

HASHES = np.array([0, 1, 1 << 14, (1 << 64) - 1, 0xDEADBEEF << 32], dtype=np.uint64)


def test_a_word_is_found_again_by_the_first_bits_of_its_hash() -> None:
    is_word, codes = words_of(boxed_words(HASHES))
    assert is_word.all()
    assert codes.tolist() == [int(hash_) >> (64 - HASH_BITS) for hash_ in HASHES]


def test_a_word_is_no_number_and_never_a_missing_cell() -> None:
    words = boxed_words(HASHES)
    assert np.isnan(words).all()
    assert not (words.view(np.uint64) == np.float64(np.nan).view(np.uint64)).any()


def test_numbers_and_missing_cells_are_no_words() -> None:
    cells = np.array([0.0, -0.0, 1.5, np.inf, -np.inf, np.nan, -np.nan, 5e-324, 1.7e308])
    is_word, codes = words_of(cells)
    assert not is_word.any()
    assert (codes == -1).all()


def test_a_single_word_is_seen_among_any_numbers() -> None:
    cells = np.array([0.0, -0.0, 1.5, np.inf, -np.inf, np.nan, -np.nan, 5e-324, -1.7e308])
    assert not words_of(np.empty((0, 2)))[0].any()
    for word in boxed_words(HASHES):
        is_word, _ = words_of(np.array([*cells[:3], word, *cells[3:]]))
        assert np.flatnonzero(is_word).tolist() == [3]


def test_words_outlive_copies_and_the_stacking_of_columns() -> None:
    words = boxed_words(HASHES)
    stacked = np.asfortranarray(np.stack([words, words]).T)[::-1][::-1]
    np.testing.assert_array_equal(words_of(stacked)[1][:, 1], words_of(words)[1])


def test_nan_in_a_table_of_numbers_is_missing_whatever_its_bits() -> None:
    odd = boxed_words(HASHES)
    odd[0] = 3.0
    found = without_words(odd)
    assert not words_of(found)[0].any()
    assert found[0] == 3.0
    assert words_of(odd)[0].sum() == 4
    single = np.array([1.5, np.nan], dtype=np.float32)
    assert without_words(single).dtype == np.float64


def test_numbers_without_any_nan_are_not_copied() -> None:
    X = np.array([1.0, 2.0])
    assert without_words(X) is X
