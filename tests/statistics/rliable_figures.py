"""Figures of rliable 1.2.0 for the scores of `test_aggregates.py`.

`python -m tests.statistics.rliable_figures` prints FIGURES, in an environment with rliable 1.2.0,
arch 5.6.0 and NumPy 1.26.4 (it does not run with the NumPy that the tests have).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

FIGURES = {
    "iqm first": (54.84444444444444, 52.1775, 57.522222222222226),
    "iqm second": (56.05555555555556, 53.25361111111111, 58.61138888888889),
    "iqm few": (33.0, 21.33055555555556, 43.666666666666664),
    "improvement first second": (0.4527777777777778, 0.3947152777777778, 0.5100069444444445),
    "improvement second first": (0.5472222222222223, 0.48944444444444446, 0.6052847222222222),
}
"""Value, low and high of each figure; intervals are of 2,000 resamples."""


def scores(runs: int, tasks: int, shift: int) -> NDArray[np.float64]:
    """Return scores of no meaning, some of them equal."""
    run, task = np.indices((runs, tasks))
    return np.asarray((run * 37 + task * 53 + run * task * 7 + shift) % 61 + 3.0 * task)


FIRST, SECOND, FEW = scores(10, 18, 0), scores(10, 18, 5), scores(5, 3, 2)


def main() -> None:
    """Print the figures."""
    library: Any = import_module("rliable.library")
    metrics: Any = import_module("rliable.metrics")
    np.random.seed(1)
    figures = {}
    for name, table in (("first", FIRST), ("second", SECOND), ("few", FEW)):
        point, interval = library.get_interval_estimates(
            {"": table}, lambda x: np.array([metrics.aggregate_iqm(x)]), reps=2000
        )
        figures[f"iqm {name}"] = (*point[""].tolist(), *interval[""].ravel().tolist())
    for name, pair in (("first second", (FIRST, SECOND)), ("second first", (SECOND, FIRST))):
        point, interval = library.get_interval_estimates(
            {"": pair},
            lambda x, y: np.array([metrics.probability_of_improvement(x, y)]),
            reps=2000,
        )
        figures[f"improvement {name}"] = (*point[""].tolist(), *interval[""].ravel().tolist())
    print(figures)


if __name__ == "__main__":
    main()
