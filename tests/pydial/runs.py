"""Helpers for small runs, episode files and programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mwzeval.pydial.episodes import Episode, play, rng_of
from mwzeval.pydial.job import TIMES, Job, files_of, write_files
from mwzeval.pydial.policies.handcrafted import HandcraftedPolicy
from mwzeval.pydial.policies.presets import checkpoint_content, read_checkpoint
from mwzeval.pydial.run import run
from mwzeval.pydial.simulator.simulation import Simulation
from tests.places import ROOT

TASK = "Demo-CR-3"
PYDIAL = ("--benchmark", "pydial")


def small_run(
    output: str | Path,
    policies: str | Sequence[str],
    tasks: str | Sequence[str] = TASK,
    **plan: Any,
) -> tuple[Job, ...]:
    """Run one seed with few dialogues in this process, unless `plan` has other numbers."""
    few = {"dialogues": (3,), "seeds": 1, "tests": 2, "processes": 0}
    return run(tasks, policies, output, **{**few, **plan})


def run_job(job: Job, output: str | Path) -> None:
    """Train and test the policy of a job and write its files."""
    write_files(job, output, files_of(job))


def handcrafted_episodes(
    simulation: Simulation, indices: Iterable[int], seed: int
) -> list[Episode]:
    """Play dialogues with the handcrafted policy."""
    policy = HandcraftedPolicy()
    return [play(simulation, policy, rng_of(seed, index), seed, index) for index in indices]


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of all files below a folder, except files with running times."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != TIMES
    }


def episode(dialogue: Any, success: bool = True, /, **fields: Any) -> dict[str, Any]:
    """Return a line of an episode file; `fields` are added, or removed if they are `...`."""
    plain = {"dialogue": dialogue, "success": success, "exchanges": 5, "reward": 20 * success - 5}
    return {key: value for key, value in {**plain, **fields}.items() if value is not ...}


def episodes(successes: Iterable[object]) -> list[dict[str, Any]]:
    """Return the lines of dialogues with these successes."""
    return [episode(number, bool(success)) for number, success in enumerate(successes)]


def write_lines(file: str | Path, lines: Iterable[Any]) -> str:
    """Write JSON lines to a file, create its folder, and return its path."""
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return str(file)


def read_lines(file: str | Path) -> list[dict[str, Any]]:
    """Return the lines of an episode file or trajectory file, without its header."""
    return [json.loads(line) for line in Path(file).read_text("utf-8").splitlines()[1:]]


def overflowing(model: Path) -> Path:
    """Replace all weights of a checkpoint with numbers whose products overflow."""
    origin, weights = read_checkpoint(model)
    huge = {name: np.full_like(array, 1e38) for name, array in weights.items()}
    model.write_bytes(checkpoint_content(origin, 2, huge))
    return model


def python(code: str, *arguments: object, **environment: str) -> str:
    """Run a program in a separate process and return its output."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    variables = {**os.environ, **environment}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
