"""What the README shows is what the current version prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def without_versions(text: str) -> str:
    """Signatures name the installed libraries, which may be newer than the README."""
    return re.sub(r"\b(moses|sacrebleu):[\d.]+", r"\1", text)


def test_first_command_prints_what_the_readme_shows(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.search(r"^python evaluate\.py (.*sample-good\.json)$", readme, re.MULTILINE)
    assert command
    arguments = command[1].replace("predictions/", f"{ROOT}/predictions/").split()
    printed = subprocess.run(
        [sys.executable, str(ROOT / "evaluate.py"), *arguments],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout
    assert without_versions(printed).strip() in without_versions(readme)
    assert (tmp_path / "evaluation_results.json").is_file()
