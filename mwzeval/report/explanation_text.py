"""Explanations for people to read: as wide as a terminal is, and with its colours."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

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
    lasting,
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
    lines = _Lines(look)
    about = "Turns, counted from 0 (what is as in the turn before is not repeated)"
    parts = [
        _outcome_table(explanation, look),
        "\n".join([*lines.wrapped(goal, style=BOLD), *lines.goal(explanation)]),
        "\n".join(lines.wrapped(about, style=BOLD)),
        *_turn_texts(explanation, lines),
    ]
    if explanation.reasons:
        why = lines.wrapped("Why it was lost", style=BOLD)
        parts.append("\n".join([*why, *lines.reasons(explanation.reasons)]))
    return "\n\n".join(parts) + "\n"


def listing_text(explanations: Iterable[Explanation], look: Look = PLAIN) -> str:
    """Return units with their reasons, one a line where these fit."""
    writer = _Lines(look)
    lines = []
    for explanation in explanations:
        lines += writer.wrapped(explanation.unit, style=BOLD)
        # Several outcomes lost for the same reason are one line.
        found = lasting(explanation.reasons, apart=False)
        columns = [
            (LOST, of.place, printable(of.reason.scope), printable(of.reason.code)) for of in found
        ]
        widths = [max(map(width_of, column)) for column in zip(*columns, strict=True)]
        for cells, of in zip(columns, found, strict=True):
            start = "  ".join(
                padded(cell, width) for cell, width in zip(cells, widths, strict=True)
            )
            text = cut(of.reason.text, max(writer.width - width_of(start) - 4, 20))
            lines += writer.row(f"  {start}  {text}")
    return "".join(f"{line}\n" for line in lines)


def histogram_text(
    explanations: Sequence[Explanation], meanings: Mapping[str, str], look: Look = PLAIN
) -> str:
    """Return in how many units what was lost, for which reasons in which scopes, and what these
    mean, by `meanings` of their kinds.

    The total of a reason is the number of units that have it in any scope, its share is of those
    that lost anything. Units with several reasons count for each.
    """
    lines = _Lines(look)
    lost = sum(bool(explanation.reasons) for explanation in explanations)
    outcomes: dict[str, int] = {}
    for explanation in explanations:
        for outcome in {reason.outcome for reason in explanation.reasons}:
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
    heading = f"{lost} of {len(explanations)} were lost"
    if not lost:
        return f"{heading}\n"
    losses = ", ".join(f"{count} for {outcome}" for outcome, count in sorted(outcomes.items()))
    head, *rows = _histogram(explanations, lost)
    told = "\n".join(_meaning_lines([row[0] for row in rows], meanings, lines))
    parts = [
        "\n".join(lines.wrapped(f"{heading}: {losses}", then="  ", style=BOLD)),
        sheet_text(sheet("", head, rows), look),
        told,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _meaning_lines(
    codes: Iterable[str], meanings: Mapping[str, str], lines: _Lines
) -> Iterator[str]:
    """Yield what kinds of reason mean, one after the other; lines of details are passed over."""
    kinds = dict.fromkeys(map(_kind, codes))
    for kind in kinds:
        if kind in meanings:
            yield from lines.wrapped(f"{kind}: {meanings[kind]}", then="  ", style=DIM)


def against_text(
    names: tuple[str, str],
    common: str,
    counts: Sequence[OutcomeCounts],
    found: Sequence[LostToOther],
    look: Look = PLAIN,
) -> str:
    """Return how two systems' outcomes stand, and what the first lost and the second did instead.

    `common` says how many units are in both: `62 dialogues`. `found` may be a part of what is lost.
    What is lost because another outcome is, that is told before, is one line.
    """
    lines = _Lines(look)
    first, second = map(printable, names)
    head = [f"{common} in common", *(of.outcome for of in counts)]
    rows = [
        [f"{first} lost, {second} won", *(str(of.lost) for of in counts)],
        [f"{second} lost, {first} won", *(str(of.won) for of in counts)],
        ["both lost", *(str(of.both_lost) for of in counts)],
        ["both won", *(str(of.both_won) for of in counts)],
    ]
    parts = [sheet_text(sheet("", head, rows), look)]
    told: set[tuple[str, str]] = set()
    for of in counts:
        chosen = [lost for lost in found if lost.outcome == of.outcome]
        if not chosen:
            continue
        share = str(of.lost) if len(chosen) == of.lost else f"{len(chosen)} of {of.lost}"
        heading = f"{of.outcome}: lost by {first}, won by {second} ({share})"
        parts.append("\n".join(lines.wrapped(heading, then="  ", style=BOLD)))
        above = [lost.unit for lost in chosen if _is_told(lost, told)]
        parts += [
            "\n".join(lines.lost(each, first, second)) for each in chosen if each.unit not in above
        ]
        if above:
            parts.append(
                "\n".join(lines.wrapped(f"and with what is told above: {', '.join(above)}"))
            )
        told |= {(lost.unit, lost.outcome) for lost in chosen}
    return "\n\n".join(parts) + "\n"


def _is_told(lost: LostToOther, told: Collection[tuple[str, str]]) -> bool:
    needed = {reason.outcome for reason in lost.reasons} - {lost.outcome}
    return bool(needed) and all((lost.unit, outcome) in told for outcome in needed)


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


def _outcome_table(explanation: Explanation, look: Look) -> str:
    names = dict.fromkeys(name for results in explanation.outcomes.values() for name in results)
    scopes = explanation.outcomes
    rows: list[list[Cell | str]] = []
    for name in names:
        won = (results.get(name) for results in scopes.values())
        rows.append([f"  {name}", *(Cell(MARKS[each], tone=TONES[each]) for each in won)])
    return sheet_text(sheet("", [explanation.unit, *scopes], rows), look)


def _turn_texts(explanation: Explanation, lines: _Lines) -> Iterator[str]:
    before: set[Fact] = set()
    for index, turn in enumerate(explanation.turns):
        lost_here = [reason for reason in explanation.reasons if reason.turn == index]
        facts = [fact for fact in turn.facts if lost_here or fact not in before]
        before = set(turn.facts)
        style = f"{BOLD};{RED}" if lost_here else BOLD
        parts = [styled(f"{LOST if lost_here else ' '} Turn {index}", style, lines.look)]
        parts += [*lines.speech(turn), *lines.facts(facts), *lines.ticks(explanation, index)]
        for reason in lost_here:
            parts += lines.row(f"  {LOST} {reason.scope}: {reason.code}")
        yield "\n".join(parts)


@dataclass(frozen=True, slots=True)
class _Lines:
    """Lines of what is explained, broken and coloured for a terminal."""

    look: Look

    @property
    def width(self) -> int:
        """Columns that a line has at most."""
        return max(NARROWEST, min(WIDTH, self.look.width or WIDTH))

    def speech(self, turn: TurnView) -> Iterator[str]:
        """Yield what is said in a turn, and the functions that are called."""
        said = list(turn.utterances)
        # Functions are called before the system answers.
        while said and said[0].speaker != SYSTEM:
            first = said.pop(0)
            yield from self.entry(first.speaker, first.text)
        for use in turn.calls:
            yield from self.entry("call", shorten(f"{use.name} {use.arguments}", LONGEST_CALL))
            result = shorten(use.result, LONGEST_CALL)
            yield from self.entry("failed" if use.has_failed else "", result)
        for utterance in said:
            yield from self.entry(utterance.speaker, utterance.text)

    def goal(self, explanation: Explanation) -> Iterator[str]:
        """Yield the goal, and where each line of it was met, if that is known."""
        if explanation.reached is None:
            yield from self.facts(explanation.goal)
            return
        for fact, turn in zip(explanation.goal, explanation.reached, strict=True):
            mark = f"{LOST} never" if turn is None else f"{MARKS[True]} turn {turn}"
            if turn in UNMARKED:
                mark = f"{MARKS[None]} {UNMARKED[turn]}"
            text = fact.value if fact.scope is None else f"{fact.scope}: {fact.value}"
            yield from self.entry(fact.label, f"{text}  {mark}")

    def ticks(self, explanation: Explanation, turn: int) -> Iterator[str]:
        """Yield the lines of the goal that are met from a turn on."""
        for fact, reached in zip(explanation.goal, explanation.reached or (), strict=False):
            if reached == turn:
                scope = "" if fact.scope is None else f"{fact.scope}, "
                text = f"{MARKS[True]} {scope}{fact.label}: {fact.value}"
                yield from self.wrapped(text, "  ", style=GREEN)

    def facts(self, facts: Iterable[Fact]) -> Iterator[str]:
        """Yield facts behind their labels."""
        for fact in facts:
            text = fact.value if fact.scope is None else f"{fact.scope}: {fact.value}"
            yield from self.entry(fact.label, text)

    def reasons(self, reasons: Iterable[Reason]) -> Iterator[str]:
        """Yield reasons, a sentence below each."""
        for of in lasting(reasons):
            at = f" at {of.place}" if of.turns else ""
            lost = f"{of.reason.scope}, {of.reason.outcome}"
            yield from self.row(f"  {LOST} {lost}: {of.reason.code}{at}")
            yield from self.wrapped(of.reason.text, "      ")

    def lost(self, lost: LostToOther, own: str, other: str) -> Iterator[str]:
        """Yield what one system lost, what was said then, and what the `other` did instead."""
        yield from self.wrapped(lost.unit, style=BOLD)
        yield from self.reasons(lost.reasons)
        for instead in lost.instead:
            where = "" if instead.turn is None else f", turn {instead.turn}"
            for name, said in ((own, instead.own), (other, instead.utterances)):
                if said or name == other:
                    yield from self.wrapped(f"{name}{where}", "    ")
                for spoken in said:
                    yield from self.entry(spoken.speaker, spoken.text)
            yield from self.facts(instead.facts[:SHOWN_FACTS])
            if len(instead.facts) > SHOWN_FACTS:
                yield f"    … and {len(instead.facts) - SHOWN_FACTS} more"

    def entry(self, label: str, text: str) -> Iterator[str]:
        """Yield a text behind its label, on as many lines as it needs."""
        indent = " " * 17
        lines = self.wrapped(text, indent) or [""]
        yield f"    {padded(printable(label), 12)} {lines[0].lstrip()}".rstrip()
        yield from lines[1:]

    def row(self, text: str) -> list[str]:
        """Return a line about a loss, in several where it is too long, with a red mark."""
        red = styled(LOST, RED, self.look)
        whole = printable(text)
        lines = (
            [whole] if width_of(whole) <= self.width else self.wrapped(text.strip(), "  ", "      ")
        )
        return [line.replace(LOST, red, 1) for line in lines[:1]] + lines[1:]

    def wrapped(
        self, text: str, indent: str = "", then: str | None = None, *, style: str = ""
    ) -> list[str]:
        """Return a text in lines that begin with `indent`, those after the first with `then`."""
        return [
            styled(line, style, self.look)
            for written in text.split("\n")
            for line in broken(printable(written), self.width, indent, then)
        ]
