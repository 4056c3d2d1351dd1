"""Explanations of scored units: a common data type for all benchmarks, and its text for a terminal.

This module does not depend on any benchmark. Texts are plain and may come from untrusted sources,
so all code that displays the texts (here and in the HTML page) escapes special characters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple, TypeVar

from mwzeval.errors import UsageError, printable, shorten, unknown
from mwzeval.scores.score import WHOLE
from mwzeval.scores.sheets import (
    BETTER,
    BOLD,
    DIM,
    GREEN,
    PLAIN,
    RED,
    WORSE,
    Cell,
    Look,
    Sheet,
    sheet,
    sheet_text,
    styled,
)
from mwzeval.text import broken, cut, padded, width_of

USER, SYSTEM = "user", "system"
"""The speakers of a dialogue; utterances of the speaker `system` are predicted."""


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason why a 0/1 outcome failed.

    `code` is the name of the reason, optionally with a detail after a colon (`never-gave:phone`).
    `outcome` is the failed outcome (`inform`), and `scope` is the part of the unit (a domain).
    `turn` is the turn of the failure, from 0, or None if no single turn caused it. `text` is the
    reason as a sentence. `evidence` is the label of the facts that show why another system passed
    the outcome. With an empty label, all facts of the other system show why it passed.
    """

    code: str
    outcome: str
    scope: str
    turn: int | None
    text: str
    evidence: str = ""

    @property
    def kind(self) -> str:
        """The code without its detail."""
        return self.code.partition(":")[0]


MISSING, SPURIOUS, WRONG = "missing", "spurious", "wrong"
"""Labels of facts about errors in a prediction, or endings of such labels: `user acts, missing`."""


class Fact(NamedTuple):
    """A detail of a turn: a label, a value, and the part of the unit (or None) it is about."""

    label: str
    value: str
    scope: str | None = None


class Utterance(NamedTuple):
    """An utterance; `speaker` is `user`, `system` or `reference`."""

    speaker: str
    text: str


class Claim:
    """A part of a response that a benchmark has judged: the characters from `start` to `end`."""

    start: int
    end: int
    verdict: str

    def note(self) -> str:
        """Return the note that is shown next to the judged words."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A function that the system called; arguments and result are text."""

    name: str
    arguments: str
    result: str
    has_failed: bool = False


class TurnView(NamedTuple):
    """A turn: its utterances, the scorer's facts, claims in the response, and function calls."""

    utterances: tuple[Utterance, ...]
    facts: tuple[Fact, ...]
    claims: tuple[Claim, ...] = ()
    calls: tuple[ToolUse, ...] = ()


CANNOT_BE = -2
"""Replaces a turn number if no system could meet a line of the goal, which is not a failure."""
NOT_JUDGED = -3
"""Replaces a turn number if no act of the system shows whether a line of the goal was met."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A unit, its outcomes as `outcomes[scope][name]`, and the reasons why outcomes failed.

    The scope of the whole unit is `WHOLE` (defined in `mwzeval.scores.score`). An outcome is None
    if it does not apply, such as Success of a domain whose Inform failed. For each line of the
    `goal`, `reached` has the turn at which the line was met. The other values in `reached` are None
    (the line was never met), `CANNOT_BE` (no system could meet the line) and `NOT_JUDGED` (no
    judgement is possible). `reached` is None if the turns at which the lines were met are unknown.
    """

    unit: str
    outcomes: Mapping[str, Mapping[str, bool | None]]
    goal: tuple[Fact, ...]
    turns: tuple[TurnView, ...]
    reasons: tuple[Reason, ...]
    reached: tuple[int | None, ...] | None = None

    @classmethod
    def of(
        cls,
        unit: str,
        turns: Sequence[Sequence[Utterance]],
        outcomes: Sequence[str],
        scopes: Iterable[str],
        reasons: Iterable[Reason],
    ) -> Explanation:
        """Return the explanation of a unit in which only the outcomes of `reasons` fail.

        The outcome of a reason fails in the scope of the reason and in the whole unit. `reasons`
        are sorted by turn. Each reason becomes a fact of its turn; if the same reason occurs in
        consecutive turns, only the first of these turns adds a reason to the unit. A reason with an
        empty outcome becomes a fact but adds no reason to the unit.
        """
        results: dict[str, dict[str, bool | None]] = {
            scope: dict.fromkeys(outcomes, True) for scope in (WHOLE, *scopes)
        }
        facts: list[list[Fact]] = [[] for _ in turns]
        last: dict[tuple[str, str], int | None] = {}
        first = []
        for reason in reasons:
            if reason.turn is not None:
                label = reason.code.replace(":", " ")
                facts[reason.turn].append(Fact(label, reason.text, reason.scope))
            if not reason.outcome:
                continue
            for scope in {WHOLE, reason.scope}:
                results[scope][reason.outcome] = False
            before = last.get((reason.scope, reason.code), -2)
            if reason.turn is None or before is None or reason.turn > before + 1:
                first.append(reason)
            last[reason.scope, reason.code] = reason.turn
        views = tuple(
            TurnView(tuple(turn), tuple(own)) for turn, own in zip(turns, facts, strict=True)
        )
        return cls(unit, results, (), views, tuple(first))


Key = TypeVar("Key", bound=tuple[str, ...])


def count_reasons(
    explanations: Iterable[Explanation], keys: Callable[[Reason], Iterable[Key]]
) -> dict[Key, int]:
    """Return the number of units for each key of a reason, largest number first."""
    counts: Counter[Key] = Counter()
    for explanation in explanations:
        counts.update({key for reason in explanation.reasons for key in keys(reason)})
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def reasons_in_turns(
    reasons: Iterable[Reason], *, by_outcome: bool = True
) -> list[tuple[Reason, str]]:
    """Merge reasons that differ only in turn; return each reason with its turns: `turns 0–2, 5`.

    If `by_outcome` is false, reasons that differ only in turn and outcome are also merged.
    """
    same: dict[Reason, list[Reason]] = {}
    for reason in reasons:
        outcome = reason.outcome if by_outcome else ""
        same.setdefault(replace(reason, turn=None, evidence="", outcome=outcome), []).append(reason)
    return [
        (found[0], _turns_text({reason.turn for reason in found if reason.turn is not None}))
        for found in same.values()
    ]


def _turns_text(turns: Collection[int]) -> str:
    starts = sorted(turn for turn in turns if turn - 1 not in turns)
    ends = sorted(turn for turn in turns if turn + 1 not in turns)
    runs = (f"{a}–{b}" if a < b else str(a) for a, b in zip(starts, ends, strict=True))
    return f"turn{'s' * (len(turns) > 1)} {', '.join(runs)}" if turns else ""


Pair = tuple[Explanation, Explanation]


class OutcomeCounts(NamedTuple):
    """Numbers of units that only the first system, only the second, or both failed or passed."""

    outcome: str
    lost: int
    won: int
    both_lost: int
    both_won: int


class OtherTurn(NamedTuple):
    """The utterances and facts of another system in a turn; if `turn` is None, in the whole unit.

    `own` has the utterances of the user and of the first system in this turn. `utterances` includes
    an utterance of the user only if it differs from the utterance in `own`.
    """

    turn: int | None
    utterances: tuple[Utterance, ...]
    facts: tuple[Fact, ...]
    own: tuple[Utterance, ...] = ()


class ComparedFailure(NamedTuple):
    """A unit in which a system failed an outcome that another system passed.

    `reasons` are the failure reasons of the outcome, or of all outcomes if this outcome has no
    reason. `instead` describes what the other system did.
    """

    unit: str
    outcome: str
    reasons: tuple[Reason, ...]
    instead: tuple[OtherTurn, ...]


def with_reason(
    code: str | None, explanations: Sequence[Explanation], kinds: Collection[str]
) -> Sequence[Explanation]:
    """Return the units with the failure reason `code`, with any detail; "" selects all units.

    Raises:
        UsageError: If no unit has the code, and `kinds` does not list the code.
    """
    if not code:
        return explanations
    chosen = [e for e in explanations if any(code in (r.code, r.kind) for r in e.reasons)]
    if not chosen and code not in kinds:
        known = {reason.code for explanation in explanations for reason in explanation.reasons}
        raise UsageError(unknown("reason", code, [*sorted(known), *kinds]))
    return chosen


def worst_first(explanations: Iterable[Explanation]) -> list[Explanation]:
    """Return the units, those with most failed scopes first, then those with most reasons."""

    def size(explanation: Explanation) -> tuple[int, int]:
        return len({reason.scope for reason in explanation.reasons}), len(explanation.reasons)

    return sorted(explanations, key=size, reverse=True)


def labelled(explanations: Iterable[Explanation], labels: Mapping[str, str]) -> list[Explanation]:
    """Return the explanations with the labels of outcomes in place of the names of outcomes."""
    found = []
    for explanation in explanations:
        outcomes = {
            scope: {labels.get(name, name): result for name, result in results.items()}
            for scope, results in explanation.outcomes.items()
        }
        reasons = (
            replace(r, outcome=labels.get(r.outcome, r.outcome)) for r in explanation.reasons
        )
        found.append(replace(explanation, outcomes=outcomes, reasons=tuple(reasons)))
    return found


def count_outcomes(pairs: Iterable[Pair]) -> list[OutcomeCounts]:
    """Return the counts of each outcome, over units in which it applies to both systems."""
    counts: dict[str, Counter[tuple[bool, bool]]] = {}
    for pair in pairs:
        for outcome, results in _outcomes_of(pair).items():
            counts.setdefault(outcome, Counter())[results] += 1
    order = (False, True), (True, False), (False, False), (True, True)
    return [OutcomeCounts(name, *map(found.__getitem__, order)) for name, found in counts.items()]


def compared_failures(pairs: Iterable[Pair]) -> list[ComparedFailure]:
    """Return the outcomes that the first system failed and the second passed."""
    return [
        _compared_failure(outcome, *pair)
        for pair in pairs
        for outcome, results in _outcomes_of(pair).items()
        if results == (False, True)
    ]


def _outcomes_of(pair: Pair) -> dict[str, tuple[bool, bool]]:
    mine, theirs = (explanation.outcomes.get(WHOLE, {}) for explanation in pair)
    both = {name: (first, theirs.get(name)) for name, first in mine.items()}
    return {name: (a, b) for name, (a, b) in both.items() if a is not None and b is not None}


def _compared_failure(outcome: str, mine: Explanation, theirs: Explanation) -> ComparedFailure:
    def utterances(system: Explanation, turn: int) -> tuple[Utterance, ...]:
        texts = (text for view in system.turns[turn : turn + 1] for text in view.utterances)
        return tuple(text for text in texts if text.speaker in (USER, SYSTEM))

    reasons = tuple(reason for reason in mine.reasons if reason.outcome == outcome) or mine.reasons
    goal = tuple(fact for fact in theirs.goal if fact not in mine.goal)
    instead = [OtherTurn(None, (), goal)] if goal else []
    facts_of: dict[int, dict[Fact, None]] = {}
    for reason in reasons:
        for turn, facts in _differing(reason, mine, theirs):
            facts_of.setdefault(turn, {}).update(dict.fromkeys(facts))
    for turn, different in sorted(facts_of.items()):
        own, texts = utterances(mine, turn), utterances(theirs, turn)
        other = tuple(text for text in texts if text.speaker == SYSTEM or text not in own)
        instead.append(OtherTurn(turn, other, tuple(different), own))
    return ComparedFailure(mine.unit, outcome, reasons, tuple(instead))


def _differing(
    reason: Reason, mine: Explanation, theirs: Explanation
) -> list[tuple[int, list[Fact]]]:
    """Return turns of the other system, with facts of the reason's scope that are not in `mine`.

    If the reason has no turn, return all turns with such a fact labeled `evidence`, or, without
    `evidence`, the first turn with any such fact. If there is no such fact, return the turn in
    which the other system met the first line of the goal in the reason's scope.
    """

    def new(turn: TurnView, known: Collection[Fact]) -> list[Fact]:
        facts = (fact for fact in turn.facts if fact not in known)
        return [f for f in facts if reason.scope == WHOLE or f.scope in (reason.scope, None)]

    if reason.turn is not None:
        turns = slice(reason.turn, reason.turn + 1)
        own = {fact for turn in mine.turns[turns] for fact in turn.facts}
        return [(reason.turn, new(turn, own)) for turn in theirs.turns[turns]]
    known = {fact for turn in mine.turns for fact in turn.facts}
    found: list[tuple[int, list[Fact]]] = []
    for index, turn in enumerate(theirs.turns):
        if facts := [f for f in new(turn, known) if reason.evidence in ("", f.label)]:
            found.append((index, facts))
    if not found:
        lines = zip(theirs.goal, theirs.reached or (), strict=False)
        met = [at for fact, at in lines if at is not None and fact.scope == reason.scope]
        return [(at, []) for at in sorted(met)[:1] if 0 <= at < len(theirs.turns)]
    return found if reason.evidence else found[:1]


WIDTH = 96
"""The maximum width of a line in columns; longer lines are hard to read."""
NARROWEST = 30
"""The minimum width of a line in columns, even on narrower terminals; the labels alone need 17
columns."""
FAILED = "✗"
MARKS = {True: "✓", False: FAILED, None: "–"}
TONES = {True: BETTER, False: WORSE, None: ""}
SHOWN_FACTS = 6
"""The number of facts shown for a turn of another system; JSON has all facts."""
LONGEST_CALL = 240
"""The maximum number of characters that are shown of a function call or its result; the HTML page
and JSON show all characters."""
UNMET = {
    None: f"  {FAILED} never",
    CANNOT_BE: f"  {MARKS[None]} could not be met",
    NOT_JUDGED: f"  {MARKS[None]} not judged",
}
"""The texts that are shown for lines of the goal without a turn."""
NOTHING = "·"


class _Line(NamedTuple):
    """A text that is broken into lines; all lines but the first have the indent `then`.

    A `label` precedes the first line. With the style `FAILED`, only the mark `FAILED` is red.
    """

    text: str
    indent: str = ""
    then: str | None = None
    style: str = ""
    label: str | None = None


def explanation_text(explanation: Explanation, *, goal: str = "Goal", look: Look = PLAIN) -> str:
    """Return the full text of a unit: outcomes, `goal`, turns (failures are marked), and reasons.

    Facts that are unchanged since the previous turn are omitted, except in turns with failures.
    """
    scopes = explanation.outcomes
    rows: list[list[Cell | str]] = []
    for name in dict.fromkeys(name for results in scopes.values() for name in results):
        found = [results.get(name) for results in scopes.values()]
        rows.append([f"  {name}", *(Cell(MARKS[passed], tone=TONES[passed]) for passed in found)])
    about = (
        "Turns are counted from 0; facts that have not changed since the previous turn are not "
        "repeated"
    )
    parts: list[Sequence[_Line] | Sheet] = [
        sheet("", [explanation.unit, *scopes], rows),
        [_Line(goal, style=BOLD), *_goal(explanation)] if explanation.goal else [],
        [_Line(about, style=BOLD)],
        *_turns(explanation),
    ]
    if explanation.reasons:
        parts.append([_Line("Why it failed", style=BOLD), *_reasons(explanation.reasons)])
    return _text(parts, look)


def listing_text(explanations: Iterable[Explanation], look: Look = PLAIN) -> str:
    """Return a line for each unit with its failure reasons, cut to the width of the terminal."""
    lines = []
    for explanation in explanations:
        lines.append(styled(printable(explanation.unit), BOLD, look))
        # Outcomes that failed for the same reason share a line.
        found = reasons_in_turns(explanation.reasons, by_outcome=False)
        rows = [(FAILED, turns, printable(r.scope), printable(r.code)) for r, turns in found]
        widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
        for cells, (reason, _) in zip(rows, found, strict=True):
            line = "  ".join(("", *map(padded, cells, widths), printable(reason.text)))
            if look.width is not None:
                line = cut(line, _width(look))
            lines.append(line.replace(FAILED, styled(FAILED, RED, look), 1))
    return "".join(f"{line}\n" for line in lines)


def histogram_text(
    explanations: Sequence[Explanation], meanings: Mapping[str, str], look: Look = PLAIN
) -> str:
    """Return the number of failed units by reason and scope.

    `meanings` maps the code of a reason to a sentence about it. The total of a reason is the number
    of units that have the reason in any scope. The share of a reason is its total divided by the
    number of failed units.
    """
    n_failed = sum(bool(explanation.reasons) for explanation in explanations)
    heading = f"{n_failed} of {len(explanations)} failed"
    if not n_failed:
        return f"{heading}\n"
    outcomes = count_reasons(explanations, lambda reason: [(reason.outcome,)])
    failures = ", ".join(f"{count} in {outcome}" for (outcome,), count in sorted(outcomes.items()))
    head, *rows = _histogram(explanations, n_failed)
    kinds = dict.fromkeys(row[0].partition(":")[0] for row in rows)
    known = (kind for kind in kinds if kind in meanings)
    about = [_Line(f"{kind}: {meanings[kind]}", then="  ", style=DIM) for kind in known]
    first = _Line(f"{heading}: {failures}", then="  ", style=BOLD)
    return _text([[first], sheet("", head, rows), about], look)


def against_text(
    names: tuple[str, str],
    common: str,
    counts: Sequence[OutcomeCounts],
    failures: Sequence[ComparedFailure],
    look: Look = PLAIN,
) -> str:
    """Return the outcomes of two systems, and how the second system passed where the first failed.

    `common` is the number of units that both systems have: `62 dialogues`. Failures that follow
    from other failed outcomes are listed on one line.
    """
    first, second = map(printable, names)
    labels = [f"{a} failed, {b} passed" for a, b in ((first, second), (second, first))]
    labels = [f"{common} in common", *labels, "both failed", "both passed"]
    head, *rows = zip(labels, *(map(str, numbers) for numbers in counts), strict=True)
    parts: list[Sequence[_Line] | Sheet] = [sheet("", head, rows)]
    shown: set[tuple[str, str]] = set()
    for outcome, number, *_ in counts:
        chosen = [failure for failure in failures if failure.outcome == outcome]
        if not chosen:
            continue
        share = str(number) if len(chosen) == number else f"{len(chosen)} of {number}"
        heading = f"{outcome}: {first} failed, {second} passed ({share})"
        parts.append([_Line(heading, then="  ", style=BOLD)])
        above = []
        for failure in chosen:
            needed = {reason.outcome for reason in failure.reasons} - {outcome}
            if needed and all((failure.unit, name) in shown for name in needed):
                above.append(failure.unit)
            else:
                parts.append([*_compared(failure, first, second)])
        if above:
            parts.append([_Line(f"failed for reasons that are listed above: {', '.join(above)}")])
        shown |= {(failure.unit, outcome) for failure in chosen}
    return _text(parts, look)


def _histogram(explanations: Sequence[Explanation], n_failed: int) -> list[list[str]]:
    """Return a line per reason, by frequency; reasons with several details have a subtotal."""
    counts = count_reasons(explanations, lambda r: product((r.kind, r.code), (r.scope, WHOLE)))
    codes: dict[str, list[str]] = {}
    in_scope: Counter[str] = Counter()
    for (code, scope), count in counts.items():
        kind, _, detail = code.partition(":")
        if scope == WHOLE:
            codes.setdefault(kind, []).extend([code] if detail else [])
        elif not detail:
            in_scope[scope] += count
    scopes = sorted(in_scope, key=lambda scope: (-in_scope[scope], scope))

    def line(name: str, code: str) -> list[str]:
        cells = [str(counts.get((code, scope), NOTHING)) for scope in (*scopes, WHOLE)]
        return [name, *cells, f"{100 * counts[code, WHOLE] / n_failed:.1f} %"]

    lines = [["reason", *scopes, WHOLE, "of failed"]]
    for kind, details in codes.items():
        if len(details) == 1 and counts[details[0], WHOLE] == counts[kind, WHOLE]:
            lines.append(line(details[0], details[0]))
        else:
            lines.append(line(kind, kind))
            lines += [line(f"  {code.removeprefix(kind)}", code) for code in details]
    return lines


def _turns(explanation: Explanation) -> Iterator[list[_Line]]:
    before: set[Fact] = set()
    for index, turn in enumerate(explanation.turns):
        reasons = [reason for reason in explanation.reasons if reason.turn == index]
        facts = [fact for fact in turn.facts if reasons or fact not in before]
        before = set(turn.facts)
        style = f"{BOLD};{RED}" if reasons else BOLD
        lines = [_Line(f"{FAILED if reasons else ' '} Turn {index}", style=style)]
        lines += [*_utterances(turn), *map(_fact, facts)]
        for fact, reached in zip(explanation.goal, explanation.reached or (), strict=False):
            if reached == index:
                scope = "" if fact.scope is None else f"{fact.scope}, "
                text = f"{MARKS[True]} {scope}{fact.label}: {fact.value}"
                lines.append(_Line(text, "  ", style=GREEN))
        for reason in reasons:
            text = f"{FAILED} {reason.scope}: {reason.code}"
            lines.append(_Line(text, "  ", "      ", FAILED))
        yield lines


def _utterances(turn: TurnView) -> Iterator[_Line]:
    """Yield the utterances of a turn, and the calls before the system's answer."""
    speakers = [utterance.speaker for utterance in turn.utterances]
    answer = speakers.index(SYSTEM) if SYSTEM in speakers else len(speakers)
    yield from (_entry(*utterance) for utterance in turn.utterances[:answer])
    for use in turn.calls:
        yield _entry("call", shorten(f"{use.name} {use.arguments}", LONGEST_CALL))
        yield _entry("failed" if use.has_failed else "", shorten(use.result, LONGEST_CALL))
    yield from (_entry(*utterance) for utterance in turn.utterances[answer:])


def _goal(explanation: Explanation) -> Iterator[_Line]:
    reached = explanation.reached
    for place, fact in enumerate(explanation.goal):
        mark = ""
        if reached is not None:
            mark = UNMET.get(reached[place], f"  {MARKS[True]} turn {reached[place]}")
        yield _fact(fact._replace(value=f"{fact.value}{mark}"))


def _reasons(reasons: Iterable[Reason]) -> Iterator[_Line]:
    for reason, turns in reasons_in_turns(reasons):
        at = f" at {turns}" if turns else ""
        text = f"{FAILED} {reason.scope}, {reason.outcome}: {reason.code}{at}"
        yield _Line(text, "  ", "      ", FAILED)
        yield _Line(reason.text, "      ")


def _compared(failure: ComparedFailure, own: str, other: str) -> Iterator[_Line]:
    """Yield a system's failures, the utterances there, and the `other` system's behavior."""
    yield _Line(failure.unit, style=BOLD)
    yield from _reasons(failure.reasons)
    for instead in failure.instead:
        where = "" if instead.turn is None else f", turn {instead.turn}"
        for name, utterances in ((own, instead.own), (other, instead.utterances)):
            if utterances or name == other:
                yield _Line(f"{name}{where}", "    ")
            yield from (_entry(*utterance) for utterance in utterances)
        yield from map(_fact, instead.facts[:SHOWN_FACTS])
        if len(instead.facts) > SHOWN_FACTS:
            yield _Line(f"… and {len(instead.facts) - SHOWN_FACTS} more", "    ")


def _fact(fact: Fact) -> _Line:
    text = fact.value if fact.scope is None else f"{fact.scope}: {fact.value}"
    return _entry(fact.label, text)


def _entry(label: str, text: str) -> _Line:
    return _Line(text, " " * 17, label=label)


def _text(parts: Iterable[Sequence[_Line] | Sheet], look: Look) -> str:
    shown = (
        sheet_text(part, look)
        if isinstance(part, Sheet)
        else "\n".join(text for line in part for text in _broken(line, look))
        for part in parts
    )
    return "\n\n".join(filter(None, shown)) + "\n"


def _broken(line: _Line, look: Look) -> list[str]:
    lines: list[str] = []
    for written in line.text.split("\n"):
        lines += broken(printable(written), _width(look), line.indent, line.then)
    if line.label is not None:
        first, *others = lines or [""]
        return [f"    {padded(printable(line.label), 12)} {first.lstrip()}".rstrip(), *others]
    if line.style == FAILED:
        return [text.replace(FAILED, styled(FAILED, RED, look), 1) for text in lines[:1]] + lines[
            1:
        ]
    return [styled(text, line.style, look) for text in lines]


def _width(look: Look) -> int:
    return max(NARROWEST, min(WIDTH, look.width or WIDTH))
