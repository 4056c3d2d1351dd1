"""Why a unit scored as it did: what a benchmark says of a unit, for terminal and page alike.

Nothing here knows a benchmark. Each turns a scored unit into an `Explanation`; texts are plain and
may come from anybody, so whoever shows them escapes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mwzeval.scores.score import WHOLE

USER, SYSTEM = "user", "system"
"""The speaker whose utterances are predicted."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a 0/1 outcome was lost.

    `code` is a kind, perhaps with a detail behind a colon (`never-gave:phone`); `outcome` what was
    lost (`inform`); `scope` the part of the unit concerned (a domain); `turn` where it was lost,
    from 0, None when no single turn did it; `text` says it in a sentence. `evidence` is the label
    of the facts with which a turn shows that it was not lost; empty for any fact.
    """

    code: str
    outcome: str
    scope: str
    turn: int | None
    text: str
    evidence: str = ""


MISSING, SPURIOUS, WRONG = "missing", "spurious", "wrong"
"""Labels of facts that tell what is wrong with a prediction, or what such labels end in: `user
acts, missing`."""


class Fact(NamedTuple):
    """A line of detail: what it is, about which part of the unit (or None), and its value."""

    label: str
    value: str
    scope: str | None = None


class Utterance(NamedTuple):
    """What somebody said; `speaker` is `user`, `system` or `reference`."""

    speaker: str
    text: str


RIGHT, INCONSISTENT, UNKNOWN, UNJUDGED = "right", "inconsistent", "unknown", "unjudged"
VERDICTS = (UNKNOWN, INCONSISTENT, RIGHT, UNJUDGED)
"""What becomes of a claim, the worst first: nothing has it; it is of another; it is so; open."""
SHOWN_NAMES = 3
"""How many names or values of a claim are shown before the rest is left out."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What the system says of something, and whether it is so.

    `text` is what stands from `start` to `end` (characters) of the response of `turn` as it was
    written; `domain`, `slot` and `value` are as what it was read, `value` in the database's
    spelling, None where the database has no such value. `venue` names the first of the `venues`
    (their number) that it is about, none where it names one or where that is open.

    `verdict` is the worst that the sources of `held_against` (`database`, `log`) say; `right` are
    the values that would be right. What each source says: the database has such a value (`known`),
    and a venue that it is about has it (`agrees`); tools have returned it (`log_agrees`); None
    where it cannot tell.
    """

    turn: int
    start: int
    end: int
    text: str
    domain: str | None
    slot: str
    value: str | None
    venue: tuple[str, ...]
    venues: int
    verdict: str
    right: tuple[str, ...]
    held_against: tuple[str, ...]
    known: bool | None
    agrees: bool | None
    log_agrees: bool | None

    @property
    def is_flagged(self) -> bool:
        """Tell whether it is not so."""
        return self.verdict in (INCONSISTENT, UNKNOWN)

    def told(self) -> str:
        """Return what is said, of what, what would be right, and by what, on one line."""
        words = " ".join(self.text.split())
        return f"{self.slot} {words}{self.remarks()}"

    def remarks(self) -> str:
        """Return what is to be told of the words, in brackets; nothing when there is nothing."""
        words = " ".join(self.text.split())
        remarks = []
        if self.value is not None and self.value.casefold() != words.casefold():
            remarks.append(f"read as {self.value}")
        if self.venue:
            remarks.append(f"of {_some(self.venue, self.venues)}")
        if self.is_flagged and self.right:
            remarks.append(f"right: {_some(self.right, len(self.right))}")
        if self.is_flagged and self.log_agrees:
            remarks.append("by database, but a tool returned it")
        elif self.log_agrees is False and not self.right:
            remarks.append("nothing of it in the log")
        elif self.held_against:
            remarks.append(f"by {' and '.join(self.held_against)}")
        return f" ({'; '.join(remarks)})" if remarks else ""


def _some(names: Sequence[str], count: int) -> str:
    shown = ", ".join(names[:SHOWN_NAMES])
    return shown if count <= SHOWN_NAMES else f"{shown} and {count - SHOWN_NAMES} more"


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A function that the system called: what it was given, and what it returned, as text."""

    name: str
    arguments: str
    result: str
    has_failed: bool = False


class TurnView(NamedTuple):
    """One turn: what was said, what the scorer made of it, and the claims in the system's words.

    `calls` are those of functions before the system's last words.
    """

    utterances: tuple[Utterance, ...]
    facts: tuple[Fact, ...]
    claims: tuple[Claim, ...] = ()
    calls: tuple[ToolUse, ...] = ()


CANNOT_BE = -2
"""In place of a turn: a line of the goal that could not be met, so that nothing is lost by it."""
NOT_JUDGED = -3
"""In place of a turn: a line of the goal for which the system did nothing that can be judged."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A unit with its outcomes, `outcomes[scope][name]`, and why the lost ones were lost.

    The scope of the whole unit is `WHOLE` of `mwzeval.scores.score`; an outcome is None where it
    was not asked for (Success of a domain when Inform has failed). `reached` has the turn from
    which on each line of the `goal` is met, None for one that never is, `CANNOT_BE` for one that
    nobody could meet, `NOT_JUDGED` for one without anything to judge. It is None where nobody
    knows.
    """

    unit: str
    outcomes: Mapping[str, Mapping[str, bool | None]]
    goal: tuple[Fact, ...]
    turns: tuple[TurnView, ...]
    reasons: tuple[Reason, ...]
    reached: tuple[int | None, ...] | None = None


def count_reasons(explanations: Iterable[Explanation]) -> dict[tuple[str, str], int]:
    """Return in how many units each (code, scope) occurs, the most frequent first."""
    counts = Counter(
        pair
        for explanation in explanations
        for pair in {(reason.code, reason.scope) for reason in explanation.reasons}
    )
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


@dataclass(frozen=True, slots=True)
class ReasonInTurns:
    """A reason, as it is in the first turn that has it, and all turns that have it."""

    reason: Reason
    turns: tuple[int, ...]

    @property
    def place(self) -> str:
        """The turns as `turn 3` or `turns 0–2, 5`; nothing where there is none."""
        if len(self.turns) < 2:
            return "".join(f"turn {turn}" for turn in self.turns)
        starts = [turn for turn in self.turns if turn - 1 not in self.turns]
        ends = [turn for turn in self.turns if turn + 1 not in self.turns]
        runs = (f"{a}–{b}" if a < b else str(a) for a, b in zip(starts, ends, strict=True))
        return f"turns {', '.join(runs)}"


def reasons_in_turns(reasons: Iterable[Reason], *, by_outcome: bool = True) -> list[ReasonInTurns]:
    """Return reasons that differ in more than their turn, each with all its turns.

    Unless `by_outcome`, reasons that differ in turn and outcome only are the same reason.
    """
    same: dict[Reason, list[Reason]] = {}
    for reason in reasons:
        outcome = reason.outcome if by_outcome else ""
        same.setdefault(replace(reason, turn=None, evidence="", outcome=outcome), []).append(reason)
    return [
        ReasonInTurns(
            found[0], tuple(sorted({reason.turn for reason in found if reason.turn is not None}))
        )
        for found in same.values()
    ]


Pair = tuple[Explanation, Explanation]
"""The explanations of one unit by two systems."""


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """How many units two systems kept or lost: only the first lost it (`lost`), only the second."""

    outcome: str
    lost: int
    won: int
    both_lost: int
    both_won: int


@dataclass(frozen=True, slots=True)
class TurnOfOther:
    """What another system did: in a turn (what it said, and facts), or of the whole unit (None).

    `own` is what the user and the first system said in that turn. `utterances` begin with the
    user's if the user said something else to the other system.
    """

    turn: int | None
    utterances: tuple[Utterance, ...]
    facts: tuple[Fact, ...]
    own: tuple[Utterance, ...] = ()


@dataclass(frozen=True, slots=True)
class LostToOther:
    """A unit of which a system lost an outcome that another one kept.

    `reasons` are those of the outcome, or all where it has none of its own, because it needs
    another one that was lost; `instead` is what the other system did there.
    """

    unit: str
    outcome: str
    reasons: tuple[Reason, ...]
    instead: tuple[TurnOfOther, ...]


def labelled(explanations: Iterable[Explanation], labels: Mapping[str, str]) -> list[Explanation]:
    """Return explanations for people to read: outcomes by their labels."""
    return [
        replace(
            explanation,
            outcomes={
                scope: {labels.get(name, name): kept for name, kept in named.items()}
                for scope, named in explanation.outcomes.items()
            },
            reasons=tuple(
                replace(reason, outcome=labels.get(reason.outcome, reason.outcome))
                for reason in explanation.reasons
            ),
        )
        for explanation in explanations
    ]


def count_outcomes(pairs: Iterable[Pair]) -> list[OutcomeCounts]:
    """Return the counts of each outcome of whole units that both systems were asked for."""
    counts: dict[str, Counter[tuple[bool, bool]]] = {}
    for pair in pairs:
        for outcome, kept in _outcomes_of(pair).items():
            counts.setdefault(outcome, Counter())[kept] += 1
    return [
        OutcomeCounts(
            outcome,
            lost=count[False, True],
            won=count[True, False],
            both_lost=count[False, False],
            both_won=count[True, True],
        )
        for outcome, count in counts.items()
    ]


def lost_to_other(pairs: Iterable[Pair]) -> list[LostToOther]:
    """Return what the first system lost and the second one kept, in the order of the pairs."""
    return [
        _lost(outcome, *pair)
        for pair in pairs
        for outcome, kept in _outcomes_of(pair).items()
        if kept == (False, True)
    ]


def _outcomes_of(pair: Pair) -> dict[str, tuple[bool, bool]]:
    mine, theirs = (explanation.outcomes.get(WHOLE, {}) for explanation in pair)
    return {
        name: (first, second)
        for name, first in mine.items()
        if first is not None and (second := theirs.get(name)) is not None
    }


def _lost(outcome: str, mine: Explanation, theirs: Explanation) -> LostToOther:
    reasons = tuple(reason for reason in mine.reasons if reason.outcome == outcome) or mine.reasons
    goal = tuple(fact for fact in theirs.goal if fact not in mine.goal)
    instead = [TurnOfOther(None, (), goal)] if goal else []
    places: dict[int, dict[Fact, None]] = {}
    for reason in reasons:
        for turn, facts in _differing(reason, mine, theirs):
            places.setdefault(turn, {}).update(dict.fromkeys(facts))
    for turn in sorted(places):
        own, other = _utterances(mine, turn), _utterances(theirs, turn)
        other = tuple(text for text in other if text.speaker == SYSTEM or text not in own)
        instead.append(TurnOfOther(turn, other, tuple(places[turn]), own))
    return LostToOther(mine.unit, outcome, reasons, tuple(instead))


def _utterances(explanation: Explanation, turn: int) -> tuple[Utterance, ...]:
    """Return what the user and the system said in a turn; nothing where there is no such turn."""
    turns = explanation.turns[turn : turn + 1]
    return tuple(
        text for view in turns for text in view.utterances if text.speaker in (USER, SYSTEM)
    )


def _differing(
    reason: Reason, mine: Explanation, theirs: Explanation
) -> Iterator[tuple[int, list[Fact]]]:
    """Yield turns of the other system, with facts of the reason's scope that are not in mine.

    Where the reason has no turn, only turns that have any such fact: all with its `evidence`, the
    first where it tells none. Without such facts, the turn in which the other system met the first
    line of the goal in the reason's scope.
    """
    if reason.turn is not None:
        if reason.turn < len(theirs.turns):
            before = mine.turns[reason.turn].facts if reason.turn < len(mine.turns) else ()
            facts = theirs.turns[reason.turn].facts
            yield reason.turn, [fact for fact in facts if _is_new(fact, reason, before)]
        return
    known = {fact for turn in mine.turns for fact in turn.facts}
    has_any = False
    for index, turn in enumerate(theirs.turns):
        facts_here = [
            fact
            for fact in turn.facts
            if reason.evidence in ("", fact.label) and _is_new(fact, reason, known)
        ]
        if facts_here:
            has_any = True
            yield index, facts_here
            if not reason.evidence:
                return
    if not has_any:
        lines = zip(theirs.goal, theirs.reached or (), strict=False)
        met = [turn for fact, turn in lines if turn is not None and fact.scope == reason.scope]
        yield from ((turn, []) for turn in sorted(met)[:1] if 0 <= turn < len(theirs.turns))


def _is_new(fact: Fact, reason: Reason, known: Collection[Fact]) -> bool:
    concerned = reason.scope == WHOLE or fact.scope in (reason.scope, None)
    return concerned and fact not in known
