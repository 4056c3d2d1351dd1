"""A picture of estimates of success: the share of successes over what was estimated."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mwzeval.pydial.policies.presets import PRESETS
from mwzeval.pydial.studies.success_estimates import BASE, Judged, pooled_bins
from mwzeval.report.figures import COLOURS, MARKERS, check_format, new_figure

COLUMNS = 3
SIZE = 2.1
"""Inches of a panel."""


def plot_reliability(judged: Sequence[Judged], *, format_name: str = "png") -> bytes:
    """Return a picture: a panel a task and policy, a line an estimate, over all seeds.

    What is calibrated lies on the dotted diagonal. `format_name` is png, svg or pdf. Raises
    `UsageError` for an unknown format, `DependencyError` without matplotlib.
    """
    check_format(format_name)
    panels = tuple(dict.fromkeys((j.task, j.policy) for j in judged))
    estimates = [e for e in dict.fromkeys(j.estimate for j in judged) if e != BASE]
    columns = min(COLUMNS, len(panels))
    lines = math.ceil(len(panels) / columns)
    with new_figure(SIZE * columns, SIZE * lines + 0.4, format_name) as (picture, save):
        places = list(
            picture.subplots(lines, columns, squeeze=False, sharex=True, sharey=True).flat
        )
        shown = {}
        for axes, (task, policy) in zip(places, panels, strict=False):
            axes.set_title(f"{task}, {PRESETS[policy].label}")
            (shown["calibrated"],) = axes.plot(
                (0, 1), (0, 1), color=COLOURS[-1], linewidth=0.6, linestyle=":"
            )
            axes.set(xlim=(0, 1), ylim=(0, 1))
            for number, estimate in enumerate(estimates):
                found = [
                    j for j in judged if (j.task, j.policy, j.estimate) == (task, policy, estimate)
                ]
                if not found:
                    continue
                bins = pooled_bins(found)
                (shown[estimate],) = axes.plot(
                    [b.estimated for b in bins],
                    [b.observed for b in bins],
                    color=COLOURS[number],
                    marker=MARKERS[number],
                    markersize=3.0,
                    linewidth=0.8,
                    clip_on=False,
                )
        for axes in places[len(panels) :]:
            axes.remove()
        picture.supxlabel("estimated probability of success", fontsize=7)
        picture.supylabel("share of successes", fontsize=7)
        picture.legend(shown.values(), shown, loc="outside upper center", ncols=3)
        return save()
