"""A shell that has read the script completes what a person would type next."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mwzeval.cli import main

pytestmark = pytest.mark.integration

COMPLETED = {
    "mwzeval eva": "evaluate",
    "mwzeval evaluate --dst": "--dst-rule",
    "mwzeval compare --table e": "ends",
    "mwzeval pydial tab": "table",
    "mwzeval pydial run --goodbye p": "policy",
    "mwzeval evaluate -i mi": "mine.json",
    "mwzeval report mi": "mine.json",
}


def test_the_next_word_is_completed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for shell in ("zsh", "tcsh", "bash"):
        assert main(["completion", shell]) == 0
        script = capsys.readouterr().out
        assert "mwzeval" in script
    (tmp_path / "mwzeval.bash").write_text(script, encoding="utf-8")
    (tmp_path / "mine.json").write_text("{}", encoding="utf-8")
    for line, expected in COMPLETED.items():
        words = " ".join(f"'{word}'" for word in line.split(" "))
        commands = (
            f"source mwzeval.bash; COMP_WORDS=({words}); COMP_CWORD={line.count(' ')}; "
            '_shtab_mwzeval; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            ["bash", "-c", commands], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert expected in done.stdout.split(), line
