"""Which columns play which part."""

import shlex

import pytest

from dpsel.errors import InputError, UsageError
from dpsel.system.text import nearest
from dpsel.tables.columns import Column, Kind, Wanted, choose_columns, nameless_notes

COLUMNS = [
    Column("gene_1", Kind.NUMBER),
    Column("gene_2", Kind.NUMBER),
    Column("age", Kind.NUMBER),
    Column("a,b", Kind.NUMBER),
    Column("x[1]", Kind.NUMBER),
    Column("y", Kind.NUMBER),
]
TEXTS = [*COLUMNS, Column("ward", Kind.TEXT), Column("born", Kind.TIME)]


def names(columns: list[Column] = COLUMNS, **wanted: object) -> tuple[str, ...]:
    return choose_columns(columns, Wanted(**{"target": "y", **wanted}), "t").names  # type: ignore[arg-type]


def test_features_are_all_columns_but_the_target() -> None:
    assert names() == ("gene_1", "gene_2", "age", "a,b", "x[1]")
    assert names(target="age") == ("gene_1", "gene_2", "a,b", "x[1]", "y")
    assert names(person="gene_1") == ("gene_2", "age", "a,b", "x[1]")


NAMELESS = [Column("", Kind.UNKNOWN), *COLUMNS, Column(" ", Kind.NUMBER), Column("", Kind.TEXT)]


def test_a_column_without_a_name_is_no_feature_and_moves_no_other() -> None:
    layout = choose_columns(NAMELESS, Wanted("y", person="age"), "t")
    assert layout.names == ("gene_1", "gene_2", "a,b", "x[1]")
    assert (layout.features, layout.target, layout.person) == ((1, 2, 4, 5), 6, 3)
    assert names(NAMELESS, features=("*",)) == names()
    for asked in ({"target": ""}, {"person": " "}, {"features": ("",)}, {"exclude": ("",)}):
        with pytest.raises(UsageError, match=r"t has no column ' ?'"):
            names(NAMELESS, **asked)


@pytest.mark.parametrize("blank", ["", " ", "  ", "     "])
def test_a_name_of_blanks_alone_is_none_and_other_names_may_begin_like_it(blank: str) -> None:
    odd = [Column(" a", Kind.NUMBER), Column("__a", Kind.NUMBER), Column("  b", Kind.NUMBER)]
    assert names([*COLUMNS, *odd]) == (*names(), " a", "__a", "  b")
    assert nameless_notes(odd, "t") == []
    hidden = [Column(blank, Kind.NUMBER), Column("__index_level_0__", Kind.NUMBER)]
    for column in hidden:
        assert names([column, *COLUMNS]) == names()
    assert nameless_notes([*odd, *hidden], "t") == ["t: column 4 has no name, so it is left out"]


def test_columns_without_a_name_are_told_by_their_place() -> None:
    assert nameless_notes(COLUMNS, "t.csv") == []
    assert nameless_notes(NAMELESS[:3], "t.csv") == [
        "t.csv: column 1 has no name, so it is left out"
    ]
    assert nameless_notes(NAMELESS, "t.csv") == [
        "t.csv: column 1 (and 2 more) has no name, so it is left out"
    ]


def test_columns_are_counted_with_those_that_have_no_name() -> None:
    with pytest.raises(InputError, match="t: columns 2 and 8 have the same name; rename one"):
        names([*NAMELESS[:-2], Column("gene_1", Kind.TEXT)])


@pytest.mark.parametrize(
    ("features", "exclude", "expected"),
    [
        (("gene_*",), (), ("gene_1", "gene_2")),
        (("age,gene_1",), (), ("gene_1", "age")),
        (("age", "gene_?"), ("gene_2",), ("gene_1", "age")),
        (("a,b",), (), ("a,b",)),
        (("x[1]",), (), ("x[1]",)),
        ((), ("gene_*,x[1]",), ("age", "a,b")),
        (("*",), ("a*",), ("gene_1", "gene_2", "x[1]")),
    ],
)
def test_names_and_globs_choose_features_in_the_table_s_order(
    features: tuple[str, ...], exclude: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert names(features=features, exclude=exclude) == expected


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"target": "Y"}, "--target: t has no column 'Y'; did you mean 'y'?"),
        (
            {"target": "zzzzz"},
            "--target: t has no column 'zzzzz'; `dpsel dictionary init` lists its columns. The "
            "first line of a CSV must name them: remove lines above it. If its rows are features, "
            "as in genes x samples, transpose it first: "
            "`dpsel preprocess --features-in rows --as-is`",
        ),
        ({"person": "zzzzz"}, "--person: t has no column 'zzzzz'"),
        ({"person": "agee"}, "--person: t has no column 'agee'; did you mean 'age'?"),
        ({"features": ("gen_1",)}, "--features: t has no column 'gen_1'; did you mean 'gene_1'?"),
        ({"exclude": ("gene-*",)}, "--exclude: t has no column 'gene-*'; did you mean 'gene_2'?"),
        ({"person": "y"}, "--person and --target are the same column, 'y'"),
    ],
)
def test_an_unknown_column_is_named_with_the_nearest_one(
    wanted: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError) as raised:
        names(COLUMNS, **wanted)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("columns", "wanted", "message"),
    [
        (
            TEXTS,
            {},
            "t: columns 'ward' holds text, 'born' holds dates or times, not numbers; leave them "
            "out with --exclude 'ward,born', or pick columns with --features",
        ),
        (TEXTS, {"exclude": ("ward",)}, "t: column 'born' holds dates or times, not numbers;"),
        (TEXTS, {"target": "ward", "exclude": ("born",)}, "t: the target 'ward' holds text; name"),
        (COLUMNS, {"features": ("y",)}, "t: no feature column is left besides the target"),
        (COLUMNS, {"exclude": ("*",)}, "t: no feature column is left besides the target"),
        ([*COLUMNS, COLUMNS[0]], {}, "t: columns 1 and 7 have the same name; rename one"),
    ],
)
def test_columns_that_cannot_be_features_are_refused(
    columns: list[Column], wanted: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError) as raised:
        names(columns, **wanted)
    assert str(raised.value).startswith(message)


def test_one_option_leaves_out_all_columns_that_cannot_be_features() -> None:
    odd = ["a b", "it's", "x*", "p,q", "r,s"]
    columns = [*COLUMNS, *(Column(name, Kind.TEXT) for name in odd)]
    with pytest.raises(InputError) as raised:
        names(columns)
    said = str(raised.value)
    assert said.startswith("t: columns 'a b', 'it's', 'x*', 'p,q', 'r,s' hold text, not numbers;")
    flags = shlex.split(said.partition("out with ")[2].partition(", or pick")[0])
    assert flags == ["--exclude", "a b,it's,x*", "--exclude", "p,q", "--exclude", "r,s"]
    assert names(columns, exclude=tuple(flags[1::2])) == names(COLUMNS)


def test_very_many_columns_that_cannot_be_features_are_counted() -> None:
    columns = [*COLUMNS, *(Column(f"t{place}", Kind.TEXT) for place in range(101))]
    with pytest.raises(InputError, match="t: 101 columns hold no numbers, such as 't0'; pick"):
        names(columns)


def test_the_nearest_of_very_many_names_is_found_quickly() -> None:
    many = [f"gene_{i}" for i in range(200_000)]
    assert nearest("Gene_77", many) == "gene_77"
    assert nearest("gene_1777x", many) is not None
