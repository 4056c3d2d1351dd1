"""Ubuntu's man pages as external knowledge (subtask 5), and which of them a text is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mwzeval.dstc7.reading.findings import Findings, found
from mwzeval.errors import DataError
from mwzeval.files.json_files import parse_json_lines, read_text


@dataclass(frozen=True, slots=True)
class ManPage:
    """A page: the name of a command or file, its section (`1`, `5`, …) if known, and its text."""

    name: str
    section: str | None
    text: str


def read_man_pages(path: str | Path) -> tuple[ManPage, ...]:
    """Return the pages of a folder with a text file each, or of a JSON Lines file.

    In a folder `ls.1.txt`, `ls.1` and `ls.txt` are pages of `ls`; a line of a file is an object
    with `name`, `text` and perhaps `section`. Pages come sorted by name and section. The layout of
    the organisers' own files is not known. Raises `InputError` with every problem, `DataError` for
    a folder without pages.
    """
    place = Path(path)
    pages = _of_folder(place) if place.is_dir() else _of_lines(place)
    return tuple(sorted(pages, key=lambda page: (page.name, page.section or "")))


def _of_folder(folder: Path) -> list[ManPage]:
    pages = []
    for file in sorted(folder.iterdir()):
        if file.is_file() and not file.name.startswith("."):
            name, section = _title(file.name)
            if file.stat().st_size:
                text = read_text(file)
                pages.append(ManPage(name, section, text))
    if not pages:
        raise DataError(f"{folder}: no man page in this folder")
    return pages


def _title(file_name: str) -> tuple[str, str | None]:
    stem = file_name.removesuffix(".gz").removesuffix(".txt")
    name, dot, section = stem.rpartition(".")
    if dot and name and section[:1].isdigit():
        return name, section
    return stem, None


def _of_lines(path: Path) -> list[ManPage]:
    findings = Findings(file=str(path))
    pages = []
    text = read_text(path)
    for number, line in parse_json_lines(text, str(path)):
        page = _page(line, number, findings)
        if page is not None:
            pages.append(page)
    findings.check()
    return pages


def _page(line: Any, number: int, findings: Findings) -> ManPage | None:
    if not isinstance(line, dict):
        findings.add("bad-type", f"line {number}: expected an object, {found(line)}")
        return None
    for key in ("name", "text"):
        if key not in line:
            findings.add("missing-field", f"line {number} has no {key}", key=key)
            return None
        if not isinstance(line[key], str):
            findings.add("bad-type", f"line {number}: {key} is text, {found(line[key])}", key=key)
            return None
    section = line.get("section")
    return ManPage(line["name"], None if section is None else str(section), line["text"])


def relevant(pages: Mapping[str, Sequence[ManPage]], tokens: Iterable[str]) -> list[ManPage]:
    """Return the pages whose name is among the tokens, in the order of the tokens, each once.

    `pages` comes from `by_name`. The rule is ours; names are compared in lower case.
    """
    names = dict.fromkeys(token.lower() for token in tokens)
    return [page for name in names for page in pages.get(name, ())]


def by_name(pages: Iterable[ManPage]) -> dict[str, list[ManPage]]:
    """Return pages by their name in lower case."""
    named: dict[str, list[ManPage]] = {}
    for page in pages:
        named.setdefault(page.name.lower(), []).append(page)
    return named
