"""A shell that has read the script completes what a person would type next."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mwzeval.completion import SHELLS, completion_script

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("completion") / "mwzeval.bash"
    file.write_text(completion_script("bash"), encoding="utf-8")
    return file


def completed(script: Path, line: str, folder: Path) -> list[str]:
    words = " ".join(f"'{word}'" for word in line.split(" "))
    commands = (
        f"source {script}; COMP_WORDS=({words}); COMP_CWORD={line.count(' ')}; "
        '_shtab_mwzeval; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", commands], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("mwzeval eva", ["evaluate"]),
        ("mwzeval evaluate --dst", ["--dst", "--dst-rule"]),
        ("mwzeval evaluate --benchmark dstc7-ub", ["dstc7-ubuntu-1", "dstc7-ubuntu-2"]),
        ("mwzeval compare --table e", ["ends"]),
        ("mwzeval pydial est", ["estimate"]),
        ("mwzeval pydial run --goodbye p", ["policy"]),
        ("mwzeval evaluate -i mi", ["mine.json"]),
        ("mwzeval report mi", ["mine.json"]),
    ],
)
def test_the_next_word_is_completed(
    line: str, expected: list[str], script: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.json").write_text("{}", encoding="utf-8")
    assert set(expected) <= set(completed(script, line, tmp_path))


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_a_script(shell: str) -> None:
    assert "mwzeval" in completion_script(shell)
