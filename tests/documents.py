"""The code blocks of README.md and docs/*.md, and the check of each block.

The form of a block determines its check:

* ```` ```json ````: the block is parsed.
* ```` ```python ````: the block is executed if it defines all names that it uses; otherwise it is
  compiled and its imports are executed. A block without a language right below is its output.
* Lines that begin with `$ mwzeval` or `$ python`: the commands are run, and their standard output
  must contain the lines below them. `…` stands for any text.
* Lines that begin with `mwzeval` or `python`: the options must exist.
* Other blocks (a folder layout, a formula) are not checked.

A comment on the line above a block, `<!-- check: … -->`, has further conditions, separated by
semicolons: `needs data/crosswoz` (real data), `saved as my_module.py` (a file for the other blocks
of the document), `not run: REASON`.
"""

from __future__ import annotations

import ast
import builtins
import re
from dataclasses import dataclass, replace
from pathlib import Path

BLOCK = re.compile(
    r"(?:^<!-- check: (?P<check>.*?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
COMMAND = re.compile(r"(?:mwzeval|python [a-z_]+\.py) ")
VERSION = re.compile(r"\b([a-z][\w-]*):\d+(?:\.\d+){2}(?:\.\w+)*")


@dataclass(frozen=True)
class Block:
    """A fenced block of a document; `line` is the number of its first line."""

    document: Path
    line: int
    language: str
    text: str
    checks: tuple[str, ...] = ()
    printed: str | None = None
    """The text of the block right below, if that shows the output of this block."""

    def conditions(self, what: str) -> list[str]:
        """Return the values of a kind of condition: `conditions("needs")` → `["data/crosswoz"]`."""
        found = (re.fullmatch(rf"{what}\b:? ?(.*)", check) for check in self.checks)
        return [match[1] for match in found if match]

    @property
    def commands(self) -> list[tuple[str, str]]:
        """Pairs of a command and the output that the document shows."""
        if self.language or not self.text.startswith("$ "):
            return []
        parts = re.split(r"^\$ (.*)\n", self.text, flags=re.MULTILINE)[1:]
        return list(zip(parts[::2], parts[1::2], strict=True))

    @property
    def commands_without_output(self) -> list[str]:
        """Commands that are shown without their output."""
        if self.language or self.text.startswith("$ "):
            return []
        return [line for line in self.text.splitlines() if COMMAND.match(line)]


def blocks_of(document: Path) -> list[Block]:
    """Return all blocks of a document, in order."""
    source = document.read_text(encoding="utf-8")
    found: list[Block] = []
    end = 0
    for match in BLOCK.finditer(source):
        language, text = match["language"], match["text"]
        printed = (
            not language and not text.startswith("$ ") and not source[end : match.start()].strip()
        )
        if printed and found and found[-1].language == "python":
            found[-1] = replace(found[-1], printed=text)
        line = source.count("\n", 0, match.start("language")) + 1
        checks = tuple(part.strip() for part in (match["check"] or "").split(";") if part.strip())
        found.append(Block(document, line, language, text, checks))
        end = match.end()
    return found


def free_names(source: str) -> set[str]:
    """Return the names that a program uses and never binds."""
    used: set[str] = set()
    bound = set(dir(builtins))
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.alias(name=name, asname=asname):
                bound.add(asname or name.split(".")[0])
    return used - bound


def imports_of(source: str) -> str:
    """Return the import statements of a program."""
    return "\n".join(
        ast.unparse(node)
        for node in ast.parse(source).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    )


def without_versions(text: str) -> str:
    """Mask the library versions in signatures, which may be newer than the document."""
    return VERSION.sub(r"\1:…", text)


def shows(document: str, printed: str) -> bool:
    """Return whether the printed text contains the text of a document, except versions and `…`."""
    shown = without_versions(document).strip()
    parts = re.split(r"(?:^|\n)[^\S\n]*…[^\S\n]*(?:\n|$)", shown)
    pattern = r"[\s\S]*".join(re.escape(part) for part in parts)
    return re.search(pattern, without_versions(printed)) is not None
