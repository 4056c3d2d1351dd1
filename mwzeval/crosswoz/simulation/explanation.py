"""A simulated dialogue as people look at it: what both sides said, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mwzeval.crosswoz.predictions.tracks import (
    RESPONSE,
    SELECTED,
    STATE,
    SYSTEM_ACTS,
    SYSTEM_ACTS_NLU,
    USER_ACTS,
    USER_RESPONSE,
)
from mwzeval.crosswoz.scoring.success import (
    NOT_DONE,
    NOT_FINISHED,
    Judgement,
    spelled,
)
from mwzeval.crosswoz.simulation.log import LoggedDialogue
from mwzeval.scores.explanation import Explanation, Fact, Reason, TurnView, Utterance
from mwzeval.scores.score import WHOLE

ACTS = {USER_ACTS: "user acts", SYSTEM_ACTS: "system acts", SYSTEM_ACTS_NLU: "understood as"}


def explain(dialogue: LoggedDialogue, judged: Judgement) -> Explanation:
    """Return what became of a simulated dialogue, and why it failed if it did."""
    finished = dialogue.finished
    return Explanation(
        unit=dialogue.name,
        outcomes={
            WHOLE: {
                "e2e.finish_rate": finished,
                "e2e.inform": judged.inform if finished else None,
                "e2e.success": judged.success if finished and judged.inform else None,
            }
        },
        goal=tuple(_goal_facts(dialogue)),
        turns=tuple(_turn(turn) for turn in dialogue.turns),
        reasons=tuple(_reasons(dialogue, judged)),
    )


def _goal_facts(dialogue: LoggedDialogue) -> Iterator[Fact]:
    yield Fact("goal type", dialogue.goal_type)
    for wanted, final in zip(dialogue.goal, dialogue.final_goal, strict=True):
        what = f"{wanted.slot} = {spelled(wanted.value)}" if wanted.value else wanted.slot
        came = f" → {spelled(final.value)}" if final.value != wanted.value else ""
        label = "wants" if wanted.value else "asks for"
        yield Fact(f"{wanted.subgoal} {label}", f"{what}{came}", wanted.domain)


def _turn(raw: Mapping[str, Any]) -> TurnView:
    said = [
        Utterance(speaker, str(raw[key]))
        for key, speaker in ((USER_RESPONSE, "user"), (RESPONSE, "system"))
        if raw.get(key) is not None
    ]
    facts = [Fact(label, _acts(raw[key])) for key, label in ACTS.items() if raw.get(key)]
    if not said:
        # Without words the acts are what was said.
        said = [
            Utterance(speaker, _acts(raw.get(key) or ()) or "(nothing)")
            for key, speaker in ((USER_ACTS, "user"), (SYSTEM_ACTS, "system"))
        ]
        facts = []
    return TurnView(tuple(said), (*facts, *_domain_facts(raw)))


def _domain_facts(raw: Mapping[str, Any]) -> Iterator[Fact]:
    for key in (STATE, SELECTED):
        domains = raw.get(key)
        for domain, content in domains.items() if isinstance(domains, Mapping) else ():
            if isinstance(content, Mapping) and content:
                yield Fact(key, "; ".join(f"{s}={v}" for s, v in content.items()), str(domain))
            elif isinstance(content, list) and content:
                yield Fact(key, ", ".join(map(str, content)), str(domain))


def _acts(raw: Iterable[Any]) -> str:
    spelling = (act if isinstance(act, str) else "+".join(map(str, act)) for act in raw)
    return ", ".join(spelling)


def _reasons(dialogue: LoggedDialogue, judged: Judgement) -> Iterator[Reason]:
    if not dialogue.finished:
        undone = [line for line in dialogue.final_goal if not line.done]
        for line in undone:
            text = f"sub-goal {line.subgoal}: {line.slot} is {spelled(line.value)} in the end"
            yield Reason(f"{NOT_DONE}:{line.slot}", "e2e.finish_rate", line.domain, None, text)
        if not undone:
            text = f"the user did not end it within {dialogue.n_turns} turns"
            yield Reason(NOT_FINISHED, "e2e.finish_rate", WHOLE, None, text)
        return
    yield from judged.reasons()
