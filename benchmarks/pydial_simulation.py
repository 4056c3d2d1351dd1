"""Speed of PyDial dialogues on one core: with the handcrafted policy, and of the environments.

`python -m benchmarks.pydial_simulation [DATA]` prints the table alone; without the published data
the embedded domains of the same shape stand in. CPU seconds of this process, so that what else runs
on the machine counts little; the median of several runs.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import REPETITIONS, Row
from mwzeval.pydial.dialogue.domain import Domain
from mwzeval.pydial.dialogue.domain_files import load_domain
from mwzeval.pydial.dialogue.simulation import Simulation
from mwzeval.pydial.environments.gymnasium_environments import make_environment
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy
from mwzeval.pydial.runs.episodes import play
from mwzeval.pydial.tasks import DEMO, TASKS

DEFAULT_DATA = "../shared/data/pydial"
ORIGINAL = {"CR": 30.1, "SFR": 12.4, "LAP": 13.5}
"""Dialogues a second of the original at 0 % errors, logging off."""
DIALOGUES_A_SECOND = {"CR": 600, "SFR": 250, "LAP": 250}
STEPS_A_SECOND = {"CR": 6000, "SFR": None, "LAP": None}
DIALOGUES, STEPS = 300, 5000
NOISY = 3


def rows(data: Path | None) -> Iterator[Row]:
    """Yield the lines of the table, one measurement after the other."""
    prefix = "" if data else DEMO
    for code, least in DIALOGUES_A_SECOND.items():
        name = f"{prefix}{code}-{NOISY}"
        domain = load_domain(f"{prefix}{code}", data)
        rate = _median_rate(DIALOGUES, _handcrafted(domain, name))
        what = f"PyDial {name}: dialogues a second, handcrafted policy"
        ratio = rate / ORIGINAL[code]
        yield Row(what, f"{rate:,.0f}", ratio, f"at least {least:,}", rate >= least)
    for code, steps in STEPS_A_SECOND.items():
        name = f"{prefix}{code}-1"
        rate = _median_rate(STEPS, _random(load_domain(f"{prefix}{code}", data), name))
        limit = "" if steps is None else f"at least {steps:,}"
        what = f"PyDial {name}: steps a second, random allowed actions, with vectors"
        yield Row(what, f"{rate:,.0f}", None, limit, None if steps is None else rate >= steps)


def _handcrafted(domain: Domain, name: str) -> Callable[[int], None]:
    simulation = Simulation(domain, TASKS[name], legacy=True)
    policy = HandcraftedPolicy(domain, legacy=True)

    def run(seed: int) -> None:
        for _ in play(simulation, policy, DIALOGUES, seed):
            pass

    return run


def _random(domain: Domain, name: str) -> Callable[[int], None]:
    environment = make_environment(name, domain=domain)

    def run(seed: int) -> None:
        generator = np.random.default_rng(seed)
        _, info = environment.reset(seed=seed)
        for _ in range(STEPS):
            allowed = np.flatnonzero(info["action_mask"])
            action = allowed[int(generator.random() * len(allowed))]
            _, _, ended, _, info = environment.step(action)
            if ended:
                _, info = environment.reset()

    return run


def _median_rate(number: int, run: Callable[[int], None]) -> float:
    """Return how many a second, the median of runs with other seeds, after one to warm up."""
    run(0)
    spent = []
    for seed in range(1, REPETITIONS + 1):
        start = time.process_time()
        run(seed)
        spent.append(time.process_time() - start)
    return number / statistics.median(spent)


def main() -> int:
    data = Path(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_DATA)
    met = []
    for row in rows(data if data.is_dir() else None):
        ratio = "" if row.ratio is None else f" ({row.ratio:.0f} × the original)"
        print(f"{row.what}: {row.measured}{ratio} {row.limit}", flush=True)
        met.append(row.met is not False)
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())
