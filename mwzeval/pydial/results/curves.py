"""Learning curves with bands, over training dialogues, and the figures of the paper beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import UsageError
from mwzeval.pydial.policies.presets import HANDCRAFTED, PRESETS
from mwzeval.pydial.results.figure_axes import AXIS, whole_height
from mwzeval.pydial.results.over_seeds import FEWEST_SEEDS, interval_over_seeds
from mwzeval.pydial.results.run_results import (
    LIMITS,
    Figure,
    Results,
    read_results,
)
from mwzeval.pydial.runs.episode_files import read_episodes
from mwzeval.pydial.runs.job import TRAINING
from mwzeval.pydial.runs.run_folder import RunSettings, run_settings
from mwzeval.pydial.runs.scoring import mean_of
from mwzeval.report.figures import (
    COLOURS,
    LAYER,
    MARKERS,
    band_key,
    check_format,
    key,
    new_figure,
)
from mwzeval.scores.findings import Findings
from mwzeval.statistics.runs import interquartile_mean

Panels = Literal["tasks", "means"]
Band = Literal["interval", "range"]
Aggregate = Literal["mean", "iqm"]
NOTE_ON_FEW = f"bands of fewer than {FEWEST_SEEDS} seeds reach from the lowest to the highest"
WINDOW, LEAST_WINDOW, POINTS = 100, 10, 10
"""Training dialogues that one point of a curve is the mean of; fewer in short runs, for 10 points.
"""
COLUMNS: Mapping[Panels, int] = {"tasks": 3, "means": 2}
WIDTH, HEIGHT = 2.3, 1.7
"""Inches of a panel."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A policy while it learns: mean, low and high at each of `dialogues`; one seed has no band."""

    panel: str
    policy: str
    dialogues: NDArray[np.int64]
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def read_curves(
    output: str | Path,
    results: Results,
    figure: Figure = "success",
    *,
    panels: Panels = "tasks",
    band: Band = "interval",
    aggregate: Aggregate = "mean",
    window: int = WINDOW,
    findings: Findings | None = None,
) -> tuple[Curve, ...]:
    """Return the curves of training, as far as all seeds are. Training explores, tests do not.

    `output` is the folder of the run of which `results` were read; `figure` is what is drawn, and a
    point is the mean of `window` dialogues.

    With `means` they are of the domains and of all tasks, over the seeds that have them all; then
    `aggregate` may be their interquartile mean. The band is the 95 % interval over seeds, or
    reaches from the lowest seed to the highest (a warning, where there are too few seeds). Raises
    `InputError` with every error in the files; warnings go to `findings`.
    Raises `UsageError` when there are no panels.
    """
    curves = []
    if findings is None:
        findings = Findings()
    settings = replace(run_settings(Path(output)), tests=None)
    rows: dict[tuple[str, str], dict[int, NDArray[np.float64]]] = {
        (task, policy): _training(
            Path(output) / task / policy, task, figure, window, settings, findings
        )
        for task in results.tasks
        for policy in results.policies
    }
    findings.check()
    for panel, tasks in panels_of(results, panels):
        for policy in results.policies:
            columns = [rows[task, policy] for task in tasks]
            seeds = sorted(set.intersection(*(set(column) for column in columns)))
            points = min((len(column[seed]) for column in columns for seed in seeds), default=0)
            if points:
                scores = np.array([[c[seed][:points] for c in columns] for seed in seeds])
                mean, low, high = _banded(scores, band, aggregate, LIMITS[figure])
                if band == "interval" and len(seeds) < FEWEST_SEEDS:
                    findings.warning("few-seeds", NOTE_ON_FEW)
                dialogues = window * np.arange(1, points + 1)
                curves.append(Curve(panel, policy, dialogues, mean, low, high))
    return tuple(curves)


def panels_of(results: Results, panels: Panels) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the panels of a picture with their tasks. Raises `UsageError` when there are none."""
    found = tuple(group for group in results.groups() if (len(group[1]) > 1) == (panels == "means"))
    if not found:
        raise UsageError("means are over several tasks, and the run has one")
    return found


def _training(
    folder: Path, task: str, figure: Figure, window: int, settings: RunSettings, findings: Findings
) -> dict[int, NDArray[np.float64]]:
    """Return the means of the windows of each seed."""
    found = {}
    for file in sorted(folder.glob(f"seed-*/{TRAINING}")):
        number = file.parent.name.removeprefix("seed-")
        if not number.isdecimal():
            continue
        seed = int(number)
        episodes = read_episodes(file, task, seed, settings=settings, findings=findings)
        whole = len(episodes) // window * window
        windows = (episodes[at : at + window] for at in range(0, whole, window))
        found[seed] = np.array([mean_of(figure, of_window) for of_window in windows])
    return found


def _banded(
    scores: NDArray[np.float64], band: Band, aggregate: Aggregate, limits: tuple[float, float]
) -> tuple[NDArray[np.float64], ...]:
    """Return mean, low and high over scores of shape (seeds, tasks, points)."""
    of_seed = scores.mean(axis=1)
    if aggregate == "iqm":
        found = [interquartile_mean(scores[..., point]) for point in range(scores.shape[2])]
        mean = np.array([each.value for each in found])
        intervals = [each.interval for each in found]
    else:
        mean = of_seed.mean(axis=0)
        intervals = [interval_over_seeds(column.tolist(), limits=limits) for column in of_seed.T]
    if band == "range" or len(scores) < FEWEST_SEEDS:
        return mean, of_seed.min(axis=0), of_seed.max(axis=0)
    low = np.array([i.low for i in intervals if i is not None])
    return mean, low, np.array([i.high for i in intervals if i is not None])


def plot_curves(
    output: str | Path,
    *,
    figure: Figure = "success",
    format_name: str = "png",
    panels: Panels = "tasks",
    band: Band = "interval",
    aggregate: Aggregate = "mean",
    window: int | None = None,
    findings: Findings | None = None,
) -> bytes:
    """Return a picture: a panel a task (or mean), with a curve and band for each policy.

    Points are the tests, with the same intervals as the band; a dashed line is the handcrafted
    policy (see `read_curves` for the rest). The legend says what each of them is.
    `figure` is what is drawn, `format_name` png, svg or pdf; a point of a curve is the mean of
    `window` training dialogues (by default as many as give ten points). Warnings go to `findings`.
    Raises `UsageError` for an unknown format, an interquartile mean of single tasks and a folder
    without tests, `InputError` with every
    error in the files, `DependencyError` without matplotlib.
    """
    check_format(format_name)
    if aggregate == "iqm" and panels == "tasks":
        raise UsageError("an interquartile mean is one of tasks: it needs the panels of means")
    results = read_results(output, findings)
    if window is None:
        window = min(WINDOW, max(LEAST_WINDOW, max(results.dialogues, default=0) // POINTS))
    curves: dict[str, list[Curve]] = {}
    for curve in read_curves(
        output,
        results,
        figure,
        panels=panels,
        band=band,
        aggregate=aggregate,
        window=window,
        findings=findings,
    ):
        curves.setdefault(curve.panel, []).append(curve)
    shown_panels = panels_of(results, panels)
    columns = min(COLUMNS[panels], len(shown_panels))
    lines = math.ceil(len(shown_panels) / columns)
    # A key is nearly as wide as a panel, so fewer stand in a line where there are fewer panels.
    keys_in_line = min(3, columns)
    room = {1: 1.0, 2: 0.6, 3: 0.4}[keys_in_line]
    with new_figure(WIDTH * columns, HEIGHT * lines + room, format_name) as (picture, save):
        places = list(picture.subplots(lines, columns, squeeze=False, sharey=True).flat)
        shown: dict[str, Any] = {}
        for axes, (panel, tasks) in zip(places, shown_panels, strict=False):
            axes.set_title(f"interquartile {panel}" if aggregate == "iqm" else panel)
            of_panel = curves.get(panel, [])
            shown |= _draw(axes, tasks, of_panel, results, figure, aggregate, band)
            axes.set_xlim(left=0)
        whole_height(places[: len(shown_panels)], figure)
        for axes in places[len(shown_panels) :]:
            axes.remove()
        picture.supxlabel("training dialogues", fontsize=7)
        picture.supylabel(AXIS[figure], fontsize=7)
        shown |= _keys(window, _told_band(band, aggregate, len(results.seeds)))
        ncols = min(keys_in_line, max(1, len(shown)))
        picture.legend(shown.values(), shown, loc="outside upper center", ncols=ncols)
        return save()


def _draw(
    axes: Any,
    tasks: Sequence[str],
    curves: Sequence[Curve],
    results: Results,
    figure: Figure,
    aggregate: Aggregate,
    band: Band,
) -> Mapping[str, Any]:
    axes.grid(axis="y")
    shown: dict[str, Any] = {}
    learning = [name for name, preset in PRESETS.items() if preset.learns]
    places = {policy: index for index, policy in enumerate(learning)}
    for curve in curves:
        place = places[curve.policy]
        colour, mark = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
        axes.fill_between(
            curve.dialogues, curve.low, curve.high, color=colour, alpha=LAYER, linewidth=0
        )
        axes.plot(curve.dialogues, curve.mean, color=colour, linewidth=0.8)
        for at in results.dialogues:
            tests = results.scores(tasks, curve.policy, at, figure)
            if tests:
                mean, low, high = _tested(tests, band, aggregate, figure)
                axes.errorbar(
                    [at],
                    [mean],
                    yerr=[[mean - low], [high - mean]],
                    fmt=mark,
                    color=colour,
                    markersize=3.0,
                    elinewidth=0.6,
                    capsize=1.2,
                    clip_on=False,
                )
        shown[PRESETS[curve.policy].label] = key(color=colour, marker=mark, linewidth=0.8)
    handcrafted = results.scores(tasks, HANDCRAFTED, 0, figure)
    if handcrafted:
        mean, _, _ = _tested(handcrafted, band, aggregate, figure)
        shown[PRESETS[HANDCRAFTED].label] = axes.axhline(
            mean, color=COLOURS[-1], linewidth=0.8, linestyle="--"
        )
    return shown


def _tested(
    scores: Mapping[int, Sequence[float]], band: Band, aggregate: Aggregate, figure: Figure
) -> tuple[float, float, float]:
    """Return aggregate, low and high of tests, seed → figure in each task."""
    rows = np.array(list(scores.values()))[..., np.newaxis]
    mean, low, high = (float(of[0]) for of in _banded(rows, band, aggregate, LIMITS[figure]))
    return mean, low, high


def _told_band(band: Band, aggregate: Aggregate, seeds: int) -> str | None:
    """Return what bands and whiskers are, in short; None where there are none."""
    if seeds < 2:
        return None
    if band == "range" or seeds < FEWEST_SEEDS:
        return f"lowest to highest of {seeds} seeds"
    method = "bootstrap" if aggregate == "iqm" else "t"
    return f"95 % interval over {seeds} seeds ({method})"


def _keys(window: int, told_band: str | None) -> dict[str, Any]:
    """Return what stands in the legend beside the policies."""
    plain = {"color": COLOURS[-1], "linewidth": 0.8}
    keys = {
        f"training, mean of {window} dialogues": key(**plain),
        "test without exploring": key(color=COLOURS[-1], marker="o", linestyle=""),
    }
    return keys if told_band is None else {**keys, told_band: band_key()}
