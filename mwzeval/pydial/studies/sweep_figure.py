"""A picture of a sweep: success or reward over error rates, a panel for each task and user."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.results.figure_axes import AXIS, whole_height
from mwzeval.pydial.results.over_seeds import FEWEST_SEEDS, interval_over_seeds
from mwzeval.pydial.results.run_results import LIMITS, Figure
from mwzeval.pydial.studies.sweep import Swept
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


def plot_sweep(
    swept: Sequence[Swept], *, figure: Figure = "success", format_name: str = "png"
) -> bytes:
    """Return a picture: a line a policy with its 95 % t interval over seeds.

    A dotted line is at the error rate of training. `figure` is what is drawn, `format_name` png,
    svg or pdf. Raises `UsageError` for an unknown format, `DependencyError` without matplotlib.
    """
    check_format(format_name)
    users = tuple(dict.fromkeys(s.user for s in swept))
    panels = [(task, user) for task in in_order(s.trained for s in swept) for user in users]
    policies = [name for name in PRESETS if any(s.policy == name for s in swept)]
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
                found = [s for s in swept if (s.trained, s.user, s.policy) == (task, user, policy)]
                if not found:
                    continue
                found.sort(key=lambda s: s.errors)
                rates = [100 * s.errors for s in found]
                values = [list(s.tests.of(figure).values()) for s in found]
                mean = [float(np.mean(of)) for of in values]
                intervals = [interval_over_seeds(of, limits=LIMITS[figure]) for of in values]
                low = [m if i is None else i.low for m, i in zip(mean, intervals, strict=True)]
                high = [m if i is None else i.high for m, i in zip(mean, intervals, strict=True)]
                colour, mark = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
                axes.fill_between(rates, low, high, color=colour, alpha=LAYER, linewidth=0)
                style = {"color": colour, "linewidth": 0.8, "marker": mark}
                axes.plot(rates, mean, markersize=3.0, **style)
                shown[PRESETS[policy].label] = key(**style)
                seeds = max([seeds, *map(len, values)])
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
