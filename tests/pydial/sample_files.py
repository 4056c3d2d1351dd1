"""Example episodes of two policies in two published tasks with five seeds each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.pydial.runs import episode, write_lines
from tests.samples import LiveSample, Sample

TASKS = ("CR-1", "SFR-1")
SEEDS = 5
EPISODES = 4
"""Number of episodes per task and seed."""

LIVE = LiveSample(
    "--goals Demo-CR-6:8",
    "handcrafted",
    """
class Base:
    def answer(self, hypotheses):
        return "request(area)"
""",
)


def write(folder: Path) -> Sample:
    """Write the sample; every second episode of the worse policy fails after more turns."""
    better = _written(folder / "better.jsonl", TASKS, failing=EPISODES)
    worse = _written(folder / "worse.jsonl", TASKS, failing=2)
    invalid = _written(folder / "invalid.jsonl", ["CR-99"], failing=EPISODES)
    return Sample(better, worse, invalid, leaderboard=())


def _written(path: Path, tasks: Sequence[str], *, failing: int) -> str:
    """Write episodes; every `failing`th of them fails."""
    lines = []
    for task in tasks:
        for seed in range(SEEDS):
            for number in range(EPISODES):
                success = number % failing != failing - 1
                exchanges = 4 + seed + 3 * (not success)
                result = {"exchanges": exchanges, "reward": 20 * success - exchanges}
                lines.append(episode(number, success, task=task, seed=seed, **result))
    return write_lines(path, lines)
