"""Comparison of systems on common dialogues: properties for any systems, and a paper table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from random import Random

import numpy as np
import pytest

from mwzeval.comparison import ComparedMeasure, Comparison, Difference, compare
from mwzeval.comparison.comparison import (
    MCNEMAR,
    RANDOMIZATION,
    System,
    about_units,
    comparison_document,
    paper_document,
    shown_p,
)
from mwzeval.errors import UsageError
from mwzeval.metrics.measure import Measure, Resampling, ScoredTable, percentage
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.scores.score import WHOLE, Signature
from mwzeval.scores.sheets import FORMATS, Document, render
from mwzeval.scores.table import Table
from mwzeval.statistics.runs import HIERARCHICAL
from mwzeval.statistics.tests import Place, WinsTiesLosses, holm, ranks
from tests.places import SAMPLE_SYSTEMS, Predictions, without
from tests.places import sample_predictions as as_they_are
from tests.tables import present

FEW = Resampling(samples=200, seed=7)
PREDICTING = ("good", "weak-tracker", "no-phone")


def sample_predictions(system: str) -> Predictions:
    """Return sample predictions without active domains, which one of the systems lacks."""
    return without(as_they_are(system), "active_domains")


@cache
def sample_evaluator() -> Evaluator:
    return Evaluator(True, True, True, True, corpus="sample", responses="delexicalized")


def scored_predictions(predictions: Predictions) -> ScoredTable:
    return sample_evaluator().score(predictions).scored_table


@cache
def scored(system: str) -> ScoredTable:
    return scored_predictions(sample_predictions(system))


def systems(*names: str) -> dict[str, ScoredTable]:
    return {name: scored(name) for name in names}


def difference_of(measure: ComparedMeasure, system: str) -> Difference:
    return present(measure.of(system).difference)


def ends(difference: Difference, sign: int = 1) -> tuple[float, float]:
    """Return the interval of the difference, with `sign` -1 for exchanged systems."""
    interval = present(difference.interval)
    return (interval.low, interval.high) if sign == 1 else (-interval.high, -interval.low)


def check_opposite(mine: Difference, theirs: Difference) -> None:
    assert theirs.value == pytest.approx(-mine.value, abs=1e-12)
    assert theirs.p_value == mine.p_value
    assert ends(theirs, -1) == pytest.approx(ends(mine), abs=1e-9)
    if counts := mine.counts:
        assert theirs.counts == WinsTiesLosses(counts.losses, counts.ties, counts.wins)


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


def test_swapping_two_systems_only_reverses_the_signs() -> None:
    there = compare(systems("good", "weak-tracker"), resampling=FEW, scopes=True)
    back = compare(systems("weak-tracker", "good"), resampling=FEW, scopes=True)
    assert len(there.measures) == len(back.measures) > 20
    for measure in there.measures:
        mine = difference_of(measure, "weak-tracker")
        check_opposite(mine, difference_of(back.measure(measure.name, measure.scope), "good"))
        for system in there.systems:
            place = back.measure(measure.name, measure.scope).of(system).place
            assert measure.of(system).place == place


def test_dialogue_order_affects_only_msttr() -> None:
    def shuffled(system: str, seed: int) -> ScoredTable:
        predictions = sample_predictions(system)
        order = list(predictions)
        np.random.default_rng(seed).shuffle(order)
        return scored_predictions({name: predictions[name] for name in order})

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


def test_only_common_dialogues_are_compared_and_scored() -> None:
    first, second = sample_predictions("good"), sample_predictions("weak-tracker")
    names = list(first)
    mine = scored_predictions({name: first[name] for name in names[3:]})
    theirs = scored_predictions({name: second[name] for name in names[:-2]})
    common = names[3:-2]
    comparison = compare({"good": mine, "weak-tracker": theirs}, resampling=FEW, scopes=True)
    (group,) = comparison.groups
    assert group.units == tuple(common)
    assert group.left_out == {"good": 2, "weak-tracker": 3}
    alone = scored_predictions({name: second[name] for name in common})
    expected = {(score.name, score.scope): score for score in alone.scores()}
    for measure in comparison.measures:
        score = expected[measure.name, measure.scope]
        assert measure.n == len(common)
        assert measure.of("weak-tracker").cases == score.n
        # MSTTR differs slightly because its windows are those of the whole input.
        close = 0.02 if measure.name == "richness.msttr" else 1e-9
        assert measure.of("weak-tracker").value == pytest.approx(score.value, abs=close)
    (line,) = about_units(comparison)
    assert f"{len(common)} dialogues" in line
    assert "2 of good, 3 of weak-tracker" in line


def test_outcomes_with_different_cases_use_the_randomization_test() -> None:
    share = percentage("right", of="case")
    rate = Measure("rate", "Rate", Signature("rate", ()), share, cases="case", outcome="right")

    def system(cases: Sequence[int]) -> ScoredTable:
        rows = ((str(n), {"right": case * (n % 2), "case": case}) for n, case in enumerate(cases))
        return ScoredTable(Table.from_rows(("right", "case"), rows), (rate,))

    for cases, test in (((1, 1, 0, 1), MCNEMAR), ((1, 1, 1, 1), RANDOMIZATION)):
        found = compare({"a": system((1, 1, 0, 1)), "b": system(cases)}, resampling=FEW)
        (measure,) = found.measures
        assert measure.test == test
        assert [entry.cases for entry in measure.systems] == [3, sum(cases)]


@pytest.mark.parametrize("several", [False, True])
def test_type_count_scores_have_a_difference_and_interval_but_no_test(several: bool) -> None:
    given: dict[str, System] = dict(systems(*PREDICTING))
    if several:
        given["no-phone"] = by_name([scored("no-phone")] * 5)
    document = comparison_document(compare(given, resampling=FEW))
    names = {measure.name for measure in scored("good").measures if measure.of_types}
    values = {(row["score"], row["system"]): row["value"] for row in document.records}
    found = [row for row in document.records if row["score"] in names]
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
def test_ranks_are_derived_from_all_pairwise_comparisons() -> None:
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


def test_scores_missing_in_some_systems_are_listed_but_not_compared() -> None:
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


def test_incomparable_systems_are_placed_in_separate_groups() -> None:
    comparison = of_all()
    alike = tuple(name for name in SAMPLE_SYSTEMS if name != "policy-only")
    settings = [(alike, "state predicted"), (("policy-only",), "state gold")]
    for measure in comparison.measures:
        group = (tuple(entry.system for entry in measure.systems), measure.group.setting)
        if measure.name not in ("inform", "success", "combined"):
            assert group == (SAMPLE_SYSTEMS, "")
            continue
        assert group in settings
        assert group[1] == f"state {dict(measure.signature.choices)['state']}"
    groups = [m.group for m in comparison.measures if (m.name, m.scope) == ("inform", "total")]
    assert [(group.systems, group.setting) for group in groups] == settings
    # The results of a group do not depend on systems outside the group.
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


def test_each_group_has_its_own_baseline_units_and_ranks() -> None:
    gold = {name: sample_predictions("policy-only") for name in ("c", "d")}
    gold["d"] = dict(list(gold["d"].items())[5:])
    evaluator = Evaluator(success=True, corpus="sample", responses="delexicalized")
    found = {name: evaluator.score(predictions).scored_table for name, predictions in gold.items()}
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
        assert [*measure.pairs] == [(other.system, baseline.system)]


def test_completely_incomparable_systems_are_rejected() -> None:
    predictions = sample_predictions("good")
    names = list(predictions)
    halves = (names[:30], names[30:])
    first, second = (
        scored_predictions({name: predictions[name] for name in half}) for half in halves
    )
    other = Evaluator(success=True, corpus="sample", rules="2023").score(predictions).scored_table
    for given, message in (
        ({"good": scored("good"), "new": other}, r"rules \(2021 and 2023\)"),
        ({"first": first, "second": second}, '"second"'),
        ({"first": first}, "two"),
    ):
        with pytest.raises(UsageError, match=message):
            compare(given, resampling=FEW)


def test_systems_with_one_common_dialogue_are_compared() -> None:
    predictions = sample_predictions("good")
    name = next(iter(predictions))
    single = scored_predictions({name: predictions[name]})
    comparison = compare({"a": single, "b": scored("weak-tracker")}, resampling=FEW)
    assert {group.units for group in comparison.groups} == {(name,)}
    for format_name in FORMATS:
        assert render(comparison_document(comparison), format_name)


def test_p_values_are_shown_with_three_decimals() -> None:
    for p_value, expected in ((1.0, "1.000"), (0.0499, "0.050"), (1 / 1001, "0.001")):
        assert shown_p(p_value) == expected
        assert shown_p(p_value, is_least=True) == f"≤ {expected}"
    assert [shown_p(p_value) for p_value in (0.0004, 0.0, None)] == ["< 0.001", "< 0.001", "—"]


def test_too_few_samples_for_ranks_are_reported_in_a_note() -> None:
    few = compare(systems(*SAMPLE_SYSTEMS), resampling=Resampling(samples=50))
    assert any("--samples 200" in note for note in comparison_document(few).notes)
    assert not any("--samples" in note for note in comparison_document(of_all()).notes)


@cache
def seeds(*mixed: str) -> tuple[ScoredTable, ...]:
    """Return three runs; each dialogue is drawn from one of two sample systems."""
    first, other = (sample_predictions(system) for system in mixed)
    return tuple(
        scored_predictions(
            {name: (first if random.random() < 0.6 else other)[name] for name in sorted(first)}
        )
        for random in map(Random, range(3))
    )


def by_name(runs: Sequence[ScoredTable]) -> dict[str, ScoredTable]:
    return {f"seed-{number}": run for number, run in enumerate(runs)}


def test_naming_the_run_of_a_single_run_system_changes_no_result() -> None:
    expected = compare(systems("good", "no-phone"), resampling=FEW, scopes=True)
    named = {"good": {"a": scored("good")}, "no-phone": {"b": scored("no-phone")}}
    found = compare(named, resampling=FEW, scopes=True)
    assert replace(found, runs=expected.runs) == expected


def test_order_and_number_of_systems_and_runs_do_not_change_results() -> None:
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
        check_opposite(difference_of(measure, "no"), difference_of(other, "mine"))


def test_identical_runs_have_the_intervals_of_a_single_run() -> None:
    single = compare(systems("good", "weak-tracker"), resampling=FEW)
    copies = by_name([scored("weak-tracker")] * 2)
    found = compare({"good": scored("good"), "weak-tracker": copies}, resampling=FEW)
    assert len(found.measures) == len(single.measures)
    for measure in single.measures:
        expected = difference_of(measure, "weak-tracker")
        difference = difference_of(found.measure(measure.name), "weak-tracker")
        assert difference.value == pytest.approx(expected.value)
        assert difference.counts == expected.counts
        interval = present(expected.interval)
        width = interval.high - interval.low
        # Apart from randomness, resampled pseudo-values give the width of the jackknife.
        close = 1e-9 if interval.method == "paired-bootstrap" else 0.2 * width
        assert ends(difference) == pytest.approx(ends(expected), abs=close)


def test_p_values_are_corrected_for_the_number_of_systems() -> None:
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


UNITS = tuple(f"d{number:03}" for number in range(120))
RATES = {"weak": 0.3, "good": 0.8, "better": 0.82}


def drawn(rate: float, seed: int, state: str = "predicted") -> ScoredTable:
    """Return a system that is right with probability `rate` in each dialogue."""
    right = np.random.default_rng([seed, 1]).random(len(UNITS)) < rate
    values = np.column_stack([right, 1 - right, np.ones(len(UNITS))]).astype(float)
    signature = Signature("right", (("state", state), ("rules", "1")))
    share, wrong = (percentage(column, of="all") for column in ("right", "wrong"))
    return ScoredTable(
        Table(UNITS, ("right", "wrong", "all"), values),
        (
            Measure("rate", "Rate", signature, share, 1, cases="all", outcome="right"),
            Measure("share", "Share", Signature("share", ()), share),
            Measure("error", "Error", signature, wrong, lower_is_better=True),
            Measure("richness.words", "Words", Signature("words", ()), share),
        ),
    )


@cache
def of_single_runs() -> Comparison:
    systems = {name: drawn(rate, number) for number, (name, rate) in enumerate(RATES.items())}
    return compare(systems, resampling=FEW, intervals=True)


@cache
def of_several_runs() -> Comparison:
    systems: dict[str, ScoredTable | Mapping[str, ScoredTable]] = {
        name: {f"run {run}": drawn(rate, 10 * number + run) for run in range(3)}
        for number, (name, rate) in enumerate(RATES.items())
    }
    return compare({**systems, "single": drawn(0.7, 99)}, resampling=FEW, intervals=True)


def cells(document: Document) -> dict[tuple[str, str], tuple[str, bool, str]]:
    """Return (system, column) → text, whether it is bold, and its mark."""
    (sheet,) = document.sheets
    return {
        (row[0].text, column): (cell.text, cell.best, cell.mark)
        for row in sheet.rows
        for column, cell in zip(sheet.header[1:], row[1:], strict=True)
    }


@pytest.mark.parametrize("comparison", [of_single_runs, of_several_runs])
def test_the_best_score_is_bold_and_equivalent_scores_have_a_dagger(
    comparison: Callable[[], Comparison],
) -> None:
    found = comparison()
    shown = cells(paper_document(found, "none"))
    for column, name, sign in ("Rate", "rate", 1), ("Share", "share", 1), ("Error ↓", "error", -1):
        measure = found.measure(name)
        values = {system: sign * measure.of(system).value for system in found.systems}
        best = max(values, key=values.__getitem__)
        for system in found.systems:
            p_value = measure.against_best(measure.of(system))
            mark = "†" if p_value is not None and p_value > found.level else ""
            mark += "‡" if len(found.runs[system]) == 3 else ""
            text = f"{abs(values[system]):.{measure.places}f}"
            assert shown[system, column] == (text, system == best, mark)
        assert "†" in {shown[system, column][2][:1] for system in found.systems}
        assert "†" not in shown["weak", column][2]
    assert not any(bold or "†" in mark for (_, c), (_, bold, mark) in shown.items() if c == "Words")


def test_comparison_intervals_match_reports_and_cover_run_variation() -> None:
    comparison = of_single_runs()
    for number, (name, rate) in enumerate(RATES.items()):
        for score in drawn(rate, number).scores(FEW):
            assert comparison.measure(score.name).of(name).interval == score.interval
    for measure in of_several_runs().measures:
        for entry in measure.systems:
            interval = present(entry.interval)
            assert interval.low < entry.value < interval.high
            several = interval.method == "hierarchical-bootstrap"
            assert several == (entry.system != "single")


def test_intervals_are_shown_as_ends_half_widths_or_omitted() -> None:
    comparison = of_single_runs()
    interval = present(comparison.measure("rate").of("better").interval)
    for style, shown in (
        ("ends", f" [{interval.low:.1f}, {interval.high:.1f}]"),
        ("half-width", f" ± {(interval.high - interval.low) / 2:.1f}"),
        ("none", ""),
    ):
        document = paper_document(comparison, style)
        assert cells(document)["better", "Rate"][2].lstrip("†") == shown
        assert ("95 %" in " ".join(document.sheets[0].caption)) == (style != "none")


def test_only_scores_with_the_same_signature_are_compared() -> None:
    systems = {
        "end-to-end": drawn(0.6, 1),
        "weak": drawn(0.2, 2),
        "gold states": drawn(0.99, 3, state="gold"),
    }
    comparison = compare(systems, resampling=FEW, intervals=True)
    document = paper_document(comparison, "none")
    shown = cells(document)
    assert {key for key, (_, best, _) in shown.items() if best} == {
        ("end-to-end", "Rate"),
        ("end-to-end", "Error ↓"),
        ("gold states", "Share"),
    }
    assert shown["gold states", "Rate"][2] == ""
    assert shown["end-to-end", "Share"][2] == ""
    groups = "Rate, Error: end-to-end, weak (state predicted); gold states (state gold)"
    assert groups in document.sheets[0].caption[-1]
