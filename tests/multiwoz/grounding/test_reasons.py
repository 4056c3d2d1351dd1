"""Reasons of grounded losses: what each names, put right, wins what was lost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import pytest

from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.grounding.scores import INFORM, Words
from mwzeval.multiwoz.reasons import kinds
from mwzeval.multiwoz.schema import NAMED_BY, PROVIDABLE
from mwzeval.multiwoz.scoring.goal_success import DialogueOutcome
from mwzeval.multiwoz.scoring.scorer import NormalizedDialogue, Scorer
from mwzeval.multiwoz.words.text import Mention
from mwzeval.scores.explanation import Reason, explanation_text
from tests.multiwoz.grounding.test_scores import WORDS, evaluator, respoken, rows
from tests.places import sample_predictions, shared

Mentions = list[list[Mention]]
CODES = {said: slot for slot, said in PROVIDABLE.items()}


def judged(scorer: Scorer, dialogue: NormalizedDialogue, mentions: Mentions) -> DialogueOutcome:
    """Return what a dialogue is worth that mentions other things, by the scorer's own judgement."""
    wanted = scorer.grounded(dialogue).goal
    turns = scorer.grounded(dialogue).turns
    said = [replace(turn, mentions=m) for turn, m in zip(turns, mentions, strict=True)]
    return scorer.grounding.judge(wanted, said).outcome


def put_right(scorer: Scorer, dialogue: NormalizedDialogue, reason: Reason) -> DialogueOutcome:
    """Return the outcome of a dialogue with the one thing put right that a reason names."""
    kind, _, slot = reason.code.partition(":")
    domain = reason.scope
    grounded = scorer.grounded(dialogue)
    venues = tuple(sorted(grounded.goal[domain].satisfying))
    mentions = [list(turn.mentions) for turn in grounded.turns]
    if kind == "said-wrong":
        right = grounded.outcome.domains[domain].offered or venues
        assert reason.turn is not None
        starts = {
            each.mention.start
            for each in grounded.checked
            if each.turn == reason.turn and f"says {each.mention.text}, but" in reason.text
        }
        mentions[reason.turn] = [
            said._replace(domain=domain, value="right", venues=right)
            if said.start in starts and said.slot == slot
            else said
            for said in mentions[reason.turn]
        ]
    elif kind == "never-said":
        right = grounded.outcome.domains[domain].offered or venues
        booked = scorer.gold.dialogues[dialogue.name].booked
        turns = [at for at in range(len(mentions)) if slot != "reference" or domain in booked[at]]
        mentions[turns[-1]].append(Mention(0, 1, "?", slot, domain, "right", right))
    elif kind in ("named-wrong", "named-unknown"):
        assert reason.turn is not None
        mentions[reason.turn] = [
            said._replace(value="right", venues=venues[:1])
            if (said.domain, said.slot) == (domain, NAMED_BY[domain])
            else said
            for said in mentions[reason.turn]
        ]
    elif kind == "named-nothing":
        mentions[-1].append(Mention(0, 1, "?", NAMED_BY[domain], domain, "right", venues[:1]))
    return judged(scorer, dialogue, mentions)


def assert_unmet(words: Words, reason: Reason) -> None:
    """The constraints that a reason names are those that the venues named do not satisfy."""
    domain, wanted = reason.scope, words.constraints[reason.scope]
    offered = words.grounded.outcome.domains[domain].offered
    venues = set(offered) - words.grounded.goal[domain].satisfying
    named = {slot for slot, value in wanted.items() if f"{slot}={value}" in reason.text}
    met = {slot: value for slot, value in wanted.items() if slot not in named}
    assert named
    assert venues <= set(words.grounding.database.find(domain, met))
    for slot in named:
        assert not venues <= set(words.grounding.database.find(domain, {**met, slot: wanted[slot]}))


def assert_reasons_are_causes(scorer: Scorer, dialogue: NormalizedDialogue) -> Iterator[Reason]:
    words = scorer.words(dialogue)
    before = words.grounded.outcome
    for reason in words.reasons():
        kind, _, slot = reason.code.partition(":")
        assert kind in kinds()
        yield reason
        if kind == "said-before-booked":
            continue  # It was said; no other word would have won it.
        after = put_right(scorer, dialogue, reason).domains[reason.scope]
        if kind == "named-wrong":
            assert_unmet(words, reason)
        if reason.outcome == INFORM:
            assert (before.domains[reason.scope].inform, after.inform) == (False, True), reason
        else:
            assert CODES[slot] in before.domains[reason.scope].missing
            assert CODES[slot] in after.provided, (dialogue.name, reason)


def normalized(
    made: Evaluator, predictions: Mapping[str, Any]
) -> Iterator[tuple[Scorer, NormalizedDialogue]]:
    checked = made.checked(dict(predictions))
    for name, turns in checked.dialogues.items():
        yield checked.scorer, checked.scorer.normalize(name, turns, checked.sources)


def told(made: Evaluator, predictions: Mapping[str, Any]) -> set[str]:
    return {
        reason.code.partition(":")[0]
        for scorer, dialogue in normalized(made, predictions)
        for reason in assert_reasons_are_causes(scorer, dialogue)
    }


def test_what_a_reason_names_is_the_cause() -> None:
    honest = sample_predictions(WORDS)
    kinds = told(evaluator(), honest)
    for old, new in (("01632960132", "01632960640"), ("the ", "at "), ("01", "09")):
        kinds |= told(evaluator(), respoken(honest, partial(_replaced, old, new)))
    assert {"said-wrong", "named-wrong"} <= kinds


def _replaced(old: str, new: str, said: str) -> str:
    return said.replace(old, new)


def test_what_is_said_of_another_venue_is_not_said_wrongly() -> None:
    (phone,) = [row["phone"] for row in rows("restaurant") if row["name"] == "casa colibri"]
    turns = sample_predictions(WORDS)["smp0031"]
    turns[0]["response"] = f"How about Casa Colibri? The phone number is {phone}."
    turns[2]["response"] = "A table can be had at any time."
    for scorer, dialogue in normalized(evaluator(), {"smp0031": turns}):
        (reason,) = assert_reasons_are_causes(scorer, dialogue)
        assert reason.code == "never-said:phone"


@cache
def logs() -> Sequence[Mapping[str, Any]]:
    lines = shared("golden", "claims", "agent_logs_21.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in lines.splitlines()]


@pytest.mark.integration
@pytest.mark.parametrize("which", ["corrupted", "clean"])
def test_what_a_reason_names_in_a_log_is_the_cause(which: str) -> None:
    made = Evaluator(
        success=True,
        grounded=True,
        corpus="multiwoz-2.2",
        data=str(shared("data", "multiwoz")),
        responses="lexicalized",
    )
    chosen = {
        row["dialogue"]: {"messages": row["messages"]} for row in logs() if row["set"] == which
    }
    assert told(made, chosen)


def test_turns_show_the_words_and_what_was_called() -> None:
    call = {"name": "find_hotel", "arguments": '{"area": "north", "stars": "4"}'}
    found = "We have **Marigold Guest House** [1].\nShall I book it?"
    messages = [
        {"role": "user", "content": "a hotel in the north"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": "a", "content": "[]"},
        {"role": "assistant", "content": found},
    ]
    scored = evaluator(responses="lexicalized").score({"smp0035": {"messages": messages}})
    (turn,) = scored.explain("smp0035").turns
    said = {spoken.speaker: spoken.text for spoken in turn.utterances}
    assert said["system"] == found
    facts = {(fact.label, fact.scope): fact.value for fact in turn.facts}
    assert facts["called", None] == "find_hotel(area=north, stars=4)"
    assert facts["says", "hotel"].startswith("name Marigold Guest House")
    assert not any(fact.label == "scored as" for fact in turn.facts)
    shown = explanation_text(scored.explain("smp0035"))
    assert "We have **Marigold Guest House** [1].\n" in shown
    assert "called       find_hotel(area=north, stars=4)" in shown


def test_bookings_are_shown_where_calls_are_not_known() -> None:
    turns = sample_predictions(WORDS)["smp0034"]
    booking = {"domain": "restaurant", "slots": {"name": "orchid boat", "people": "5"}}
    made = [{**turn, "bookings": [booking] if i == 2 else []} for i, turn in enumerate(turns)]
    scored = evaluator().score({"smp0034": made})
    booked = [
        (at, fact.scope, fact.value)
        for at, view in enumerate(scored.explain("smp0034").turns)
        for fact in view.facts
        if fact.label == "booked"
    ]
    assert booked == [(2, "restaurant", "name=orchid boat, people=5")]
