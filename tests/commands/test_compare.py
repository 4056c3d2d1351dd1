"""`mwzeval compare`: what it prints, writes and refuses."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest

from mwzeval.arguments import named_runs
from mwzeval.commands.systems import names_of
from tests.command_lines import Run
from tests.places import ROOT, sample_predictions

FEW = ("--samples", "100")


def file_of(system: str) -> str:
    return str(ROOT / "predictions" / f"sample-{system}.json")


@pytest.fixture
def run(run: Run) -> Run:
    return partial(run, "compare")


def write(path: Path, predictions: Any) -> str:
    path.write_text(json.dumps(predictions), encoding="utf-8")
    return str(path)


def test_the_level_decides_what_is_significant_and_how_sure_intervals_are(run: Run) -> None:
    files = (file_of("good"), file_of("no-phone"))
    _, strict, _ = run(*files, *FEW, "-b", "--alpha", "0.000001")
    assert re.search(r"\nsample-no-phone +26\.48 .* 1\n", strict)
    _, usual, _ = run(*files, *FEW, "-b", "--alpha", "0.1")
    assert re.search(r"\nsample-no-phone +26\.48 .* 2\n", usual)
    assert "90 % interval" in usual


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (("runs/a.json", "runs/b.jsonl.gz"), ["a", "b"]),
        (("one/test.json", "two/test.json"), ["one/test", "two/test"]),
        (("a.json", "a.json", "a.json"), ["a", "a #2", "a #3"]),
        (("-", "a.v2.json.zst"), ["standard input", "a.v2"]),
        (("x/test.json", "y/test.json", "z.json"), ["x/test", "y/test", "z"]),
        (("/a.json", "a.json"), ["/a", "a"]),
    ],
)
def test_systems_are_called_like_their_files(files: tuple[str, ...], expected: list[str]) -> None:
    assert names_of(files) == expected


def runs_of(folder: Path, system: str, *others: str) -> str:
    """Write runs of a system, each with dialogues of two others, and return the argument."""
    good = sample_predictions("good")
    files = []
    for number, other in enumerate(others):
        instead = sample_predictions(other)
        chosen = {
            name: (instead if (index + number) % 3 else good)[name]
            for index, name in enumerate(good)
        }
        files.append(write(folder / f"{system}-{number}.json", chosen))
    return f"{system}={','.join(files)}"


def test_systems_with_several_runs_are_compared_by_their_means(run: Run, tmp_path: Path) -> None:
    baseline = runs_of(tmp_path, "baseline", "no-phone", "no-phone", "no-phone")
    ours = runs_of(tmp_path, "ours", "no-phone", "no-phone")
    code, out, _ = run(baseline, ours, file_of("good"), *FEW, "-s", "-f", "json")
    assert code == 0
    comparison = json.loads(out)
    assert comparison["systems"] == ["baseline", "ours", "sample-good"]
    assert [len(runs) for runs in comparison["runs"].values()] == [3, 2, 1]
    assert [caution.partition(":")[0] for caution in comparison["cautions"]] == [
        "baseline, ours",
        "sample-good",
    ]
    alone = {}
    for file in (*tmp_path.iterdir(), Path(file_of("good"))):
        _, out, _ = run(str(file), file_of("good"), *FEW, "-s", "-f", "json")
        scores = json.loads(out)["comparisons"][::2]
        alone[file.name] = {score["score"]: score["value"] for score in scores}
    for found in comparison["comparisons"]:
        files = comparison["runs"][found["system"]]
        values = [alone[file][found["score"]] for file in files]
        assert found["values"] == pytest.approx(values)
        assert found["value"] == pytest.approx(mean(values))
        assert found["runs"] == len(values)
        assert found["sd"] == (pytest.approx(stdev(values)) if len(values) > 1 else None)
        assert found["test"] == (None if found["difference"] is None else "hierarchical-bootstrap")


def test_a_name_that_comes_again_has_further_runs_and_their_order_is_nothing(
    run: Run, tmp_path: Path
) -> None:
    first = runs_of(tmp_path, "a", "no-phone", "no-phone", "no-phone")
    runs = first.removeprefix("a=").split(",")
    _, expected, _ = run(first, file_of("good"), *FEW, "-b")
    apart = [f"a={runs[2]},{runs[0]}", f"a={runs[1]}"]
    assert run(apart[0], file_of("good"), apart[1], *FEW, "-b")[1] == expected


def test_copies_of_one_run_are_pointed_out(run: Run, tmp_path: Path) -> None:
    copies = [write(tmp_path / f"{name}.json", sample_predictions("no-phone")) for name in "abc"]
    seeds = runs_of(tmp_path, "seeds", "no-phone", "no-phone")
    _, out, _ = run(f"copies={','.join(copies)}", seeds, *FEW, "-s")
    assert "\ncaution: copies: " in out


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("A=x.json,y.json", ("A", ("x.json", "y.json"))),
        ("lr=0.1.json", None),
        ("A=lr=0.1.json", ("A", ("lr=0.1.json",))),
        ("a,b.json", None),
        ("=x.json", None),
        ("x.json", None),
    ],
)
def test_an_existing_file_wins_over_what_its_name_might_mean(
    argument: str,
    expected: tuple[str, tuple[str, ...]] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lr=0.1.json").touch()
    assert named_runs(argument) == expected
