"""At most R rows of a person."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpsel.core.persons import PersonLimit

PERSONS = st.lists(st.sampled_from(["a", "b", "c", None]), max_size=30)


def kept(persons: list[str | None], rows: int, batch: int) -> list[bool]:
    limit = PersonLimit(rows)
    found: list[bool] = []
    for first in range(0, len(persons), batch):
        part = persons[first : first + batch]
        names = sorted({person for person in part if person is not None})
        codes = np.array([-1 if p is None else names.index(p) for p in part], dtype=np.int64)
        found += limit.keep(names, codes).tolist()
    return found


@given(PERSONS, st.integers(1, 4), st.integers(1, 31))
def test_the_first_rows_of_each_person_stay_however_the_table_is_cut(
    persons: list[str | None], rows: int, batch: int
) -> None:
    seen: Counter[str | None] = Counter()
    expected = []
    for person in persons:
        seen[person] += 1
        expected.append(person is not None and seen[person] <= rows)
    assert kept(persons, rows, batch) == expected


@given(PERSONS, st.lists(st.integers(0, 30), max_size=8), st.integers(1, 4))
def test_adding_a_person_changes_no_other_row(
    persons: list[str | None], places: list[int], rows: int
) -> None:
    before = kept(persons, rows, 7)
    larger = list(persons)
    for place in places:
        larger.insert(place, "new")
    after = kept(larger, rows, 7)
    others = [keep for keep, person in zip(after, larger, strict=True) if person != "new"]
    assert others == before
    assert sum(after) - sum(before) <= rows
