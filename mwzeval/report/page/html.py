"""The page of `report`: one HTML file that needs no network.

The page is safe to open whoever wrote the predictions. Jinja2 escapes all texts of the template;
the explanations are in a block of base64, and the script adds their texts to the document as text
nodes; a content security policy allows no script but that of the page, which it names by its hash.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unicodedata import category

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from mwzeval.comparison import Comparison
from mwzeval.comparison.comparison import about_few, verdict
from mwzeval.errors import CONDITIONS, Problem, conditions, counted
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
from mwzeval.scores.explanation import Explanation, TurnView, Words
from mwzeval.scores.score import WHOLE

__all__ = ["PageSystem", "Words", "to_html"]

SCRIPTS = ("page", "elements", "data", "list", "item", "main")
"""The files of `script/` in their order in the page, where they are one module."""

COMPRESSION = 6
"""The level of gzip; 9 takes half as much time again for 2 % of the size."""
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
            data=packed(page_data(systems, kinds, words, meanings)),
        )
    )


@cache
def _asset(name: str) -> Markup:
    # The text between the tags is hashed, and a browser sees "\n" whatever the file has.
    return Markup((Path(__file__).parent / name).read_text(encoding="utf-8"))


@cache
def _script() -> Markup:
    return Markup("\n").join(_asset(f"script/{name}.js") for name in SCRIPTS)


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


def page_data(
    systems: Sequence[PageSystem],
    kinds: Sequence[Kind],
    words: Words,
    meanings: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the data of the script: the items in all systems, kinds of reasons, names and labels.

    The explanations of an item have the order of the systems, with None for one that lacks it.
    Outcomes are lists of pairs, which keep their order whatever the names are.
    """
    by_unit = [{e.unit: e for e in system.explanations} for system in systems]
    units = dict.fromkeys(unit for explanations in by_unit for unit in explanations)
    return {
        "whole": WHOLE,
        "words": asdict(words),
        "labels": labels_of(systems),
        "meanings": {kind.code: meanings[kind.code] for kind in kinds if kind.code in meanings},
        "systems": [{"letter": letter_of(at), "name": s.name} for at, s in enumerate(systems)],
        "kinds": [{"outcome": kind.outcome, "code": kind.code} for kind in kinds],
        "items": [
            {"name": unit, "explanations": [_explanation(known.get(unit)) for known in by_unit]}
            for unit in units
        ],
    }


def _explanation(explanation: Explanation | None) -> dict[str, Any] | None:
    if explanation is None:
        return None
    reasons = [
        {"code": r.code, "outcome": r.outcome, "scope": r.scope, "turn": r.turn, "text": r.text}
        for r in explanation.reasons
    ]
    return {
        "outcomes": [(scope, [*named.items()]) for scope, named in explanation.outcomes.items()],
        "goal": explanation.goal,
        "reached": explanation.reached,
        "turns": [_turn(turn) for turn in explanation.turns],
        "reasons": reasons,
    }


def _turn(turn: TurnView) -> dict[str, Any]:
    found: dict[str, Any] = {"utterances": turn.utterances, "facts": turn.facts}
    if turn.claims:
        found["claims"] = [
            {"start": c.start, "end": c.end, "verdict": c.verdict, "text": f"{c.slot}{c.remarks()}"}
            for c in turn.claims
        ]
    if turn.calls:
        found["calls"] = [
            {"name": c.name, "arguments": c.arguments, "result": c.result, "failed": c.has_failed}
            for c in turn.calls
        ]
    return found


def packed(data: Any) -> str:
    """Return data as JSON, compressed with gzip, in base64."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return b64encode(gzip.compress(text.encode("ascii"), COMPRESSION, mtime=0)).decode("ascii")
