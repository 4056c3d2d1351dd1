"""Nothing is read, scored, reported or explained twice in one command."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

import pytest

from mwzeval.benchmark import benchmark_named
from mwzeval.cli import main
from mwzeval.files import reading
from mwzeval.metrics.measure import ScoredTable
from tests.samples import NAMES, write_sample

COMMANDS = (
    "evaluate BETTER --ci --samples 20",
    "evaluate BETTER --per-UNIT",
    "evaluate BETTER -f html",
    "evaluate BETTER --ceiling",
    "evaluate BETTER --fail-below WORSE --samples 20",
    "evaluate BETTER WORSE --runs",
    "validate BETTER",
    "explain BETTER --worst 3",
    "report BETTER WORSE --samples 20",
    "plot BETTER WORSE -o figure.svg --samples 20",
    "plot BETTER WORSE -o figure.svg --samples 20 --kind reasons",
    "compare BETTER WORSE --jobs 1 --samples 20",
    "leaderboard -i BETTER --samples 20",
)


def read_by(action: Callable[[], object]) -> tuple[Counter[str], Counter[str]]:
    """Return how often an action read each file, and did what to each object."""
    files: Counter[str] = Counter()
    done: Counter[str] = Counter()
    kept: list[object] = []  # so that no object has the address of an earlier one
    generators: set[int] = set()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event != "call":
            return
        code: CodeType = frame.f_code
        if code is reading.pieces.__code__ and frame not in kept:
            kept.append(frame)
            files[str(frame.f_locals["path"])] += 1
        if code.co_name not in ("score", "validate", "report", "explain_all", "scores"):
            return
        subject = frame.f_locals.get("self")
        scores_files = hasattr(subject, "of_shards") and "file" in frame.f_locals
        is_scored = hasattr(subject, "explain_all") or isinstance(subject, ScoredTable)
        if not (scores_files or is_scored) or id(frame) in generators:
            return
        kept.extend((subject, frame))
        generators.add(id(frame))
        what = frame.f_locals["file"] if scores_files else id(subject)
        done[f"{type(subject).__name__}.{code.co_name} of {what}"] += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(before)
    return files, done


@pytest.mark.exhaustive(but=len(COMMANDS))
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", NAMES)
def test_a_command_does_everything_once(
    name: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sample = write_sample(name, tmp_path)
    benchmark = benchmark_named(name)
    verb, *words = (
        command.replace("BETTER", sample.better)
        .replace("WORSE", sample.worse)
        .replace("UNIT", benchmark.words.unit)
        .split()
    )
    codes = []
    files, done = read_by(lambda: codes.append(main([verb, "--benchmark", name, *words])))
    if any(what in benchmark.lacks and what in command for what in ("ceiling", "leaderboard")):
        assert (codes, files) == ([2], Counter())
        return
    of_systems = {file: files[file] for file in (sample.better, sample.worse) if file in words}
    assert set(of_systems.values()) == {1}
    assert done
    assert {what: times for what, times in done.items() if times > 1} == {}
