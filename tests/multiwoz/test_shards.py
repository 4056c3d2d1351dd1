"""Predictions in several files get the scores of a single file with the same lines."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mwzeval.cli import main
from mwzeval.multiwoz import shards
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.shards import evaluate_shards
from mwzeval.text import to_json
from tests.command_lines import Run
from tests.parts import cut, lines_of, packed, write_shards
from tests.places import ROOT, read_json, sample_predictions, write_json

ENDINGS = (".jsonl", ".json", ".jsonl.gz", ".json.zst", ".jsonl.zst", ".txt")
REPORT = Path("report.out")


@pytest.fixture
def run(run: Run, elsewhere: Path) -> Run:
    return partial(run, "shards", "-bsrd", "--corpus", "sample", "-o", str(REPORT))


def in_shards(evaluator: Evaluator, paths: Sequence[str]) -> str:
    return to_json(evaluate_shards(evaluator, paths).to_dict())


@settings(max_examples=4)
@given(st.lists(st.integers(1, 61), min_size=1, max_size=7, unique=True), st.data())
def test_shards_in_any_format_score_like_a_single_input(
    evaluator: Evaluator,
    tmp_path_factory: pytest.TempPathFactory,
    places: list[int],
    data: st.DataObject,
) -> None:
    predictions = sample_predictions("weak-tracker")
    endings = data.draw(st.permutations(ENDINGS))
    paths = write_shards(tmp_path_factory.mktemp("shards"), cut(predictions, places), endings)
    assert in_shards(evaluator, paths) == to_json(evaluator.evaluate(predictions).to_dict())


def test_shard_patterns_are_read_in_file_name_order(run: Run, tmp_path: Path) -> None:
    predictions = sample_predictions("good")
    paths = write_shards(tmp_path, cut(predictions, [10, 30, 50]), [".jsonl.gz", ".jsonl"])
    whole = write_json(tmp_path / "whole.json", predictions)
    run(whole)
    expected = run(whole)  # replaces the report, like the calls below
    report = read_json(REPORT)
    assert expected.code == 0, expected.err
    for arguments in ([str(tmp_path / "part-*.jsonl*")], sorted(paths)):
        assert run(*arguments) == expected
        assert read_json(REPORT) == report


def test_warnings_name_the_shard_or_the_whole_input(run: Run, tmp_path: Path) -> None:
    predictions = dict(list(sample_predictions("good").items())[:40])
    list(predictions.values())[25][0] |= {"response": "[odd]", "state": {"inn": {}}}
    paths = write_shards(tmp_path, cut(predictions, [20]))
    for named in (paths, [str(tmp_path / "part-*")]):
        code, _, err = run(*named)
        warnings = read_json(REPORT)["meta"]["warnings"]
        whole = ", ".join(Path(path).name for path in named)
        assert code == 0
        assert {warning["kind"]: warning.get("file") for warning in warnings} == {
            "unknown-domain": Path(paths[1]).name,
            "unknown-placeholder": whole,
            "fewer-dialogues": whole,
            "fewer-turns": whole,
        }
        assert f"{whole}: 22 " in err


SECOND = cut(sample_predictions("good"), [20, 40])[1]
LINES = lines_of(SECOND)
BROKEN = {
    "truncated gzip": (".jsonl.gz", gzip.compress(LINES)[:-20], ".gz"),
    "truncated line": (".jsonl", LINES[:-30], "line 20"),
    "an unknown dialogue": (
        ".jsonl",
        LINES + b'{"dialogue": "smp9999", "turns": [{}]}\n',
        'dialogue "smp9999"',
    ),
    "no file": (".jsonl", None, ""),
    "a dialogue twice": (".jsonl", LINES + LINES.splitlines()[0], "dialogue"),
}
"""The ending and content of a file, and a part of its error message."""


@pytest.mark.parametrize("how", BROKEN)
def test_invalid_shards_fail_the_run_or_are_skipped(
    run: Run, evaluator: Evaluator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(shards, "BATCH", 5)
    first, _, third = cut(sample_predictions("good"), [20, 40])
    paths = write_shards(tmp_path, [first, {}, third])
    ending, content, named = BROKEN[how]
    Path(paths[1]).unlink()
    bad = tmp_path / f"part-001{ending}"
    if content is not None:
        bad.write_bytes(content)
    paths[1] = str(bad)
    code, out, err = run(*paths)
    assert (code, out) == (2, "")
    assert f"{bad}: " in err
    assert named in err
    assert not REPORT.exists()

    code, out, err = run(*paths, "--skip-bad")
    assert code == 0, err
    assert f"warning: {bad.name}: " in err
    report = read_json(REPORT)
    (skipped,) = report["meta"].pop("skipped_shards")
    assert skipped["shard"] == bad.name
    assert named in "\n".join(skipped["problems"])
    assert report["meta"]["warnings"].pop()["kind"] == "skipped-shard"
    whole = ", ".join(Path(path).name for path in paths)
    expected = evaluator.evaluate({**first, **third}, file=whole).to_dict()
    assert report == json.loads(to_json(expected))
    assert run(*paths, "--skip-bad", "--strict").code == 2


@pytest.mark.parametrize("options", [(), ("--skip-bad",)])
def test_duplicate_dialogues_and_only_invalid_shards_are_errors(
    options: tuple[str, ...], run: Run, tmp_path: Path
) -> None:
    first, second, third = cut(sample_predictions("good"), [20, 40])
    name = next(iter(second))
    paths = write_shards(tmp_path, [first, second, {name: second[name], **third}])
    code, _, err = run(*paths, *options)
    assert code == 2
    assert f'dialogue "{name}": ' in err
    assert f"{paths[1]}, {paths[2]}\n" in err
    for path in paths:
        Path(path).write_bytes(b"{}\n")
    code, _, err = run(*paths, *options)
    assert code == 2
    assert all(f"{path}: line 1" in err for path in paths)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--ci", "--ci"),
        ("-i -", "standard input"),
        ("--workers 2", "--dask local"),
        ("--workers 0 --dask local", "--workers"),
    ],
)
def test_invalid_options_are_refused(run: Run, tmp_path: Path, words: str, named: str) -> None:
    paths = write_shards(tmp_path, cut(sample_predictions("good"), [30]))
    code, out, err = run(*paths, *words.split())
    assert (code, out, named in err) == (2, "", True)


OTHERS = {
    "crosswoz": str(ROOT / "predictions" / "crosswoz-sample-dst.json"),
    "dstc7": str(ROOT / "predictions" / "dstc7-overlap" / "Ubuntu_subtask_4.json"),
}


@pytest.mark.parametrize("benchmark", OTHERS)
def test_files_of_benchmarks_without_shards_are_errors(
    run: Run, capsys: pytest.CaptureFixture[str], benchmark: str
) -> None:
    file = OTHERS[benchmark]
    code, _, err = run("--benchmark", "multiwoz", "--skip-bad", file)
    assert (code, f"--benchmark {benchmark}" in err) == (2, True)
    assert main(["shards", "--skip-bad", file]) == 2
    assert "no shards" in capsys.readouterr().err


def test_missing_state_in_one_shard_applies_to_all_shards(
    evaluator: Evaluator, tmp_path: Path
) -> None:
    predictions = sample_predictions("good")
    del list(predictions.values())[25][0]["state"]
    paths = write_shards(tmp_path, cut(predictions, [20, 40]))
    assert in_shards(evaluator, paths) == to_json(evaluator.evaluate(predictions).to_dict())


@pytest.mark.integration
def test_shards_are_read_from_fsspec_file_systems(run: Run) -> None:
    memory: Any = pytest.importorskip("fsspec").filesystem("memory")
    for number, part in enumerate(cut(sample_predictions("good"), [20, 40])):
        memory.pipe(f"/runs/{number}.jsonl.zst", packed(part, ".jsonl.zst"))
    try:
        code, out, err = run("memory://runs/*.jsonl.zst")
        assert (code, err.startswith("wrote "), err.count("\n")) == (0, True, 1)
        assert "62 of 62 dialogues" in out
        code, _, err = run("memory://runs/none.jsonl")
        assert (code, "memory://runs/none.jsonl" in err) == (2, True)
    finally:
        memory.rm("/runs", recursive=True)
