"""Speed of PyDial dialogues in batches on one core, beside one dialogue at a time in the same run.

`python -m benchmarks.pydial_batched [DATA]` prints the table alone; without the published data the
embedded domains of the same shape stand in. CPU seconds of this process; the median of paired runs
after one that compiles.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import REPETITIONS, Row
from benchmarks.pydial_simulation import DEFAULT_DATA
from mwzeval.pydial.batched.environment import make_vector_environment
from mwzeval.pydial.batched.runner import BatchedRunner
from mwzeval.pydial.dialogue.domain import Domain
from mwzeval.pydial.dialogue.domain_files import load_domain
from mwzeval.pydial.environments.gymnasium_environments import make_environment
from mwzeval.pydial.tasks import DEMO, TASKS

BATCH = 1024
STEPS, ROUNDS = 2000, 100
LEAST_RATIO = 20
DIALOGUES, LEAST_DIALOGUES = 20_000, 20_000
CODES = ("CR", "SFR", "LAP")


def rows(data: Path | None) -> Iterator[Row]:
    """Yield the lines of the table, one measurement after the other."""
    prefix = "" if data else DEMO
    for code in CODES:
        domain = load_domain(f"{prefix}{code}", data)
        for environment in (1, 3):
            name = f"{prefix}{code}-{environment}"
            rate, ratio = _compared(_together(domain, name), _alone(domain, name))
            what = f"PyDial {name}: steps a second, {BATCH:,} environments (× a single one)"
            yield Row(what, f"{rate:,.0f}", ratio, f"≥ {LEAST_RATIO} ×", ratio >= LEAST_RATIO)
    for environment in (1, 3):
        name = f"{prefix}CR-{environment}"
        runner = BatchedRunner(load_domain(f"{prefix}CR", data), TASKS[name], BATCH)
        rate = statistics.median(_dialogue_rates(runner))
        what = f"PyDial {name}: dialogues a second, handcrafted policy, {BATCH:,} at once"
        least = f"at least {LEAST_DIALOGUES:,}"
        yield Row(what, f"{rate:,.0f}", None, least, rate >= LEAST_DIALOGUES)


def _compared(
    together: Callable[[int], float], alone: Callable[[int], float]
) -> tuple[float, float]:
    """Return the median rate of the first, and the median ratio to the second in the same turn."""
    together(0)
    alone(0)
    pairs = [(together(seed), alone(seed)) for seed in range(1, REPETITIONS + 1)]
    return (
        statistics.median(rate for rate, _ in pairs),
        statistics.median(rate / other for rate, other in pairs),
    )


def _together(domain: Domain, name: str) -> Callable[[int], float]:
    environment = make_vector_environment(name, num_envs=BATCH, domain=domain)

    def run(seed: int) -> float:
        generator = np.random.default_rng(seed)
        _, info = environment.reset(seed=seed)
        spent = 0.0
        for _ in range(ROUNDS):
            masks = info["action_mask"]
            actions = (masks * generator.random(masks.shape)).argmax(1)
            start = time.process_time()
            *_, info = environment.step(actions)
            spent += time.process_time() - start
        return BATCH * ROUNDS / spent

    return run


def _alone(domain: Domain, name: str) -> Callable[[int], float]:
    environment = make_environment(name, domain=domain)

    def run(seed: int) -> float:
        generator = np.random.default_rng(seed)
        _, info = environment.reset(seed=seed)
        actions = []
        # Which actions are allowed is looked at beforehand: choosing takes as long as a step.
        for _ in range(STEPS):
            allowed = np.flatnonzero(info["action_mask"])
            actions.append(int(allowed[int(generator.random() * len(allowed))]))
            _, _, ended, _, info = environment.step(actions[-1])
            if ended:
                _, info = environment.reset()
        start = time.process_time()
        environment.reset(seed=seed)
        for action in actions:
            if environment.step(action)[2]:
                environment.reset()
        return STEPS / (time.process_time() - start)

    return run


def _dialogue_rates(runner: BatchedRunner) -> Iterator[float]:
    for seed in range(REPETITIONS + 1):
        start = time.process_time()
        for _ in runner.test_handcrafted(seed, DIALOGUES):
            pass
        if seed:
            yield DIALOGUES / (time.process_time() - start)


def main() -> int:
    data = Path(sys.argv[1] if len(sys.argv) > 1 else DEFAULT_DATA)
    met = []
    for row in rows(data if data.is_dir() else None):
        ratio = "" if row.ratio is None else f" ({row.ratio:.1f} ×)"
        print(f"{row.what}: {row.measured}{ratio} {row.limit}", flush=True)
        met.append(row.met is not False)
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())
