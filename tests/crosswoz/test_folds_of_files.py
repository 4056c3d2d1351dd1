"""The fold that a file is scored against: the one named, the one it says, the one of its ids."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

from mwzeval.cli import main
from mwzeval.crosswoz.command import BASELINES
from tests.crosswoz.logs import dialogue, log
from tests.crosswoz.small_world import write_folds

EVALUATE = ("evaluate", "--benchmark", "crosswoz")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder beside a corpus that has dialogues in its test and val fold, and no train fold."""
    corpus = write_folds(tmp_path / "shelf" / "crosswoz", test=["1", "2"], val=["1b", "2b"])
    monkeypatch.setenv("MWZEVAL_DATA", str(corpus.parent))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> int:
    try:
        return main(list(arguments)) or 0
    except SystemExit as stopped:
        return int(stopped.code or 0)


def of_fold(fold: str, name: str = "gold-nlu", file: str = "predictions.json") -> str:
    assert run("crosswoz", "baseline", name, "--fold", fold, "-o", file) == 0
    return file


def changed(file: str, **header: str | None) -> str:
    """Say something else in the header, or nothing of what is None."""
    plain = json.loads(Path(file).read_text("utf-8"))
    said = {**plain["_meta"], **header}
    plain["_meta"] = {key: value for key, value in said.items() if value is not None}
    Path(file).write_text(json.dumps(plain, ensure_ascii=False), "utf-8")
    return file


@pytest.mark.parametrize("header", [{}, {"split": None}])
def test_a_file_of_val_just_works(
    header: dict[str, None], world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = changed(of_fold("val"), **header)
    assert run(*EVALUATE, file, "-o", "report.json") == 0
    shown = capsys.readouterr().out
    assert "val fold: 2 of 2 dialogues" in shown
    assert "fold:val" in shown
    assert json.loads(Path("report.json").read_text("utf-8"))["meta"]["fold"] == "val"
    for verb, *more in (["validate"], ["explain", "1b"], ["report", "-o", "page.html"]):
        assert run(verb, "--benchmark", "crosswoz", file, *more) == 0, verb
    # What is said is not read again: a fold that is named must be the one that is meant.
    assert run(*EVALUATE, file, "--fold", "val") == 0


@pytest.mark.parametrize("header", [{}, {"split": None}])
def test_conventions_are_of_the_fold_of_the_file(
    header: dict[str, None], world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = changed(of_fold("val", "gold-dst"), **header)
    capsys.readouterr()
    for named in ([], ["--fold", "val"]):
        assert run("crosswoz", "dst", "conventions", file, *named) == 0
        (first,) = [line for line in capsys.readouterr().out.splitlines() if "joint_full" in line]
        assert first.split()[-1] == "100.00"
    assert run("crosswoz", "dst", "conventions", file, "--fold", "test") == 2
    message = '"val", but "test" is scored' if not header else "the ids are of val"
    assert message in capsys.readouterr().err


def test_conventions_are_of_the_revision_of_the_file(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_sample = ("--revision", "sample", "-o", "sample.json")
    assert run("crosswoz", "baseline", "gold-dst", *of_sample) == 0
    assert run("crosswoz", "dst", "conventions", "sample.json") == 0


def test_a_fold_that_is_named_must_be_the_files(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = of_fold("val")
    for verb in ("evaluate", "validate"):
        capsys.readouterr()
        assert run(verb, "--benchmark", "crosswoz", file, "--fold", "test") == 2
        told = "".join(capsys.readouterr())
        assert "says split" in told.replace('\\"', '"')
        assert '"val", but "test" is scored' in told.replace('\\"', '"')


def test_ids_of_another_fold_than_the_header_says_are_told(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = changed(of_fold("val"), split="test")
    assert run(*EVALUATE, file) == 2
    assert "none of the 2 dialogues is in the test fold" in (told := capsys.readouterr().err)
    assert "the ids are of val" in told


def test_a_split_that_is_none_is_told(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = changed(of_fold("val"), split="vla")
    assert run(*EVALUATE, file) == 2
    told = capsys.readouterr().err
    assert 'says split "vla", but "val" is scored' in told
    assert "(known: test, val, train)" in told


def test_files_of_different_folds_are_each_their_own_and_not_comparable(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = of_fold("val", file="val.json"), of_fold("test", file="test.json")
    assert run("validate", "--benchmark", "crosswoz", one) == 0
    assert run("validate", "--benchmark", "crosswoz", other) == 0
    capsys.readouterr()
    assert run("compare", "--benchmark", "crosswoz", one, other, "-j", "1") == 2
    assert "fold (val and test)" in capsys.readouterr().err
    again = changed(of_fold("val", file="again.json"), split=None)
    assert run("compare", "--benchmark", "crosswoz", one, again, "-j", "1") == 0
    assert "fold:val" in capsys.readouterr().out


def test_a_simulation_needs_no_fold_in_particular(world: Path) -> None:
    (world / "shelf" / "crosswoz" / "test.json").unlink()
    file = str(log(world, [dialogue("a", "1"), dialogue("b", "2")]))
    assert run(*EVALUATE, file) == 0


def zipped(folder: Path) -> None:
    """Put the train fold into an archive, as it is published."""
    with ZipFile(folder / "train.json.zip", "w") as archive:
        archive.write(folder / "train.json", "train.json")
    (folder / "train.json").unlink()


@pytest.mark.parametrize("packed", [zipped, lambda folder: None])
def test_the_train_fold_is_enough_for_everything(
    packed: Callable[[Path], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    corpus = write_folds(tmp_path / "crosswoz", train=["1", "2", "1b", "2b"])
    packed(corpus)
    monkeypatch.setenv("MWZEVAL_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in BASELINES:
        assert run(*EVALUATE, of_fold("train", name)) == 0, name
        assert "train fold: 4 of 4 dialogues" in capsys.readouterr().out
    assert run("crosswoz", "statistics", "--fold", "train") == 0
    assert "7871" in capsys.readouterr().out
    assert run("crosswoz", "mine-templates", "-o", "templates") == 0
    small = ("--epochs", "1", "--hidden", "4", "--fold", "train")
    held_out = ("--hold-out", "1")
    assert run("crosswoz", "nlu", "train", *small, "-o", "nlu") == 0
    assert run("crosswoz", "nlg", "train", *small, *held_out, "-o", "nlg") == 0
    for family, verb in (("nlu", "predict"), ("nlg", "generate")):
        file = f"{family}.json"
        assert run("crosswoz", family, verb, family, "--fold", "train", "-o", file) == 0
        assert run(*EVALUATE, file) == 0, family


def test_the_policy_learns_from_the_train_fold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = write_folds(tmp_path / "crosswoz", train=["1", "2", "1b", "2b"], val=["1c", "2c"])
    vocabulary = Path(__file__).parents[2] / "data" / "crosswoz" / "sample"
    for side in ("sys", "usr"):
        shutil.copy(vocabulary / f"{side}_da_voc.json", corpus)
    monkeypatch.setenv("MWZEVAL_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    small = ("--epochs", "1", "--hidden", "4")
    assert run("crosswoz", "policy", "train", *small, "-o", "policy") == 0
    assert run("crosswoz", "policy", "predict", "policy", "--fold", "train", "-o", "p.json") == 0
    # It may say services that no hotel of the small world has.
    assert run(*EVALUATE, "p.json", "--lenient") == 0


@pytest.mark.parametrize(
    "call",
    [
        ("crosswoz", "statistics", "--fold", "train"),
        ("crosswoz", "mine-templates", "-o", "templates"),
        ("crosswoz", "policy", "train", "-o", "policy"),
        ("crosswoz", "nlu", "train", "-o", "nlu"),
        ("crosswoz", "nlg", "train", "-o", "nlg"),
        (*EVALUATE, "predictions.json", "--fold", "train"),
    ],
)
def test_without_a_train_fold_it_is_told_what_misses_and_what_is_there(
    call: tuple[str, ...], world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_fold("val")
    assert run(*call) == 2
    told = capsys.readouterr().err
    assert "the train fold of release is not there (folds that are: test, val)" in told
    assert "train.json.zip" in told


def test_the_sample_says_which_folds_it_has(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("crosswoz", "statistics", "--fold", "train", "--revision", "sample") == 2
    told = capsys.readouterr().err
    assert "the train fold of sample is not there (folds that are: test, val)" in told
    assert "install" not in told
    of_sample = ("--revision", "sample", "--fold", "val", "-o", "sample.json")
    assert run("crosswoz", "baseline", "rule-dst", *of_sample) == 0
    assert run(*EVALUATE, "sample.json") == 0
    assert "val fold" in capsys.readouterr().out
