"""Speed of PyDial's simulation, environments, batches and training on one core, in CPU time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import (
    REPETITIONS,
    Row,
    at_least,
    at_most,
    cpu_seconds,
    median_rate,
    run_script,
)
from mwzeval.pydial.domain import Domain, load_domain
from mwzeval.pydial.envs import make_environment
from mwzeval.pydial.episodes import play, rng_of
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy
from mwzeval.pydial.simulator.simulation import Simulation
from mwzeval.pydial.tasks import TASKS
from mwzeval.pydial.vector_env import make_vector_environment

ORIGINAL = {"CR": 30.1, "SFR": 12.4, "LAP": 13.5}
"""Dialogues per second of the original program without errors and logging."""
DIALOGUES_A_SECOND = {"CR": 600, "SFR": 250, "LAP": 250}
STEPS_A_SECOND = {"CR": 6000, "SFR": None, "LAP": None}
DIALOGUES, STEPS = 300, 5000
BATCH, ROUNDS, LEAST_RATIO = 1024, 100, 20
TRAINING, TESTS, MEGABYTES = 1000, 500, 600
TRAINING_SECONDS = {
    "gp-sarsa": 15, "dqn": 12, "ppo": 14, "a2c": 18, "a2c-modern": 20, "enac": 25,
}  # fmt: skip
"""About twice the time measured on one core, including imports (2 to 4 seconds)."""
TRAIN = """
import sys, tempfile
from mwzeval.pydial.job import Job, files_of, write_files
task, policy, dialogues, tests, data = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    job = Job(task, policy, 1, (int(dialogues),), tests=int(tests), data=data)
    write_files(job, folder, files_of(job))
"""


def rows(data: Path) -> Iterator[Row]:
    """Yield the rows of single dialogues, then of dialogues in batches."""
    domains = {code: load_domain(code, data / "pydial") for code in DIALOGUES_A_SECOND}
    for code, domain in domains.items():
        simulation = Simulation(domain, TASKS[f"{code}-3"], legacy=True)
        policy = HandcraftedPolicy()
        rate = median_rate(
            DIALOGUES,
            lambda seed: [
                play(simulation, policy, rng_of(seed, index), seed, index)  # noqa: B023
                for index in range(DIALOGUES)
            ],
        )
        what = f"PyDial {code}-3: dialogues a second, handcrafted (× original)"
        yield at_least(what, rate, DIALOGUES_A_SECOND[code], rate / ORIGINAL[code])
    for code, domain in domains.items():
        for number in (1, 3):
            name = f"{code}-{number}"
            single, batch = _single(domain, name), _batch(domain, name)
            pairs = [(single(seed), batch(seed)) for seed in range(REPETITIONS + 1)][1:]
            alone, together = (statistics.median(rates) for rates in zip(*pairs, strict=True))
            ratio = statistics.median(second / first for first, second in pairs)
            what = f"PyDial {name}: steps a second"
            yield at_least(what, alone, STEPS_A_SECOND[code] if number == 1 else None)
            yield Row(f"… {BATCH:,} environments (× a single one)", f"{together:,.0f}", ratio,
                      f"≥ {LEAST_RATIO} ×", ratio >= LEAST_RATIO)  # fmt: skip


def training_rows(data: Path) -> Iterator[Row]:
    """Yield the CPU seconds and the peak memory of processes that train and test a policy."""

    def train(policy: str) -> tuple[float, float]:
        arguments = ("CR-3", policy, str(TRAINING), str(TESTS), str(data / "pydial"))
        cost = run_script(TRAIN, *arguments)
        return cost.cpu_seconds, cost.megabytes

    train("dqn")  # compiles
    for policy, most in TRAINING_SECONDS.items():
        spent, peak = train(policy)
        what = f"PyDial CR-3: {policy}, {TRAINING:,} dialogues of training, {TESTS} of a test"
        yield at_most(what, spent, "s", most, 1)
        yield at_most("… its peak memory", peak, "MB", MEGABYTES, 0)


def _single(domain: Domain, name: str) -> Callable[[int], float]:
    """Return a function of a seed: steps a second with random allowed actions."""
    environment = make_environment(name, domain=domain)

    def rate(seed: int) -> float:
        generator, actions = np.random.default_rng(seed), []
        _, info = environment.reset(seed=seed)
        # Actions are drawn beforehand, because drawing takes as long as a step.
        for _ in range(STEPS):
            actions.append(int(generator.choice(np.flatnonzero(info["action_mask"]))))
            _, _, ended, _, info = environment.step(actions[-1])
            if ended:
                _, info = environment.reset()

        def replay() -> None:
            environment.reset(seed=seed)
            for action in actions:
                if environment.step(action)[2]:
                    environment.reset()

        return STEPS / cpu_seconds(replay)

    return rate


def _batch(domain: Domain, name: str) -> Callable[[int], float]:
    """Return a function of a seed: steps a second of all environments with random actions."""
    environment = make_vector_environment(name, num_envs=BATCH, domain=domain)

    def rate(seed: int) -> float:
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

    return rate
