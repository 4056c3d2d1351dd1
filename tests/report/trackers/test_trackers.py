"""What trackers hold after a report was logged, read from their own files."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mwzeval.errors import DependencyError, UsageError
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.report.json import to_json
from mwzeval.report.trackers import TRACKERS
from mwzeval.scores.report import Report
from tests.places import sample_predictions
from tests.report.trackers.wandb_files import records_of

pytestmark = pytest.mark.integration

SIGNATURE = "signature/inform"


@pytest.fixture(scope="module")
def report() -> Report:
    """A report with intervals, and a score that has no value."""
    evaluator = Evaluator(True, True, True, corpus="sample", confidence=0.95, samples=20)
    report = evaluator.evaluate(sample_predictions("good"))
    odd = replace(report.scores[0], name="a^b", value=math.nan, interval=None)
    return replace(report, scores=(*report.scores, odd, replace(odd, name="a*b", value=1 / 3)))


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)


def expected(report: Report, prefix: str = "multiwoz") -> dict[str, float]:
    """Return the numbers by the names that the documentation gives them."""
    numbers: dict[str, float] = {}
    for score in report.scores:
        name = {"a^b": "a_b", "a*b": "a_b_"}.get(score.name, score.name)
        full = f"{prefix}/{name}" + ("" if score.scope == "total" else f".{score.scope}")
        numbers[full] = score.value
        if score.interval is not None:
            numbers[f"{full}_low"] = score.interval.low
            numbers[f"{full}_high"] = score.interval.high
    assert len(numbers) == len(report.scores) + 2 * (len(report.scores) - 2)
    return numbers


def same(found: dict[str, Any], wanted: dict[str, float]) -> bool:
    """Tell whether all numbers are the same to the last bit, NaN among them."""
    return {name: repr(float(value)) for name, value in found.items()} == {
        name: repr(float(value)) for name, value in wanted.items()
    }


def changed(report: Report) -> Report:
    return replace(report, meta={**report.meta, "fold": "dev"})


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """MLflow with a store of files: one in a database needs more than mlflow-skinny."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    module = pytest.importorskip("mlflow")
    module.set_tracking_uri((tmp_path / "mlruns").as_uri())
    yield module
    while module.active_run():
        module.end_run()
    module.set_tracking_uri(None)


def test_mlflow_has_metrics_parameters_and_the_report(report: Report, mlflow: ModuleType) -> None:
    with mlflow.start_run() as run:
        report.log_to("mlflow", step=3)
        report.log_to("mlflow", step=4)
        report.log_to("mlflow", prefix="dev", run=run.info.run_id)
        assert mlflow.active_run().info.run_id == run.info.run_id, "the run goes on"
    data = mlflow.get_run(run.info.run_id).data
    numbers, of_dev = expected(report), expected(report, "dev")
    assert same(data.metrics, numbers | of_dev)
    client = mlflow.MlflowClient()
    for name in numbers:
        assert [each.step for each in client.get_metric_history(run.info.run_id, name)] == [3, 4]
    assert data.params[f"multiwoz/{SIGNATURE}"] == str(report.scores[0].signature)
    assert data.params["multiwoz/corpus"] == data.params["dev/corpus"] == "sample"
    folder = Path(client.download_artifacts(run.info.run_id, "mwzeval"))
    assert sorted(path.name for path in folder.iterdir()) == [
        "dev.json",
        "multiwoz-3.json",
        "multiwoz-4.json",
    ]
    assert (folder / "dev.json").read_text("utf-8") == to_json(report)


def test_mlflow_takes_a_finished_run_and_leaves_it_so(report: Report, mlflow: ModuleType) -> None:
    with mlflow.start_run() as run:
        pass
    report.log_to("mlflow", run=run)
    found = mlflow.get_run(run.info.run_id)
    assert found.info.status == "FINISHED"
    assert same(found.data.metrics, expected(report))
    assert mlflow.active_run() is None
    with pytest.raises(UsageError, match=r"multiwoz.*test.*dev"):
        changed(report).log_to("mlflow", run=run)


@pytest.fixture
def trackio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Trackio with its database in the folder of the test, wherever it was imported."""
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "trackio"]:
        monkeypatch.delitem(sys.modules, name)
    module = pytest.importorskip("trackio")
    yield module
    if module.context_vars.current_run.get():
        module.finish()
    for name in [name for name in sys.modules if name.partition(".")[0] == "trackio"]:
        monkeypatch.delitem(sys.modules, name)


def test_trackio_has_metrics_config_and_the_report(
    report: Report, trackio: ModuleType, tmp_path: Path
) -> None:
    run = trackio.init(project="p", name="r", config={"lr": 1}, auto_log_cpu=False)
    report.log_to("trackio", step=3)
    report.log_to("trackio", prefix="dev", run=run, step=3)
    with pytest.raises(UsageError, match="multiwoz"):
        changed(report).log_to("trackio")
    assert trackio.context_vars.current_run.get() is run
    trackio.finish()
    storage = trackio.sqlite_storage.SQLiteStorage
    logs = storage.get_logs("p", "r")
    assert [each.pop("step") for each in logs] == [3, 3]
    found = {name: value for each in logs for name, value in each.items() if name != "timestamp"}
    assert same(found, expected(report) | expected(report, "dev"))
    config = storage.get_run_config("p", "r")
    assert config["lr"] == 1
    assert config["multiwoz"][SIGNATURE] == str(report.scores[0].signature)
    names = sorted(each["name"] for each in storage.get_artifacts("p"))
    assert names == ["mwzeval-dev-3.json", "mwzeval-multiwoz-3.json"]
    text = to_json(report)
    kept = [
        path
        for path in (tmp_path / "trackio").rglob("*")
        if path.stat().st_size == len(text.encode())
    ]
    assert text in [path.read_text("utf-8") for path in kept]


@pytest.fixture
def wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Weights & Biases without a network, its files in the folder of the test."""
    for name in ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")
    module = pytest.importorskip("wandb")
    yield module
    module.teardown()


def test_wandb_has_history_config_and_the_report(report: Report, wandb: ModuleType) -> None:
    settings = wandb.Settings(x_disable_stats=True, x_disable_meta=True, console="off")
    run = wandb.init(project="p", config={"lr": 1}, settings=settings)
    report.log_to("wandb", step=3)
    run.log({"loss": 0.5}, step=3)
    report.log_to("wandb", prefix="dev", run=run, step=4)
    with pytest.raises(UsageError, match=r"step 4.*step 3"):
        report.log_to("wandb", step=3)
    with pytest.raises(UsageError, match="multiwoz"):
        changed(report).log_to("wandb", step=5)
    assert wandb.run is run
    file = Path(run.dir, "mwzeval", "multiwoz-3.json")
    assert file.read_text("utf-8") == to_json(report)
    folder = Path(run.dir).parent
    run.finish()
    history, config = records_of(next(folder.glob("*.wandb")))
    assert [row["_step"] for row in history] == [3, 4]
    first, second = (
        {name: value for name, value in row.items() if not name.startswith("_")} for row in history
    )
    assert same(first, expected(report) | {"loss": 0.5})
    assert same(second, expected(report, "dev"))
    assert config["lr"] == 1
    assert config["multiwoz"][SIGNATURE] == str(report.scores[0].signature)
    assert set(config["dev"]) == set(config["multiwoz"])


def events_of(folder: Path) -> Any:
    name = "tensorboard.backend.event_processing.event_accumulator"
    events = pytest.importorskip(name).EventAccumulator(str(folder))
    events.Reload()
    return events


def values_of(folder: Path) -> tuple[dict[str, float], set[int], dict[str, str]]:
    """Return the scalars, all steps, and the texts of the files in a folder."""
    tensors = pytest.importorskip("tensorboard.util.tensor_util")
    events = events_of(folder)
    plugins = events.SummaryMetadata
    numbers, texts, steps = {}, {}, set()
    for tag in events.Tags()["tensors"]:
        (event,) = events.Tensors(tag)
        steps.add(event.step)
        value = tensors.make_ndarray(event.tensor_proto)
        if plugins(tag).plugin_data.plugin_name == "text":
            texts[tag] = value.item().decode()
        else:
            numbers[tag] = value.item()
    for tag in events.Tags()["scalars"]:
        (event,) = events.Scalars(tag)
        steps.add(event.step)
        numbers[tag] = event.value
    return numbers, steps, texts


def single(numbers: dict[str, float]) -> dict[str, float]:
    numpy = pytest.importorskip("numpy")
    return {name: float(numpy.float32(value)) for name, value in numbers.items()}


def test_tensorboard_has_a_file_in_double_precision(report: Report, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    report.log_to("tensorboard", directory=tmp_path / "events", step=3)
    numbers, steps, texts = values_of(tmp_path / "events")
    assert same(numbers, expected(report))
    assert steps == {3}
    assert f"| {SIGNATURE} | `{report.scores[0].signature}` |" in texts["multiwoz/settings"]
    assert texts["multiwoz/report"] == f"```json\n{to_json(report)}```"


def test_writers_of_tensorboard_keep_single_precision_and_stay_open(
    report: Report, tmp_path: Path
) -> None:
    writer = pytest.importorskip("tensorboard.summary").Writer(str(tmp_path / "events"))
    report.log_to("tensorboard", run=writer, step=3)
    writer.add_scalar("loss", 0.5, 3)
    writer.close()
    numbers, steps, texts = values_of(tmp_path / "events")
    assert same(numbers, single(expected(report)) | {"loss": 0.5})
    assert (steps, texts) == ({3}, {})


def test_the_writer_of_torch_takes_texts_too(report: Report, tmp_path: Path) -> None:
    module = pytest.importorskip("torch.utils.tensorboard")
    with module.SummaryWriter(str(tmp_path / "events")) as writer:
        report.log_to("tensorboard", run=writer, step=3)
    numbers, steps, texts = values_of(tmp_path / "events")
    assert same(numbers, single(expected(report)))
    assert steps == {3}
    assert list(texts) == ["multiwoz/settings/text_summary", "multiwoz/report/text_summary"]


@pytest.mark.parametrize("tracker", ["wandb", "mlflow", "trackio", "tensorboard"])
def test_no_run_is_started(
    tracker: str, report: Report, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    assert tracker in TRACKERS
    pytest.importorskip(tracker)
    if tracker != "tensorboard":
        request.getfixturevalue(tracker)
    before = set(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match="run="):
        report.log_to(tracker)
    made = {path for path in set(tmp_path.rglob("*")) - before if path.is_file()}
    assert not made


@pytest.mark.parametrize("tracker", sorted(TRACKERS))
def test_a_missing_tracker_is_named(
    tracker: str, report: Report, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, tracker, None)
    directory = tmp_path if tracker == "tensorboard" else None
    with pytest.raises(DependencyError, match=tracker):
        report.log_to(tracker, directory=directory)


def test_what_makes_no_sense_is_refused(report: Report, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r'"wanbd".*"wandb"'):
        report.log_to("wanbd")
    with pytest.raises(UsageError, match="directory"):
        report.log_to("mlflow", directory=tmp_path)
    with pytest.raises(UsageError, match="prefix"):
        report.log_to("mlflow", prefix="/")


def test_names_are_those_that_mlflow_allows(report: Report) -> None:
    validation = pytest.importorskip("mlflow.utils.validation")
    for name in expected(report):
        validation._validate_metric_name(name)
