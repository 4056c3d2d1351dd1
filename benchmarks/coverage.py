"""How often do intervals over a few runs contain the difference of two systems? A simulation.

    python -m benchmarks.coverage [TRIALS]

Two systems without a difference are trained several times, and every run answers the same 300
dialogues: right or wrong, more often right in easier dialogues and in better runs. Printed is in
how many per cent of the trials the nominal 95 % interval contains 0, and how wide it is in points:

* `dialogues`: the paired bootstrap of the mean over the runs, as if there were no other runs;
* `plain`: dialogues and runs drawn with replacement, nothing corrected;
* `compare`: what `mwzeval compare` does.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mwzeval.scores.table import Table
from mwzeval.statistics import ResampledRuns, hierarchical_bootstrap, resampled_sums

DIALOGUES = 300
SAMPLES = 400
SPREADS = (0.0, 0.015, 0.03, 0.06)
"""Standard deviations of the rates of runs; the dialogues alone give one of 0.027."""
RUNS = ((2, 2), (3, 3), (5, 5), (10, 10), (5, 2), (5, 1))

Interval = tuple[float, float]


def answers(random: np.random.Generator, runs: Sequence[int], spread: float) -> Table:
    """Return the outcomes of all runs of both systems side by side."""
    ease = random.normal(0.6, 0.25, DIALOGUES)
    columns = []
    for of_system in runs:
        own = ease + random.normal(0, 0.15, DIALOGUES)
        rates = np.clip(own + random.normal(0, spread, (of_system, 1)), 0, 1)
        columns.append(random.random((of_system, DIALOGUES)) < rates)
    values = np.vstack(columns).T.astype(float)
    units = tuple(f"{number:03}" for number in range(DIALOGUES))
    return Table(units, tuple(map(str, range(values.shape[1]))), values)


def plain(
    random: np.random.Generator, first: NDArray[np.float64], second: NDArray[np.float64]
) -> Interval:
    """Return the interval of the two-level bootstrap as it is in textbooks."""

    def drawn(scores: NDArray[np.float64]) -> NDArray[np.float64]:
        runs = len(scores)
        weights = random.multinomial(runs, np.full(runs, 1 / runs), size=SAMPLES)
        return np.asarray((weights.T * scores).sum(axis=0) / runs)

    low, high = np.quantile(drawn(first) - drawn(second), [0.025, 0.975]).tolist()
    return low, high


def trial(seed: int, runs: Sequence[int], spread: float) -> dict[str, Interval]:
    """Return the intervals, by what they are called, of one trial."""
    random = np.random.default_rng([seed, *runs, round(1000 * spread)])
    sums = resampled_sums(answers(random, runs, spread), samples=SAMPLES, seed=seed)
    observed = np.array(list(sums.observed.values()))[:, 0] / DIALOGUES
    samples = np.array(list(sums.samples.values())) / DIALOGUES
    sides = [slice(None, runs[0]), slice(runs[0], None)]
    units = [samples[side].mean(axis=0) for side in sides]
    low, high = np.quantile(units[0] - units[1], [0.025, 0.975]).tolist()
    first, second = (
        ResampledRuns.of(observed[side].tolist(), of_units, system=f"{seed}-{name}", seed=seed)
        for name, side, of_units in zip("ab", sides, units, strict=True)
    )
    found = hierarchical_bootstrap(first, second).interval
    return {
        "dialogues": (low, high),
        "plain": plain(random, samples[sides[0]], samples[sides[1]]),
        "compare": (found.low, found.high),
    }


def main(trials: int) -> None:
    """Print a line for each number of runs and spread of them."""
    for spread in SPREADS:
        for runs in RUNS:
            found = [trial(seed, runs, spread) for seed in range(trials)]
            shown = []
            for name in found[0]:
                covered = np.mean([of[name][0] <= 0 <= of[name][1] for of in found])
                width = 100 * np.median([of[name][1] - of[name][0] for of in found])
                shown.append(f"{name} {100 * covered:5.1f} % ({width:4.1f} points)")
            print(f"sd {100 * spread:3.1f}, {runs[0]} and {runs[1]} runs: {', '.join(shown)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
