"""Predictions in many files score as those of one file with the same lines."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Callable, Sequence
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
from tests.parts import Predictions, cut, lines_of, packed, write_shards
from tests.places import ROOT, sample_predictions

ENDINGS = (".jsonl", ".json", ".jsonl.gz", ".json.zst", ".jsonl.zst", ".txt")
Result = tuple[int, str, str]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    def evaluate(*arguments: str) -> Result:
        report = str(tmp_path / "report.out")
        try:
            code = main(["shards", "-bsrd", "--corpus", "sample", "-o", report, *arguments])
        except SystemExit as stopped:  # argparse
            code = int(str(stopped.code))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return evaluate


def reported(tmp_path: Path) -> Any:
    return json.loads((tmp_path / "report.out").read_text(encoding="utf-8"))


def in_shards(evaluator: Evaluator, paths: Sequence[str]) -> str:
    return to_json(evaluate_shards(evaluator, paths).to_dict())


@settings(max_examples=4)
@given(st.lists(st.integers(1, 61), min_size=1, max_size=7, unique=True), st.data())
def test_files_of_any_kind_are_as_one(
    evaluator: Evaluator,
    tmp_path_factory: pytest.TempPathFactory,
    places: list[int],
    data: st.DataObject,
) -> None:
    predictions = sample_predictions("weak-tracker")
    endings = data.draw(st.permutations(ENDINGS))
    paths = write_shards(tmp_path_factory.mktemp("shards"), cut(predictions, places), endings)
    assert in_shards(evaluator, paths) == to_json(evaluator.evaluate(predictions).to_dict())


def test_long_files_are_read_in_batches(
    evaluator: Evaluator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "BATCH", 5)
    predictions = sample_predictions("good")
    paths = write_shards(tmp_path, [predictions], [".jsonl.zst"])
    assert in_shards(evaluator, paths) == to_json(evaluator.evaluate(predictions).to_dict())


def test_the_command_line_takes_patterns_in_order_of_their_names(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    predictions = sample_predictions("good")
    paths = write_shards(tmp_path, cut(predictions, [10, 30, 50]), [".jsonl.gz", ".jsonl"])
    whole = tmp_path / "whole.json"
    whole.write_text(json.dumps(predictions), encoding="utf-8")
    run(str(whole))
    code, shown, said = run(str(whole))  # in place of the report there was, as those below
    expected = reported(tmp_path)
    assert code == 0, said
    for arguments in ([str(tmp_path / "part-*.jsonl*")], sorted(paths)):
        assert run(*arguments) == (0, shown, said)
        assert reported(tmp_path) == expected


def test_every_warning_names_its_shard_or_all_of_them(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    predictions = dict(list(sample_predictions("good").items())[:40])
    odd = list(predictions.values())[25][0]
    odd |= {"response": "[odd]", "state": {"inn": {}}}
    paths = write_shards(tmp_path, cut(predictions, [20]))
    for named in (paths, [str(tmp_path / "part-*")]):
        code, _, said = run(*named)
        warnings = reported(tmp_path)["meta"]["warnings"]
        files = {warning["kind"]: warning.get("file") for warning in warnings}
        whole = ", ".join(Path(path).name for path in named)
        assert (code, files) == (
            0,
            {
                "unknown-domain": Path(paths[1]).name,
                "unknown-placeholder": whole,
                "fewer-dialogues": whole,
                "fewer-turns": whole,
            },
        )
        assert f"{whole}: 22 " in said


def broken(predictions: Predictions) -> dict[str, tuple[str, bytes | None, str]]:
    """Return ways to break a shard: the ending and content of its file, and part of the error."""
    text = lines_of(predictions)
    first = next(iter(predictions))
    repeated = lines_of({first: predictions[first]})
    return {
        "half a gzip": (".jsonl.gz", gzip.compress(text)[:-20], ".gz"),
        "half a line": (".jsonl", text[:-30], "line 20"),
        "an unknown dialogue": (
            *(".jsonl", text + b'{"dialogue": "smp9999", "turns": [{}]}\n'),
            'dialogue "smp9999"',
        ),
        "gone": (".jsonl", None, ""),
        "twice in one": (".jsonl", text + repeated, "dialogue"),
    }


@pytest.mark.parametrize(
    "how", ["half a gzip", "half a line", "an unknown dialogue", "gone", "twice in one"]
)
def test_a_bad_shard_is_named_and_fails_the_run_unless_it_is_skipped(
    run: Callable[..., Result],
    evaluator: Evaluator,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    monkeypatch.setattr(shards, "BATCH", 5)
    first, second, third = cut(sample_predictions("good"), [20, 40])
    paths = write_shards(tmp_path, [first, {}, third])
    ending, content, named = broken(second)[how]
    Path(paths[1]).unlink()
    bad = tmp_path / f"part-001{ending}"
    if content is not None:
        bad.write_bytes(content)
    paths[1] = str(bad)
    code, shown, said = run(*paths)
    assert (code, shown) == (2, "")
    assert f"{bad}: " in said
    assert named in said
    assert not (tmp_path / "report.out").exists()

    code, shown, said = run(*paths, "--skip-bad")
    assert code == 0, said
    assert f"warning: {bad.name}: " in said
    report = reported(tmp_path)
    (skipped,) = report["meta"].pop("skipped_shards")
    assert skipped["shard"] == bad.name
    assert named in "\n".join(skipped["problems"])
    assert report["meta"]["warnings"].pop()["kind"] == "skipped-shard"
    whole = ", ".join(Path(path).name for path in paths)
    expected = evaluator.evaluate({**first, **third}, file=whole).to_dict()
    assert report == json.loads(to_json(expected))
    assert run(*paths, "--skip-bad", "--strict")[0] == 2


@pytest.mark.parametrize("options", [(), ("--skip-bad",)])
def test_all_bad_or_repeated_shards_are_named(
    options: tuple[str, ...], run: Callable[..., Result], tmp_path: Path
) -> None:
    first, second, third = cut(sample_predictions("good"), [20, 40])
    name = next(iter(second))
    paths = write_shards(tmp_path, [first, second, {name: second[name], **third}])
    code, _, said = run(*paths, *options)
    assert code == 2
    assert f'dialogue "{name}": ' in said
    assert f"{paths[1]}, {paths[2]}\n" in said
    for path in paths:
        Path(path).write_bytes(b"{}\n")
    code, _, said = run(*paths, *options)
    assert code == 2
    assert all(f"{path}: line 1" in said for path in paths)


def test_what_cannot_be_had_of_shards_is_refused(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    paths = write_shards(tmp_path, cut(sample_predictions("good"), [30]))
    for words, named in (
        ("--ci", "--ci"),
        ("-i -", "standard input"),
        ("--workers 2", "--dask local"),
        ("--workers 0 --dask local", "--workers"),
    ):
        code, shown, said = run(*paths, *words.split())
        assert (code, shown, named in said) == (2, "", True), words


def test_shards_of_other_benchmarks_are_refused(
    run: Callable[..., Result], capsys: pytest.CaptureFixture[str]
) -> None:
    for name, benchmark in (
        ("crosswoz-sample-dst.json", "crosswoz"),
        ("dstc7-overlap/Ubuntu_subtask_4.json", "dstc7"),
    ):
        file = str(ROOT / "predictions" / name)
        code, _, said = run("--benchmark", "multiwoz", "--skip-bad", file)
        assert (code, f"--benchmark {benchmark}" in said) == (2, True)
        assert main(["shards", "--skip-bad", file]) == 2
        assert "no shards" in capsys.readouterr().err


def test_gold_data_are_not_sent_to_workers(evaluator: Evaluator) -> None:
    evaluator.scorer("sample")
    assert len(pickle.dumps(evaluator.unloaded())) < 10_000


def test_a_turn_without_a_state_in_any_shard_counts_for_all(
    evaluator: Evaluator, tmp_path: Path
) -> None:
    predictions = sample_predictions("good")
    del list(predictions.values())[25][0]["state"]
    paths = write_shards(tmp_path, cut(predictions, [20, 40]))
    assert in_shards(evaluator, paths) == to_json(evaluator.evaluate(predictions).to_dict())


@pytest.mark.integration
def test_any_place_that_fsspec_knows_can_be_read(run: Callable[..., Result]) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    predictions = sample_predictions("good")
    for number, part in enumerate(cut(predictions, [20, 40])):
        memory.pipe(f"/runs/{number}.jsonl.zst", packed(part, ".jsonl.zst"))
    try:
        code, shown, said = run("memory://runs/*.jsonl.zst")
        assert (code, said.startswith("wrote "), said.count("\n")) == (0, True, 1)
        assert "62 of 62 dialogues" in shown
        code, _, said = run("memory://runs/none.jsonl")
        assert (code, "memory://runs/none.jsonl" in said) == (2, True)
    finally:
        memory.rm("/runs", recursive=True)
