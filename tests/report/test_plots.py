"""Figures: file formats, reproducible bytes, and complete text."""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mwzeval.errors import DependencyError, MwzevalWarning, UsageError
from mwzeval.report.figures import FORMATS, plot_parts, plot_reasons, plot_scores, whole_range
from mwzeval.scores.score import WHOLE, Interval, Words
from tests.command_lines import Run
from tests.places import GOOD, sample_file
from tests.report.systems import SCOPES, large_systems

pytest.importorskip("matplotlib", reason="install the extra mwzeval[plot]")

USUAL = ("DejaVu Sans", 400, "normal")
MAGIC = {"pdf": b"%PDF-1.", "png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml "}
WORDS = Words("talk", "talks", "place")
TWO = large_systems(40)
FOUR = large_systems(40, ("first", "second", "third", "fourth"))

Draw = Callable[[str], bytes]
FIGURES: dict[str, Draw] = {
    "scores": lambda ending: plot_scores(TWO, ["found", "words"], format_name=ending),
    "parts": lambda ending: plot_parts(TWO, format_name=ending, words=WORDS),
    "reasons": lambda ending: plot_reasons(FOUR, format_name=ending, words=WORDS),
}


@pytest.fixture(scope="module")
def svgs() -> dict[str, bytes]:
    return {name: draw("svg") for name, draw in FIGURES.items()}


def texts(svg: bytes) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg.decode())


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize(
    "figure",
    ["scores", *(pytest.param(f, marks=pytest.mark.integration) for f in [*FIGURES][1:])],
)
def test_figures_have_the_requested_format_and_reproducible_bytes(figure: str, ending: str) -> None:
    drawn = FIGURES[figure](ending)
    assert drawn.startswith(MAGIC[ending])
    assert drawn == FIGURES[figure](ending)
    assert not re.search(rb"Date|\b20[0-9]{2}-[01][0-9]-", drawn)


def test_figures_show_names_and_scores_of_all_systems(svgs: dict[str, bytes]) -> None:
    assert all(b' width="237.6pt"' in svg for svg in svgs.values()), "3.3 inches"
    shown = texts(svgs["scores"])
    assert [shown.count(system.name) for system in TWO] == [1, 1]
    assert {"Found", "Words", "11.25", f"{TWO[0].scores[0].value:.1f}", "score"} <= set(shown)
    assert any(text.startswith("95 % interval (") for text in shown)

    parts = [score for score in TWO[1].scores if score.scope in SCOPES]
    numbers = {f"{s.value:.1f}" for s in parts} | {f"{s.scope} ({s.n})" for s in parts}
    assert numbers | {"Found", "Solved"} <= set(texts(svgs["parts"]))
    assert "Words" not in texts(svgs["parts"])

    shown = texts(svgs["reasons"])
    assert {system.name for system in FOUR} <= set(shown)
    assert {"never-gave", "wrong", "missing", "nothing-offered"} <= set(shown)
    assert any("talks" in text for text in shown)
    counts = [
        sum(any(r.code.startswith("never-gave") for r in e.reasons) for e in system.explanations)
        for system in FOUR
    ]
    assert {str(count) for count in counts} <= set(shown)


def test_reason_plots_label_the_settings_of_incomparable_systems() -> None:
    apart = []
    for system in FOUR:
        state = {"state": f"of {system.name}"}
        scores = (replace(s, signature=s.signature.extended(state)) for s in system.scores)
        apart.append(replace(system, scores=tuple(scores)))
    for systems in (apart[:2], apart):
        lines = texts(plot_reasons(systems, format_name="svg", words=WORDS))
        for system in systems:
            assert lines[lines.index(f"state of {system.name}") - 1].endswith(" failed")


def test_missing_values_are_drawn_as_dashes() -> None:
    endless = Interval(1.0, math.inf, 0.95, "x")
    bare = replace(TWO[0].scores[0], value=math.nan, interval=endless)
    systems = [replace(TWO[0], scores=(bare,)), replace(TWO[1], scores=TWO[1].scores[1:])]
    assert texts(plot_scores(systems, ["found"], format_name="svg")).count("–") == 2
    parts = texts(plot_parts([TWO[0], replace(TWO[1], scores=())], format_name="svg", words=WORDS))
    assert parts.count("–") == 2 * (1 + len(SCOPES))


def test_scores_with_different_parts_have_separate_columns() -> None:
    at_turns = [
        replace(TWO[0].scores[0], name="at_turn", label="At turn", scope=turn, n=7)
        for turn in ("1", "2+")
    ]
    systems = [replace(system, scores=(*system.scores, *at_turns)) for system in TWO]
    usual = texts(plot_parts(TWO, format_name="svg", words=WORDS))
    shown = texts(plot_parts(systems, format_name="svg", words=WORDS))
    assert shown.count("–") == usual.count("–")
    assert not Counter(usual) - Counter(shown)
    assert {"At turn", "1 (7)", "2+ (7)"} <= set(shown) - set(usual)


def placed(svg: bytes) -> list[tuple[str, float, float]]:
    """Return (text, x, y) of all texts."""
    found = []
    for attributes, text in re.findall(r"<text([^>]*)>([^<]*)</text>", svg.decode()):
        moved = re.search(r"(?:translate\(| x=\"| )(-?[\d.]+)[ ,](-?[\d.]+)", attributes)
        at = re.search(r'x="(-?[\d.]+)" y="(-?[\d.]+)"', attributes) or moved
        assert at
        found.append((text, float(at[1]), float(at[2])))
    return found


def test_systems_are_drawn_in_the_given_order() -> None:
    for systems in (TWO, TWO[::-1]):
        for drawn in (
            plot_scores(systems, ["found"], format_name="svg"),
            plot_parts(systems, format_name="svg", words=WORDS),
        ):
            down = {text: y for text, _, y in placed(drawn)}
            assert down[systems[0].name] < down[systems[1].name]


def test_axis_limits_set_the_scale_of_the_plot() -> None:
    """Oracle: the distance between two tick labels, divided by the difference of their numbers."""
    scores = [system.scores[0] for system in TWO]
    assert [(score.name, score.scope) for score in scores] == [("found", WHOLE)] * 2
    values = [score.value for score in scores]
    written = {f"{score.value:.{score.places}f}" for score in scores}
    low, high = min(values) - 15, max(values) + 1
    spans = []
    for limits in ((None, None), (low, None), (low, high)):
        drawn = placed(plot_scores(TWO, ["found"], format_name="svg", width=7, limits=limits))
        numbers = [(text, x) for text, x, _ in drawn if re.fullmatch(r"[\d.]+", text)]
        ticks = sorted((float(text), x) for text, x in numbers if text not in written)
        (first, left), (last, right) = ticks[0], ticks[-1]
        assert (low if limits[0] else 0) <= first < last <= (high if limits[1] else 100)
        spans.append((right - left) / (last - first))
    assert spans[0] < spans[1] < spans[2]
    with pytest.raises(UsageError, match="Found"):
        plot_scores(TWO, ["found"], format_name="svg", limits=(max(values) + 0.5, None))


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_axes_show_units_start_at_zero_and_improve_to_the_right(lower_is_better: bool) -> None:
    systems = []
    for system in TWO:
        scores = (
            replace(s, lower_is_better=lower_is_better, unit="%" if s.name == "found" else "words")
            for s in system.scores
        )
        systems.append(replace(system, scores=tuple(scores)))
    drawn = placed(plot_scores(systems, ("found", "words"), format_name="svg"))
    less = ", lower is better" if lower_is_better else ""
    assert {f"%{less}", f"words{less}"} <= {text for text, _, _ in drawn}
    zeros = [x for text, x, _ in drawn if text == "0"]
    (hundred,) = (x for text, x, _ in drawn if text == "100")
    assert len(zeros) == 2, "each panel has a separate axis"
    assert (min(zeros) > hundred) is lower_is_better


def test_axis_ranges_include_zero_and_all_finite_values() -> None:
    assert whole_range((93.0, 95.0), "%") == (0, 100)
    assert whole_range((12.5, 30.0, math.nan), "points") == (0, 30)
    assert whole_range((-3.0, -1.0), "points") == (-3, 1)
    assert whole_range((math.inf,), "") == whole_range((), "points") == (0, 1)


def test_system_names_are_drawn_literally_and_truncated() -> None:
    names = ("$x_1$ & <y>", "n" * 99)
    systems = [replace(system, name=name) for system, name in zip(TWO, names, strict=True)]
    shown = texts(plot_scores(systems, ["found"], format_name="svg"))
    assert {"$x_1$ &amp; &lt;y&gt;", "n" * 24 + "…"} <= set(shown)


def test_impossible_plots_are_usage_errors() -> None:
    nothing = [replace(TWO[0], scores=TWO[0].scores[-1:], explanations=())]
    with pytest.raises(UsageError, match="by place"):
        plot_parts(nothing, format_name="svg", words=WORDS)
    with pytest.raises(UsageError, match="failure"):
        plot_reasons(nothing, format_name="svg", words=WORDS)
    with pytest.raises(UsageError, match=r'"foud".*"found"'):
        plot_scores(TWO, ["foud"], format_name="svg")


@pytest.mark.parametrize(
    "kind",
    ["reasons", *(pytest.param(k, marks=pytest.mark.integration) for k in ("scores", "domains"))],
)
def test_plot_command_draws_the_sample_systems(kind: str, tmp_path: Path, run: Run) -> None:
    figure = tmp_path / "figure.SVG"
    weak = sample_file("weak-tracker")
    code, out, err = run("plot", GOOD, weak, "--kind", kind, "-o", str(figure))
    assert (code, out) == (0, "")
    assert str(figure) in err
    assert {"sample-good", "sample-weak-tracker"} <= set(texts(figure.read_bytes()))


def test_missing_matplotlib_errors_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(DependencyError, match=r"mwzeval\[plot\]"):
        FIGURES["scores"]("pdf")


@pytest.mark.parametrize("ending", FORMATS)
def test_chinese_fonts_are_used_or_missing_characters_reported_once(
    ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.font_manager import fontManager

    own = [font for font in fontManager.ttflist if "mpl-data" in font.fname]
    monkeypatch.setattr(fontManager, "ttflist", own)
    system = replace(TWO[0], name="我们的系统")
    with pytest.warns(MwzevalWarning, match="们我的系统") as caught:
        plot_scores([system], ["found"], format_name=ending)
    assert len(caught) == 1
    usual = next(f for f in own if (f.name, f.weight, f.style) == USUAL)
    monkeypatch.setattr(fontManager, "ttflist", [*own, replace(usual, name="Noto Sans CJK SC")])
    assert b"'DejaVu Sans', 'Noto Sans CJK SC'" in FIGURES["scores"]("svg")
