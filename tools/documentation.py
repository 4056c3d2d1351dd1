"""A MkDocs hook for pages of the site outside `docs/`.

Pages of `docs/` link to other files of the repository (the README, results of benchmarks,
programs), and these link to each other. On the site such files are below `repository/`; Markdown
and notebooks become pages. Another page, `options.md`, is the help of all commands.
"""

from __future__ import annotations

import argparse
import json
import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
START = "README.md", "CHANGELOG.md"
ELSEWHERE = "repository/"
LINK = re.compile(r"(?<=\]\()(?!https?:|#)([^)#\s]+)")
EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


class Examples(griffe.Extension):
    """Formats the examples of docstrings as code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Put code fences around each example of a docstring."""
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(r"```pycon\n\g<0>\n```", obj.docstring.value)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files that are linked from pages, and the page of options."""
    pages = [f"docs/{file.src_uri}" for file in files.documentation_pages()]
    for path in _linked([*pages, *START]):
        if not path.startswith("docs/"):
            here: dict[str, Any] = {"abs_src_path": str(ROOT / path)}
            if path.endswith(".ipynb"):
                here = {"content": _notebook(ROOT / path)}
            files.append(File.generated(config, _on_site(path), **here))
    files.append(File.generated(config, "options.md", content=_options()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the text of a page with the links adapted to the site."""
    places = {_on_site(path): path for path in _linked(START)}
    path = places.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    if page.file.src_uri == "options.md":
        return markdown
    here = posixpath.dirname(page.file.src_uri)

    def relinked(match: re.Match[str]) -> str:
        target = _target(path, match[1])
        if not (ROOT / target).exists():
            return match[1]  # MkDocs reports text that looks like a link
        return posixpath.relpath(_on_site(target), here or ".")

    return LINK.sub(relinked, markdown)


def _linked(pages: Any) -> list[str]:
    """Return pages and all files of the repository that they link to, also indirectly, by path."""
    found = list(pages)
    for path in found:
        if path.endswith(".md"):
            for link in LINK.findall((ROOT / path).read_text(encoding="utf-8")):
                target = _target(path, link)
                if target not in found and (ROOT / target).is_file():
                    found.append(target)
    return found


def _target(path: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), link))


def _on_site(path: str) -> str:
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    # MkDocs ignores files whose name begins with a dot.
    place = ELSEWHERE + path.lstrip(".")
    return re.sub(r"\.ipynb$", ".md", place)


def _notebook(path: Path) -> str:
    """Return a notebook as Markdown with its texts, code and output."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                parts.append(
                    f'<img alt="" src="data:image/png;base64,{data["image/png"].strip()}">'
                )
            elif "text/html" in data:
                parts.append("".join(data["text/html"]))
            else:
                text = "".join(output.get("text", data.get("text/plain", "")))
                parts.append(f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def _options() -> str:
    """Return the page with the help of all commands, by benchmark if the help differs."""
    from mwzeval.benchmark import benchmarks
    from mwzeval.cli import VERBS, command_parser

    def help_of(parser: argparse.ArgumentParser) -> str:
        # The last line, the location of pages on this machine, is removed.
        return f"```text\n{argparse.ArgumentParser.format_help(parser)}```"

    os.environ["COLUMNS"] = "84"
    parts = [
        "# Every option",
        "This page shows what `mwzeval COMMAND --help` prints. [Command line](python.md#commands) "
        "describes what all commands share.",
    ]
    for verb in VERBS:
        parts.append(f"## {verb}")
        for known in benchmarks(external=False):
            parsers = dict(_actions(command_parser([verb, "--benchmark", known.name])))
            parts.append(f"### {verb}, {known.title}\n\n{help_of(parsers[verb])}")
    for name, parser in _actions(command_parser()):
        verb, *actions = name.split()
        if verb not in VERBS:
            parts.append(f"{'###' if actions else '##'} {name}\n\n{help_of(parser)}")
    return "\n\n".join(parts) + "\n"


def _actions(parser: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the actions of a verb (`policy train`) and their parsers."""
    for action in parser._actions:
        if isinstance(action.choices, dict):
            for name, below in action.choices.items():
                yield f"{before}{name}", below
                yield from _actions(below, f"{before}{name} ")
