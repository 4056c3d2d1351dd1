"""Explanations for people to read: as wide as a terminal is, and with its colours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mwzeval.errors import printable, shorten
from mwzeval.scores.explanation import (
    CANNOT_BE,
    NOT_JUDGED,
    SYSTEM,
    Explanation,
    Fact,
    LostToOther,
    OutcomeCounts,
    Reason,
    TurnView,
    reasons_in_turns,
)
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
    sheet,
    sheet_text,
    styled,
)
from mwzeval.text import broken, cut, padded, width_of

WIDTH = 96
"""Columns of a line at most, also where a terminal has more: longer ones are hard to read."""
NARROWEST = 30
"""Columns of a line at least, also where a terminal has fewer: labels alone take 17."""
UNMARKED = {CANNOT_BE: "could not be met", NOT_JUDGED: "not judged"}
"""What is printed in place of the turn from which on a line of the goal is met."""
LOST = "✗"
MARKS = {True: "✓", False: LOST, None: "–"}
TONES = {True: BETTER, False: WORSE, None: ""}
SHOWN_FACTS = 6
"""How much of what another system did in a turn is shown; JSON has all."""
LONGEST_CALL = 240
"""Characters of a call, and of what it returned, that are shown; page and JSON have all."""
NOTHING = "·"
"""Stands for a count of 0."""


def explanation_text(explanation: Explanation, *, goal: str = "Goal", look: Look = PLAIN) -> str:
    """Return a unit in full: outcomes, goal, turns with a mark where something was lost, reasons.

    `goal` is the heading of what the unit aims at. Facts that are the same as in the turn before
    are left out, except where something was lost.
    """
    scopes = explanation.outcomes
    names = dict.fromkeys(name for results in scopes.values() for name in results)
    rows: list[list[Cell | str]] = []
    for name in names:
        won = (results.get(name) for results in scopes.values())
        rows.append([f"  {name}", *(Cell(MARKS[each], tone=TONES[each]) for each in won)])
    about = "Turns, counted from 0 (what is as in the turn before is not repeated)"
    parts = [
        [sheet_text(sheet("", [explanation.unit, *scopes], rows), look)],
        [*_wrapped(goal, look, style=BOLD), *_goal(explanation, look)],
        _wrapped(about, look, style=BOLD),
        *_turns(explanation, look),
    ]
    if explanation.reasons:
        heading = _wrapped("Why it was lost", look, style=BOLD)
        parts.append([*heading, *_reasons(explanation.reasons, look)])
    return _joined(parts)


def listing_text(explanations: Iterable[Explanation], look: Look = PLAIN) -> str:
    """Return units with their reasons, one a line where these fit."""
    lines = []
    for explanation in explanations:
        lines += _wrapped(explanation.unit, look, style=BOLD)
        # Several outcomes lost for the same reason are one line.
        found = reasons_in_turns(explanation.reasons, by_outcome=False)
        columns = [
            (LOST, of.place, printable(of.reason.scope), printable(of.reason.code)) for of in found
        ]
        widths = [max(map(width_of, column)) for column in zip(*columns, strict=True)]
        for cells, of in zip(columns, found, strict=True):
            start = "  ".join(map(padded, cells, widths))
            text = cut(of.reason.text, max(_width(look) - width_of(start) - 4, 20))
            lines += _loss(f"  {start}  {text}", look)
    return "".join(f"{line}\n" for line in lines)


def histogram_text(
    explanations: Sequence[Explanation], meanings: Mapping[str, str], look: Look = PLAIN
) -> str:
    """Return in how many units what was lost, for which reasons in which scopes, and what these
    mean, by `meanings` of their kinds.

    The total of a reason is the number of units that have it in any scope, its share is of those
    that lost anything. Units with several reasons count for each.
    """
    lost = sum(bool(explanation.reasons) for explanation in explanations)
    heading = f"{lost} of {len(explanations)} were lost"
    if not lost:
        return f"{heading}\n"
    outcomes = Counter(
        outcome
        for explanation in explanations
        for outcome in {reason.outcome for reason in explanation.reasons}
    )
    losses = ", ".join(f"{count} for {outcome}" for outcome, count in sorted(outcomes.items()))
    head, *rows = _histogram(explanations, lost)
    kinds = dict.fromkeys(_kind(row[0]) for row in rows)
    parts = [
        _wrapped(f"{heading}: {losses}", look, then="  ", style=BOLD),
        [sheet_text(sheet("", head, rows), look)],
        [
            line
            for kind in kinds
            if kind in meanings
            for line in _wrapped(f"{kind}: {meanings[kind]}", look, then="  ", style=DIM)
        ],
    ]
    return _joined(parts)


def against_text(
    names: tuple[str, str],
    common: str,
    counts: Sequence[OutcomeCounts],
    found: Sequence[LostToOther],
    look: Look = PLAIN,
) -> str:
    """Return the outcomes of two systems, and what the first lost and the second did instead.

    `common` says how many units are in both: `62 dialogues`. `found` may be a part of what is lost.
    What is lost because of another outcome that is above is one line.
    """
    first, second = map(printable, names)
    head = [f"{common} in common", *(of.outcome for of in counts)]
    rows = [
        [f"{first} lost, {second} won", *(str(of.lost) for of in counts)],
        [f"{second} lost, {first} won", *(str(of.won) for of in counts)],
        ["both lost", *(str(of.both_lost) for of in counts)],
        ["both won", *(str(of.both_won) for of in counts)],
    ]
    parts = [[sheet_text(sheet("", head, rows), look)]]
    shown: set[tuple[str, str]] = set()
    for of in counts:
        chosen = [lost for lost in found if lost.outcome == of.outcome]
        if not chosen:
            continue
        share = str(of.lost) if len(chosen) == of.lost else f"{len(chosen)} of {of.lost}"
        heading = f"{of.outcome}: lost by {first}, won by {second} ({share})"
        parts.append(_wrapped(heading, look, then="  ", style=BOLD))
        above = []
        for lost in chosen:
            needed = {reason.outcome for reason in lost.reasons} - {lost.outcome}
            if needed and all((lost.unit, outcome) in shown for outcome in needed):
                above.append(lost.unit)
            else:
                parts.append([*_lost(lost, first, second, look)])
        if above:
            parts.append(_wrapped(f"and with what is told above: {', '.join(above)}", look))
        shown |= {(lost.unit, lost.outcome) for lost in chosen}
    return _joined(parts)


def _joined(parts: Iterable[Sequence[str]]) -> str:
    """Return parts, which are lines, with blank lines between."""
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _histogram(explanations: Sequence[Explanation], lost: int) -> list[list[str]]:
    """Return a line per reason, most frequent first, kinds with several details with a subtotal."""
    units: dict[tuple[str, str], set[str]] = {}
    details: dict[str, set[str]] = {}
    for explanation in explanations:
        for reason in explanation.reasons:
            kind = _kind(reason.code)
            details.setdefault(kind, set()).add(reason.code)
            for code in (kind, reason.code):
                for scope in (reason.scope, WHOLE):
                    units.setdefault((code, scope), set()).add(explanation.unit)
    counts = {key: len(having) for key, having in units.items()}

    def by_frequency(codes: Iterable[str]) -> list[str]:
        return sorted(codes, key=lambda code: (-counts[code, WHOLE], code))

    in_scope: dict[str, int] = {}
    for (code, scope), count in counts.items():
        if code in details:
            in_scope[scope] = in_scope.get(scope, 0) + count
    scopes = sorted(in_scope.keys() - {WHOLE}, key=lambda scope: (-in_scope[scope], scope))

    def line(name: str, code: str) -> list[str]:
        cells = [str(counts.get((code, scope), NOTHING)) for scope in (*scopes, WHOLE)]
        share = 100 * counts[code, WHOLE] / lost
        return [name, *cells, f"{share:.1f} %"]

    lines = [["reason", *scopes, WHOLE, "of lost"]]
    for kind in by_frequency(details):
        codes = by_frequency(details[kind])
        if len(codes) == 1:
            lines.append(line(codes[0], codes[0]))
            continue
        lines.append(line(kind, kind))
        lines += [line(f"  {code.removeprefix(kind) or '(no detail)'}", code) for code in codes]
    return lines


def _kind(code: str) -> str:
    return code.partition(":")[0]


def _turns(explanation: Explanation, look: Look) -> Iterator[list[str]]:
    before: set[Fact] = set()
    for index, turn in enumerate(explanation.turns):
        lost_here = [reason for reason in explanation.reasons if reason.turn == index]
        facts = [fact for fact in turn.facts if lost_here or fact not in before]
        before = set(turn.facts)
        style = f"{BOLD};{RED}" if lost_here else BOLD
        lines = [styled(f"{LOST if lost_here else ' '} Turn {index}", style, look)]
        lines += [*_utterances(turn, look), *_facts(facts, look)]
        for fact, reached in zip(explanation.goal, explanation.reached or (), strict=False):
            if reached == index:
                scope = "" if fact.scope is None else f"{fact.scope}, "
                text = f"{MARKS[True]} {scope}{fact.label}: {fact.value}"
                lines += _wrapped(text, look, "  ", style=GREEN)
        for reason in lost_here:
            lines += _loss(f"  {LOST} {reason.scope}: {reason.code}", look)
        yield lines


def _utterances(turn: TurnView, look: Look) -> Iterator[str]:
    """Yield what is said in a turn, and the functions that are called before the system answers."""
    speakers = [utterance.speaker for utterance in turn.utterances]
    answer = speakers.index(SYSTEM) if SYSTEM in speakers else len(speakers)
    for speaker, text in turn.utterances[:answer]:
        yield from _entry(speaker, text, look)
    for use in turn.calls:
        yield from _entry("call", shorten(f"{use.name} {use.arguments}", LONGEST_CALL), look)
        result = shorten(use.result, LONGEST_CALL)
        yield from _entry("failed" if use.has_failed else "", result, look)
    for speaker, text in turn.utterances[answer:]:
        yield from _entry(speaker, text, look)


def _goal(explanation: Explanation, look: Look) -> Iterator[str]:
    """Yield the goal, and where each line of it was met, if that is known."""
    marks = [""] * len(explanation.goal)
    if explanation.reached is not None:
        marks = [
            f"  {LOST} never"
            if turn is None
            else f"  {MARKS[None]} {UNMARKED[turn]}"
            if turn in UNMARKED
            else f"  {MARKS[True]} turn {turn}"
            for turn in explanation.reached
        ]
    for fact, mark in zip(explanation.goal, marks, strict=True):
        yield from _facts([fact._replace(value=f"{fact.value}{mark}")], look)


def _facts(facts: Iterable[Fact], look: Look) -> Iterator[str]:
    """Yield facts behind their labels."""
    for fact in facts:
        text = fact.value if fact.scope is None else f"{fact.scope}: {fact.value}"
        yield from _entry(fact.label, text, look)


def _reasons(reasons: Iterable[Reason], look: Look) -> Iterator[str]:
    """Yield reasons, a sentence below each."""
    for of in reasons_in_turns(reasons):
        at = f" at {of.place}" if of.turns else ""
        lost = f"{of.reason.scope}, {of.reason.outcome}"
        yield from _loss(f"  {LOST} {lost}: {of.reason.code}{at}", look)
        yield from _wrapped(of.reason.text, look, "      ")


def _lost(lost: LostToOther, own: str, other: str, look: Look) -> Iterator[str]:
    """Yield what one system lost, what was said then, and what the `other` did instead."""
    yield from _wrapped(lost.unit, look, style=BOLD)
    yield from _reasons(lost.reasons, look)
    for instead in lost.instead:
        where = "" if instead.turn is None else f", turn {instead.turn}"
        for name, utterances in ((own, instead.own), (other, instead.utterances)):
            if utterances or name == other:
                yield from _wrapped(f"{name}{where}", look, "    ")
            for speaker, text in utterances:
                yield from _entry(speaker, text, look)
        yield from _facts(instead.facts[:SHOWN_FACTS], look)
        if len(instead.facts) > SHOWN_FACTS:
            yield f"    … and {len(instead.facts) - SHOWN_FACTS} more"


def _entry(label: str, text: str, look: Look) -> Iterator[str]:
    """Yield a text behind its label, on as many lines as it needs."""
    lines = _wrapped(text, look, " " * 17) or [""]
    yield f"    {padded(printable(label), 12)} {lines[0].lstrip()}".rstrip()
    yield from lines[1:]


def _loss(text: str, look: Look) -> list[str]:
    """Return a line about a loss, in several where it is too long, with a red mark."""
    lines = [printable(text)]
    if width_of(lines[0]) > _width(look):
        lines = _wrapped(text.strip(), look, "  ", "      ")
    return [line.replace(LOST, styled(LOST, RED, look), 1) for line in lines[:1]] + lines[1:]


def _wrapped(
    text: str, look: Look, indent: str = "", then: str | None = None, *, style: str = ""
) -> list[str]:
    """Return a text in lines that begin with `indent`, those after the first with `then`."""
    return [
        styled(line, style, look)
        for written in text.split("\n")
        for line in broken(printable(written), _width(look), indent, then)
    ]


def _width(look: Look) -> int:
    """Return how many columns a line has at most."""
    return max(NARROWEST, min(WIDTH, look.width or WIDTH))
