"""The HTML page of `mwzeval report`: one file that works offline.

The page is safe to open even if the predictions come from an untrusted source. Jinja2 escapes all
values that are inserted into the template. The explanations are stored as base64, and the script
inserts them into the page as text nodes. A content security policy allows only the page's own
script, identified by a hash.
"""

from __future__ import annotations

import gzip
import json
import math
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from mwzeval.comparison import Comparison
from mwzeval.comparison.comparison import (
    about_few,
    about_tests,
    about_units,
    difference_cells,
    verdict,
)
from mwzeval.errors import conditions, printable
from mwzeval.report.systems import (
    Kind,
    comparable_in,
    headline_of,
    kinds_of,
    labels_of,
    title_of,
)
from mwzeval.scores.explanation import Claim, Explanation, Reason, ToolUse
from mwzeval.scores.report import Report
from mwzeval.scores.score import (
    PERCENT,
    WHOLE,
    Group,
    Score,
    Words,
    by_place,
    comparability_notes,
)
from mwzeval.scores.sheets import ALIKE, Cell

SCRIPTS = ("page", "elements", "data", "list", "item", "main")
"""The files of `script/`, in the order in which the page joins them into one module."""

COMPRESSION = 6
"""The level of gzip; level 9 takes 50 % more time and reduces the size by 2 %."""
PLAIN_KEYS = {"said": "as specified", "taken_as": "read as"}
"""Maps keys of `meta` whose names could be misread to the words that the page shows instead."""
FOLDER = Path(__file__).parent / "page"


def to_html(
    systems: Sequence[Report],
    *,
    title: str | None = None,
    words: Words | None = None,
    meanings: Mapping[str, str] = MappingProxyType({}),
    compared: Comparison | str | None = None,
    headline: Sequence[str] = (),
) -> str:
    """Return the page as HTML text, identical for identical systems; save it as UTF-8.

    `meanings` maps failure reasons (without detail) to sentences. `compared` is a comparison of the
    systems, or a sentence that explains why the systems are not compared. If there is no
    comparison, no system is marked as best. `headline` lists the names of the scores in the chart.
    """
    words = words or Words()
    kinds = kinds_of(systems)
    intervals = [s.interval for system in systems for s in system.scores if s.interval]
    methods = dict.fromkeys(
        f"{100 * interval.confidence:g} % {interval.method}" for interval in intervals
    )
    alone = ", computed for each system separately" * (len(systems) > 1)
    comparison = compared if isinstance(compared, Comparison) else None
    sentences: list[str] = []
    if comparison is not None:
        sentences += [*about_units(comparison), *about_tests(comparison)]
        if any(measure.is_alike(entry, comparison.level) for measure, entry in comparison.entries):
            pairs = " (all pairs of a table, Holm's correction)" * (comparison.pairs > 1)
            sentences.append(f"{ALIKE}: not significantly different from the best{pairs}")
    alerts: dict[str, list[int]] = {}
    for at, system in enumerate(systems):
        for text in conditions(system.warnings):
            alerts.setdefault(text, []).append(at)
    main = headline_of(systems, headline)
    rows = panels_of(systems, comparison)
    # Browsers hash the text between the tags with "\n" as line break.
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
        title=title or title_of(systems),
        words=words,
        whole=WHOLE,
        letters=[_letter_of(place) for place in range(len(systems))],
        systems=systems,
        verdicts=_verdicts(systems, comparison, main),
        alerts=alerts.items(),
        meanings=meanings,
        notes=dict.fromkeys(s.meta["note"] for s in systems if s.meta.get("note")),
        main_rows=[row for row in rows if row.name in main],
        other_rows=[row for row in rows if row.name not in main],
        chart=[row for name in main for row in rows if row.name == name],
        panels=panels_of(systems, comparison, scopes=True),
        references=_references_of(systems).values(),
        compared=sentences,
        few=about_few(comparison) if comparison else "",
        not_compared=compared if comparison is None else None,
        marked=comparison and any(measure.best for measure in comparison.measures),
        apart=comparability_notes(
            {text: comparable_in(systems, name) for name, text in labels_of(systems).items()}
        ),
        intervals=f"Intervals of scores: {', '.join(methods)}{alone}." if methods else None,
        histograms=_histograms(systems, kinds),
        most=max((count for kind in kinds for count in kind.counts), default=1),
        kind_places={key: place for place, key in enumerate(_flat(kinds))},
        figured=[(place, system) for place, system in enumerate(systems) if system.figures],
        warned=[
            (place, system.name, [warning.shared() for warning in system.warnings])
            for place, system in enumerate(systems)
            if system.warnings
        ],
        warning_count=sum(len(system.warnings) for system in systems),
        about=_about(systems),
        signatures=_signatures_of(systems),
        style=Markup(style),
        style_hash=_hash(style),
        script=Markup(script),
        script_hash=_hash(script),
        data=_packed(systems, kinds, words, meanings),
    )


def _hash(content: str) -> str:
    return "sha256-" + b64encode(sha256(content.encode()).digest()).decode()


def _flat(kinds: Sequence[Kind]) -> list[tuple[str, str]]:
    return [(kind.outcome, kind.code) for group in kinds for kind in (group, *group.details)]


def _verdicts(
    systems: Sequence[Report], comparison: Comparison | None, main: Sequence[str]
) -> tuple[str, ...]:
    """Return sentences for the top of the page: the better system, or one system's headline."""
    if comparison is not None:
        measures = tuple(measure for measure in comparison.measures if measure.name in main)
        return verdict(replace(comparison, measures=measures))
    scores = by_place(systems[0].scores)
    found = (scores.get((name, WHOLE)) for name in main)
    shown = [f"{score.label} {score.value:.{score.places}f}" for score in found if score]
    return (", ".join(shown),) if shown and len(systems) == 1 else ()


def _about(systems: Sequence[Report]) -> list[tuple[str, tuple[str, ...]]]:
    """Return the facts about each run: a key, and one text per system or one text for all."""
    keys = dict.fromkeys(key for system in systems for key in system.meta if key != "note")
    rows = []
    for key in keys:
        texts = tuple(_plain(system.meta.get(key)) for system in systems)
        if any(texts):
            rows.append((key.replace("_", " "), texts[:1] if len(set(texts)) == 1 else texts))
    return rows


def _plain(value: Any, depth: int = 0) -> str:
    match value:
        case None | False:
            return ""
        case True:
            return "yes"
        case {"scored": scored, "of": of}:
            # Parts of a coverage are only listed if they are incomplete.
            return f"{scored} of {of}" if depth < 2 or scored < of else ""
        case Mapping():
            parts = []
            for key, part in value.items():
                named = PLAIN_KEYS.get(key, str(key).replace("_", " "))
                if text := _plain(part, depth + 1):
                    parts.append(named if part is True else f"{named} {text}")
            return ", ".join(parts)
        case list() | tuple():
            return ", ".join(_plain(part) for part in value)
        case _:
            return str(value)


def _packed(
    systems: Sequence[Report],
    kinds: Sequence[Kind],
    words: Words,
    meanings: Mapping[str, str],
) -> str:
    """Return the data of the script as JSON, compressed with gzip, in base64."""
    by_name = [{e.unit: e for e in system.explanations} for system in systems]
    data = {
        "whole": WHOLE,
        "words": words._asdict(),
        "labels": labels_of(systems),
        "meanings": {k.code: meanings[k.code] for k in kinds if k.code in meanings},
        "systems": [{"letter": _letter_of(at), "name": s.name} for at, s in enumerate(systems)],
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
            # Pairs, because JavaScript objects sort keys that are numbers.
            outcomes = [(scope, [*named.items()]) for scope, named in value.outcomes.items()]
            names = ("goal", "reached", "turns", "reasons")
            return {"outcomes": outcomes} | {name: getattr(value, name) for name in names}
        case Claim(start=start, end=end, verdict=verdict):
            return {"start": start, "end": end, "verdict": verdict, "text": value.note()}
        case Reason():
            return {n: getattr(value, n) for n in ("code", "outcome", "scope", "turn", "text")}
        case ToolUse():
            return asdict(value)


def _letter_of(place: int) -> str:
    """Return the short name of a system on the page: A, B, … Z, S27, …"""
    return chr(ord("A") + place) if place < 26 else f"S{place + 1}"


def _places(systems: Sequence[Report], group: Group) -> list[int]:
    return [place for place, system in enumerate(systems) if system.name in group.systems]


class Bar(NamedTuple):
    """A score of a system, and the length of the score's bar (0 if the score is not finite).

    `difference` has the difference from the baseline with its interval and p value; without a
    comparison, `difference` is empty.
    """

    cell: Cell
    length: float
    difference: Sequence[Cell] = ()


class Panel(NamedTuple):
    """A score of comparable systems, over the whole input or over several scopes.

    `setting` states how the systems of the panel, at positions `places`, differ from other systems.
    The axis is from `low` to `high`. Each row has a scope, the number of items as text, and the
    bars of the systems by position. `beside` has the scores of references, such as gold responses.
    """

    name: str
    label: str
    setting: str
    lower_is_better: bool
    low: float
    high: float
    places: Sequence[int]
    rows: Sequence[tuple[str, str, Mapping[int, Bar]]]
    beside: Sequence[str]


def _references_of(systems: Sequence[Report]) -> dict[str, str]:
    """Return the labels of references, by the prefix of their scores."""
    found: dict[str, str] = {}
    for system in systems:
        prefixes = {score.name.split(".")[0] for score in system.scores if "." in score.name}
        found |= {key: label for key, label in system.references.items() if key in prefixes}
    return found


def panels_of(
    systems: Sequence[Report], comparison: Comparison | None, *, scopes: bool = False
) -> list[Panel]:
    """Return a panel per score and comparable group; with `scopes`, only for scores with parts."""
    references = _references_of(systems)
    compared = {
        (measure.name, measure.scope, entry.system): (measure, entry)
        for measure in (comparison.measures if comparison else ())
        if len(measure.systems) > 1
        for entry in measure.systems
    }
    shown: dict[str, dict[str, None]] = {}
    found_in = [by_place(system.scores) for system in systems]
    for system in systems:
        for score in system.scores:
            if scopes or (score.scope == WHOLE and score.name.split(".")[0] not in references):
                shown.setdefault(score.name, {})[score.scope] = None

    def bar(score: Score, system: str) -> Bar:
        interval = score.interval if _ends(score) else None
        cell = Cell(score.value, form=f".{score.places}f", interval=interval)
        difference: Sequence[Cell] = ()
        found = compared.get((score.name, score.scope, system))
        if comparison and found:
            measure, entry = found
            mark = ALIKE if measure.is_alike(entry, comparison.level) else ""
            cell = replace(cell, best=entry in measure.best, mark=mark)
            difference = difference_cells(measure, entry, measure.places)[:3]
        return Bar(cell, score.value if math.isfinite(score.value) else 0.0, difference)

    def panel(name: str, group: Group) -> Panel:
        places = _places(systems, group)

        def row(name: str, scope: str) -> dict[int, Score]:
            found = {place: found_in[place].get((name, scope)) for place in places}
            return {place: score for place, score in found.items() if score}

        rows = {scope: row(name, scope) for scope in shown[name]}
        known = [score for scores in rows.values() for score in scores.values()]
        low, high = _axis(known)
        return Panel(
            name=name,
            label=known[0].label,
            setting=group.setting,
            lower_is_better=known[0].lower_is_better,
            low=low,
            high=high,
            places=places,
            rows=[
                (
                    scope,
                    " / ".join(dict.fromkeys(f"{score.n:,}" for score in scores.values())),
                    {at: bar(score, systems[at].name) for at, score in scores.items()},
                )
                for scope, scores in rows.items()
                if scores
            ],
            beside=[
                " / ".join(dict.fromkeys(f"{s.value:.{s.places}f}" for s in scores.values()))
                for scores in (row(f"{key}.{name}", WHOLE) for key in references)
            ],
        )

    return [
        panel(name, group)
        for name, of_name in shown.items()
        if not scopes or of_name.keys() - {WHOLE}
        for group in comparable_in(systems, name)
    ]


def _ends(score: Score) -> list[float]:
    ends = [score.interval.low, score.interval.high] if score.interval else []
    return ends if all(map(math.isfinite, ends)) else []


def _axis(scores: Sequence[Score]) -> tuple[float, float]:
    """Return round ends of an axis with 0 and all values; percentages above 10 extend it to 100."""
    values = [0.0, *(value for score in scores for value in (score.value, *_ends(score)))]
    finite = [value for value in values if math.isfinite(value)]
    low, high = _round_up(-min(finite)), _round_up(max(finite))
    if scores[-1].unit == PERCENT and 10 < high <= 100:
        high = 100.0
    return (-low if low else 0.0), (high if high or low else 1.0)


def _round_up(value: float) -> float:
    """Return the next value that is 1, 2 or 5 times a power of ten."""
    if value <= 0:
        return 0.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if value <= step * power * (1 + 1e-9))


def _signatures_of(systems: Sequence[Report]) -> dict[str, dict[str, None]]:
    """Return the letters of the systems with each signature, grouped by metric."""
    found: dict[str, dict[str, dict[str, None]]] = {}
    for place, system in enumerate(systems):
        for signature in (score.signature for score in system.scores):
            of_metric = found.setdefault(signature.metric, {})
            of_metric.setdefault(str(signature), {})[_letter_of(place)] = None
    return {text: letters for of_metric in found.values() for text, letters in of_metric.items()}


def _histograms(
    systems: Sequence[Report], kinds: Sequence[Kind]
) -> list[tuple[str, str, list[int], list[Kind]]]:
    """Return label, setting, positions of systems, and reasons for each outcome and group."""
    labels = labels_of(systems)
    found = []
    for outcome in dict.fromkeys(kind.outcome for kind in kinds):
        label = labels.get(outcome, outcome.capitalize())
        for group in comparable_in(systems, outcome):
            places = _places(systems, group)
            if shown := [k for k in kinds if k.outcome == outcome and k.occurs_in(places)]:
                found.append((label, group.setting, places, shown))
    return found
