from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mwzeval.dstc7.baselines.dual_encoder.arrays import Settings
from mwzeval.dstc7.baselines.dual_encoder.model import MODEL_FILE
from mwzeval.dstc7.baselines.dual_encoder.training import train_dual_encoder
from mwzeval.dstc7.baselines.dual_encoder.training_data import training_data
from mwzeval.dstc7.baselines.query import Query
from mwzeval.errors import InputError, UsageError
from mwzeval.neural.training import CHECKPOINT_FILE, Point
from tests.dstc7.baselines.conversations import SMALL, conversations
from tests.places import ROOT

TRAINING, DEV = conversations(320, seed=1), conversations(40, seed=2)


def trained(folder: Path, settings: Settings = SMALL) -> bytes:
    train_dual_encoder(TRAINING, DEV, folder, settings)
    return (folder / MODEL_FILE).read_bytes()


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return trained(tmp_path_factory.mktemp("model") / "whole")


@pytest.mark.exhaustive
def test_training_finds_what_no_shared_word_tells(tmp_path: Path) -> None:
    settings = replace(SMALL, epochs=20, learning_rate=0.02)
    model, curve = train_dual_encoder(TRAINING, DEV, tmp_path, settings)
    assert curve[0].step == 0
    assert curve[0].scores["recall_at_1"] < 0.3  # chance is 0.05
    assert max(point.scores["recall_at_1"] for point in curve) > 0.8
    assert curve[-1].loss is not None
    assert curve[1].loss is not None
    assert curve[-1].loss < curve[1].loss
    assert set(model.vocabulary.words) >= {"ask7", "reply7"}


@pytest.mark.parametrize("is_shared", [True, False])
def test_the_same_seed_gives_the_same_bytes_and_another_others(
    is_shared: bool, tmp_path: Path
) -> None:
    settings = replace(SMALL, shared=is_shared, epochs=2)
    first = trained(tmp_path / "first", settings)
    assert trained(tmp_path / "second", settings) == first
    assert trained(tmp_path / "third", replace(settings, seed=1)) != first


@pytest.mark.parametrize("points", [1, 3, 7])
@pytest.mark.exhaustive
def test_killed_training_goes_on_to_the_same_bytes(
    points: int, tmp_path: Path, uninterrupted: bytes
) -> None:
    program = (
        "import sys, time\n"
        "from tests.dstc7.baselines.dual_encoder.test_training import DEV, SMALL, TRAINING\n"
        "from mwzeval.dstc7.baselines.dual_encoder.training import train_dual_encoder\n"
        "watch = lambda point: print(point.step, flush=True)\n"
        "train_dual_encoder(TRAINING, DEV, sys.argv[1], SMALL, watch)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "7"},
    )
    assert process.stdout is not None
    for _ in range(points):
        assert process.stdout.readline()
    time.sleep(0.003 * points)  # somewhere between two checkpoints
    process.kill()
    process.wait()
    process.stdout.close()
    assert process.returncode == -signal.SIGKILL
    steps: list[int] = []
    train_dual_encoder(TRAINING, DEV, tmp_path, SMALL, lambda point: steps.append(point.step))
    assert (tmp_path / MODEL_FILE).read_bytes() == uninterrupted
    assert points == 1 or steps[0] > SMALL.evaluate_every * (points - 1), "it began anew"


def test_a_finished_run_is_not_run_again(tmp_path: Path, uninterrupted: bytes) -> None:
    assert trained(tmp_path) == uninterrupted
    seen: list[Point] = []
    _, curve = train_dual_encoder(TRAINING, DEV, tmp_path, SMALL, seen.append)
    assert not seen
    assert len(curve) == 1 + SMALL.epochs * (len(TRAINING) // SMALL.batch_size) // 5


def test_what_is_right_for_another_pair_is_no_wrong_answer_of_it() -> None:
    """Pairs: two answers of one example, then two examples with the same words as an answer."""
    data = training_data(
        [
            Query("1", ("hi",), answers=("yes", "sure")),
            Query("2", ("a",), answers=("ok",)),
            Query("3", ("b",), answers=("OK!",)),
            Query("4", ("nobody knows",)),
        ],
        SMALL,
    )
    assert len(data) == 4
    assert np.argwhere(data.twins(np.arange(4))).tolist() == [[0, 1], [1, 0], [2, 3], [3, 2]]
    assert np.argwhere(data.twins(np.array([3, 0, 2]))).tolist() == [[0, 2], [2, 0]]


def test_training_stops_when_dev_gets_no_better(tmp_path: Path) -> None:
    settings = replace(SMALL, learning_rate=1e-9, patience=3, epochs=100)
    _, curve = train_dual_encoder(TRAINING, DEV, tmp_path, settings)
    assert len(curve) == 4


@pytest.mark.parametrize(
    "other",
    [{"settings": replace(SMALL, dimensions=9)}, {"training": TRAINING[:-1]}, {"dev": DEV[:9]}],
)
def test_a_folder_of_another_run_is_left_alone(
    other: dict[str, object], tmp_path: Path, uninterrupted: bytes
) -> None:
    trained(tmp_path)
    arguments = {"training": TRAINING, "dev": DEV, "folder": tmp_path, "settings": SMALL} | other
    with pytest.raises(UsageError, match="other settings or data"):
        train_dual_encoder(**arguments)  # type: ignore[arg-type]
    assert (tmp_path / MODEL_FILE).read_bytes() == uninterrupted
    (tmp_path / CHECKPOINT_FILE).unlink()
    with pytest.raises(UsageError, match="finished model"):
        trained(tmp_path)


@pytest.mark.parametrize(
    ("training", "dev", "message"),
    [(TRAINING[:1], DEV, "two at least"), (TRAINING, [], "nothing to go by")],
)
def test_files_that_teach_nothing_are_refused(
    training: list[Query],
    dev: list[Query],
    message: str,
    tmp_path: Path,
) -> None:
    with pytest.raises(InputError, match=message):
        train_dual_encoder(training, dev, tmp_path, SMALL)


def test_dev_examples_without_lists_get_the_answers_of_others(tmp_path: Path) -> None:
    bare = [replace(query, candidate_ids=(), candidates=()) for query in DEV]
    _, curve = train_dual_encoder(TRAINING, bare, tmp_path, replace(SMALL, epochs=1))
    assert 0 <= curve[0].scores["recall_at_1"] < 0.3


@pytest.mark.parametrize(
    "wrong",
    [
        {"dimensions": 0},
        {"batch_size": 1},
        {"dropout": 1.0},
        {"learning_rate": 0},
        {"learning_rate": float("nan")},
        {"seed": -1},
        {"epochs": True},
        {"shared": 1},
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        replace(SMALL, **wrong)  # type: ignore[arg-type]
