"""The training log equals the files of the run."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from mwzeval.errors import InputError, MwzevalError, UsageError
from mwzeval.pydial.episodes import Episode
from mwzeval.pydial.log import LogFile, Row, TrainingLog
from tests.command_lines import Run
from tests.pydial.runs import TASK, read_lines, small_run

NAME = f"{TASK}/gp-sarsa/seed-0"
Rows = dict[tuple[str, int, str], float]


def rows_of(file: Path) -> Rows:
    """Return the numbers of a CSV file by run, step and name; fails for repeated rows."""
    with file.open(encoding="utf-8", newline="") as stream:
        rows = [
            (r["run"], int(r["step"]), r["name"], float(r["value"])) for r in csv.DictReader(stream)
        ]
    assert len({row[:3] for row in rows}) == len(rows)
    return {(name, step, number): value for name, step, number, value in rows}


def means(lines: list[dict[str, Any]], phase: str) -> dict[str, float]:
    return {
        f"{phase}/success": 100 * mean(line["success"] for line in lines),
        f"{phase}/reward": mean(line["reward"] for line in lines),
        f"{phase}/exchanges": mean(line["exchanges"] for line in lines),
    }


def expected(output: Path, name: str, every: int, tests: tuple[int, ...]) -> Rows:
    """Return the expected log of a job, computed from its files."""

    rows: Rows = {}
    training = read_lines(output / name / "training.jsonl")
    for end in range(every, len(training) + 1, every):
        for key, value in means(training[end - every : end], "train").items():
            rows[name, end, key] = value
    for at in tests:
        for key, value in means(read_lines(output / name / f"test-{at:06d}.jsonl"), "test").items():
            rows[name, at, key] = value
    return rows


@pytest.mark.integration
def test_continued_runs_are_logged_once(tmp_path: Path) -> None:
    output, file, later = (tmp_path / name for name in ("runs", "log.csv", "later.csv"))
    for dialogues, log in (((12,), file), ((12, 23), file), ((12, 23), file), ((12, 23), later)):
        plan: dict[str, Any] = {"dialogues": dialogues, "tests": 4, "log": log, "log_every": 5}
        small_run(output, ["gp-sarsa", "handcrafted"], **plan)
    due = expected(output, NAME, 5, (12, 23))
    assert len(due) == 3 * (4 + 2)
    rows = rows_of(file)
    assert {key: value for key, value in rows.items() if key[0] == NAME} == pytest.approx(due)
    other = f"{TASK}/handcrafted/seed-0"
    assert {key for key in rows if key[0] == other} == {
        (other, 0, f"test/{name}") for name in ("success", "reward", "exchanges")
    }
    assert rows_of(later) == rows


def test_a_new_run_cannot_append_to_the_log_of_another_run(tmp_path: Path) -> None:
    file, name = tmp_path / "log.csv", f"{TASK}/random/seed-0"
    small_run(tmp_path / "first", "random", log=file)
    kept = file.read_bytes()
    with pytest.raises(InputError, match=name):
        small_run(tmp_path / "second", "random", log=file)
    with pytest.raises(InputError, match=name):
        TrainingLog(file, name=name)
    assert not (tmp_path / "second").exists()
    assert file.read_bytes() == kept
    file.unlink()
    small_run(tmp_path / "first", "random", log=file)
    assert file.read_bytes() == kept


def test_a_failing_log_file_is_skipped_and_completed_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, other = tmp_path / "log.csv", tmp_path / "other.csv"
    entries: list[Row] = [
        ("training", str(step), "train/reward", str(reward))
        for step, reward in enumerate((16, -25, 15), start=1)
    ]
    first = LogFile(file)
    first.add(entries[:1])
    kept = file.read_bytes()
    file.unlink()
    file.mkdir()
    first.add(entries[1:2])
    file.rmdir()
    file.write_bytes(kept)
    first.add(entries[2:])
    assert file.read_bytes() == kept
    assert len(capsys.readouterr().err.splitlines()) == 1
    file.write_bytes(kept + b"training,2,tr")  # incomplete line of a killed process
    for path in (file, other):
        log = LogFile(path)
        for entry in entries:
            log.add([entry])
    assert file.read_bytes() == other.read_bytes()
    assert list(rows_of(file).values()) == [16, -25, 15]


def test_custom_training_loops_log_the_same_metric_names(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    log = TrainingLog(file, name="mine", every=2)
    log.dialogue(True, 4, 16)
    log.losses(loss=1.0, entropy=3)
    log.losses(loss=2.0)
    log.dialogue(False, 25, -25)
    log.test([Episode(TASK, 0, 0, True, 6, 14), Episode(TASK, 0, 1, False, 25, -25)])
    log.dialogue(True, 4, 16)
    with pytest.raises(UsageError, match="dialogue"):
        log.test([])
    TrainingLog(file, name="mine", every=2, dialogues=3).dialogue(True, 4, 16)
    numbers: dict[int, dict[str, float]] = {
        2: {
            **{"train/success": 50, "train/reward": -4.5, "train/exchanges": 14.5},
            **{"train/loss": 1.5, "train/entropy": 3},
            **{"test/success": 50, "test/reward": -5.5, "test/exchanges": 15.5},
        },
        4: {"train/success": 100, "train/reward": 16, "train/exchanges": 4},
    }
    assert rows_of(file) == {
        ("mine", step, name): value for step in numbers for name, value in numbers[step].items()
    }


@pytest.mark.parametrize(
    "file", ["csv:log.csv", "tensorboard:logs", "wandb:ours", "mlflow:ours.csv", "log", ""]
)
def test_log_names_other_than_csv_files_are_refused(file: str, run: Run, elsewhere: Path) -> None:
    with pytest.raises(UsageError, match=r"FILE\.csv"):
        TrainingLog(file)
    command = ["pydial", "run", "--tasks", TASK, "-o", "runs", "--log"]
    assert run(*command, file).code == 2
    assert run(*command, "a.csv", "--log-every", "0").code == 2
    assert not list(elsewhere.iterdir())
    with pytest.raises(UsageError, match="-1"):
        TrainingLog(None, dialogues=-1)


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "a,b\n1,2", "run,step,name"])
def test_files_with_other_columns_are_not_overwritten(text: str, tmp_path: Path) -> None:
    file = tmp_path / "other.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="run,step,name,value"):
        LogFile(file)
    assert file.read_text("utf-8") == text


@pytest.mark.parametrize("content", [b"\xff\xfe", b'run,step,name,value\n"a', b"x,y\n", b"\0\n"])
def test_damaged_metrics_of_a_job_are_rewritten(content: bytes, tmp_path: Path) -> None:
    output = tmp_path / "runs"
    inside, outside = output / "log.csv", tmp_path / "other.csv"
    (job,) = small_run(output, "random", log=inside)  # the folder does not exist yet
    (job.folder(output) / "metrics.csv").write_bytes(content)
    small_run(output, "random", log=outside)
    assert rows_of(outside) == rows_of(inside) != {}


def test_errors_name_an_unwritable_log_path(tmp_path: Path) -> None:
    with pytest.raises(MwzevalError, match=r"none.log\.csv"):
        LogFile(tmp_path / "none" / "log.csv")
