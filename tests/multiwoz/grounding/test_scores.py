"""`--grounded` from predictions to report: what changes which score, and what changes none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mwzeval.comparison import compare
from mwzeval.comparison.gates import worse_than
from mwzeval.metrics.measure import Resampling
from mwzeval.multiwoz.annotations import Goal
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.predictions.reading import Turn
from mwzeval.multiwoz.reasons import kinds
from mwzeval.multiwoz.scoring.scorer import Scorer, Sources
from mwzeval.scores.explanation import Explanation
from mwzeval.scores.score import WHOLE
from tests.places import ROOT, SAMPLE_SYSTEMS, read_json, sample_predictions
from tests.tables import named

Predictions = dict[str, list[dict[str, Any]]]
WORDS = "lexicalized"
OF_WORDS = (
    "mentions",
    "hallucination",
    "consistency",
    "grounded_inform",
    "silent_inform",
    "grounded_success",
)


@cache
def evaluator(**choices: Any) -> Evaluator:
    return Evaluator(success=True, grounded=True, corpus="sample", **choices)


def report(predictions: Predictions) -> dict[str, Any]:
    return evaluator().evaluate(predictions).to_dict()


def grounded(predictions: Predictions) -> dict[str, Any]:
    result: dict[str, Any] = report(predictions)["grounded"]
    return result


def warned(plain: Mapping[str, Any]) -> set[str]:
    return {warning["kind"] for warning in plain["meta"]["warnings"]}


def rows(domain: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_json(ROOT / f"data/sample/db/{domain}_db.json")
    return found


def respoken(predictions: Predictions, say: Callable[[str], str]) -> Predictions:
    return {
        name: [{**turn, "response": say(turn["response"])} for turn in turns]
        for name, turns in predictions.items()
    }


SYSTEMS = [
    system if system in ("good", WORDS) else pytest.param(system, marks=pytest.mark.integration)
    for system in SAMPLE_SYSTEMS
]


@pytest.mark.parametrize("system", SYSTEMS)
def test_no_classic_score_changes(system: str) -> None:
    predictions = sample_predictions(system)
    everything: dict[str, Any] = {"bleu": True, "success": True, "richness": True, "dst": True}
    alone = Evaluator(**everything, corpus="sample").evaluate(predictions).to_dict()
    beside = Evaluator(**everything, corpus="sample", grounded=True).evaluate(predictions).to_dict()
    assert "grounded" not in alone
    for metric in everything:
        assert beside[metric] == alone[metric]
    before = {(s["score"], s["scope"]): s for s in alone["meta"]["scores"]}
    after = {(s["score"], s["scope"]): s for s in beside["meta"]["scores"]}
    assert before.items() <= after.items()


@pytest.mark.parametrize("system", SYSTEMS)
def test_reports_keep_to_the_schema(system: str) -> None:
    schema = read_json(ROOT / "mwzeval" / "report" / "schema.json")
    jsonschema.validate(report(sample_predictions(system)), schema)


def test_the_known_keys_have_the_values_of_the_measures() -> None:
    """Unrounded, as the scores under `meta` are: 100 × hits / dialogues to the last bit."""
    predictions = sample_predictions(WORDS)
    plain = Evaluator(success=True, grounded=True, corpus="sample").evaluate(predictions).to_dict()
    views = {**plain["success"], **plain["grounded"]}
    del views["mentions"]
    for name, by_scope in views.items():
        scores = {s["scope"]: s["value"] for s in plain["meta"]["scores"] if s["score"] == name}
        assert by_scope == scores, name
    values = [value for by_scope in views.values() for value in by_scope.values()]
    assert any(value != round(value, 6) for value in values)


def test_scores_of_words_need_words() -> None:
    plain = report(sample_predictions("good"))
    assert {name: plain["grounded"][name] for name in OF_WORDS} == dict.fromkeys(OF_WORDS)
    assert plain["grounded"]["booking"][WHOLE] > 90
    assert "not-grounded" in warned(plain)
    in_words = report(sample_predictions(WORDS))
    assert None not in in_words["grounded"].values()
    assert "not-grounded" not in warned(in_words)


def test_booking_needs_states_or_bookings() -> None:
    stateless = {
        name: [{"response": turn["response"]} for turn in turns]
        for name, turns in sample_predictions(WORDS).items()
    }
    plain = report(stateless)
    assert plain["grounded"]["booking"] is None
    assert "no-bookings" in warned(plain)
    nothing = {
        name: [{**turn, "bookings": []} for turn in turns] for name, turns in stateless.items()
    }
    plain = report(nothing)
    assert set(plain["grounded"]["booking"].values()) == {0.0}
    assert not warned(plain) & {"no-bookings", "partial-bookings"}
    name = next(iter(nothing))
    partial = {**stateless, name: nothing[name]}
    assert "partial-bookings" in warned(report(partial))


def test_bookings_made_count_before_the_state() -> None:
    """The bookings that the annotation has made, in one turn each, are nearly all right."""
    annotated = {
        name.partition(".")[0].lower(): dialogue
        for name, dialogue in read_json(ROOT / "data/sample/data/MultiWOZ_2.1/data.json").items()
    }
    predictions = sample_predictions("good")
    for name, turns in predictions.items():
        for turn, system in zip(turns, annotated[name]["log"][1::2], strict=True):
            turn["bookings"] = [
                {"domain": domain, "slots": {**made, **slots["book"], "booked": "yes"}}
                for domain, slots in system["metadata"].items()
                for made in slots.get("book", {}).get("booked", ())
                if domain != "taxi"
            ]
    plain = report(predictions)
    assert plain["grounded"]["booking"][WHOLE] > 95
    (score,) = (
        s
        for s in evaluator().evaluate(predictions).scores
        if s.name == "booking" and s.scope == WHOLE
    )
    assert dict(score.signature.choices)["bookings"] == "calls"
    for turns in predictions.values():
        for turn in turns:
            for booking in turn["bookings"]:
                booking["slots"]["people"] = "99"
    assert grounded(predictions)["booking"][WHOLE] == 0


def test_another_venues_number_is_inconsistent_but_not_invented() -> None:
    predictions = sample_predictions(WORDS)
    other: dict[str, str] = {}
    for domain in ("restaurant", "hotel", "attraction"):
        phones = sorted({row["phone"] for row in rows(domain) if row["phone"] != "?"})
        other |= dict(zip(phones, [*phones[1:], phones[0]], strict=True))
    swapped = respoken(
        predictions, lambda said: re.sub(r"\d{11}", lambda m: other.get(m[0], m[0]), said)
    )
    before, after = grounded(predictions), grounded(swapped)
    assert before["consistency"]["phone"] == 100
    assert after["consistency"]["phone"] < 10
    assert after["grounded_success"][WHOLE] < before["grounded_success"][WHOLE]
    for name in ("mentions", "hallucination", "grounded_inform", "booking"):
        assert after[name] == before[name]
    assert report(swapped)["success"] == report(predictions)["success"]


def test_an_invented_number_is_invented_and_inconsistent() -> None:
    predictions = sample_predictions(WORDS)
    invented = respoken(predictions, lambda said: re.sub(r"\d{11}", "01632999999", said))
    before, after = grounded(predictions), grounded(invented)
    assert before["hallucination"]["phone"] == 0
    assert after["hallucination"]["phone"] > 50
    assert after["consistency"]["phone"] == 0
    assert after["grounded_success"][WHOLE] < before["grounded_success"][WHOLE]


def test_an_invented_name_is_a_hallucination_and_no_offer() -> None:
    predictions = sample_predictions(WORDS)
    names = {
        row["name"] for domain in ("restaurant", "hotel", "attraction") for row in rows(domain)
    }
    known = re.compile(
        "|".join(map(re.escape, sorted(names, key=len, reverse=True))), re.IGNORECASE
    )
    invented = respoken(predictions, lambda said: known.sub("Purple Frogmore", said))
    before, after = grounded(predictions), grounded(invented)
    assert before["hallucination"]["name"] == 0
    assert after["hallucination"]["name"] > 90
    assert after["mentions"]["name"] > before["mentions"]["name"] / 3
    assert after["grounded_inform"][WHOLE] < before["grounded_inform"][WHOLE] / 2


def test_a_venue_that_an_alias_hides_is_what_its_name_asks_for() -> None:
    """By the rules "the junction" means the "junction theatre", which the database lacks."""
    gold = evaluator().scorer("sample").gold
    name = next(iter(gold.dialogues))
    goal = {"attraction": Goal({"name": "the junction"}, frozenset())}
    venue = {**gold.tables["attraction"][0], "id": "999", "name": "the junction"}
    tables = {**gold.tables, "attraction": [*gold.tables["attraction"], venue]}
    scorer = Scorer(
        replace(gold, tables=tables, dialogues={name: replace(gold.dialogues[name], goal=goal)}),
        "2021",
    )
    sources = Sources(predicted_states=True, predicted_domains=True, lexicalized=True)
    for response, inform in (("How about the Junction?", True), ("Any wishes?", True)):
        turns = [Turn(response, {}, ("attraction",))]
        found = scorer.grounded(scorer.normalize(name, turns, sources))
        assert bool(found.named) is (response != "Any wishes?")
        assert found.outcome.inform is inform


def test_rows_add_up_to_the_scores() -> None:
    scored = evaluator().score(sample_predictions(WORDS)).scored_table
    sums = scored.table.sums()
    for score in scored.scores():
        if score.name in ("hallucination", "consistency"):
            outcome, cases = {
                "hallucination": ("hallucinated", "mentions"),
                "consistency": ("consistent", "belonging"),
            }[score.name]
            assert score.n == sums[f"{cases}.{score.scope}"]
            assert score.value == 100 * sums[f"{outcome}.{score.scope}"] / score.n
    for cases in ("mentions", "belonging"):
        parts = [c for c in scored.table.columns if c.startswith(f"{cases}.") and WHOLE not in c]
        assert sum(sums[part] for part in parts) == sums[f"{cases}.{WHOLE}"] > 0


def test_a_dialogue_scores_the_same_alone() -> None:
    predictions = sample_predictions(WORDS)
    whole = evaluator().score(predictions).scored_table.table
    for name in list(predictions)[:10]:
        alone = evaluator().score({name: predictions[name]}).scored_table.table
        assert alone.columns == whole.columns
        assert (alone.values == whole.select([name]).values).all()


def test_scores_over_mentions_have_intervals_of_dialogues() -> None:
    cheap = respoken(sample_predictions(WORDS), lambda said: said.replace("moderate", "cheap"))
    scores = evaluator(confidence=0.9).evaluate(cheap).scores
    interval = named(scores, "consistency").interval
    assert interval is not None
    assert interval.method == "bootstrap"
    assert interval.low < named(scores, "consistency").value < interval.high
    assert named(scores, "grounded_inform").interval.method == "wilson"  # type: ignore[union-attr]


def test_less_hallucination_is_better() -> None:
    honest = sample_predictions(WORDS)
    inventing = respoken(honest, lambda said: re.sub(r"\d{11}", "01632999999", said))
    systems = {
        "inventing": evaluator().score(inventing).scored_table,
        "honest": evaluator().score(honest).scored_table,
    }
    how = Resampling(samples=500)
    measure = compare(systems, resampling=how).measure("hallucination")
    assert measure.of("honest").place.rank == 1  # type: ignore[union-attr]
    assert measure.of("inventing").place.rank == 2  # type: ignore[union-attr]
    lines = worse_than(systems["inventing"], systems["honest"], how)
    worse = {line.partition(" ")[0] for line in lines}
    assert {"hallucination", "consistency", "grounded_success"} <= worse
    assert not worse_than(systems["honest"], systems["inventing"], how)


@pytest.fixture(scope="module")
def explained() -> dict[str, Explanation]:
    predictions = respoken(
        sample_predictions(WORDS), lambda said: said.replace("01632960132", "01632960640")
    )
    found = {e.unit: e for e in evaluator().checked(predictions).explain_all()}
    assert len(found) == len(predictions)
    return found


def test_every_loss_in_words_has_its_reason(explained: dict[str, Explanation]) -> None:
    for explanation in explained.values():
        outcomes = explanation.outcomes
        given = [reason for reason in explanation.reasons if reason.outcome.startswith("grounded")]
        assert all(reason.code.partition(":")[0] in kinds() for reason in given)
        whole = outcomes[WHOLE]
        lost_inform = {d for d, of in outcomes.items() if of["grounded_inform"] is False} - {WHOLE}
        assert {r.scope for r in given if r.outcome == "grounded_inform"} == lost_inform
        assert whole["grounded_inform"] is not bool(lost_inform)
        if whole["grounded_inform"]:
            lost = {d for d, of in outcomes.items() if of["grounded_success"] is False} - {WHOLE}
            assert {r.scope for r in given if r.outcome == "grounded_success"} == lost
            assert whole["grounded_success"] is not bool(lost)


def test_a_wrong_number_is_told_with_the_right_one(explained: dict[str, Explanation]) -> None:
    told = [
        reason
        for explanation in explained.values()
        for reason in explanation.reasons
        if reason.code == "said-wrong:phone"
    ]
    assert told
    for reason in told:
        assert "says 01632960640" in reason.text
        assert "01632960132" in reason.text
        assert reason.turn is not None


def test_predictions_with_placeholders_are_explained_as_before() -> None:
    for explanation in evaluator().checked(sample_predictions("good")).explain_all():
        assert set(explanation.outcomes[WHOLE]) == {"inform", "success"}


def test_the_command_prints_and_writes_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mwzeval.cli import main

    output = tmp_path / "report.json"
    system = str(ROOT / "predictions" / f"sample-{WORDS}.json")
    assert main(["evaluate", "-g", "--corpus", "sample", "-i", system, "-o", str(output)]) == 0
    shown = capsys.readouterr().out
    for label in ("Grounded Inform", "Grounded Success", "Booking", "Hallucination", "Consistency"):
        assert label in shown
    assert json.loads(output.read_text())["grounded"] == grounded(sample_predictions(WORDS))


def test_an_input_in_parts_scores_as_a_whole() -> None:
    predictions = sample_predictions(WORDS)
    names = list(predictions)
    parts = evaluator().incremental()
    for start in range(0, len(names), 25):
        parts.update({name: predictions[name] for name in names[start : start + 25]})
    assert parts.compute().metrics["grounded"] == grounded(predictions)


def test_inform_if_silent_is_what_a_system_reaches_that_names_nothing() -> None:
    evaluator = Evaluator(grounded=True, corpus="sample", responses="lexicalized")
    good = sample_predictions("lexicalized")
    silent = {name: [{**turn, "response": "Okay."} for turn in of] for name, of in good.items()}
    of_good, of_silent = (evaluator.evaluate(each).metrics["grounded"] for each in (good, silent))
    assert of_silent["grounded_inform"] == of_silent["silent_inform"] == of_good["silent_inform"]
    assert of_silent["silent_inform"]["taxi"] == 100
    assert of_good["grounded_inform"][WHOLE] > of_good["silent_inform"][WHOLE]
