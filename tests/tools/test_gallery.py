"""The figures of the gallery equal those that the commands draw."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.places import ROOT
from tools.gallery import FIGURE, GALLERY, IMAGES, draw

pytestmark = pytest.mark.integration


def test_gallery_commands_draw_the_figures_shown_below_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = GALLERY.read_text(encoding="utf-8")
    names = [name for _, name in FIGURE.findall(page)]
    assert len(names) == 3
    monkeypatch.chdir(ROOT)
    draw(tmp_path)
    for name in names:
        assert page.count(f"(images/{name})") == 1
        assert (tmp_path / name).stat().st_size > 10_000
        assert (IMAGES / name).is_file()
