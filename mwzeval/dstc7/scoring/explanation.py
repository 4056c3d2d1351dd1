"""An example as people look at it: what was said, what was ranked above the right answer, and why
that lost a hit.
"""

from __future__ import annotations

from collections.abc import Iterator

from mwzeval.dstc7.reading.loading import Loaded
from mwzeval.dstc7.reading.tracks import NONE
from mwzeval.dstc7.scoring.measures import NOTHING, ranked_ids, select
from mwzeval.dstc7.scoring.ranking import CUTOFFS, found_positions
from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.scores.explanation import Explanation, Fact, Reason, TurnView, Utterance
from mwzeval.scores.score import WHOLE

EXPLAINED = (1, 10)
"""The cut-offs whose hits are outcomes of an example."""

SHOWN = 10
"""How many candidates of a ranking are shown, besides the right ones."""

MEANINGS = {
    "ranked-below": "The right candidate stands below the first place, or the first ten.",
    "not-ranked": "The right candidate is not in the ranking.",
    "none-first": "NONE stands first, but a candidate is right.",
    "none-below": "NONE is right, and stands below.",
    "no-none": "NONE is right, and is not ranked.",
    "not-selected": "The right choice is not among those that the F-score counts as selected.",
    "empty-ranking": "Nothing is ranked.",
    "not-submitted": "The example is not in the submission.",
}
"""Why a hit was lost; behind `ranked-below` and `none-below` stands where the right answer is. The
same is in docs/dstc7.md."""

RIGHT, SELECTED = "right", "selected"
"""Marks of a candidate: it is correct; the F-score counts it as selected."""

NONE_TEXT = "(none of the candidates)"
UNKNOWN_TEXT = "(text not known: no dialogues or pool)"


def explain(loaded: Loaded, example: str) -> Explanation:
    """Return what became of an example of the targets, and why it was lost if it was.

    Its turns are the messages of the context, then one with the ranked candidates. Raises
    `UsageError` for an example without targets.
    """
    if example not in loaded.targets:
        known = list(loaded.targets)
        raise UsageError(f'no example "{shorten(example)}"{did_you_mean(example, known)}')
    return _Case(loaded, example).explanation()


def explain_all(loaded: Loaded) -> Iterator[Explanation]:
    """Yield the explanations of all target examples, in their order."""
    for example in loaded.targets:
        yield _Case(loaded, example).explanation()


class _Case:
    """One example with all that is known about it."""

    def __init__(self, loaded: Loaded, example: str) -> None:
        self._loaded = loaded
        self._name = example
        self._is_submitted = example in loaded.submission
        self._answers = tuple(dict.fromkeys(loaded.targets[example]))
        self._ranking = loaded.submission.get(example, NOTHING)
        self._ids = tuple(ranked_ids(self._ranking, loaded.options))
        self._found = found_positions(self._ids, self._answers)
        self._rank = self._found[0] if self._found else 0
        self._selected: tuple[str, ...] = ()
        if loaded.options.metric == "fscore":
            self._selected, _ = select(self._ranking, self._answers, loaded.options.coverage)
        data = loaded.examples.get(example)
        self._messages = data.messages if data else ()
        self._texts = {c.candidate_id: c.utterance for c in data.candidates} if data else {}
        if data is not None:
            self._texts |= {c.candidate_id: c.utterance for c in data.correct or ()}

    def explanation(self) -> Explanation:
        said = (TurnView((Utterance(m.speaker, m.utterance),), ()) for m in self._messages)
        ranked = TurnView((), tuple(self._ranked()))
        return Explanation(
            unit=self._name,
            outcomes={WHOLE: self._outcomes()},
            goal=tuple(self._right_answers()),
            turns=(*said, ranked),
            reasons=tuple(self._reasons()),
        )

    def _outcomes(self) -> dict[str, bool | None]:
        if self._loaded.options.metric == "fscore":
            return {SELECTED: bool(set(self._selected) & set(self._answers))}
        return {f"recall@{k}": 0 < self._rank <= k for k in EXPLAINED}

    def _right_answers(self) -> Iterator[Fact]:
        places = {self._ids[place - 1]: place for place in self._found}
        for identity in self._answers:
            place = places.get(identity)
            where = f"ranked {place} of {len(self._ids)}" if place else "not ranked"
            yield Fact(RIGHT, f"{identity}, {where}: {self._text(identity)}")

    def _ranked(self) -> Iterator[Fact]:
        """Yield the first candidates, and the right ones wherever they are."""
        confidences: dict[str, float | None] = {}
        for identity, number in zip(self._ranking.ids, self._ranking.confidences, strict=True):
            confidences.setdefault(identity, number)
        right = set(self._answers)
        for place, identity in enumerate(self._ids, start=1):
            if place <= SHOWN or identity in right:
                number = confidences[identity]
                sure = "" if number is None else f" ({number:.4g})"
                yield Fact(
                    str(place), f"{identity}{sure}: {self._text(identity)}", self._mark(identity)
                )

    def _mark(self, identity: str) -> str | None:
        marks = [RIGHT] if identity in self._answers else []
        marks += [SELECTED] if identity in self._selected else []
        return ", ".join(marks) or None

    def _text(self, identity: str) -> str:
        if identity == NONE:
            return NONE_TEXT
        if identity in self._texts:
            return self._texts[identity]
        return (self._loaded.pool or {}).get(identity, UNKNOWN_TEXT)

    def _reasons(self) -> Iterator[Reason]:
        lost = [name for name, outcome in self._outcomes().items() if not outcome]
        if lost:
            code, text = self._why()
            for outcome in lost:
                yield Reason(code, outcome, WHOLE, len(self._messages), text)

    def _why(self) -> tuple[str, str]:
        """Return the kind of loss, and a sentence."""
        if not self._is_submitted:
            return "not-submitted", "the example is not in the submission"
        if not self._ids:
            return "empty-ranking", "the ranking is empty"
        top = self._ids[0]
        right = self._answers[0] if not self._rank else self._ids[self._rank - 1]
        if not self._rank:
            code = "no-none" if right == NONE else "not-ranked"
            what = "NONE" if right == NONE else "the right answer"
            return code, f"{what} is not among the {len(self._ids)} that are ranked"
        above = f"{self._rank - 1} above it, first {top}: {self._text(top)}"
        if self._loaded.options.metric == "fscore":
            count = len(self._selected)
            return "not-selected", f"{right} is not among the {count} selected; {above}"
        if top == NONE:
            return "none-first", f"NONE stands first, but {right} is right, ranked {self._rank}"
        code = "none-below" if right == NONE else "ranked-below"
        return f"{code}:{_span(self._rank)}", f"{right} is ranked {self._rank}; {above}"


def _span(rank: int) -> str:
    """Return between which cut-offs a rank lies: `2`, `3-5`, `6-10`, …, `over-100`."""
    low = 1
    for high in CUTOFFS:
        if rank <= high:
            return str(high) if low == high else f"{low}-{high}"
        low = high + 1
    return f"over-{CUTOFFS[-1]}"
