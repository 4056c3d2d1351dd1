"""Systems compared on common dialogues: what must hold for any of them, and slow twins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

from mwzeval.comparison import ComparedMeasure, Comparison, Difference, compare
from mwzeval.comparison.comparison import (
    MCNEMAR,
    RANDOMIZATION,
    System,
    about_units,
    comparison_document,
    shown_p,
)
from mwzeval.errors import UsageError
from mwzeval.metrics.measure import Measure, Resampling, ScoredTable, percentage
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.scores.sheets import FORMATS, render
from mwzeval.scores.table import Table
from mwzeval.statistics.runs import HIERARCHICAL
from mwzeval.statistics.tests import Place, WinsTiesLosses, holm, ranks
from tests.places import SAMPLE_SYSTEMS
from tests.places import sample_predictions as as_they_are

FEW = Resampling(samples=200, seed=7)
PREDICTING = ("good", "weak-tracker", "no-phone")


def sample_predictions(system: str) -> dict[str, Any]:
    """Return a sample system's without its domains, as one of them says none."""
    return {
        name: [{k: v for k, v in turn.items() if k != "active_domains"} for turn in turns]
        for name, turns in as_they_are(system).items()
    }


@cache
def sample_evaluator() -> Evaluator:
    return Evaluator(True, True, True, True, corpus="sample", responses="delexicalized")


@cache
def scored(system: str) -> ScoredTable:
    return sample_evaluator().score(sample_predictions(system)).scored_table


def systems(*names: str) -> dict[str, ScoredTable]:
    return {name: scored(name) for name in names}


def difference_of(measure: ComparedMeasure, system: str) -> Difference:
    found = measure.of(system).difference
    assert found is not None
    return found


def ends(difference: Difference, sign: int = 1) -> tuple[float, float]:
    """Return the ends of the interval, or those of the exchanged systems."""
    assert difference.interval is not None
    low, high = difference.interval.low, difference.interval.high
    return (low, high) if sign == 1 else (-high, -low)


def is_of_types(measure: ComparedMeasure) -> bool:
    return measure.name in {measure.name for measure in scored("good").measures if measure.of_types}


@cache
def of_all() -> Comparison:
    return compare(systems(*SAMPLE_SYSTEMS), resampling=FEW, scopes=True)


def test_a_system_does_not_differ_from_itself() -> None:
    comparison = compare({"a": scored("good"), "b": scored("good")}, resampling=FEW, scopes=True)
    assert {measure.scope for measure in comparison.measures} > {WHOLE, "hotel"}
    for measure in comparison.measures:
        first, second = measure.systems
        assert first.value == second.value
        assert first.difference is None
        difference = difference_of(measure, "b")
        p_value = None if is_of_types(measure) else 1
        assert (difference.value, difference.p_value, difference.adjusted) == (0, p_value, p_value)
        assert ends(difference) == (0, 0)
        if difference.counts is not None:
            assert difference.counts == WinsTiesLosses(0, difference.counts.ties, 0)
            assert difference.counts.ties > 0
        assert measure.best == ()
        if measure.scope == WHOLE and measure.has_direction:
            assert first.place == second.place == Place(1, 2)


def test_exchanging_two_systems_changes_the_signs_and_nothing_else() -> None:
    there = compare(systems("good", "weak-tracker"), resampling=FEW, scopes=True)
    back = compare(systems("weak-tracker", "good"), resampling=FEW, scopes=True)
    assert len(there.measures) == len(back.measures) > 20
    for measure in there.measures:
        mine = difference_of(measure, "weak-tracker")
        theirs = difference_of(back.measure(measure.name, measure.scope), "good")
        assert theirs.value == pytest.approx(-mine.value, abs=1e-12)
        assert theirs.p_value == mine.p_value
        if mine.counts is not None:
            counts = mine.counts
            assert theirs.counts == WinsTiesLosses(counts.losses, counts.ties, counts.wins)
        assert ends(theirs, -1) == pytest.approx(ends(mine), abs=1e-9)
        for system in there.systems:
            place = back.measure(measure.name, measure.scope).of(system).place
            assert measure.of(system).place == place


def test_the_order_of_dialogues_matters_only_to_msttr_whose_windows_follow_it() -> None:
    def shuffled(system: str, seed: int) -> ScoredTable:
        predictions = sample_predictions(system)
        order = list(predictions)
        np.random.default_rng(seed).shuffle(order)
        return sample_evaluator().score({name: predictions[name] for name in order}).scored_table

    expected = compare(systems("good", "no-phone"), resampling=FEW)
    found = compare(
        {"good": shuffled("good", 1), "no-phone": shuffled("no-phone", 2)}, resampling=FEW
    )
    for measure in expected.measures:
        if measure.name == "richness.msttr":
            continue
        other = found.measure(measure.name)
        mine, theirs = difference_of(measure, "no-phone"), difference_of(other, "no-phone")
        assert theirs.value == pytest.approx(mine.value, abs=1e-12)
        assert (theirs.p_value, theirs.counts) == (mine.p_value, mine.counts)
        assert other.of("no-phone").place == measure.of("no-phone").place


def test_only_common_dialogues_are_compared_and_score_as_if_there_were_no_others() -> None:
    first, second = sample_predictions("good"), sample_predictions("weak-tracker")
    names = list(first)
    mine = {name: first[name] for name in names[3:]}
    theirs = {name: second[name] for name in names[:-2]}
    common = names[3:-2]
    evaluator = sample_evaluator()
    comparison = compare(
        {
            "good": evaluator.score(mine).scored_table,
            "weak-tracker": evaluator.score(theirs).scored_table,
        },
        resampling=FEW,
        scopes=True,
    )
    (group,) = comparison.groups
    assert group.units == tuple(common)
    assert group.left_out == {"good": 2, "weak-tracker": 3}
    alone = evaluator.score({name: second[name] for name in common}).scored_table
    expected = {(score.name, score.scope): score for score in alone.scores()}
    for measure in comparison.measures:
        score = expected[measure.name, measure.scope]
        assert measure.n == len(common)
        assert measure.of("weak-tracker").cases == score.n
        # The windows of MSTTR are those of the whole input.
        close = 0.02 if measure.name == "richness.msttr" else 1e-9
        assert measure.of("weak-tracker").value == pytest.approx(score.value, abs=close)
    (line,) = about_units(comparison)
    assert f"{len(common)} dialogues" in line
    assert "2 of good, 3 of weak-tracker" in line


def test_outcomes_of_which_systems_have_other_cases_are_tested_by_swapping() -> None:
    rate = Measure(
        "rate",
        "Rate",
        Signature("rate", ()),
        percentage("right", of="case"),
        cases="case",
        outcome="right",
    )

    def system(cases: Sequence[int]) -> ScoredTable:
        rows = ((str(n), {"right": case * (n % 2), "case": case}) for n, case in enumerate(cases))
        return ScoredTable(Table.from_rows(("right", "case"), rows), (rate,))

    for cases, test in (((1, 1, 0, 1), MCNEMAR), ((1, 1, 1, 1), RANDOMIZATION)):
        found = compare({"a": system((1, 1, 0, 1)), "b": system(cases)}, resampling=FEW)
        (measure,) = found.measures
        assert measure.test == test
        assert [entry.cases for entry in measure.systems] == [3, sum(cases)]


@pytest.mark.parametrize("several", [False, True])
def test_scores_of_types_have_a_difference_and_an_interval_and_no_test(several: bool) -> None:
    given: dict[str, System] = dict(systems(*PREDICTING))
    if several:
        given["no-phone"] = by_name([scored("no-phone")] * 5)
    document = comparison_document(compare(given, resampling=FEW))
    names = {measure.name for measure in scored("good").measures if measure.of_types}
    values = {(each["score"], each["system"]): each["value"] for each in document.records}
    found = [each for each in document.records if each["score"] in names]
    assert len(found) == len(names) * len(given)
    for record in found:
        untested = ("p", "p_holm", "p_best", "test", "wins", "rank", "rank_worst")
        assert {record[key] for key in untested} == {None}
        assert record["best"] is False
        if record["system"] != "good":
            baseline = values[record["score"], "good"]
            assert record["difference"] == pytest.approx(record["value"] - baseline)
            assert record["low"] < record["difference"] < record["high"]
    for sheet in document.sheets[-len(names) :]:
        assert not {"p (Holm)", "win/tie/loss", "rank"} & set(sheet.header)


@pytest.mark.integration
def test_ranks_follow_from_all_pairs() -> None:
    comparison = of_all()
    rows = {name: scored(name) for name in comparison.systems}
    for name in ("success", "bleu.sample"):
        of_pairs: dict[tuple[str, str], float] = {}
        names = comparison.measure(name).group.systems
        for index, earlier in enumerate(names):
            for later in names[index + 1 :]:
                pair = compare({earlier: rows[earlier], later: rows[later]}, resampling=FEW)
                p_value = difference_of(pair.measure(name), later).p_value
                assert p_value is not None
                of_pairs[later, earlier] = p_value
        scores = {entry.system: entry.value for entry in comparison.measure(name).systems}
        adjusted = dict(zip(of_pairs, holm(list(of_pairs.values())), strict=True))
        assert comparison.measure(name).pairs == adjusted
        places = ranks(scores, [pair for pair, p in adjusted.items() if p <= comparison.level])
        assert {e.system: e.place for e in comparison.measure(name).systems} == places
        assert len({place.rank for place in places.values()}) > 1


def test_scores_that_some_system_lacks_are_not_compared_and_named() -> None:
    comparison = of_all()
    without = comparison.lacking["Joint accuracy"]
    assert without
    assert not any(measure.name.startswith("dst.") for measure in comparison.measures)
    assert any(
        "Joint accuracy" in line and without[0] in line
        for line in comparison_document(comparison).heading
    )
    predicting = compare(
        systems(*(name for name in SAMPLE_SYSTEMS if name not in without)), resampling=FEW
    )
    assert predicting.measure("dst.joint_accuracy")
    assert not predicting.lacking


def test_systems_that_cannot_be_compared_are_groups_of_their_own() -> None:
    comparison = of_all()
    alike = tuple(name for name in SAMPLE_SYSTEMS if name != "policy-only")
    for measure in comparison.measures:
        together = tuple(entry.system for entry in measure.systems)
        if measure.name not in ("inform", "success", "combined"):
            assert (together, measure.group.setting) == (SAMPLE_SYSTEMS, "")
            continue
        assert (together, measure.group.setting) in (
            (alike, "state predicted"),
            (("policy-only",), "state gold"),
        )
        assert dict(measure.signature.choices)["state"] == measure.group.setting.removeprefix(
            "state "
        )
    groups = [m.group for m in comparison.measures if (m.name, m.scope) == ("inform", "total")]
    assert [(group.systems, group.setting) for group in groups] == [
        (alike, "state predicted"),
        (("policy-only",), "state gold"),
    ]
    # Nothing of a group depends on the systems that cannot be compared with it.
    alone = compare(systems(*alike), resampling=FEW, scopes=True)
    for name in ("inform", "success", "combined"):
        found = comparison.measure(name)
        assert replace(found, group=replace(found.group, setting="")) == alone.measure(name)
    document = comparison_document(comparison)
    assert document.plain["groups"][1] == {
        "systems": ("policy-only",),
        "baseline": "policy-only",
        "setting": "state gold",
        "scores": ("inform", "success", "combined"),
        "common": 62,
        "left_out": {"policy-only": 0},
    }
    titles = [sheet.title for sheet in document.sheets]
    assert "Inform, state gold (n = 62)" in titles


def test_a_group_has_a_baseline_units_and_ranks_of_its_own() -> None:
    gold = {name: sample_predictions("policy-only") for name in ("c", "d")}
    gold["d"] = dict(list(gold["d"].items())[5:])
    evaluator = Evaluator(success=True, corpus="sample", responses="delexicalized")
    found = {name: evaluator.score(of).scored_table for name, of in gold.items()}
    mixed = {"a": scored("good"), "c": found["c"], "b": scored("no-phone"), "d": found["d"]}
    comparison = compare(mixed, resampling=FEW)
    first, second = (m for m in comparison.measures if m.name == "success")
    assert [entry.system for entry in first.systems] == ["a", "b"]
    assert [entry.system for entry in second.systems] == ["c", "d"]
    assert (first.n, second.n) == (62, 57)
    assert second.group.left_out == {"c": 5, "d": 0}
    for measure in (first, second):
        baseline, other = measure.systems
        assert baseline.difference is None
        assert other.difference is not None
        assert {entry.place.rank for entry in measure.systems if entry.place} >= {1}
        assert [system for pair in measure.pairs for system in pair] == [
            other.system,
            baseline.system,
        ]


def test_systems_that_cannot_be_compared_at_all_are_refused() -> None:
    predictions = sample_predictions("good")
    names = list(predictions)
    first, second = (
        sample_evaluator().score({name: predictions[name] for name in chosen}).scored_table
        for chosen in (names[:30], names[30:])
    )
    other = Evaluator(success=True, corpus="sample", rules="2023").score(predictions).scored_table
    for given, message in (
        ({"good": scored("good"), "new": other}, r"rules \(2021 and 2023\)"),
        ({"first": first, "second": second}, '"second"'),
        ({"first": first}, "two"),
    ):
        with pytest.raises(UsageError, match=message):
            compare(given, resampling=FEW)


def test_a_single_common_dialogue_is_compared_where_there_is_something_to_compare() -> None:
    predictions = sample_predictions("good")
    name = next(iter(predictions))
    one = sample_evaluator().score({name: predictions[name]}).scored_table
    comparison = compare({"a": one, "b": scored("weak-tracker")}, resampling=FEW)
    assert {group.units for group in comparison.groups} == {(name,)}
    for format_name in FORMATS:
        assert render(comparison_document(comparison), format_name)


def test_p_values_are_shown_with_three_decimals() -> None:
    for p_value, expected in ((1.0, "1.000"), (0.0499, "0.050"), (1 / 1001, "0.001")):
        assert shown_p(p_value) == expected
        assert shown_p(p_value, is_least=True) == f"≤ {expected}"
    assert [shown_p(p_value) for p_value in (0.0004, 0.0, None)] == ["< 0.001", "< 0.001", "—"]


def test_too_few_samples_for_ranks_are_pointed_out() -> None:
    few = compare(systems(*SAMPLE_SYSTEMS), resampling=Resampling(samples=50))
    assert any("--samples 200" in note for note in comparison_document(few).notes)
    assert not any("--samples" in note for note in comparison_document(of_all()).notes)


@cache
def seeds(*mixed: str) -> tuple[ScoredTable, ...]:
    """Return runs whose dialogues are those of one sample system or another."""
    first, other = (sample_predictions(system) for system in mixed)
    return tuple(
        sample_evaluator()
        .score({name: (first if random.random() < 0.6 else other)[name] for name in sorted(first)})
        .scored_table
        for random in map(Random, range(3))
    )


def by_name(runs: Sequence[ScoredTable]) -> dict[str, ScoredTable]:
    return {f"seed-{number}": run for number, run in enumerate(runs)}


def test_a_system_of_one_run_is_what_it_is_without_a_name_of_its_run() -> None:
    expected = compare(systems("good", "no-phone"), resampling=FEW, scopes=True)
    found = compare(
        {"good": {"a": scored("good")}, "no-phone": {"b": scored("no-phone")}},
        resampling=FEW,
        scopes=True,
    )
    assert replace(found, runs=expected.runs) == expected


def test_order_and_company_of_systems_and_runs_change_nothing_given_their_names() -> None:
    mine, theirs = by_name(seeds("good", "no-phone")), by_name(seeds("good", "weak-tracker"))
    back: dict[str, System] = {
        "no": theirs,
        "mine": dict(reversed(mine.items())),
        "good": scored("good"),
    }
    found = compare(back, resampling=FEW, scopes=True)
    expected = compare({"mine": mine, "no": dict(reversed(theirs.items()))}, resampling=FEW)
    for measure in expected.measures:
        assert measure.test == (None if is_of_types(measure) else HIERARCHICAL)
        other = found.measure(measure.name)
        for entry in measure.systems:
            assert other.of(entry.system).runs == entry.runs
            assert other.of(entry.system).value == entry.value
        there, back_again = difference_of(measure, "no"), difference_of(other, "mine")
        assert (back_again.value, back_again.p_value) == (-there.value, there.p_value)
        assert ends(back_again, -1) == pytest.approx(ends(there))
        if there.counts is not None:
            counts = there.counts
            assert back_again.counts == WinsTiesLosses(counts.losses, counts.ties, counts.wins)


def test_runs_that_are_one_file_have_the_intervals_of_the_paired_bootstrap_and_jackknife() -> None:
    single = compare(systems("good", "weak-tracker"), resampling=FEW)
    copies = by_name([scored("weak-tracker")] * 2)
    found = compare({"good": scored("good"), "weak-tracker": copies}, resampling=FEW)
    assert len(found.measures) == len(single.measures)
    for measure in single.measures:
        expected = difference_of(measure, "weak-tracker")
        difference = difference_of(found.measure(measure.name), "weak-tracker")
        assert difference.value == pytest.approx(expected.value)
        assert difference.counts == expected.counts
        assert expected.interval is not None
        width = expected.interval.high - expected.interval.low
        # Resampled pseudo-values are as wide as the jackknife but for chance.
        close = 1e-9 if expected.interval.method == "paired-bootstrap" else 0.2 * width
        assert ends(difference) == pytest.approx(ends(expected), abs=close)


def test_p_values_are_corrected_over_the_systems() -> None:
    mine, theirs = by_name(seeds("good", "no-phone")), by_name(seeds("good", "weak-tracker"))
    of_runs = compare({"a": mine, "b": theirs, "c": scored("good")}, resampling=FEW)
    for measure in (*of_all().measures, *of_runs.measures):
        differences = [d for entry in measure.systems if (d := entry.difference) is not None]
        p_values = [d.p_value for d in differences if d.p_value is not None]
        adjusted = [d.adjusted for d in differences if d.adjusted is not None]
        assert adjusted == list(holm(p_values))
        assert len(adjusted) == (0 if is_of_types(measure) else len(differences))
    for measure in of_runs.measures:
        assert all((entry.place is not None) == measure.has_direction for entry in measure.systems)
