"""Every benchmark scores an input in shards as the same input in one file."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mwzeval.benchmark import known_benchmarks
from mwzeval.cli import main
from tests.cluster.split import INPUTS, Input, write

Result = tuple[int, Any, str]
Evaluate = Callable[..., Result]
IN_ORDER = ("multiwoz", "crosswoz, simulation")
"""Where the order of the shards means something: windows of MSTTR, and the natural mix."""


CASES = [
    pytest.param(name, marks=() if name in ("multiwoz", "dstc7") else pytest.mark.integration)
    for name in INPUTS
]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Input]:
    return cache(lambda name: INPUTS[name](tmp_path_factory.mktemp("made")))


@pytest.fixture
def evaluate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Evaluate:
    """Run `evaluate`, and return exit code, report (None without one) and standard error."""

    def run(of: Input, *arguments: str) -> Result:
        output = tmp_path / "report.out"
        output.unlink(missing_ok=True)
        code = main(["evaluate", *of.arguments, "-o", str(output), *arguments])
        report = json.loads(output.read_text(encoding="utf-8")) if output.exists() else None
        return code, report, capsys.readouterr().err

    return run


def placeless(report: Any) -> Any:
    """Leave out what files are called, and the order in which warnings about them come."""
    warnings = sorted(
        (warning["kind"], warning["message"], warning.get("count", 1))
        for warning in report["meta"]["warnings"]
    )
    return {**report, "meta": {**report["meta"], "warnings": warnings}}


def test_every_benchmark_has_an_input() -> None:
    assert {name.split(",")[0] for name in INPUTS} == {known.name for known in known_benchmarks()}


@pytest.mark.parametrize("name", CASES)
def test_shards_are_as_one_file(
    inputs: Callable[[str], Input], evaluate: Evaluate, tmp_path: Path, name: str
) -> None:
    of = inputs(name)
    (whole,) = write(of, tmp_path / "whole")
    code, expected, _ = evaluate(of, whole)
    assert code == 0
    third = len(of.items) // 3
    shards = write(of, tmp_path / "shards", [third, 2 * third])
    orders = [shards] if name in IN_ORDER else [shards, shards[::-1]]
    for order in orders:
        code, report, said = evaluate(of, "--shards", *order)
        assert code == 0, said
        if name == "pydial" and order != shards:
            report["meta"]["sources"] = expected["meta"]["sources"]  # the bytes, in order
        assert placeless(report) == placeless(expected)
    code, report, _ = evaluate(of, str(tmp_path / "shards" / "part-*"))
    assert (code, report["meta"]["coverage"]) == (0, expected["meta"]["coverage"])


@pytest.mark.parametrize("name", CASES[1:])
def test_a_unit_in_two_shards_is_named_with_both(
    inputs: Callable[[str], Input], evaluate: Evaluate, tmp_path: Path, name: str
) -> None:
    of = inputs(name)
    half = len(of.items) // 2
    shards = write(of, tmp_path / "shards", [half])
    again = write(of._replace(items=of.items[half : half + 1]), tmp_path / "again")
    code, report, said = evaluate(of, "--shards", *shards, *again, "--skip-bad-shards")
    assert (code, report) == (2, None)
    assert f"{shards[1]}, {again[0]}\n" in said


@pytest.mark.integration
@pytest.mark.parametrize("name", [name for name in INPUTS if name != "multiwoz"])
def test_a_bad_shard_is_named_and_can_be_left_out(
    inputs: Callable[[str], Input], evaluate: Evaluate, tmp_path: Path, name: str
) -> None:
    of = inputs(name)
    partial = ("--allow-partial",) if name.startswith("crosswoz") else ()
    first, bad, last = write(of, tmp_path / "shards", [3, len(of.items) - 3])
    Path(bad).write_bytes(b"{")
    code, report, said = evaluate(of, *partial, "--shards", first, bad, last)
    assert (code, report) == (2, None)
    assert said.startswith(f"error: {bad}: ")
    code, report, said = evaluate(of, *partial, "--shards", first, bad, last, "--skip-bad-shards")
    assert code == 0, said
    (skipped,) = report["meta"].pop("skipped_shards")
    assert skipped["shard"] == Path(bad).name
    _, expected, _ = evaluate(of, *partial, "--shards", first, last)
    assert report["meta"]["warnings"].pop()["kind"] == "skipped-shard"
    assert placeless(report) == placeless(expected)
