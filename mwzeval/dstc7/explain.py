"""Explanations of examples: the context, the best-ranked candidates, and why a hit was missed."""

from __future__ import annotations

from mwzeval.dstc7.loading import Loaded
from mwzeval.dstc7.measures import CUTOFFS, NOTHING, found_positions, ranked_ids, select
from mwzeval.dstc7.tracks import NONE
from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.scores.explanation import Explanation, Fact, Reason, TurnView, Utterance
from mwzeval.scores.score import WHOLE

EXPLAINED = (1, 10)
"""The cut-offs of the hits that are the outcomes of an example."""

SHOWN = 10
"""The number of top-ranked candidates that are shown, in addition to correct candidates."""

MEANINGS = {
    "ranked-below": "The right candidate is in the ranking, but not at the top.",
    "not-ranked": "The right candidate is not in the ranking.",
    "none-first": "NONE is ranked first, but one of the candidates is right.",
    "none-below": "No candidate is right, but NONE is not ranked first.",
    "no-none": "No candidate is right, but NONE is not in the ranking.",
    "not-selected": "The right candidate is not among the choices that the F-score selects.",
    "empty-ranking": "The ranking is empty.",
    "not-submitted": "The example is not in the submission.",
}
"""The failure reasons of a missed hit (docs/dstc7.md); `ranked-below` and `none-below` end with the
rank."""

RIGHT, SELECTED = "right", "selected"
"""The marks of correct candidates, and of candidates that the F-score selects."""


def explain(loaded: Loaded, example: str) -> Explanation:
    """Return the explanation of an example: its outcomes, and the reason if a hit was missed.

    The turns are the messages of the context, followed by a turn with the ranked candidates. Raises
    `UsageError` for an example without targets.
    """
    if example not in loaded.targets:
        known = list(loaded.targets)
        raise UsageError(f'no example "{shorten(example)}"{did_you_mean(example, known)}')
    is_fscore = loaded.options.metric == "fscore"
    answers = tuple(dict.fromkeys(loaded.targets[example]))
    ranking = loaded.submission.get(example, NOTHING)
    ids = tuple(ranked_ids(ranking, loaded.options))
    found = found_positions(ids, answers)
    rank = found[0] if found else 0
    selected: tuple[str, ...] = ()
    if is_fscore:
        selected, _ = select(ranking, answers, loaded.options.coverage)
    confidences: dict[str, float | None] = {}
    for identity, number in zip(ranking.ids, ranking.confidences, strict=True):
        confidences.setdefault(identity, number)
    data = loaded.examples.get(example)
    offered = (*data.candidates, *(data.correct or ())) if data else ()
    texts = {option.candidate_id: option.utterance for option in offered}
    pool = loaded.pool or {}

    def text(identity: str) -> str:
        if identity == NONE:
            return "(none of the candidates)"
        unknown = "(text unknown: no dialogues or pool)"
        return texts[identity] if identity in texts else pool.get(identity, unknown)

    goal = []
    places = {ids[place - 1]: place for place in found}
    for identity in answers:
        place = places.get(identity)
        where = f"ranked {place} of {len(ids)}" if place else "not ranked"
        goal.append(Fact(RIGHT, f"{identity}, {where}: {text(identity)}"))

    ranked = []
    for place, identity in enumerate(ids, start=1):
        if place <= SHOWN or identity in answers:
            number = confidences[identity]
            sure = "" if number is None else f" ({number:.4g})"
            marks = [RIGHT] * (identity in answers) + [SELECTED] * (identity in selected)
            mark = ", ".join(marks) or None
            ranked.append(Fact(str(place), f"{identity}{sure}: {text(identity)}", mark))

    def why() -> tuple[str, str]:
        """Return the failure reason of an example, and a sentence that describes the reason."""
        if example not in loaded.submission:
            return "not-submitted", "the example is not in the submission"
        if not ids:
            return "empty-ranking", "the ranking is empty"
        right = ids[rank - 1] if rank else answers[0]
        if not rank:
            code = "no-none" if right == NONE else "not-ranked"
            what = "NONE" if right == NONE else "the right answer"
            return code, f"{what} is not among the {len(ids)} ranked candidates"
        above = f"{rank - 1} ranked above it, first {ids[0]}: {text(ids[0])}"
        if is_fscore:
            return "not-selected", f"{right} is not among the {len(selected)} selected; {above}"
        if ids[0] == NONE:
            return "none-first", f"NONE is ranked first, but {right} is right, ranked {rank}"
        code = "none-below" if right == NONE else "ranked-below"
        return f"{code}:{_span(rank)}", f"{right} is ranked {rank}; {above}"

    outcomes: dict[str, bool | None] = {f"recall@{k}": 0 < rank <= k for k in EXPLAINED}
    if is_fscore:
        outcomes = {SELECTED: bool(set(selected) & set(answers))}
    lost = [name for name, outcome in outcomes.items() if not outcome]
    messages = data.messages if data else ()
    return Explanation(
        unit=example,
        outcomes={WHOLE: outcomes},
        goal=tuple(goal),
        turns=(
            *(TurnView((Utterance(m.speaker, m.utterance),), ()) for m in messages),
            TurnView((), tuple(ranked)),
        ),
        reasons=tuple(
            Reason(code, outcome, WHOLE, len(messages), reason)
            for outcome in lost
            for code, reason in [why()]
        ),
    )


def _span(rank: int) -> str:
    """Return the range of cut-offs around a rank: `2`, `3-5`, `6-10`, …, `over-100`."""
    low = 1
    for high in CUTOFFS:
        if rank <= high:
            return str(high) if low == high else f"{low}-{high}"
        low = high + 1
    return f"over-{CUTOFFS[-1]}"
