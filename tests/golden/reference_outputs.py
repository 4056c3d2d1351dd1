"""What the commands of `outputs/commands.txt` print and write, as checksums and short texts.

`python -m tests.golden.reference_outputs [GROUP ...]` records it anew. A reference that changes is
recorded in a commit of its own, which says why.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from mwzeval.cli import main
from tests.documents import without_versions
from tests.places import ROOT

FOLDER = Path(__file__).parent / "outputs"
COMMANDS = FOLDER / "commands.txt"
SHORT = 1500
"""Characters of a text that is kept; of others there is only a checksum."""
CHANGING = re.compile(
    r'"(?:ms|seconds|cpu_seconds|created|started|finished|platform|python|numpy)": [^,}\]]+'
)
"""Parts of files that depend on the machine or on the moment."""
LONG_NUMBER = re.compile(r"-?\d+\.\d{7,}(?:e[+-]?\d+)?")
LEFT_OUT = frozenset({"times.json", "progress.npz", "policy.npz"})
"""Files with times, or with what a library packs in its own way."""


def groups() -> dict[str, list[str]]:
    """Return the commands by group, in their order."""
    found: dict[str, list[str]] = {}
    for line in COMMANDS.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            commands = found.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            commands.append(line)
    return found


@contextlib.contextmanager
def surroundings() -> Iterator[Path]:
    """Give commands an empty folder, a wide terminal, no network and no data but the samples."""
    before = Path.cwd()
    given = {"COLUMNS": "200", "MWZEVAL_OFFLINE": "1", "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, given):
        os.environ.pop("MWZEVAL_DATA", None)
        (Path(folder) / "predictions").symlink_to(ROOT / "predictions")
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


def plain(text: str) -> str:
    """Return a text without versions of libraries, and without what depends on the machine.

    Of long numbers six digits are kept: the last ones depend on how a processor adds.
    """
    text = CHANGING.sub("…", without_versions(text))
    return LONG_NUMBER.sub(lambda number: f"{float(number[0]):.6g}", text)


def kept(text: str) -> dict[str, str]:
    """Return what is recorded of a text."""
    checksum = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {"sha256": checksum} | ({"text": text} if len(text) <= SHORT else {})


def recorded(group: str) -> dict[str, Any]:
    """Run the commands of a group; return what each prints, its exit code, and the new files."""
    found: dict[str, Any] = {}
    with surroundings() as folder:
        seen: dict[Path, bytes] = {}
        for line in groups()[group]:
            printed, said = io.StringIO(), io.StringIO()
            words = shlex.split(line.replace("{P}", "predictions"))
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
                try:
                    code = main(words)
                except SystemExit as stopped:
                    code = stopped.code if isinstance(stopped.code, int) else 2
            found[line] = {"code": code, "out": kept(plain(printed.getvalue()))}
            for file in sorted(folder.rglob("*")):
                inside = file.relative_to(folder)
                if inside.parts[0] == "predictions" or not file.is_file():
                    continue
                content = file.read_bytes()
                if file.name in LEFT_OUT or seen.get(inside) == content:
                    continue
                seen[inside] = content
                found[line][str(inside)] = kept(plain(content.decode("utf-8", "replace")))
    return found


def file_of(group: str) -> Path:
    """Return the file with the reference of a group."""
    return FOLDER / f"{group}.json"


if __name__ == "__main__":
    for name in sys.argv[1:] or groups():
        text = json.dumps(recorded(name), ensure_ascii=False, indent=1)
        file_of(name).write_text(f"{text}\n", encoding="utf-8")
        print(f"recorded: {name}")
