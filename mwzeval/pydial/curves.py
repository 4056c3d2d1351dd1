"""Figures of runs: learning curves with bands, and tests at several error rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mwzeval.errors import UsageError
from mwzeval.pydial.episode_files import RunSettings, read_episodes, run_settings
from mwzeval.pydial.job import TRAINING
from mwzeval.pydial.policies.presets import HANDCRAFTED, PRESETS
from mwzeval.pydial.results import (
    FEWEST_SEEDS,
    LIMITS,
    Figure,
    Groups,
    Results,
    interquartile_mean,
    interval_over_seeds,
    read_results,
)
from mwzeval.pydial.scoring import mean_of
from mwzeval.pydial.tasks import in_order, task_named
from mwzeval.report.figures import (
    COLOURS,
    check_format,
    key,
    new_figure,
)
from mwzeval.scores.findings import Findings

MARKERS = "os^DvP*X"
OPACITY = 0.2
"""The opacity of bands, so that a band below other bands is visible."""

Panels = Literal["tasks", "means"]
Band = Literal["interval", "range"]
Aggregate = Literal["mean", "iqm"]
NOTE_ON_FEW = (
    f"with fewer than {FEWEST_SEEDS} seeds, bands show the range from the lowest to the "
    "highest seed"
)
WINDOW, LEAST_WINDOW, POINTS = 100, 10, 10
"""Number of training dialogues per point, but fewer in short runs, for about `POINTS` points."""
AXIS: Mapping[Figure, str] = {"success": "success (%)", "reward": "reward (points)"}
COLUMNS: Mapping[Panels, int] = {"tasks": 3, "means": 2}
WIDTH, HEIGHT = 2.3, 1.7
"""The size of a panel in inches."""
ROOM = {1: 1.0, 2: 0.6, 3: 0.4}
"""The height of the legend in inches, by its number of columns."""
ERRORS_OF_TRAINING: Mapping[str, Any] = {"color": COLOURS[-1], "linewidth": 0.6, "linestyle": ":"}


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A policy's learning curve: the mean score and interval after each number of `dialogues`."""

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
    """Return the training curves of a run, including exploration, up to the length that all seeds
    have reached.

    `results` has the test results of the run in the folder `output`. `figure` is the score that is
    plotted. Each point is the mean of `window` dialogues.

    If `panels` is "means", the curves are means over each domain and over all tasks, computed from
    the seeds with all tasks. For such means, `aggregate` may be the interquartile mean. The band is
    the 95 % interval over seeds. If there are too few seeds, the band is the range from the lowest
    to the highest seed, with a warning. Warnings are added to `findings`. Raises `InputError` with
    all errors in the files, and `UsageError` if there is nothing to plot.
    """
    findings = Findings() if findings is None else findings
    settings = replace(run_settings(Path(output)), tests=None)
    windows = {
        (task, policy): _windows(
            Path(output) / task / policy, task, figure, window, settings, findings
        )
        for task in results.tasks
        for policy in results.policies
    }
    findings.check()
    curves = []
    for panel, tasks in _panels_of(results, panels):
        for policy in results.policies:
            columns = [windows[task, policy] for task in tasks]
            seeds = sorted(set.intersection(*(set(column) for column in columns)))
            points = min((len(column[seed]) for column in columns for seed in seeds), default=0)
            if points:
                scores = np.array([[c[seed][:points] for c in columns] for seed in seeds])
                banded = _banded(scores, band, aggregate, LIMITS[figure])
                if band == "interval" and len(seeds) < FEWEST_SEEDS:
                    findings.warning("few-seeds", NOTE_ON_FEW)
                curves.append(Curve(panel, policy, window * np.arange(1, points + 1), *banded))
    return tuple(curves)


def _panels_of(results: Results, panels: Panels) -> Groups:
    """Return the panels of a figure with their tasks. Raises `UsageError` without panels."""
    groups = [group for group in results.groups() if (len(group[1]) > 1) == (panels == "means")]
    if not groups:
        raise UsageError("averages over tasks need several tasks, but the run has only one")
    return groups


def _windows(
    folder: Path, task: str, figure: Figure, window: int, settings: RunSettings, findings: Findings
) -> dict[int, NDArray[np.float64]]:
    """Return the means of each window, by seed."""
    means = {}
    for file in sorted(folder.glob(f"seed-*/{TRAINING}")):
        number = file.parent.name.removeprefix("seed-")
        if number.isdecimal():
            seed = int(number)
            episodes = read_episodes(file, task, seed, settings=settings, findings=findings)
            starts = range(0, len(episodes) // window * window, window)
            of_windows = [mean_of(figure, episodes[start : start + window]) for start in starts]
            means[seed] = np.array(of_windows)
    return means


def _banded(
    scores: NDArray[np.float64], band: Band, aggregate: Aggregate, limits: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return mean, low and high over scores of shape (seeds, tasks, points)."""
    of_seed = scores.mean(axis=1)
    if aggregate == "iqm":
        found = [interquartile_mean(scores[..., point]) for point in range(scores.shape[2])]
        mean = np.array([point.value for point in found])
        intervals = [point.interval for point in found]
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
    """Return an image with one panel per task (or mean), which has a curve and a band for each
    policy.

    Points show test results, with intervals of the same kind as the band. A dashed line shows the
    handcrafted policy. The other arguments are those of `read_curves`. The legend explains all
    marks. `format_name` is png, svg or pdf; the default for `window` gives about ten points.
    Warnings are added to `findings`. Raises `UsageError` if the format is unknown, if an
    interquartile mean of single tasks is requested or if the folder has no tests. Raises
    `InputError` with all errors in the files, and `DependencyError` without matplotlib.
    """
    check_format(format_name)
    if aggregate == "iqm" and panels == "tasks":
        raise UsageError("an interquartile mean is computed over tasks: add --panels means")
    results = read_results(output, findings)
    if window is None:
        window = min(WINDOW, max(LEAST_WINDOW, max(results.dialogues, default=0) // POINTS))
    how: dict[str, Any] = {"panels": panels, "band": band, "aggregate": aggregate}
    curves = read_curves(output, results, figure, window=window, findings=findings, **how)
    groups = _panels_of(results, panels)
    learning = [name for name, preset in PRESETS.items() if preset.learns]

    def tested(tasks: Sequence[str], policy: str, at: int) -> tuple[float, ...] | None:
        """Return the aggregated test result and its interval, or None if there are no tests."""
        scores = results.scores(tasks, policy, at, figure)
        if not scores:
            return None
        rows = np.array(list(scores.values()))[..., np.newaxis]
        return tuple(float(values[0]) for values in _banded(rows, band, aggregate, LIMITS[figure]))

    def draw(axes: Any, panel: str, tasks: Sequence[str]) -> Iterator[tuple[str, Any]]:
        for curve in (curve for curve in curves if curve.panel == panel):
            place = learning.index(curve.policy)
            colour, mark = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
            axes.fill_between(
                curve.dialogues, curve.low, curve.high, color=colour, alpha=OPACITY, linewidth=0
            )
            axes.plot(curve.dialogues, curve.mean, color=colour, linewidth=0.8)
            for at in results.dialogues:
                if test := tested(tasks, curve.policy, at):
                    mean, low, high = test
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
            yield PRESETS[curve.policy].label, key(color=colour, marker=mark, linewidth=0.8)
        if test := tested(tasks, HANDCRAFTED, 0):
            style: dict[str, Any] = {"color": COLOURS[-1], "linewidth": 0.8, "linestyle": "--"}
            yield PRESETS[HANDCRAFTED].label, axes.axhline(test[0], **style)

    seeds, columns = len(results.seeds), min(COLUMNS[panels], len(groups))
    with _picture(len(groups), columns, figure, "training dialogues", format_name) as (places, end):
        shown: dict[str, Any] = {}
        for axes, (panel, tasks) in zip(places, groups, strict=True):
            axes.set_title(f"interquartile {panel}" if aggregate == "iqm" else panel)
            axes.grid(axis="y")
            shown |= draw(axes, panel, tasks)
            axes.set_xlim(left=0)
        plain = {"color": COLOURS[-1], "linewidth": 0.8}
        shown[f"training, mean over {window} dialogues"] = key(**plain)
        shown["test without exploration"] = key(color=COLOURS[-1], marker="o", linestyle="")
        if seeds >= 2:
            method = "bootstrap" if aggregate == "iqm" else "t"
            is_range = band == "range" or seeds < FEWEST_SEEDS
            name = f"lowest to highest score of {seeds} seeds"
            name = name if is_range else f"95 % interval over {seeds} seeds ({method})"
            shown[name] = _band_key()
        return end(shown)


@contextmanager
def _picture(
    panels: int, columns: int, figure: Figure, across: str, format_name: str
) -> Iterator[tuple[list[Any], Callable[[Mapping[str, Any]], bytes]]]:
    """Yield the axes and a function that adds the legend and returns the image.

    All panels have the same vertical axis, which begins at 0 or below the lowest value.
    """
    lines = math.ceil(panels / columns)
    # A legend entry is nearly as wide as a panel, so the panels determine the number of entries per
    # line.
    keys_in_line = min(3, columns)
    size = WIDTH * columns, HEIGHT * lines + ROOM[keys_in_line]
    with new_figure(*size, format_name) as (picture, save):
        every = list(picture.subplots(lines, columns, squeeze=False, sharey=True).flat)
        places = every[:panels]

        def end(shown: Mapping[str, Any]) -> bytes:
            low = min([0.0, *(float(axes.dataLim.y0) for axes in places)])
            best = max(float(axes.dataLim.y1) for axes in places)
            high = 100.0 if figure == "success" else 1.05 * best
            for axes in places:
                axes.set_ylim(low, max(high, low + 1))
            for axes in every[panels:]:
                axes.remove()
            picture.supxlabel(across, fontsize=7)
            picture.supylabel(AXIS[figure], fontsize=7)
            ncols = min(keys_in_line, max(1, len(shown)))
            picture.legend(shown.values(), shown, loc="outside upper center", ncols=ncols)
            content: bytes = save()
            return content

        yield places, end


def plot_retests(
    records: Sequence[Mapping[str, Any]], *, figure: Figure = "success", format_name: str = "png"
) -> bytes:
    """Return an image with a line per policy over error rates, from the records of a document.

    The image has a panel for each task and user model. Bands are 95 % t intervals over seeds. A
    dotted line marks the error rate with which the policies were trained. `figure` is the plotted
    score, and `format_name` is png, svg or pdf. Raises `UsageError` if the format is unknown or
    data are missing, and `DependencyError` without matplotlib.
    """
    check_format(format_name)
    kept = [
        r
        for r in records
        if r["figure"] == figure and task_named(r["tested"]).base == task_named(r["trained"]).base
    ]
    users = tuple(dict.fromkeys(r["user"] for r in kept))
    panels = [(task, user) for task in in_order(r["trained"] for r in kept) for user in users]
    if not panels:
        raise UsageError("the figure needs tests on the training task: use --errors or --users")
    policies = [name for name in PRESETS if any(r["policy"] == name for r in kept)]
    columns, across = min(COLUMNS["tasks"], len(panels)), "wrong first hypotheses (%)"
    with _picture(len(panels), columns, figure, across, format_name) as (places, end):
        shown: dict[str, Any] = {}
        for axes, (task, user) in zip(places, panels, strict=True):
            axes.set_title(f"{task}, {user}")
            axes.grid(axis="y")
            axes.axvline(100 * task_named(task).error_rate, **ERRORS_OF_TRAINING)
            for number, policy in enumerate(policies):
                place = task, user, policy
                found = [r for r in kept if (r["trained"], r["user"], r["policy"]) == place]
                if not found:
                    continue
                found.sort(key=lambda record: record["errors"])
                rates = [100 * r["errors"] for r in found]
                low, mean, high = (
                    [r["value"] if r[end_of] is None else r[end_of] for r in found]
                    for end_of in ("low", "value", "high")
                )
                colour, mark = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
                axes.fill_between(rates, low, high, color=colour, alpha=OPACITY, linewidth=0)
                style = {"color": colour, "linewidth": 0.8, "marker": mark}
                axes.plot(rates, mean, markersize=3.0, **style)
                shown[PRESETS[policy].label] = key(**style)
            axes.set_xlim(left=0)
        shown["error rate in training"] = key(**ERRORS_OF_TRAINING)
        seeds = max(r["seeds"] for r in kept)
        if seeds >= FEWEST_SEEDS:
            shown[f"95 % interval over {seeds} seeds (t)"] = _band_key()
        return end(shown)


def _band_key() -> Any:
    """Return the entry of a legend for bands of any color."""
    from matplotlib.patches import Patch

    return Patch(facecolor=COLOURS[-1], alpha=OPACITY)
