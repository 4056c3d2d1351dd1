"""Write all messages and help texts of the package to one file for proofreading.

    python -m tools.messages            # writes tests/messages.txt
    python -m tools.messages --check    # exit code 1 if the file is not up to date

A message is a string of at least three words in the source that is not a docstring; names of
variables replace their values. Utterances of dialogue users (tables of phrases) are data and not
listed.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SNAPSHOT = ROOT / "tests" / "messages.txt"
PHRASES = re.compile(
    r"multiwoz/(words|grounding|convlab|answering)/|multiwoz/live/(user\.py|reading|cues"
    r"|wordings|understanding|rule_agent|convlab_agent)|multiwoz/template_system"
    r"|multiwoz/acts|generator|/reading/|crosswoz/systems/"
)
"""Modules whose texts are utterances or linguistic cues."""
WORDS = re.compile(r"[A-Za-z]{2,}\S* +\S+ +\S+")


def text_of(node: ast.expr) -> str:
    """Return a string with its expressions in braces, "" for other nodes."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr():
            return "".join(
                part.value if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"  # type: ignore[attr-defined, misc]
                for part in node.values
            )
    return ""


def messages(tree: ast.AST) -> Iterator[str]:
    """Yield the strings of a module in order, without docstrings."""
    for field in ast.iter_child_nodes(tree):
        if isinstance(field, ast.Expr) and isinstance(field.value, ast.Constant):
            continue  # a docstring
        text = text_of(field) if isinstance(field, ast.expr) else ""
        if WORDS.search(text):
            yield text
        else:
            yield from messages(field)


def snapshot() -> str:
    """Return the content of the file: the messages by module."""
    parts = []
    for path in sorted((ROOT / "mwzeval").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        found = [] if PHRASES.search(name) else list(messages(ast.parse(path.read_bytes())))
        if found:
            lines = (" ".join(text.split()) for text in found)
            parts.append("\n".join([f"# {name}", *(f"  {line}" for line in lines)]))
    return "\n\n".join(parts) + "\n"


def main() -> int:
    """Write the file, or compare it with the source."""
    text = snapshot()
    if "--check" not in sys.argv:
        SNAPSHOT.write_text(text, encoding="utf-8")
    elif SNAPSHOT.read_text(encoding="utf-8") != text:
        print("tests/messages.txt is not up to date: run python -m tools.messages", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
