"""Verbs that read MultiWOZ predictions, called with files of other benchmarks."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from mwzeval.benchmark import benchmark_named, benchmarks, recognised
from mwzeval.errors import InputError, UsageError
from mwzeval.multiwoz.evaluator import Evaluator
from tests.command_lines import Run, parser_of
from tests.places import GOOD, ROOT, read_json, write_json

pytestmark = pytest.mark.usefixtures("elsewhere")

ODD: tuple[Any, ...] = ({}, [], [[]], None, 1, "x", {"1": None}, {"1": [None]})
SIMULATION = "crosswoz-sample-simulation.jsonl"
EPISODE = {"dialogue": 0, "success": True, "exchanges": 4, "reward": 16, "turns": []}
EPISODES = [
    {"_meta": {"task": "CR-1", "policy": "handcrafted", "legacy": False}},
    EPISODE,
    {**EPISODE, "dialogue": 1},
]
WORDS = [{"response": "您好，这家餐馆的人均消费是50元。"}]
STATE = [{"response": "", "state": {"餐馆": {"人均消费": "50元"}}}]


def foreign_files() -> Iterator[tuple[str, Path]]:
    for path in sorted((ROOT / "predictions").rglob("*")):
        for benchmark in ("crosswoz", "dstc7"):
            # The header of a run file names its benchmark.
            is_run = path == ROOT / "predictions" / SIMULATION
            if path.is_file() and benchmark in str(path.relative_to(ROOT)) and not is_run:
                yield benchmark, path


E2E = str(ROOT / "predictions" / "crosswoz-sample-e2e.json")


def write_lines(path: Path, lines: Sequence[Any]) -> None:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_errors_name_the_benchmark_of_the_input_file(elsewhere: Path, run: Run) -> None:
    write_lines(elsewhere / "test-400.jsonl", EPISODES)
    write_lines(elsewhere / "episodes", EPISODES[1:])
    for command, file, named in (
        *(("evaluate --benchmark multiwoz -bs", file, name) for name, file in foreign_files()),
        *((f"evaluate --benchmark {name}", GOOD, "multiwoz") for name in ("crosswoz", "pydial")),
        ("evaluate --benchmark dstc7-ubuntu-1", GOOD, "multiwoz"),
        ("evaluate --benchmark multiwoz -s", "test-400.jsonl", "pydial"),
        ("evaluate --benchmark multiwoz -s", "episodes", "pydial"),
        ("explain --benchmark multiwoz", E2E, "crosswoz"),
        ("report --benchmark multiwoz", E2E, "crosswoz"),
        (f"compare --benchmark multiwoz -s {GOOD}", E2E, "crosswoz"),
    ):
        code, out, err = run(*command.split(), str(file))
        (line,) = err.splitlines()
        found = line.rpartition("--benchmark ")[2].removesuffix("?")
        assert (code, out, found) == (2, "", named), command


def meant(*given: str) -> Any:
    return parser_of("compare", given).get_default("benchmark")


def test_the_benchmark_is_detected_from_the_shape_of_predictions() -> None:
    for benchmark, file in foreign_files():
        path = str(file)
        assert meant(path) == meant("-i", path, GOOD) == benchmark
        assert meant(GOOD, path) == meant("-o", path, GOOD) == "multiwoz"
        assert meant("--benchmark", "multiwoz", path) == "multiwoz"


def test_episode_files_are_recognized_under_any_file_name(elsewhere: Path) -> None:
    write_lines(elsewhere / "mine.json", EPISODES)
    assert meant("mine.json") == meant(str(elsewhere)) == "pydial"
    seed = elsewhere / "task" / "policy" / "seed-0"
    seed.mkdir(parents=True)
    (elsewhere / "mine.json").rename(seed / "test-000100.jsonl")
    assert meant(str(seed.parent)) == meant(str(seed.parent.parent)) == "pydial"
    (elsewhere / "run.json").write_text('{"format": 4, "tests": 2}')
    assert meant(str(elsewhere)) == "pydial", "the first file of a run contains its settings"
    (elsewhere / "runs").mkdir()
    (elsewhere / "task").rename(elsewhere / "runs" / "task")
    assert meant(str(elsewhere)) == "multiwoz", "files in deeper folders are not part of the run"


def test_a_folder_named_like_the_verb_does_not_affect_detection(elsewhere: Path, run: Run) -> None:
    folder = elsewhere / "evaluate"
    folder.mkdir()
    write_lines(folder / "1.json", EPISODES)
    assert run("evaluate", GOOD, "-s", "-o", "-").code == 0
    code, _, err = run("evaluate", "evaluate")  # the second word is the input
    assert (code, err[:16]) == (2, "error: evaluate ")


def test_options_of_another_benchmark_cause_an_error_with_advice(run: Run) -> None:
    code, _, err = run("evaluate", "--split", "dev", E2E)
    wrong, _, _ = err.splitlines()
    assert code == 2
    assert all(name in wrong for name in ("--split", "crosswoz", "--benchmark"))


def test_values_of_another_benchmark_are_recognized_like_files() -> None:
    crosswoz = read_json(ROOT / "predictions" / "crosswoz-sample-dst.json")
    with pytest.raises(InputError, match="crosswoz"):
        Evaluator(success=True).evaluate(crosswoz)
    (problem,) = Evaluator(success=True).validate(crosswoz)
    assert problem.kind == "other-benchmark"


@pytest.mark.parametrize(
    ("raw", "option"),
    [
        ({"2303": WORDS}, "crosswoz"),
        ({"2303": STATE}, "crosswoz"),
        ({"dialogue_id": "2303", "turns": WORDS}, "crosswoz"),
        ({"sng0073": WORDS}, None),
        ({"_meta": {"system": "x"}}, None),
        ({"_meta": {"dataset": "multiwoz"}}, None),
        ({"sng0073": [{"response": "ok", "state": {}}]}, None),
        ({"2303": [{"response": "ok", "state": {"hotel": {}}}]}, None),
        ([{"dialogue_id": "1", "turns": []}], None),
        ([{"example-id": 1}], "dstc7"),
        (EPISODE, "pydial"),
        ({"mwzeval_live": 1, "benchmark": "crosswoz"}, "crosswoz"),
        ({"mwzeval_live": 1, "benchmark": "multiwoz"}, None),
        ({"mwzeval_live": 1, "benchmark": ["crosswoz"]}, None),
        ({"dialogue": "sng0073", "turns": []}, None),
        *((odd, None) for odd in ODD),
    ],
)
def test_recognition_by_shape_returns_the_benchmark_or_none(raw: Any, option: str | None) -> None:
    known = recognised(raw, but="multiwoz")
    assert (known.name if known else None) == option


def test_benchmarks_are_found_by_each_of_their_names() -> None:
    for benchmark in benchmarks(external=False):
        for name in benchmark.names:
            assert name.startswith(benchmark.name)
            assert benchmark_named(name) is benchmark
    for name in ("dstc8", "dstc7-ubuntu-3", "", "multiwoz-2.2"):
        with pytest.raises(UsageError, match=rf'"{name}".*(dstc7|multiwoz)'):
            benchmark_named(name)


def test_responses_not_recognized_by_other_benchmarks_are_multiwoz(elsewhere: Path) -> None:
    for turn in ({"response": "ok"}, {"response": "ok", "state": {}}):
        write_json(elsewhere / "system.json", {"sng0073": [turn]})
        assert meant("system.json", E2E) == "multiwoz"
        assert meant(E2E, "system.json") == "crosswoz"
    for turns in (WORDS, STATE):
        write_json(elsewhere / "system.json", {"2303": turns})
        assert meant("system.json") == "crosswoz"


def test_the_header_of_live_dialogues_determines_the_benchmark(elsewhere: Path) -> None:
    run, packed, odd = "run.jsonl", "run.jsonl.gz", "odd.jsonl"
    for name, benchmark in ((run, "pydial"), (packed, "dstc7"), (odd, "chess")):
        raw = json.dumps({"mwzeval_live": 1, "benchmark": benchmark}).encode() + b"\n"
        (elsewhere / name).write_bytes(gzip.compress(raw) if name == packed else raw)
    assert meant(run) == "pydial"
    assert meant("-q", packed) == "dstc7"
    assert meant(f"ours={run},{run}", packed) == "pydial"
    assert meant("--benchmark", "crosswoz", run) == "crosswoz"
    assert meant(GOOD, odd, "nowhere.jsonl") == "multiwoz"
