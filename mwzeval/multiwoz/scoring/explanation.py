"""A scored dialogue as people look at it: what the scorer made of each turn, and what was lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mwzeval.metrics.goal_success import (
    DialogueOutcome,
    DomainGoal,
    NeedsOffer,
    Progress,
)
from mwzeval.multiwoz.corpus.gold import GoldDialogue
from mwzeval.multiwoz.database.venues import Row, id_column
from mwzeval.multiwoz.grounding.reasons import Words
from mwzeval.multiwoz.normalization.normalize import natural_spacing
from mwzeval.multiwoz.predictions.reading import Dialogues, Turn
from mwzeval.multiwoz.scoring.reasons import losses, spelled
from mwzeval.multiwoz.scoring.repairs import Case
from mwzeval.multiwoz.scoring.scorer import NormalizedDialogue, Scorer, Sources
from mwzeval.scores.explanation import Explanation, Fact, Reason, TurnView, Utterance
from mwzeval.scores.score import WHOLE

SHOWN_VENUES = 3
"""How many venues are named before they are only counted."""


def explain(scorer: Scorer, dialogue: NormalizedDialogue) -> Explanation:
    """Return what became of a dialogue, turn by turn, and why what was lost was lost."""
    case = Case.of(scorer, dialogue)
    names = _Names(scorer.gold.tables)
    explanation = Explanation(
        unit=dialogue.name,
        outcomes=_outcomes(case.outcome()),
        goal=tuple(_goal_facts(case, names)),
        turns=tuple(_turn_views(case, scorer.gold.dialogues[dialogue.name], names)),
        reasons=reasons(case),
    )
    return explanation if dialogue.mentions is None else _with_words(explanation, scorer, dialogue)


def _with_words(
    explanation: Explanation, scorer: Scorer, dialogue: NormalizedDialogue
) -> Explanation:
    """Return an explanation with what became of the words, where responses are in words."""
    words = Words(
        scorer.grounded(dialogue),
        scorer.named_and_said(dialogue),
        scorer.gold.dialogues[dialogue.name].booked,
        scorer.grounding.facts,
    )
    in_words = words.outcomes()
    return replace(
        explanation,
        outcomes={
            scope: {**kept, **in_words[None if scope == WHOLE else scope]}
            for scope, kept in explanation.outcomes.items()
        },
        turns=tuple(
            replace(view, facts=(*view.facts, *words.turn_facts(turn)))
            for turn, view in enumerate(explanation.turns)
        ),
        reasons=(*explanation.reasons, *words.reasons()),
    )


def explain_all(scorer: Scorer, dialogues: Dialogues, sources: Sources) -> Iterator[Explanation]:
    """Yield the explanations of checked dialogues, in their order."""
    for name, turns in dialogues.items():
        yield explain(scorer, scorer.normalize(name, turns, sources))


def explanation_as_written(
    scorer: Scorer, name: str, turns: Sequence[Turn], sources: Sources
) -> Explanation:
    """Return the explanation of a dialogue, each response in the words of the predictions."""
    return _as_written(explain(scorer, scorer.normalize(name, turns, sources)), turns)


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


def reasons(case: Case) -> tuple[Reason, ...]:
    """Return why Inform or Success was lost; nothing when neither was."""
    return tuple(
        Reason(loss.code, loss.outcome, loss.domain, loss.turn, loss.text) for loss in losses(case)
    )


def _outcomes(outcome: DialogueOutcome) -> dict[str, dict[str, bool | None]]:
    whole: dict[str, bool | None] = {"inform": outcome.inform, "success": outcome.success}
    return {WHOLE: whole} | {
        domain: {"inform": result.inform, "success": result.success}
        for domain, result in outcome.domains.items()
    }


def _goal_facts(case: Case, names: _Names) -> Iterator[Fact]:
    for domain, wanted in case.goal.items():
        constraints = case.constraints[domain]
        yield Fact("wants", spelled(constraints), domain)
        if wanted.needs_offer is not NeedsOffer.NEVER:
            satisfying = case.database.query(domain, constraints)
            yield Fact("satisfied by", names.counted(domain, satisfying), domain)
        if wanted.requested:
            yield Fact("asks for", ", ".join(sorted(wanted.requested)), domain)


def _turn_views(case: Case, gold: GoldDialogue, names: _Names) -> Iterator[TurnView]:
    progress = Progress(case.goal)
    has_offered: set[str] = set()
    for index, acts in enumerate(case.acts()):
        turn = case.turns[index]
        before = {domain: frozenset(slots) for domain, slots in progress.provided.items()}
        progress.advance(acts)
        facts = [Fact("active", ", ".join(turn.active_domains) or "none")]
        facts += [Fact("state", spelled(slots), domain) for domain, slots in turn.state.items()]
        for domain, act in acts.items():
            if act.found is not None:
                has_offered.add(domain)
                facts.append(Fact("matched", names.counted(domain, act.found), domain))
        for domain, wanted in case.goal.items():
            if domain in has_offered:
                facts.append(_offer(domain, progress.offered[domain], wanted, names))
            if new := progress.provided[domain] - before[domain]:
                facts.append(Fact("provided", ", ".join(sorted(new)), domain))
        yield TurnView(
            utterances=(
                Utterance("user", gold.user_utterances[index]),
                Utterance("system", natural_spacing(turn.response)),
                Utterance("reference", gold.references[index]),
            ),
            facts=tuple(facts),
        )


def _offer(domain: str, offered: tuple[str, ...], wanted: DomainGoal, names: _Names) -> Fact:
    remark = ""
    if offered and wanted.needs_offer is not NeedsOffer.NEVER:
        satisfying = len(wanted.satisfying.intersection(offered))
        share = {0: "none", len(offered): "all"}.get(satisfying, str(satisfying))
        remark = f" (satisfying the goal: {share})"
    return Fact("on offer", names.counted(domain, offered, remark), domain)


class _Names:
    """What the venues of a database are called; a train is called by its id."""

    def __init__(self, tables: Mapping[str, Sequence[Row]]) -> None:
        self._of = {
            (domain, str(row[id_column(domain)])): str(row["name"])
            for domain, rows in tables.items()
            for row in rows
            if domain != "train"
        }

    def counted(self, domain: str, ids: Sequence[str], remark: str = "") -> str:
        """Return how many venues there are, a remark, and the first of their names."""
        if not ids:
            return "no venue"
        shown = [self._of.get((domain, venue), venue) for venue in ids[:SHOWN_VENUES]]
        rest = ", …" if len(ids) > SHOWN_VENUES else ""
        kind = "venue" if len(ids) == 1 else "venues"
        return f"{len(ids)} {kind}{remark}: {', '.join(shown)}{rest}"
