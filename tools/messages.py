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
PHRASES = (
    *("crosswoz/systems/*", "multiwoz/convlab/*", "multiwoz/grounding/*", "multiwoz/words/*"),
    *("multiwoz/acts.py", "multiwoz/template_system.py", "multiwoz/live/*_agent.py"),
    *("multiwoz/live/reading.py", "multiwoz/live/understanding.py", "multiwoz/live/user.py"),
    "multiwoz/live/wordings.py",
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
    package = ROOT / "mwzeval"
    of_phrases = {pattern: {*package.glob(pattern)} for pattern in PHRASES}
    if missing := [pattern for pattern, paths in of_phrases.items() if not paths]:
        sys.exit(f"PHRASES in {__file__} names modules that do not exist: {', '.join(missing)}")
    for path in sorted({*package.rglob("*.py")}.difference(*of_phrases.values())):
        name = path.relative_to(ROOT).as_posix()
        if found := list(messages(ast.parse(path.read_bytes()))):
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
