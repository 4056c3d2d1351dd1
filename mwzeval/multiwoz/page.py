"""A system on the report page: its report, and all its dialogues explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mwzeval.explanation import Explanation, Fact, TurnView
from mwzeval.multiwoz.explanation import explain_all
from mwzeval.multiwoz.predictions import Dialogues, Turn
from mwzeval.multiwoz.scoring import Scorer, Sources
from mwzeval.report.model import Report
from mwzeval.report.page_model import PageSystem, Words

WORDS = Words("dialogue", "dialogues", "domain")


def page_system(name: str, report: Report, dialogues: Dialogues, scorer: Scorer) -> PageSystem:
    """Return what the page shows of a system: its report, and its checked dialogues explained."""
    return PageSystem(
        name=name,
        scores=report.scores,
        explanations=explanations(dialogues, scorer),
        warnings=report.warnings,
        meta={**report.meta, "coverage": _in_short(report.meta["coverage"])},
    )


def _in_short(coverage: Mapping[str, Any]) -> dict[str, Any]:
    """Return a coverage without the domains that are all there."""
    domains = {name: of for name, of in coverage["domains"].items() if of["scored"] < of["of"]}
    return {**coverage, "domains": domains or None}


def explanations(dialogues: Dialogues, scorer: Scorer) -> tuple[Explanation, ...]:
    """Return the explanations of dialogues, each response in the words of the predictions.

    Predictions without any response can neither keep nor lose Inform and Success: their
    explanations have no outcomes and no reasons, only what was said and the states.
    """
    sources = Sources.of(dialogues.values())
    explained = (
        _as_written(explanation, dialogues[explanation.unit])
        for explanation in explain_all(scorer, dialogues, sources)
    )
    if any(turn.response is not None for turns in dialogues.values() for turn in turns):
        return tuple(explained)
    return tuple(replace(explanation, outcomes={}, reasons=()) for explanation in explained)


def _as_written(explanation: Explanation, turns: Sequence[Turn]) -> Explanation:
    pairs = zip(explanation.turns, turns, strict=True)
    return replace(
        explanation, turns=tuple(_turn_as_written(view, turn.response) for view, turn in pairs)
    )


def _turn_as_written(view: TurnView, response: str | None) -> TurnView:
    """Return the view with the response as it was predicted, and as it was scored as a fact."""
    if response is None:
        said = tuple(spoken for spoken in view.utterances if spoken.speaker != "system")
        return replace(view, utterances=said)
    scored = next(spoken.text for spoken in view.utterances if spoken.speaker == "system")
    if scored == response:
        return view
    return TurnView(
        utterances=tuple(
            replace(spoken, text=response) if spoken.speaker == "system" else spoken
            for spoken in view.utterances
        ),
        facts=(Fact("scored as", scored), *view.facts),
    )
