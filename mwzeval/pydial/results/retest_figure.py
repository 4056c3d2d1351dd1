"""A picture of tests at error rates: success or reward, a panel for each task and user."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.results.figure_axes import AXIS, whole_height
from mwzeval.pydial.results.over_seeds import FEWEST_SEEDS
from mwzeval.pydial.results.run_results import Figure
from mwzeval.pydial.tasks import in_order, task_named
from mwzeval.report.figures import (
    COLOURS,
    LAYER,
    MARKERS,
    band_key,
    check_format,
    key,
    new_figure,
)

COLUMNS = 3
WIDTH, HEIGHT = 2.3, 1.7
"""Inches of a panel."""
TRAINING: Mapping[str, Any] = {"color": COLOURS[-1], "linewidth": 0.6, "linestyle": ":"}
"""The line at the errors of training."""


def plot_retests(
    records: Sequence[Mapping[str, Any]], *, figure: Figure = "success", format_name: str = "png"
) -> bytes:
    """Return a picture of the records of a document: a line for each policy over error rates.

    A band is the 95 % t interval over seeds, a dotted line the error rate of training. `figure` is
    what is drawn, `format_name` png, svg or pdf. Raises `UsageError` for an unknown format,
    `DependencyError` without matplotlib.
    """
    check_format(format_name)
    shown_records = [
        r
        for r in records
        if r["figure"] == figure and task_named(r["tested"]).base == task_named(r["trained"]).base
    ]
    users = tuple(dict.fromkeys(r["user"] for r in shown_records))
    panels = [
        (task, user) for task in in_order(r["trained"] for r in shown_records) for user in users
    ]
    policies = [name for name in PRESETS if any(r["policy"] == name for r in shown_records)]
    columns = min(COLUMNS, len(panels))
    lines = math.ceil(len(panels) / columns)
    with new_figure(WIDTH * columns, HEIGHT * lines + 0.4, format_name) as (picture, save):
        places = list(picture.subplots(lines, columns, squeeze=False, sharey=True).flat)
        shown: dict[str, Any] = {}
        seeds = 0
        for axes, (task, user) in zip(places, panels, strict=False):
            axes.set_title(f"{task}, {user}")
            axes.grid(axis="y")
            axes.axvline(100 * task_named(task).error_rate, **TRAINING)
            for number, policy in enumerate(policies):
                place = task, user, policy
                found = [
                    r for r in shown_records if (r["trained"], r["user"], r["policy"]) == place
                ]
                if not found:
                    continue
                found.sort(key=lambda record: record["errors"])
                rates = [100 * r["errors"] for r in found]
                mean = [r["value"] for r in found]
                low = [r["value"] if r["low"] is None else r["low"] for r in found]
                high = [r["value"] if r["high"] is None else r["high"] for r in found]
                colour, mark = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
                axes.fill_between(rates, low, high, color=colour, alpha=LAYER, linewidth=0)
                style = {"color": colour, "linewidth": 0.8, "marker": mark}
                axes.plot(rates, mean, markersize=3.0, **style)
                shown[PRESETS[policy].label] = key(**style)
                seeds = max([seeds, *(r["seeds"] for r in found)])
            axes.set_xlim(left=0)
        whole_height(places[: len(panels)], figure)
        for axes in places[len(panels) :]:
            axes.remove()
        picture.supxlabel("wrong first hypotheses (%)", fontsize=7)
        picture.supylabel(AXIS[figure], fontsize=7)
        shown["errors of training"] = key(**TRAINING)
        if seeds >= FEWEST_SEEDS:
            shown[f"95 % interval over {seeds} seeds (t)"] = band_key()
        picture.legend(
            shown.values(), shown, loc="outside upper center", ncols=min(4, max(1, len(shown)))
        )
        return save()
