"""Reports as one page for people to open, search and pass on: everything is inside the file.

The page is safe to open whoever wrote the predictions. What the template writes is escaped by
Jinja2; everything else travels as JSON in a data block and reaches the document as text nodes; a
content-security-policy lets nothing run but the page's own script, known by its hash.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from unicodedata import category

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from mwzeval.report.page.model import PageSystem, letter_of
from mwzeval.report.page.reasons import histograms, kinds_of
from mwzeval.report.page.scores import about_intervals, panels_of, score_rows, signatures_of
from mwzeval.report.page_data import data_of, safe_json
from mwzeval.scores.explanation import Words
from mwzeval.scores.score import WHOLE

__all__ = ["PageSystem", "Words", "to_html"]

POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


def to_html(systems: Sequence[PageSystem], *, title: str, words: Words | None = None) -> str:
    """Return the page as HTML text, the same for the same systems; write it as UTF-8.

    With more than two systems the viewer chooses which two stand side by side. Raises `ValueError`
    without any system.
    """
    if not systems:
        raise ValueError("a page needs at least one system")
    words = words or Words()
    kinds = kinds_of(systems)
    style, script = _asset("page.css"), _asset("page.js")
    return (
        _template_environment()
        .get_template("page.html")
        .render(
            title=title,
            words=words,
            whole=WHOLE,
            letters=[letter_of(index) for index in range(len(systems))],
            systems=systems,
            notes=dict.fromkeys(s.meta["note"] for s in systems if s.meta.get("note")),
            rows=score_rows(systems),
            intervals=about_intervals(systems),
            panels=panels_of(systems),
            histograms=histograms(systems, kinds),
            warned=[(index, system) for index, system in enumerate(systems) if system.warnings],
            about=_about(systems),
            signatures=signatures_of(systems),
            policy=Markup(POLICY.format(script=_source_of(script), style=_source_of(style))),
            style=style,
            script=script,
            data=Markup(safe_json(data_of(systems, kinds, words))),
        )
    )


@cache
def _asset(name: str) -> Markup:
    # The text between the tags is hashed, and a browser sees "\n" whatever the file has.
    return Markup((Path(__file__).parent / name).read_text(encoding="utf-8"))


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
        case None:
            return ""
        case {"scored": scored, "of": of}:
            return f"{scored} of {of}"
        case Mapping():
            parts = ((str(key).replace("_", " "), _plain(part)) for key, part in value.items())
            return ", ".join(f"{key} {text}" for key, text in parts if text)
        case list() | tuple():
            return ", ".join(_plain(part) for part in value)
        case _:
            return str(value)
