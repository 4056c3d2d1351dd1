"""What trackers hold of training, read from their own files, held against the files of the run."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from types import ModuleType
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.errors import InputError, UsageError
from mwzeval.pydial.runs.episode_files import META
from mwzeval.pydial.runs.episodes import Episode
from mwzeval.pydial.runs.job import Job
from mwzeval.pydial.runs.run import run
from mwzeval.pydial.training.log import TrainingLog
from mwzeval.pydial.training.recorder import NOTES, Recorder
from mwzeval.pydial.workers.followed import Followed, Message, Told, do_job
from mwzeval.pydial.workers.progress import Progress

TASK = "Demo-CR-3"
NAME = f"{TASK}/gp-sarsa/seed-0"
Rows = dict[tuple[str, int, str], float]


def rows_of(file: Path) -> Rows:
    """Return the numbers of a CSV file by run, step and name, each of which is there once."""
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
    """Return what is to be logged of a job, from its files."""

    def lines_of(file: str) -> list[dict[str, Any]]:
        lines = map(json.loads, (output / name / file).read_text("utf-8").splitlines())
        return [line for line in lines if META not in line]

    rows: Rows = {}
    training = lines_of("training.jsonl")
    for end in range(every, len(training) + 1, every):
        for key, value in means(training[end - every : end], "train").items():
            rows[name, end, key] = value
    for at in tests:
        for key, value in means(lines_of(f"test-{at:06d}.jsonl"), "test").items():
            rows[name, at, key] = value
    return rows


def events_of(folder: Path) -> dict[tuple[int, str], float]:
    name = "tensorboard.backend.event_processing.event_accumulator"
    events = pytest.importorskip(name).EventAccumulator(str(folder))
    events.Reload()
    tensors = pytest.importorskip("tensorboard.util.tensor_util")
    found = [
        ((event.step, tag), tensors.make_ndarray(event.tensor_proto).item())
        for tag in events.Tags()["tensors"]
        for event in events.Tensors(tag)
    ]
    assert len(dict(found)) == len(found)
    return dict(found)


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    module = pytest.importorskip("mlflow")
    module.set_tracking_uri((tmp_path / "mlruns").as_uri())
    yield module
    module.set_tracking_uri(None)


@pytest.mark.integration
def test_a_run_is_in_every_tracker_once_however_it_went_on(
    tmp_path: Path, mlflow: ModuleType
) -> None:
    output = tmp_path / "runs"
    places = [f"csv:{tmp_path / 'log.csv'}", f"tensorboard:{tmp_path / 'tb'}", "mlflow:ours"]

    def go(*dialogues: int, log: list[str]) -> None:
        policies = ["gp-sarsa", "handcrafted"]
        run([TASK], policies, output, dialogues=dialogues, seeds=1, tests=4, processes=0, log=log,
            log_every=5)  # fmt: skip

    go(12, log=places[:2])
    go(12, 23, log=places)
    go(12, 23, log=places)
    due = expected(output, NAME, 5, (12, 23))
    assert len(due) == 3 * (4 + 2)
    rows = rows_of(tmp_path / "log.csv")
    assert {key: value for key, value in rows.items() if key[0] == NAME} == pytest.approx(due)
    other = f"{TASK}/handcrafted/seed-0"
    assert {key for key in rows if key[0] == other} == {
        (other, 0, f"test/{name}") for name in ("success", "reward", "exchanges")
    }
    plain = {(step, name): value for (_, step, name), value in due.items()}
    assert events_of(tmp_path / "tb" / NAME) == pytest.approx(plain)
    client = mlflow.MlflowClient()
    runs = {each.info.run_name: each for each in mlflow.search_runs(["0"], output_format="list")}
    assert not runs
    experiment = client.get_experiment_by_name("ours").experiment_id
    runs = {each.info.run_name: each for each in client.search_runs([experiment])}
    assert set(runs) == {NAME, other}
    assert runs[NAME].info.status == "FINISHED"
    found = [
        ((metric.step, name), metric.value)
        for name in runs[NAME].data.metrics
        for metric in client.get_metric_history(runs[NAME].info.run_id, name)
    ]
    assert len(found) == len(plain)
    assert dict(found) == pytest.approx(plain)


class Stopped(Exception):  # noqa: N818
    """As if the process had been killed."""


@pytest.mark.integration
def test_a_job_that_is_stopped_anywhere_is_logged_once(tmp_path: Path) -> None:
    """Of losses, those that were taken before the stop and not told of are lost."""
    pytest.importorskip("torch").set_num_threads(1)
    job = Job(TASK, "ppo", 1, (20, 40), tests=4)
    file = tmp_path / "log.csv"

    def go(folder: Path, place: Path, stop: int | None) -> None:
        recorder = Recorder([f"csv:{place}"])
        shown = Progress([job], folder, 1, shown=False)
        followed = Followed(folder, shown, recorder, 5)
        entries = 0

        def take(message: Message) -> None:
            nonlocal entries
            if isinstance(message, Told):
                followed.take(message)
                entries += 1
                if entries == stop:
                    raise Stopped

        do_job(job, folder, followed.every, take)

    straight = tmp_path / "straight.csv"
    go(tmp_path / "straight", straight, None)
    for stop in (2, 5, 6, 8):
        with pytest.raises(Stopped):
            go(tmp_path / "stopped", file, stop)
    with file.open("a", encoding="utf-8") as stream:
        stream.write("Demo-CR-3/ppo/seed")  # a process that was killed while it wrote
    go(tmp_path / "stopped", file, None)
    rows, due = rows_of(file), rows_of(straight)
    named = [
        {k: v for k, v in each.items() if "loss" not in k[2] and "entropy" not in k[2]}
        for each in (rows, due)
    ]
    assert named[0] == named[1]
    assert {name for _, _, name in due} >= {"train/loss", "train/value_loss", "train/entropy"}
    assert expected(tmp_path / "straight", job.name, 5, (20, 40)).items() <= due.items()


@pytest.mark.integration
def test_another_run_does_not_go_on_with_the_curves_of_one(tmp_path: Path) -> None:
    places = [f"csv:{tmp_path / 'log.csv'}", f"tensorboard:{tmp_path / 'tb'}"]
    for folder in ("first", "second"):
        run([TASK], ["random"], tmp_path / folder, seeds=1, tests=2, processes=0, log=places)
    name = f"{TASK}/random/seed-0"
    assert {key[0] for key in rows_of(tmp_path / "log.csv")} == {name, f"{name}-2"}
    assert events_of(tmp_path / "tb" / name) == events_of(tmp_path / "tb" / f"{name}-2")


def test_a_place_that_is_gone_is_written_anew(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    for _ in range(2):
        run([TASK], ["random"], tmp_path / "r", seeds=1, tests=2, processes=0, log=[f"csv:{file}"])
        assert len(rows_of(file)) == 3
        file.unlink()


def test_a_place_that_fails_is_left_and_written_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, other = tmp_path / "log.csv", tmp_path / "other.csv"

    def log(dialogues: int) -> TrainingLog:
        places = f"csv:{file}", f"csv:{other}"
        return TrainingLog(*places, folder=tmp_path / "notes", every=1, dialogues=dialogues)

    with log(0) as first:
        first.dialogue(True, 4, 16)
        kept = file.read_bytes()
        file.unlink()
        file.mkdir()
        first.dialogue(False, 25, -25)
        first.dialogue(True, 5, 15)
    file.rmdir()
    file.write_bytes(kept)
    assert len(capsys.readouterr().err.splitlines()) == 1
    with log(0) as second:
        for success, exchanges, reward in ((True, 4, 16), (False, 25, -25), (True, 5, 15)):
            second.dialogue(success, exchanges, reward)
    assert rows_of(file) == rows_of(other)
    assert [rows_of(file)["training", step, "train/reward"] for step in (1, 2, 3)] == [16, -25, 15]


def test_a_loop_of_ones_own_has_the_same_names(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    tests = [Episode(TASK, 0, 0, True, 6, 14), Episode(TASK, 0, 1, False, 25, -25)]
    with TrainingLog(f"csv:{file}", name="mine", folder=tmp_path, every=2) as log:
        log.dialogue(True, 4, 16)
        log.losses(loss=1.0, entropy=3)
        log.losses(loss=2.0)
        log.dialogue(False, 25, -25)
        log.test(tests)
        log.dialogue(True, 4, 16)
        with pytest.raises(UsageError, match="dialogue"):
            log.test([])
    with TrainingLog(f"csv:{file}", name="mine", folder=tmp_path, every=2, dialogues=3) as log:
        log.dialogue(True, 4, 16)
    assert rows_of(file) == {
        ("mine", 2, "train/success"): 50,
        ("mine", 2, "train/reward"): -4.5,
        ("mine", 2, "train/exchanges"): 14.5,
        ("mine", 2, "train/loss"): 1.5,
        ("mine", 2, "train/entropy"): 3,
        ("mine", 2, "test/success"): 50,
        ("mine", 2, "test/reward"): -5.5,
        ("mine", 2, "test/exchanges"): 15.5,
        ("mine", 4, "train/success"): 100,
        ("mine", 4, "train/reward"): 16,
        ("mine", 4, "train/exchanges"): 4,
    }


@pytest.mark.integration
def test_wandb_has_the_history_over_dialogues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    monkeypatch.setenv("WANDB_CONSOLE", "off")
    monkeypatch.setenv("WANDB_X_DISABLE_STATS", "true")
    module = pytest.importorskip("wandb")
    from tests.report.trackers.wandb_files import records_of

    with TrainingLog("wandb:ours", name="mine", folder=tmp_path, every=1) as log:
        log.dialogue(True, 4, 16)
        log.dialogue(False, 25, -25)
    identity = json.loads((tmp_path / NOTES).read_text("utf-8"))["wandb:ours"]["id"]
    module.teardown()
    (file,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    assert identity in file.name
    history, _ = records_of(file)
    assert [(row["step"], row["train/reward"]) for row in history] == [(1, 16), (2, -25)]


@pytest.mark.parametrize(
    ("place", "told"),
    [("tensorbord:logs", '"tensorboard"'), ("csv", "csv:"), ("mlflow:", "mlflow:")],
)
def test_places_that_are_none_are_refused(place: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=told):
        Recorder([place])
    output = tmp_path / "runs"
    assert main(["pydial", "run", "--tasks", TASK, "--log", place, "-o", str(output)]) == 2
    assert not output.exists()
    arguments = ["--log", f"csv:{tmp_path / 'a.csv'}", "--log-every", "0", "-o", str(output)]
    assert main(["pydial", "run", "--tasks", TASK, *arguments]) == 2
    with pytest.raises(UsageError, match="-1"):
        TrainingLog(dialogues=-1)


def test_files_of_something_else_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "other.csv"
    file.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(InputError, match="run,step,name,value"):
        Recorder([f"csv:{file}"])
    assert file.read_text("utf-8") == "a,b\n1,2\n"
    for text in ("[]", '{"csv:x": 1}', '{"csv:x": {"id": 1}}', '{"csv:x": {"train": 3}}', "{"):
        (tmp_path / NOTES).write_text(text, encoding="utf-8")
        log = TrainingLog(f"csv:{tmp_path / 'log.csv'}", folder=tmp_path, every=1)
        with pytest.raises(InputError):
            log.dialogue(True, 4, 16)
