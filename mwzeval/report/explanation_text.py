"""Explanations for people to read on a terminal."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from textwrap import wrap

from mwzeval.errors import printable, shorten
from mwzeval.report.formats import aligned
from mwzeval.scores.explanation import (
    CANNOT_BE,
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

WIDTH = 96
LOST = "✗"
MARKS = {True: "✓", False: LOST, None: "–"}
SHOWN_FACTS = 6
"""How much of what another system did in a turn is shown; JSON has all."""
LONGEST_CALL = 240
"""Characters of a call, and of what it returned, that are shown; page and JSON have all."""
NOTHING = "·"
"""Stands for a count of 0."""


def explanation_text(explanation: Explanation, *, goal: str = "Goal") -> str:
    """Return a unit in full: outcomes, goal, turns with a mark where something was lost, reasons.

    `goal` is the heading of what the unit aims at. Facts that are the same as in the turn before
    are left out, except where something was lost.
    """
    parts = [
        _outcome_table(explanation),
        "\n".join([goal, *_goal_lines(explanation)]),
        "Turns, counted from 0 (what is as in the turn before is not repeated)",
        *_turn_texts(explanation),
    ]
    if explanation.reasons:
        parts.append("\n".join(["Why it was lost", *_reason_lines(explanation.reasons)]))
    return "\n\n".join(parts) + "\n"


def listing_text(explanations: Iterable[Explanation]) -> str:
    """Return units with their reasons, one a line."""
    lines = []
    for explanation in explanations:
        lines.append(printable(explanation.unit))
        # Several outcomes lost for the same reason are one line.
        found = lasting(explanation.reasons, apart=False)
        columns = [
            (LOST, of.place, printable(of.reason.scope), printable(of.reason.code)) for of in found
        ]
        widths = [max(map(len, column)) for column in zip(*columns, strict=True)]
        for cells, of in zip(columns, found, strict=True):
            start = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
            text = shorten(of.reason.text, max(WIDTH - len(start) - 5, 20))
            lines.append(f"  {start}  {text}")
    return "".join(f"{line}\n" for line in lines)


def histogram_text(explanations: Sequence[Explanation], meanings: Mapping[str, str]) -> str:
    """Return in how many units what was lost, for which reasons in which scopes, and what these
    mean, by `meanings` of their kinds.

    The total of a reason is the number of units that have it in any scope, its share is of those
    that lost anything. Units with several reasons count for each.
    """
    lost = sum(bool(explanation.reasons) for explanation in explanations)
    outcomes: dict[str, int] = {}
    for explanation in explanations:
        for outcome in {reason.outcome for reason in explanation.reasons}:
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
    heading = f"{lost} of {len(explanations)} were lost"
    if not lost:
        return f"{heading}\n"
    losses = ", ".join(f"{count} for {outcome}" for outcome, count in sorted(outcomes.items()))
    table = _histogram(explanations, lost)
    told = "\n".join(_meaning_lines([row[0] for row in table], meanings))
    parts = [f"{heading}: {losses}", aligned(table), told]
    return "\n\n".join(part for part in parts if part) + "\n"


def _meaning_lines(codes: Iterable[str], meanings: Mapping[str, str]) -> Iterator[str]:
    """Yield what kinds of reason mean, one after the other; lines of details are passed over."""
    kinds = dict.fromkeys(map(_kind, codes))
    for kind in kinds:
        if kind in meanings:
            yield from _wrapped(f"{kind}: {meanings[kind]}", "", then="  ")


def against_text(
    names: tuple[str, str],
    common: str,
    counts: Sequence[OutcomeCounts],
    found: Sequence[LostToOther],
) -> str:
    """Return how two systems' outcomes stand, and what the first lost and the second did instead.

    `common` says how many units are in both: `62 dialogues`. What is lost because another outcome
    is, that is told before, is one line.
    """
    first, second = map(printable, names)
    rows = [
        [f"{common} in common", *(printable(of.outcome) for of in counts)],
        [f"{first} lost, {second} won", *(str(of.lost) for of in counts)],
        [f"{second} lost, {first} won", *(str(of.won) for of in counts)],
        ["both lost", *(str(of.both_lost) for of in counts)],
        ["both won", *(str(of.both_won) for of in counts)],
    ]
    parts = [aligned(rows)]
    told: set[tuple[str, str]] = set()
    for of in counts:
        chosen = [lost for lost in found if lost.outcome == of.outcome]
        if not chosen:
            continue
        share = str(of.lost) if len(chosen) == of.lost else f"{len(chosen)} of {of.lost}"
        parts.append(f"{printable(of.outcome)}: lost by {first}, won by {second} ({share})")
        above = [lost.unit for lost in chosen if _is_told(lost, told)]
        parts += ["\n".join(_lost_lines(lost, second)) for lost in chosen if lost.unit not in above]
        if above:
            parts.append(
                "\n".join(_wrapped(f"and with what is told above: {', '.join(above)}", ""))
            )
        told |= {(lost.unit, lost.outcome) for lost in chosen}
    return "\n\n".join(parts) + "\n"


def _is_told(lost: LostToOther, told: Collection[tuple[str, str]]) -> bool:
    needed = {reason.outcome for reason in lost.reasons} - {lost.outcome}
    return bool(needed) and all((lost.unit, outcome) in told for outcome in needed)


def _lost_lines(lost: LostToOther, other: str) -> Iterator[str]:
    yield printable(lost.unit)
    yield from _reason_lines(lost.reasons)
    for instead in lost.instead:
        yield f"    {other}" + ("" if instead.turn is None else f", turn {instead.turn}")
        for spoken in instead.utterances:
            yield from _entry(spoken.speaker, spoken.text)
        yield from _fact_lines(instead.facts[:SHOWN_FACTS])
        if len(instead.facts) > SHOWN_FACTS:
            yield f"    … and {len(instead.facts) - SHOWN_FACTS} more"


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


def _outcome_table(explanation: Explanation) -> str:
    names = dict.fromkeys(name for results in explanation.outcomes.values() for name in results)
    scopes = explanation.outcomes
    lines = [[explanation.unit, *scopes]]
    for name in names:
        marks = (MARKS[results.get(name)] for results in scopes.values())
        lines.append([f"  {name}", *marks])
    return aligned(lines)


def _turn_texts(explanation: Explanation) -> Iterator[str]:
    before: set[Fact] = set()
    for index, turn in enumerate(explanation.turns):
        lost_here = [reason for reason in explanation.reasons if reason.turn == index]
        facts = [fact for fact in turn.facts if lost_here or fact not in before]
        before = set(turn.facts)
        heading = f"{LOST if lost_here else ' '} Turn {index}"
        lines = [heading, *_speech(turn), *_fact_lines(facts), *_ticks(explanation, index)]
        lines += [f"  {LOST} {printable(r.scope)}: {printable(r.code)}" for r in lost_here]
        yield "\n".join(lines)


def _speech(turn: TurnView) -> Iterator[str]:
    said = list(turn.utterances)
    # Functions are called before the system answers.
    while said and said[0].speaker != SYSTEM:
        first = said.pop(0)
        yield from _entry(first.speaker, first.text)
    for use in turn.calls:
        yield from _entry("call", shorten(f"{use.name} {use.arguments}", LONGEST_CALL))
        yield from _entry("failed" if use.has_failed else "", shorten(use.result, LONGEST_CALL))
    for utterance in said:
        yield from _entry(utterance.speaker, utterance.text)


def _goal_lines(explanation: Explanation) -> Iterator[str]:
    if explanation.reached is None:
        yield from _fact_lines(explanation.goal)
        return
    for fact, turn in zip(explanation.goal, explanation.reached, strict=True):
        mark = f"{LOST} never" if turn is None else f"{MARKS[True]} turn {turn}"
        if turn == CANNOT_BE:
            mark = f"{MARKS[None]} could not be met"
        text = fact.value if fact.scope is None else f"{fact.scope}: {fact.value}"
        yield from _entry(fact.label, f"{text}  {mark}")


def _ticks(explanation: Explanation, turn: int) -> Iterator[str]:
    """Yield the lines of the goal that are met from a turn on."""
    for fact, reached in zip(explanation.goal, explanation.reached or (), strict=False):
        if reached == turn:
            scope = "" if fact.scope is None else f"{printable(fact.scope)}, "
            yield from _wrapped(f"{MARKS[True]} {scope}{fact.label}: {fact.value}", "  ")


def _fact_lines(facts: Iterable[Fact]) -> Iterator[str]:
    for fact in facts:
        text = fact.value if fact.scope is None else f"{fact.scope}: {fact.value}"
        yield from _entry(fact.label, text)


def _reason_lines(reasons: Iterable[Reason]) -> Iterator[str]:
    for of in lasting(reasons):
        at = f" at {of.place}" if of.turns else ""
        lost = f"{printable(of.reason.scope)}, {of.reason.outcome}"
        yield f"  {LOST} {lost}: {printable(of.reason.code)}{at}"
        yield from _wrapped(of.reason.text, "      ")


def _entry(label: str, text: str) -> Iterator[str]:
    """Yield a text behind its label, on as many lines as it needs."""
    indent = " " * 17
    lines = list(_wrapped(text, indent)) or [""]
    yield f"    {printable(label):<12} {lines[0].lstrip()}".rstrip()
    yield from lines[1:]


def _wrapped(text: str, indent: str, then: str | None = None) -> list[str]:
    """Return a text in lines that begin with `indent`, those after the first with `then`."""
    return [
        line
        for written in text.split("\n")
        for line in wrap(
            printable(written),
            WIDTH,
            initial_indent=indent,
            subsequent_indent=indent if then is None else then,
            break_on_hyphens=False,
        )
    ]
