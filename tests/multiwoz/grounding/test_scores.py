"""Grounded scores of predictions in reports, and their failure reasons."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import jsonschema
import pytest

from mwzeval.comparison import compare
from mwzeval.comparison.gates import worse_than
from mwzeval.metrics.measure import Resampling
from mwzeval.multiwoz.annotations import Goal
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.grounding.claims import compare_with_database
from mwzeval.multiwoz.grounding.scores import INFORM, SUCCESS, Words
from mwzeval.multiwoz.predictions import Turn
from mwzeval.multiwoz.reasons import kinds
from mwzeval.multiwoz.schema import NAMED_BY, PROVIDABLE
from mwzeval.multiwoz.scoring.goal_success import DialogueOutcome
from mwzeval.multiwoz.scoring.scorer import NormalizedDialogue, Scorer, Sources
from mwzeval.multiwoz.words.text import Mention
from mwzeval.scores.explanation import Reason
from mwzeval.scores.score import WHOLE
from tests.places import ROOT, SAMPLE_SYSTEMS, read_json, sample_predictions, shared
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


VENUES = [row for domain in ("restaurant", "hotel", "attraction") for row in rows(domain)]


def replace_in_responses(pattern: str, new: str | Callable[[re.Match[str]], str]) -> Predictions:
    """Replace a pattern in the responses of the lexicalized sample predictions."""
    return {
        name: [{**turn, "response": re.sub(pattern, new, turn["response"])} for turn in turns]
        for name, turns in sample_predictions(WORDS).items()
    }


@pytest.mark.parametrize(
    "system",
    [
        system if system in ("good", WORDS) else pytest.param(system, marks=pytest.mark.integration)
        for system in SAMPLE_SYSTEMS
    ],
)
def test_grounded_scores_keep_other_scores_and_match_the_report_schema(system: str) -> None:
    predictions = sample_predictions(system)
    everything: dict[str, Any] = {"bleu": True, "success": True, "richness": True, "dst": True}
    alone, both = (
        Evaluator(**everything, corpus="sample", grounded=with_words).evaluate(predictions)
        for with_words in (False, True)
    )
    before, after = alone.to_dict(), both.to_dict()
    jsonschema.validate(after, read_json(ROOT / "mwzeval" / "report" / "schema.json"))
    assert {name: after[name] for name in everything} == {name: before[name] for name in everything}
    assert "grounded" not in before
    scores, expected = (
        {(score["score"], score["scope"]): score for score in plain["meta"]["scores"]}
        for plain in (after, before)
    )
    assert expected.items() <= scores.items()
    # The keys of the report have the unrounded values of the measures.
    views = {**after["success"], **after["grounded"]}
    del views["mentions"]
    for name, by_scope in views.items():
        values = {scope: s["value"] for (score, scope), s in scores.items() if score == name}
        assert (by_scope or {}) == values


def test_word_scores_require_lexicalized_responses() -> None:
    plain = report(sample_predictions("good"))
    assert {name: plain["grounded"][name] for name in OF_WORDS} == dict.fromkeys(OF_WORDS)
    assert plain["grounded"]["booking"][WHOLE] > 90
    assert "not-grounded" in warned(plain)
    in_words = report(sample_predictions(WORDS))
    assert None not in in_words["grounded"].values()
    assert "not-grounded" not in warned(in_words)
    # Explanations have no grounded outcomes, either.
    for explanation in evaluator().checked(sample_predictions("good")).explain_all():
        assert set(explanation.outcomes[WHOLE]) == {"inform", "success"}


def test_booking_score_requires_states_or_bookings() -> None:
    stateless = {
        name: [{"response": turn["response"]} for turn in turns]
        for name, turns in sample_predictions(WORDS).items()
    }
    nothing = {
        name: [{**turn, "bookings": []} for turn in turns] for name, turns in stateless.items()
    }
    name = next(iter(nothing))
    plain = report(stateless)
    assert plain["grounded"]["booking"] is None
    assert "no-bookings" in warned(plain)
    plain = report(nothing)
    assert set(plain["grounded"]["booking"].values()) == {0.0}
    assert not warned(plain) & {"no-bookings", "partial-bookings"}
    assert "partial-bookings" in warned(report({**stateless, name: nothing[name]}))


def test_explicit_bookings_take_precedence_over_the_state() -> None:
    """Nearly all annotated bookings are right."""
    annotated = {
        name.partition(".")[0].lower(): dialogue
        for name, dialogue in read_json(ROOT / "data/sample/data/MultiWOZ_2.1/data.json").items()
    }
    right, wrong = sample_predictions("good"), sample_predictions("good")
    for predictions, other in ((right, {}), (wrong, {"people": "99"})):
        for name, turns in predictions.items():
            for turn, system in zip(turns, annotated[name]["log"][1::2], strict=True):
                turn["bookings"] = [
                    {"domain": domain, "slots": {**made, **slots["book"], "booked": "yes", **other}}
                    for domain, slots in system["metadata"].items()
                    for made in slots.get("book", {}).get("booked", ())
                    if domain != "taxi"
                ]
    booking = named(evaluator().evaluate(right).scores, "booking")
    assert booking.value > 95
    assert dict(booking.signature.choices)["bookings"] == "calls"
    assert grounded(wrong)["booking"][WHOLE] == 0


def test_phone_of_another_venue_is_inconsistent_but_not_a_hallucination() -> None:
    phones = sorted({row["phone"] for row in VENUES if row["phone"] != "?"})
    others = dict(zip(phones, [*phones[1:], phones[0]], strict=True))
    swapped = replace_in_responses(r"\d{11}", lambda found: others.get(found[0], found[0]))
    before, after = report(sample_predictions(WORDS)), report(swapped)
    assert after["success"] == before["success"]
    before, after = before["grounded"], after["grounded"]
    assert before["consistency"]["phone"] == 100
    assert after["consistency"]["phone"] < 10
    assert after["grounded_success"][WHOLE] < before["grounded_success"][WHOLE]
    for name in ("mentions", "hallucination", "grounded_inform", "booking"):
        assert after[name] == before[name]


def test_invented_phones_and_names_are_hallucinations() -> None:
    before = grounded(sample_predictions(WORDS))
    assert before["hallucination"]["phone"] == before["hallucination"]["name"] == 0
    after = grounded(replace_in_responses(r"\d{11}", "01632999999"))
    assert after["hallucination"]["phone"] > 50
    assert after["consistency"]["phone"] == 0
    assert after["grounded_success"][WHOLE] < before["grounded_success"][WHOLE]
    names = sorted({re.escape(row["name"]) for row in VENUES}, key=len, reverse=True)
    after = grounded(replace_in_responses(f"(?i){'|'.join(names)}", "Purple Frogmore"))
    assert after["hallucination"]["name"] > 90
    assert after["mentions"]["name"] > before["mentions"]["name"] / 3
    assert after["grounded_inform"][WHOLE] < before["grounded_inform"][WHOLE] / 2


def test_venue_hidden_by_an_alias_satisfies_a_goal_with_its_name() -> None:
    """The alias "the junction" stands for "junction theatre", which the database lacks."""
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
    for response, is_named in (("How about the Junction?", True), ("Any wishes?", False)):
        turns = [Turn(response, {}, ("attraction",))]
        found = scorer.grounded(scorer.normalize(name, turns, sources))
        assert bool(found.named) is is_named
        assert found.outcome.inform


def test_intervals_use_the_bootstrap_only_for_mention_scores() -> None:
    scores = evaluator(confidence=0.9).evaluate(replace_in_responses("moderate", "cheap")).scores
    for name, method in (("consistency", "bootstrap"), ("grounded_inform", "wilson")):
        interval = named(scores, name).interval
        assert interval is not None
        assert interval.method == method
        assert interval.low < named(scores, name).value < interval.high


def test_lower_hallucination_ranks_higher() -> None:
    systems = {
        "inventing": evaluator().score(replace_in_responses(r"\d{11}", "01632999999")).scored_table,
        "honest": evaluator().score(sample_predictions(WORDS)).scored_table,
    }
    how = Resampling(samples=500)
    measure = compare(systems, resampling=how).measure("hallucination")
    assert measure.of("honest").place.rank == 1  # type: ignore[union-attr]
    assert measure.of("inventing").place.rank == 2  # type: ignore[union-attr]
    lines = worse_than(systems["inventing"], systems["honest"], how)
    worse = {line.partition(" ")[0] for line in lines}
    assert {"hallucination", "consistency", "grounded_success"} <= worse
    assert not worse_than(systems["honest"], systems["inventing"], how)


def test_incremental_input_has_the_same_grounded_scores() -> None:
    predictions = sample_predictions(WORDS)
    names = list(predictions)
    parts = evaluator().incremental()
    for start in range(0, len(names), 25):
        parts.update({name: predictions[name] for name in names[start : start + 25]})
    assert parts.compute().metrics["grounded"] == grounded(predictions)


def test_silent_inform_equals_the_inform_of_a_system_without_mentions() -> None:
    evaluator = Evaluator(grounded=True, corpus="sample", responses="lexicalized")
    of_good, of_silent = (
        evaluator.evaluate(predictions).metrics["grounded"]
        for predictions in (sample_predictions(WORDS), replace_in_responses("(?s)^.*$", "Okay."))
    )
    assert of_silent["grounded_inform"] == of_silent["silent_inform"] == of_good["silent_inform"]
    assert of_silent["silent_inform"]["taxi"] == 100
    assert of_good["grounded_inform"][WHOLE] > of_good["silent_inform"][WHOLE]


# Correcting the mention that a reason names repairs the failure

CODES = {name: slot for slot, name in PROVIDABLE.items()}


def put_right(scorer: Scorer, dialogue: NormalizedDialogue, reason: Reason) -> DialogueOutcome:
    """Return the outcome of a dialogue after correcting the mentions that a reason names."""
    kind, _, slot = reason.code.partition(":")
    domain, grounded = reason.scope, scorer.grounded(dialogue)
    satisfying = tuple(sorted(grounded.goal[domain].satisfying))
    offered = grounded.outcome.domains[domain].offered or satisfying
    mentions = [list(turn.mentions) for turn in grounded.turns]
    name = NAMED_BY.get(domain, "")
    if kind == "never-said":
        booked = scorer.gold.dialogues[dialogue.name].booked
        turns = [at for at in range(len(mentions)) if slot != "reference" or domain in booked[at]]
        mentions[turns[-1]].append(Mention(0, 1, "?", slot, domain, "right", offered))
    elif kind == "named-nothing":
        mentions[-1].append(Mention(0, 1, "?", name, domain, "right", satisfying[:1]))
    else:
        assert reason.turn is not None
        wrong = {
            (checked.mention.start, slot)
            for checked in grounded.checked
            if checked.turn == reason.turn and f"says {checked.mention.text}, but" in reason.text
        }
        venues = offered
        if kind in ("named-wrong", "named-unknown"):
            of_turn = mentions[reason.turn]
            wrong = {(m.start, name) for m in of_turn if (m.domain, m.slot) == (domain, name)}
            venues = satisfying[:1]
        mentions[reason.turn] = [
            mention._replace(domain=domain, value="right", venues=venues)
            if (mention.start, mention.slot) in wrong
            else mention
            for mention in mentions[reason.turn]
        ]
    said = [replace(turn, mentions=m) for turn, m in zip(grounded.turns, mentions, strict=True)]
    return compare_with_database(grounded.goal, said, scorer.database).outcome


def assert_unmet(words: Words, reason: Reason) -> None:
    """Check that a reason names exactly the constraints that the named venues violate."""
    domain, wanted = reason.scope, words.constraints[reason.scope]
    offered = words.grounded.outcome.domains[domain].offered
    venues = set(offered) - words.grounded.goal[domain].satisfying
    unmet = {slot for slot, value in wanted.items() if f"{slot}={value}" in reason.text}
    met = {slot: value for slot, value in wanted.items() if slot not in unmet}
    find = words.database.find
    assert unmet
    assert venues <= set(find(domain, met))
    for slot in unmet:
        assert not venues <= set(find(domain, {**met, slot: wanted[slot]}))


def checked_reasons(scorer: Scorer, dialogue: NormalizedDialogue) -> Iterator[Reason]:
    """Yield the failure reasons of a dialogue; check that they cause and cover all failures."""
    words = scorer.words(dialogue)
    outcome = words.grounded.outcome
    failed = {
        (domain, SUCCESS if outcome.inform else INFORM)
        for domain, result in outcome.domains.items()
        if not (result.success if outcome.inform else result.inform)
    }
    reasons = [*words.reasons()]
    assert {(reason.scope, reason.outcome) for reason in reasons} == failed
    for reason in reasons:
        kind, _, slot = reason.code.partition(":")
        before = outcome.domains[reason.scope]
        assert kind in kinds()
        yield reason
        if kind == "said-before-booked":
            continue  # The slot was provided, so no change of a mention repairs this failure.
        after = put_right(scorer, dialogue, reason).domains[reason.scope]
        if kind == "named-wrong":
            assert_unmet(words, reason)
        if reason.outcome == INFORM:
            assert (before.inform, after.inform) == (False, True), reason
        else:
            assert CODES[slot] in before.missing
            assert CODES[slot] in after.provided, (dialogue.name, reason)


def reasons_of(made: Evaluator, predictions: Mapping[str, Any]) -> list[Reason]:
    checked = made.checked(dict(predictions))
    return [
        reason
        for name, turns in checked.dialogues.items()
        for reason in checked_reasons(
            checked.scorer, checked.scorer.normalize(name, turns, checked.sources)
        )
    ]


def test_correcting_the_reported_reason_removes_the_failure() -> None:
    reasons = reasons_of(evaluator(), sample_predictions(WORDS))
    reasons += reasons_of(evaluator(), replace_in_responses("the ", "at "))
    reasons += reasons_of(evaluator(), replace_in_responses("01", "09"))
    assert "named-wrong" in {reason.code for reason in reasons}
    wrong = [
        reason.text
        for reason in reasons_of(evaluator(), replace_in_responses("01632960132", "01632960640"))
        if reason.code == "said-wrong:phone"
    ]
    assert wrong
    assert all("says 01632960640" in text and "01632960132" in text for text in wrong)


def test_phone_of_another_venue_is_reported_as_missing_not_wrong() -> None:
    (phone,) = [row["phone"] for row in rows("restaurant") if row["name"] == "casa colibri"]
    for turn, said in (
        (0, f"How about Casa Colibri? The phone number is {phone}."),
        (1, f"Casa Colibri and Bamboo Ladder are nice. Phone: {phone}."),
    ):
        turns = sample_predictions(WORDS)["smp0031"]
        turns[turn]["response"] = said
        turns[2]["response"] = "A table can be had at any time."
        (reason,) = reasons_of(evaluator(), {"smp0031": turns})
        assert reason.code == "never-said:phone"


@pytest.mark.integration
@pytest.mark.parametrize("which", ["corrupted", "clean"])
def test_correcting_the_reported_reason_removes_the_failure_in_logs(which: str) -> None:
    text = shared("golden", "claims", "agent_logs_21.jsonl").read_text(encoding="utf-8")
    logs = [row for row in map(json.loads, text.splitlines()) if row["set"] == which]
    data = str(shared("data", "multiwoz"))
    real = Evaluator(grounded=True, corpus="multiwoz-2.2", data=data, responses=WORDS)
    assert reasons_of(real, {row["dialogue"]: {"messages": row["messages"]} for row in logs})


def facts_of(scored: Any, name: str) -> list[tuple[int, str, str | None, str]]:
    return [
        (at, fact.label, fact.scope, fact.value)
        for at, turn in enumerate(scored.explain(name).turns)
        for fact in turn.facts
    ]


def test_explained_turns_show_utterances_and_function_calls() -> None:
    call = {"name": "find_hotel", "arguments": '{"area": "north", "stars": "4"}'}
    calls = [{"id": "a", "type": "function", "function": call}]
    found = "We have **Marigold Guest House** [1].\nShall I book it?"
    messages = [
        {"role": "user", "content": "a hotel in the north"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "[]"},
        {"role": "assistant", "content": found},
    ]
    scored = evaluator(responses=WORDS).score({"smp0035": {"messages": messages}})
    (turn,) = scored.explain("smp0035").turns
    assert {spoken.speaker: spoken.text for spoken in turn.utterances}["system"] == found
    facts = facts_of(scored, "smp0035")
    assert (0, "called", None, "find_hotel(area=north, stars=4)") in facts
    (says,) = (value for _, label, scope, value in facts if (label, scope) == ("says", "hotel"))
    assert says.startswith("name Marigold Guest House")
    assert "scored as" not in {label for _, label, _, _ in facts}


def test_explanations_show_bookings_if_calls_are_unknown() -> None:
    turns = sample_predictions(WORDS)["smp0034"]
    booking = {"domain": "restaurant", "slots": {"name": "orchid boat", "people": "5"}}
    made = [{**turn, "bookings": [booking] if i == 2 else []} for i, turn in enumerate(turns)]
    facts = facts_of(evaluator().score({"smp0034": made}), "smp0034")
    booked = [fact for fact in facts if fact[1] == "booked"]
    assert booked == [(2, "booked", "restaurant", "name=orchid boat, people=5")]
