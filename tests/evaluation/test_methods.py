"""The methods an evaluation compares: how they are written, and what they mean."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsel.core.mechanisms import Sampler
from dpsel.core.mechanisms.registry import MECHANISMS
from dpsel.core.scores.registry import SCORES
from dpsel.errors import UsageError
from dpsel.evaluation.methods import EvaluatedMethod, parse_methods
from dpsel.preprocessing.options import Scale


def only(text: str) -> EvaluatedMethod:
    (found,) = parse_methods([text])
    return found


@pytest.mark.parametrize(
    ("text", "ranking", "mechanism", "scale", "private"),
    [
        ("stump", "stump", "permute-and-flip", None, True),
        ("kendall", "kendall", "permute-and-flip", None, True),
        ("dp-sis", "dot", "canonical-lipschitz", None, True),
        ("dp-sis@none", "dot", "canonical-lipschitz", Scale.NONE, True),
        ("two-stage", "two-stage", "canonical-lipschitz", None, True),
        ("two-stage@robust", "two-stage", "canonical-lipschitz", Scale.ROBUST, True),
        ("two-stage/peeling", "two-stage", "peeling", None, True),
        ("two-stage/joint@max-abs", "two-stage", "joint", Scale.MAX_ABS, True),
        ("kendall/joint@max-abs", "kendall", "joint", Scale.MAX_ABS, True),
        ("dpkendall", "dpkendall", None, None, True),
        ("dpkendall@robust", "dpkendall", None, Scale.ROBUST, True),
        ("sis", "sis", None, None, False),
        ("lasso@robust", "lasso", None, Scale.ROBUST, False),
    ],
)
def test_each_form_of_a_method_says_what_ranks_and_what_draws(
    text: str, ranking: str, mechanism: str | None, scale: Scale | None, private: bool
) -> None:
    found = only(text)
    assert found == EvaluatedMethod(text, ranking, mechanism, scale)
    assert found.private is private


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("score", SCORES)
def test_any_score_goes_with_any_mechanism(score: str, mechanism: str) -> None:
    text = f"{score}/{mechanism}"
    assert only(text) == EvaluatedMethod(text, score, mechanism, None)


def test_lists_may_come_in_one_piece_or_in_several_and_have_each_once_in_their_order() -> None:
    names = ["sis", "dp-sis", "dot/peeling", "dp-sis@robust"]
    for texts in (
        names,
        [",".join(names)],
        ["sis, dp-sis", "sis,dot/peeling ", "dp-sis@robust,dp-sis"],
    ):
        assert [method.name for method in parse_methods(texts)] == names


@pytest.mark.parametrize("text", ["", "dot", "DP-SIS", "dp sis", "dp-sis,,sis", "sis,", "@robust"])
def test_what_is_no_method_is_refused_with_a_list_of_the_forms(text: str) -> None:
    with pytest.raises(
        UsageError,
        match=r"^a method is SCORE/MECHANISM, stump, dp-sis, kendall, two-stage, sis, lasso, "
        r"dpkendall,",
    ):
        parse_methods([text])


@pytest.mark.parametrize("text", ["dot", "DP-SIS", "kendal"])
def test_the_refusal_quotes_the_name(text: str) -> None:
    with pytest.raises(UsageError, match=f"; got '{text}'$"):
        parse_methods([f"sis,{text}"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pearson/peeling", "score must be one of stump, dot, covariance, kendall, got pearson"),
        # dp-sis is a score with a mechanism already.
        ("dp-sis/peeling", "dp-sis has no mechanism to choose, got dp-sis/peeling"),
        ("dp-sis/", "dp-sis has no mechanism to choose, got dp-sis/"),
        ("/peeling", "score must be one of stump, dot, covariance, kendall, got "),
        ("dot/gumbel", f"mechanism must be one of {', '.join(MECHANISMS)}, got gumbel"),
        ("dot/", f"mechanism must be one of {', '.join(MECHANISMS)}, got "),
        ("two-stage/x", f"mechanism must be one of {', '.join(MECHANISMS)}, got x"),
        ("two-stage/", f"mechanism must be one of {', '.join(MECHANISMS)}, got "),
        ("dot/joint/joint", f"mechanism must be one of {', '.join(MECHANISMS)}, got joint/joint"),
        ("sis/peeling", "sis has no mechanism to choose, got sis/peeling"),
        ("lasso/", "lasso has no mechanism to choose, got lasso/"),
        ("dpkendall/joint@none", "dpkendall has no mechanism to choose, got dpkendall/joint@none"),
        ("dp-sis@", "a scale is one of max-abs, robust, none, got dp-sis@"),
        ("sis@Robust", "a scale is one of max-abs, robust, none, got sis@Robust"),
        ("sis@none@none", "a scale is one of max-abs, robust, none, got sis@none@none"),
    ],
)
def test_an_unknown_part_of_a_method_is_refused_and_quoted(text: str, expected: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(expected)}$"):
        parse_methods([text])


parts = ["dp-sis", "sis", "dot", "two-stage", "/", "@", ",", " ", "peeling", "robust", "none", "é"]


@settings(deadline=None)
@given(st.lists(st.text() | st.lists(st.sampled_from(parts), max_size=8).map("".join)))
def test_any_texts_are_methods_or_a_usage_error(texts: list[str]) -> None:
    try:
        found = parse_methods(texts)
    except UsageError:
        return
    assert [method.name for method in found] == list(
        dict.fromkeys(part.strip() for text in texts for part in text.split(","))
    )


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("ranking", ["dot", "two-stage"])
def test_a_delta_reaches_only_the_mechanisms_that_take_one(ranking: str, mechanism: str) -> None:
    method = only(f"{ranking}/{mechanism}")
    takes = {"peeling", "oneshot-laplace"}
    assert method.parameters(1e-6).get("delta") == (1e-6 if mechanism in takes else None)
    assert method.parameters(None).get("delta") == (0.0 if mechanism in takes else None)
    assert ("delta" in method.parameters(1e-6)) is (mechanism in takes)


def test_the_parameters_of_a_lipschitz_mechanism_are_its_defaults_whatever_the_delta() -> None:
    for text in ("dp-sis", "two-stage", "kendall/margin-lipschitz"):
        for delta in (None, 0.0, 1e-6):
            assert only(text).parameters(delta) == {"gamma": 0.5, "sampler": Sampler.LAZY}
    assert only("dot/joint").parameters(1e-6) == {}
