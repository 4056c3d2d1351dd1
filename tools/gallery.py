"""Regenerate the figures of `docs/index.md` with the commands that it shows.

Figures without a command (pages of `report`) are screenshots.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from mwzeval.cli import main

ROOT = Path(__file__).resolve().parents[1]
GALLERY = ROOT / "docs" / "index.md"
IMAGES = GALLERY.parent / "images"
FIGURE = re.compile(r"^mwzeval (plot .*) -o (\w+\.png)$", re.MULTILINE)


def draw(images: Path = IMAGES) -> None:
    """Write the figure of each `plot` command of the page, run in the root of the repository."""
    for command, name in FIGURE.findall(GALLERY.read_text(encoding="utf-8")):
        code = main([*shlex.split(command), "-o", str(images / name)])
        assert code == 0, command


if __name__ == "__main__":
    os.chdir(ROOT)
    draw()
