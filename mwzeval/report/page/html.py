"""Reports as one page for people to open, search and pass on: everything is inside the file.

The page is safe to open whoever wrote the predictions. What the template writes is escaped by
Jinja2; the units travel as JSON in a data block that no text of theirs can end, and reach the
document as text nodes; a content-security-policy lets nothing run but the page's own script, known
by its hash.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar
from unicodedata import category

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from mwzeval.comparison import Comparison
from mwzeval.errors import CONDITIONS, Problem, conditions, counted
from mwzeval.report.comparison import about_few, verdict
from mwzeval.report.page.model import PageSystem, headline_of, labels_of, letter_of, not_comparable
from mwzeval.report.page.reasons import Kind, histograms, kinds_of
from mwzeval.report.page.score_rows import (
    about_intervals,
    chart_of,
    panels_of,
    references_of,
    score_rows,
    signatures_of,
)
from mwzeval.report.page.standings import about_comparison, standings_of
from mwzeval.scores.explanation import VERDICTS, Explanation, Fact, TurnView, Utterance, Words
from mwzeval.scores.score import WHOLE

__all__ = ["PageSystem", "Words", "to_html"]

SCRIPTS = (
    *("document", "data", "state", "elements", "filter", "address", "list", "claims"),
    *("legend", "calls", "lines", "goal", "unit"),
    *("navigation", "controls", "sorting", "exporting", "keyboard", "theme", "main"),
)
"""The modules of `script/`, each after those that it imports; no two declare the same name."""

IMPORT_OR_EXPORT = re.compile(r"^import [^;]*;\n+|^export ", re.MULTILINE)

SHOWN_ALERTS = 4
"""How many warnings stand at the top of the page; all of them are at its end."""
MINOR = frozenset(
    {"other-corpus-files", "unknown-key", "unknown-slot", "unknown-placeholder", "list-value"}
    | {"lexicalized", "other-ids", "flat-state"}
)
"""Kinds of warnings that stand at the end of the page only, because they seldom move scores."""
PLAIN_KEYS = {"said": "as requested", "taken_as": "read as"}
"""Keys of `meta` → words for people, where the key itself would be misread."""
POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


def to_html(
    systems: Sequence[PageSystem],
    *,
    title: str,
    words: Words | None = None,
    meanings: Mapping[str, str] = MappingProxyType({}),
    compared: Comparison | str | None = None,
    headline: Sequence[str] = (),
) -> str:
    """Return the page as HTML text, the same for the same systems; write it as UTF-8.

    `meanings` say what kinds of reason mean. `compared` is a comparison of the systems by their
    names, or a sentence that says why there is none; without it no system is the best. `headline`
    names the scores of the chart. With more than two systems the viewer chooses which two stand
    side by side. Raises `ValueError` without any system.
    """
    if not systems:
        raise ValueError("a page needs at least one system")
    words = words or Words()
    kinds = kinds_of(systems)
    style, script = _asset("page.css"), _script()
    letters = [letter_of(index) for index in range(len(systems))]
    comparison = compared if isinstance(compared, Comparison) else None
    standings = standings_of(systems, comparison) if comparison else {}
    main = headline_of(systems, headline)
    rows = score_rows(systems, standings, main)
    return (
        _template_environment()
        .get_template("page.html")
        .render(
            title=title,
            words=words,
            whole=WHOLE,
            letters=letters,
            systems=systems,
            verdicts=_verdicts(systems, comparison, main),
            alerts=list(_alerts(systems).items())[:SHOWN_ALERTS],
            warning_count=sum(len(system.warnings) for system in systems),
            meanings=meanings,
            notes=dict.fromkeys(s.meta["note"] for s in systems if s.meta.get("note")),
            main_rows=[row for row in rows if row.is_main],
            other_rows=[row for row in rows if not row.is_main],
            references=references_of(systems).values(),
            chart=chart_of(systems, standings, main),
            compared=about_comparison(comparison) if comparison else (),
            few=about_few(comparison) if comparison else "",
            not_compared=compared if comparison is None else None,
            marked=any(of.is_best for by_place in standings.values() for of in by_place.values()),
            apart=not_comparable(systems),
            intervals=about_intervals(systems),
            panels=panels_of(systems, standings),
            histograms=histograms(systems, kinds),
            figured=[(index, system) for index, system in enumerate(systems) if system.figures],
            warned=[(index, system) for index, system in enumerate(systems) if system.warnings],
            about=_about(systems),
            signatures=signatures_of(systems),
            policy=Markup(POLICY.format(script=_source_of(script), style=_source_of(style))),
            style=style,
            script=script,
            data=Markup(safe_json(data_of(systems, kinds, words, meanings))),
        )
    )


@cache
def _asset(name: str) -> Markup:
    # The text between the tags is hashed, and a browser sees "\n" whatever the file has.
    return Markup((Path(__file__).parent / name).read_text(encoding="utf-8"))


@cache
def _script() -> Markup:
    """Return the modules as one script: they share a scope, where nothing need be imported."""
    modules = (IMPORT_OR_EXPORT.sub("", _asset(f"script/{name}.js")) for name in SCRIPTS)
    return Markup('"use strict";\n{\n' + "\n".join(modules) + "}\n")


@cache
def _template_environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )


def _source_of(content: str) -> str:
    return "sha256-" + b64encode(sha256(content.encode()).digest()).decode()


def visible(text: str) -> str:
    """Return `text` with whatever cannot be seen, or turns its neighbours around, spelled out."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in "\n\t" or category(c) == "Zs" else f"\\x{ord(c):02x}"
        for c in text
    )


def _verdicts(
    systems: Sequence[PageSystem], comparison: Comparison | None, main: Sequence[str]
) -> tuple[str, ...]:
    """Return sentences for the top of the page: who is better, or the headline of one system."""
    if comparison is not None:
        measures = tuple(each for each in comparison.measures if each.name in main)
        return verdict(replace(comparison, measures=measures))
    if len(systems) > 1:
        return ()
    found = (s for name in main for s in systems[0].scores if (s.name, s.scope) == (name, WHOLE))
    shown = [f"{s.label} {s.value:.{s.places}f}" for s in found]
    return (", ".join(shown),) if shown else ()


def _alerts(systems: Sequence[PageSystem]) -> dict[str, list[int]]:
    """Return warnings that bear on scores → places of the systems: conditions, then one a kind."""
    found: dict[str, list[int]] = {}
    for at, system in enumerate(systems):
        for text in conditions(system.warnings):
            found.setdefault(text, []).append(at)
    for at, system in enumerate(systems):
        kinds: dict[str, list[Problem]] = {}
        for warning in system.warnings:
            if warning.kind not in CONDITIONS | MINOR:
                kinds.setdefault(warning.kind, []).append(replace(warning, file=None))
        for first, *others in kinds.values():
            more = f" (and {len(others):,} more of this kind)" if others else ""
            found.setdefault(f"{counted(str(first), first.count)}{more}", []).append(at)
    return found


def _about(systems: Sequence[PageSystem]) -> list[tuple[str, tuple[str, ...]]]:
    """Return what is known about each run: a key, and one text per system or one for all."""
    keys = dict.fromkeys(key for system in systems for key in system.meta if key != "note")
    rows = []
    for key in keys:
        texts = tuple(_plain(system.meta.get(key)) for system in systems)
        if any(texts):
            rows.append((key.replace("_", " "), texts[:1] if len(set(texts)) == 1 else texts))
    return rows


def _plain(value: Any) -> str:
    match value:
        case None | False:
            return ""
        case True:
            return "yes"
        case {"scored": scored, "of": of}:
            return f"{scored} of {of}"
        case Mapping():
            parts = []
            for key, part in value.items():
                named = PLAIN_KEYS.get(key, str(key).replace("_", " "))
                if text := _plain(part):
                    parts.append(named if part is True else f"{named} {text}")
            return ", ".join(parts)
        case list() | tuple():
            return ", ".join(_plain(part) for part in value)
        case _:
            return str(value)


UNSAFE = re.compile("[<>&\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")

Item = TypeVar("Item")


class _Numbered(dict[Item, int], Generic[Item]):
    """Numbers of things, in the order in which these were first looked up."""

    def __missing__(self, item: Item) -> int:
        number = self[item] = len(self)
        return number


def data_of(
    systems: Sequence[PageSystem],
    kinds: Sequence[Kind],
    words: Words,
    meanings: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return everything about the units, each string, fact and utterance once.

    Numbers stand for places in `strings`, `facts` (label, value, scope), `utterances` (speaker,
    text), `reasons` (code, outcome, scope, text) and `outcomes` (scope, name, 1 kept, 0 lost or
    -1 not asked for, …). A unit of a system is [outcomes, goal facts, turns, [reason, turn, …]],
    with the turns from which on each line of the goal is met behind them where these are known. A
    turn is [utterances, facts], with claims [start, length, verdict, string with what is told, …]
    behind them, and calls of functions [name, arguments, result, 1 if it failed, …] behind those.
    0 is a unit that the system lacks, -1 no scope and no turn, -2 in place of a turn a line that
    could not be met, -3 one that was not judged.
    """
    strings = _Numbered[str]()
    facts = _Numbered[Fact]()
    utterances = _Numbered[Utterance]()
    reasons = _Numbered[tuple[int, int, int, int]]()
    outcomes = _Numbered[tuple[int, ...]]()
    units = list(dict.fromkeys(e.unit for system in systems for e in system.explanations))

    def number_outcomes(explanation: Explanation) -> int:
        flat: list[int] = []
        for scope, named in explanation.outcomes.items():
            for name, outcome in named.items():
                flat += [strings[scope], strings[name], -1 if outcome is None else int(outcome)]
        return outcomes[tuple(flat)]

    def number_reasons(explanation: Explanation) -> list[int]:
        flat: list[int] = []
        for r in explanation.reasons:
            texts = (strings[r.code], strings[r.outcome], strings[r.scope], strings[r.text])
            flat += [reasons[texts], -1 if r.turn is None else r.turn]
        return flat

    def number_turn(turn: TurnView) -> list[list[int]]:
        flat: list[int] = []
        for claim in turn.claims:
            told = strings[f"{claim.slot}{claim.remarks()}"]
            flat += [claim.start, claim.end - claim.start, VERDICTS.index(claim.verdict), told]
        called: list[int] = []
        for use in turn.calls:
            called += map(strings.__getitem__, (use.name, use.arguments, use.result))
            called.append(int(use.has_failed))
        more = [flat, called] if called else [flat] if flat else []
        said = [*map(utterances.__getitem__, turn.utterances)]
        return [said, [*map(facts.__getitem__, turn.facts)], *more]

    def number_reached(explanation: Explanation) -> list[list[int]]:
        if explanation.reached is None:
            return []
        return [[-1 if turn is None else turn for turn in explanation.reached]]

    def pack(explanation: Explanation | None) -> Any:
        if explanation is None:
            return 0
        return [
            number_outcomes(explanation),
            [*map(facts.__getitem__, explanation.goal)],
            [number_turn(turn) for turn in explanation.turns],
            number_reasons(explanation),
            *number_reached(explanation),
        ]

    by_unit = [{e.unit: e for e in system.explanations} for system in systems]
    packed = [[pack(known.get(unit)) for unit in units] for known in by_unit]
    # Each fact and utterance is looked at once, however often it is shown.
    of_facts = [
        (strings[f.label], strings[f.value], -1 if f.scope is None else strings[f.scope])
        for f in facts
    ]
    of_utterances = [(strings[spoken.speaker], strings[spoken.text]) for spoken in utterances]
    return {
        "whole": WHOLE,
        "words": asdict(words),
        "verdicts": VERDICTS,
        "labels": list(labels_of(systems).items()),
        "systems": [[letter_of(index), s.name] for index, s in enumerate(systems)],
        "meanings": {kind.code: meanings[kind.code] for kind in kinds if kind.code in meanings},
        "kinds": [[kind.outcome, kind.code, kind.parent] for kind in kinds],
        "units": units,
        "explanations": packed,
        "outcomes": list(outcomes),
        "reasons": [number for reason in reasons for number in reason],
        "utterances": [number for utterance in of_utterances for number in utterance],
        "facts": [number for fact in of_facts for number in fact],
        "strings": list(strings),
    }


def safe_json(value: Any) -> str:
    """Return JSON that no HTML parser can mistake for the end of its data block."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
