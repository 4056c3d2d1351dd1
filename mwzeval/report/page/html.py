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
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from mwzeval.comparison import Comparison
from mwzeval.comparison.comparison import about_few, verdict
from mwzeval.errors import CONDITIONS, Problem, conditions, counted, printable
from mwzeval.report.page.model import (
    Kind,
    PageSystem,
    about_comparison,
    about_intervals,
    headline_of,
    histograms,
    kinds_of,
    labels_of,
    letter_of,
    not_comparable,
    panels_of,
    references_of,
    signatures_of,
    standings_of,
)
from mwzeval.scores.explanation import Claim, Explanation, Reason, ToolUse
from mwzeval.scores.score import WHOLE, Words

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
FOLDER = Path(__file__).parent


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

    `meanings` are those of kinds of reasons. `compared` is a comparison of the systems by their
    names, or a sentence that says why there is none; without it no system is the best. `headline`
    names the scores of the chart. Raises `ValueError` without any system.
    """
    if not systems:
        raise ValueError("a page needs at least one system")
    words = words or Words()
    kinds = kinds_of(systems)
    comparison = compared if isinstance(compared, Comparison) else None
    standings = standings_of(comparison) if comparison else {}
    main = headline_of(systems, headline)
    rows = panels_of(systems, standings)
    # The texts between the tags are hashed as browsers see them, with "\n" at the ends of lines.
    style = (FOLDER / "page.css").read_text(encoding="utf-8")
    files = [FOLDER / "script" / f"{name}.js" for name in SCRIPTS]
    script = "\n".join(file.read_text(encoding="utf-8") for file in files)
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: printable(value, keep="\n\t") if type(value) is str else value,
    )
    environment.filters["minus"] = lambda text: text.replace("-", "−")
    return environment.get_template("page.html").render(
        title=title,
        words=words,
        whole=WHOLE,
        letters=[letter_of(place) for place in range(len(systems))],
        systems=systems,
        verdicts=_verdicts(systems, comparison, main),
        alerts=list(_alerts(systems).items())[:SHOWN_ALERTS],
        meanings=meanings,
        notes=dict.fromkeys(s.meta["note"] for s in systems if s.meta.get("note")),
        main_rows=[row for row in rows if row.name in main],
        other_rows=[row for row in rows if row.name not in main],
        chart=[row for name in main for row in rows if row.name == name],
        panels=panels_of(systems, standings, scopes=True),
        references=references_of(systems).values(),
        compared=about_comparison(comparison) if comparison else (),
        few=about_few(comparison) if comparison else "",
        not_compared=compared if comparison is None else None,
        marked=any(best for best, _, _ in standings.values()),
        apart=not_comparable(systems),
        intervals=about_intervals(systems),
        histograms=histograms(systems, kinds),
        most=max((count for kind in kinds for count in kind.counts), default=1),
        kind_places={key: place for place, key in enumerate(_flat(kinds))},
        figured=[(place, system) for place, system in enumerate(systems) if system.figures],
        warned=[(place, system) for place, system in enumerate(systems) if system.warnings],
        warning_count=sum(len(system.warnings) for system in systems),
        about=_about(systems),
        signatures=signatures_of(systems),
        style=Markup(style),
        style_hash=_hash(style),
        script=Markup(script),
        script_hash=_hash(script),
        data=_packed(systems, kinds, words, meanings),
    )


def _hash(content: str) -> str:
    return "sha256-" + b64encode(sha256(content.encode()).digest()).decode()


def _flat(kinds: Sequence[Kind]) -> list[tuple[str, str]]:
    """Return outcome and code of all kinds, each followed by its details."""
    return [(kind.outcome, kind.code) for group in kinds for kind in (group, *group.details)]


def _verdicts(
    systems: Sequence[PageSystem], comparison: Comparison | None, main: Sequence[str]
) -> tuple[str, ...]:
    """Return sentences for the top of the page: who is better, or the headline of one system."""
    if comparison is not None:
        measures = tuple(measure for measure in comparison.measures if measure.name in main)
        return verdict(replace(comparison, measures=measures))
    scores = {s.name: s for s in systems[0].scores if s.scope == WHOLE}
    shown = [f"{s.label} {s.value:.{s.places}f}" for s in map(scores.get, main) if s]
    return (", ".join(shown),) if shown and len(systems) == 1 else ()


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


def _packed(
    systems: Sequence[PageSystem],
    kinds: Sequence[Kind],
    words: Words,
    meanings: Mapping[str, str],
) -> str:
    """Return the data of the script as JSON, compressed with gzip, in base64.

    The explanations of an item have the order of the systems, with null for one that lacks it.
    """
    by_name = [{e.unit: e for e in system.explanations} for system in systems]
    data = {
        "whole": WHOLE,
        "words": words._asdict(),
        "labels": labels_of(systems),
        "meanings": {k.code: meanings[k.code] for k in kinds if k.code in meanings},
        "systems": [{"letter": letter_of(at), "name": s.name} for at, s in enumerate(systems)],
        "kinds": [{"outcome": outcome, "code": code} for outcome, code in _flat(kinds)],
        "items": [
            {"name": name, "explanations": [known.get(name) for known in by_name]}
            for name in dict.fromkeys(name for known in by_name for name in known)
        ],
    }
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, default=_plain_object)
    return b64encode(gzip.compress(text.encode("ascii"), COMPRESSION, mtime=0)).decode("ascii")


def _plain_object(value: Explanation | Reason | Claim | ToolUse) -> dict[str, Any]:
    match value:
        case Explanation():
            # Pairs, because the order of an object's keys changes where they are numbers.
            outcomes = [(scope, [*named.items()]) for scope, named in value.outcomes.items()]
            names = ("goal", "reached", "turns", "reasons")
            return {"outcomes": outcomes} | {name: getattr(value, name) for name in names}
        case Claim(start=start, end=end, verdict=verdict):
            text = f"{value.slot}{value.remarks()}"
            return {"start": start, "end": end, "verdict": verdict, "text": text}
        case Reason():
            return {n: getattr(value, n) for n in ("code", "outcome", "scope", "turn", "text")}
        case ToolUse():
            return asdict(value)
