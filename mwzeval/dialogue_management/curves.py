"""Learning curves with bands, over training dialogues, and the figures of the paper beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.dialogue_management.policies.presets import HANDCRAFTED, PRESETS
from mwzeval.dialogue_management.run_results import (
    Figure,
    Results,
    interval_over_seeds,
    read_results,
)
from mwzeval.dialogue_management.training_job import TRAINING, read_episodes
from mwzeval.errors import UsageError, shorten
from mwzeval.report.plots import COLOURS, FORMATS, MARKERS, METADATA, STYLE, require_matplotlib

WINDOW = 100
"""Training dialogues that one point of a curve is the mean of."""
COLUMNS = 3
WIDTH, HEIGHT = 2.3, 1.7
"""Inches of a panel."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A policy while it learns: mean, low and high at each of `dialogues`; one seed has no band."""

    task: str
    policy: str
    dialogues: NDArray[np.int64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def read_curves(
    output: str | Path, results: Results, figure: Figure = "success", window: int = WINDOW
) -> tuple[Curve, ...]:
    """Return the curves of training (which explores: tests lie higher), as far as all seeds are."""
    curves = []
    for task in results.tasks:
        for policy in results.policies:
            folder = Path(output) / task / policy
            rows = []
            for file in sorted(folder.glob(f"seed-*/{TRAINING}")):
                episodes = read_episodes(file, task, int(file.parent.name.removeprefix("seed-")))
                values = [100.0 * e.success if figure == "success" else e.reward for e in episodes]
                whole = len(values) // window * window
                rows.append(np.array(values[:whole]).reshape(-1, window).mean(axis=1))
            points = min((len(row) for row in rows), default=0)
            if points:
                limits = (0.0, 100.0) if figure == "success" else (-math.inf, math.inf)
                rows = [row[:points] for row in rows]
                curves.append(_curve(task, policy, rows, window, limits))
    return tuple(curves)


def _curve(
    task: str,
    policy: str,
    rows: Sequence[NDArray[np.float64]],
    window: int,
    limits: tuple[float, float],
) -> Curve:
    columns = np.stack(rows, axis=1)
    mean = columns.mean(axis=1)
    intervals = [interval_over_seeds(column.tolist()) for column in columns]
    low = np.array([m if i is None else i.low for m, i in zip(mean, intervals, strict=True)])
    high = np.array([m if i is None else i.high for m, i in zip(mean, intervals, strict=True)])
    dialogues = window * np.arange(1, len(mean) + 1)
    return Curve(task, policy, dialogues, mean, low.clip(*limits), high.clip(*limits))


def plot_curves(
    output: str | Path,
    *,
    figure: Figure = "success",
    format_name: str = "png",
    window: int = WINDOW,
) -> bytes:
    """Return a picture: a panel a task, with a curve and band (95 % over seeds) for each policy.

    Points are the tests; a dashed line is the handcrafted policy. Raises `UsageError` for an
    unknown format or a folder without tests, `DependencyError` without matplotlib.
    """
    if format_name not in FORMATS:
        known = ", ".join(FORMATS)
        raise UsageError(f'unknown format of pictures "{shorten(format_name)}" ({known})')
    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure as Picture

    results = read_results(output)
    curves: dict[str, list[Curve]] = {}
    for curve in read_curves(output, results, figure, window):
        curves.setdefault(curve.task, []).append(curve)
    tasks = results.tasks
    columns = min(COLUMNS, len(tasks))
    lines = math.ceil(len(tasks) / columns)
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        picture = Picture(figsize=(WIDTH * columns, HEIGHT * lines + 0.4), layout="constrained")
        panels = list(picture.subplots(lines, columns, squeeze=False, sharey=True).flat)
        shown: dict[str, Any] = {}
        for axes, task in zip(panels, tasks, strict=False):
            shown |= _draw(axes, task, curves.get(task, []), results, figure)
        for axes in panels[len(tasks) :]:
            axes.remove()
        picture.supxlabel("training dialogues", fontsize=7)
        picture.supylabel("success (%)" if figure == "success" else "reward", fontsize=7)
        picture.legend(
            shown.values(), shown, loc="outside upper center", ncols=min(6, max(1, len(shown)))
        )
        content = BytesIO()
        picture.savefig(content, format=format_name, metadata=dict(METADATA[format_name]))
    return content.getvalue()


def _draw(
    axes: Any, task: str, curves: Sequence[Curve], results: Results, figure: Figure
) -> Mapping[str, Any]:
    axes.set_title(task)
    axes.grid(axis="y")
    shown: dict[str, Any] = {}
    places = {policy: index for index, policy in enumerate(PRESETS)}
    for curve in curves:
        colour = COLOURS[places[curve.policy] % len(COLOURS)]
        axes.fill_between(
            curve.dialogues, curve.low, curve.high, color=colour, alpha=0.2, linewidth=0
        )
        (line,) = axes.plot(curve.dialogues, curve.mean, color=colour, linewidth=0.8)
        shown[PRESETS[curve.policy].label] = line
        for at in results.dialogues:
            test = results.get(task, curve.policy, at)
            if test is not None:
                mean = float(np.mean(list(test.of(figure).values())))
                mark = MARKERS[places[curve.policy] % len(MARKERS)]
                axes.plot(at, mean, mark, color=colour, markersize=2.4)
    handcrafted = results.get(task, HANDCRAFTED, 0) if HANDCRAFTED in results.policies else None
    if handcrafted is not None:
        mean = float(np.mean(list(handcrafted.of(figure).values())))
        shown[PRESETS[HANDCRAFTED].label] = axes.axhline(
            mean, color="#7F7F7F", linewidth=0.8, linestyle="--"
        )
    return shown
