"""What errors and help point at exists: pages, verbs and their actions."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from mwzeval.cli import whole_parser
from tests.places import ROOT

PACKAGE = ROOT / "mwzeval"


def named_in_modules(pattern: str) -> dict[str, str]:
    """Return what matches in the package's modules, with one that says it."""
    return {
        match: str(path.relative_to(PACKAGE))
        for path in sorted(PACKAGE.rglob("*.py"))
        for match in re.findall(pattern, path.read_text(encoding="utf-8"))
    }


def commands(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield parser.prog
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from commands(inner)


def headings(page: Path) -> set[str]:
    lines = page.read_text(encoding="utf-8").splitlines()
    titles = (line.lstrip("#").strip().lower() for line in lines if line.startswith("#"))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def test_pages_that_are_named_exist() -> None:
    named = named_in_modules(r"\bdocs/\w+\.md(?:#[\w-]+)?")
    assert len(named) > 10
    for place, module in named.items():
        page, _, heading = place.partition("#")
        assert (ROOT / page).is_file(), f"{module}: {place}"
        assert not heading or heading in headings(ROOT / page), f"{module}: {place}"


def test_commands_that_are_named_exist() -> None:
    named = named_in_modules(r"`(mwzeval [a-z][a-z0-9-]*(?: [a-z][a-z0-9-]*)?)")
    known = set(commands(whole_parser()))
    assert len(named) > 5
    for command, module in named.items():
        verb = " ".join(command.split()[:2])
        has_actions = any(each.startswith(f"{verb} ") for each in known)
        assert (command if has_actions else verb) in known, f"{module}: {command}"
