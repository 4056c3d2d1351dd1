"""Figures with characters that the usual font lacks."""

from __future__ import annotations

import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.errors import MwzevalWarning
from mwzeval.report.figures.style import FORMATS
from tests.places import ROOT
from tests.report.systems import large_systems

pytest.importorskip("matplotlib", reason="install the extra mwzeval[plot]")

from matplotlib import font_manager

from mwzeval.report.figures.scores import plot_scores

pytestmark = pytest.mark.integration

NAME = "我们的系统"
SYSTEM = replace(large_systems(10)[0], name=NAME)


def font_of(characters: str, family: str, path: Path) -> None:
    """Write a font in which each character is a square."""
    building = pytest.importorskip("fontTools.fontBuilder")
    pens = pytest.importorskip("fontTools.pens.ttGlyphPen")
    pen = pens.TTGlyphPen(None)
    pen.moveTo((0, 0))
    for point in ((0, 800), (800, 800), (800, 0)):
        pen.lineTo(point)
    pen.closePath()
    square: Any = pen.glyph()
    glyphs = [".notdef", *(f"u{ord(each):04X}" for each in characters)]
    builder = building.FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(glyphs)
    builder.setupCharacterMap({ord(each): f"u{ord(each):04X}" for each in characters})
    builder.setupGlyf(dict.fromkeys(glyphs, square))
    builder.setupHorizontalMetrics(dict.fromkeys(glyphs, (1000, 0)))
    builder.setupHorizontalHeader(ascent=900, descent=-100)
    builder.setupNameTable({"familyName": family, "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=900, usWinAscent=900, usWinDescent=100)
    builder.setupPost()
    builder.save(path)


@pytest.fixture
def no_other_fonts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be those of matplotlib alone."""
    own = Path(font_manager.__file__).parent
    monkeypatch.setattr(
        font_manager.fontManager,
        "ttflist",
        [font for font in font_manager.fontManager.ttflist if own in Path(font.fname).parents],
    )
    monkeypatch.setattr(font_manager, "findSystemFonts", list)


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.usefixtures("no_other_fonts")
def test_a_font_that_is_missing_is_named(ending: str) -> None:
    with pytest.warns(MwzevalWarning, match=r"\(们我的系统\).*cjk") as told:
        plot_scores([SYSTEM], ["found"], format_name=ending)
    assert len(told) == 1


@pytest.mark.usefixtures("no_other_fonts")
def test_what_is_not_chinese_needs_no_chinese_font() -> None:
    with pytest.warns(MwzevalWarning, match="^(?!.*cjk)"):
        plot_scores([replace(SYSTEM, name="ꦄ")], ["found"], format_name="svg")


@pytest.mark.usefixtures("no_other_fonts")
def test_an_installed_font_is_taken_even_if_it_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    font_of(NAME[:2], "Some Han", tmp_path / "a.ttf")
    font_of(NAME, "Noto Sans CJK Test", tmp_path / "b.ttf")
    font_of("abc", "No Han", tmp_path / "c.ttf")
    (tmp_path / "d.ttf").write_bytes(b"no font")
    fonts = [str(path) for path in sorted(tmp_path.iterdir())]
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: fonts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg = plot_scores([SYSTEM], ["found"], format_name="svg").decode()
        plot_scores([SYSTEM], ["found"], format_name="pdf")
    (line,) = [line for line in svg.splitlines() if NAME in line]
    assert "'DejaVu Sans', 'Noto Sans CJK Test'" in line
    assert "Some Han" not in svg
    assert "No Han" not in svg


@pytest.mark.usefixtures("no_other_fonts")
def test_the_command_line_says_so_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, figure = tmp_path / f"{NAME}.json", tmp_path / "figure.png"
    shutil.copy(ROOT / "predictions" / "sample-good.json", file)
    assert main(["plot", str(file), "-o", str(figure)]) == 0
    warning, wrote = capsys.readouterr().err.splitlines()
    assert warning.startswith("warning: ")
    assert "/" not in warning
    assert wrote.startswith("wrote ")
