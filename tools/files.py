"""How the generators lay out JSON and write files: the same bytes on every machine."""

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def write(files: Mapping[str, str], about: str) -> None:
    """Write texts by path below the root that the command line asks for; `about` is its help."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument(
        "--output",
        type=Path,
        default=ROOT,
        metavar="DIR",
        help="where data/ and predictions/ are written (default: this repository)",
    )
    output: Path = parser.parse_args().output
    for path, text in sorted(files.items()):
        target = output / path
        target.parent.mkdir(parents=True, exist_ok=True)
        # Bytes, because writing text would change the line ends on Windows.
        target.write_bytes(text.encode("utf-8"))


def line(value: Any) -> str:
    """Return a value as JSON without a blank too many."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def array_text(items: Iterable[Any]) -> str:
    """Return a JSON array with a line for each item."""
    return "[\n" + ",\n".join(line(item) for item in items) + "\n]\n"


def object_text(members: Mapping[str, Any]) -> str:
    """Return a JSON object with a line for each member."""
    return "{\n" + ",\n".join(f"{line(k)}:{line(v)}" for k, v in members.items()) + "\n}\n"


def indented_text(value: Any) -> str:
    """Return a value as JSON with a line for each item of whatever depth."""
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"
