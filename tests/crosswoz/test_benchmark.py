"""CrossWOZ's files at the command line, and the fold that each is scored against."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from mwzeval.benchmark import benchmark_named
from mwzeval.cli import main
from mwzeval.crosswoz.scoring.baselines import BASELINES, gold_file, rule_tracker_file
from mwzeval.crosswoz.tracks import TRACKS
from mwzeval.errors import UsageError
from tests.crosswoz.logs import dialogue, log
from tests.crosswoz.small_world import small_gold, write_folds, write_world
from tests.places import ROOT

GOLD = small_gold()
EVALUATE = ("evaluate", "--benchmark", "crosswoz")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the small world, named by the environment."""
    monkeypatch.setenv("MWZEVAL_DATA", str(write_world(tmp_path / "shelf" / "crosswoz").parent))
    return tmp_path


def write(folder: Path, plain: dict[str, Any]) -> str:
    path = folder / "predictions.json"
    path.write_text(json.dumps(plain, ensure_ascii=False), "utf-8")
    return str(path)


def run(*arguments: str) -> int:
    try:
        return main(list(arguments)) or 0
    except SystemExit as stopped:
        return int(stopped.code or 0)


def test_a_file_is_scored_as_it_says_it_should_be(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(world, rule_tracker_file(GOLD.fold))
    report = world / "report.json"
    assert run(*EVALUATE, file, "-o", str(report)) == 0
    shown = capsys.readouterr().out
    assert "Single-turn joint" in shown
    assert "conditioning:gold_previous_state" in shown
    assert json.loads(report.read_text("utf-8"))["dst"]["joint_single_turn"]["S"] == 0


def test_options_take_the_place_of_the_header(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = rule_tracker_file(GOLD.fold)
    del plain["_meta"]
    file = write(world, plain)
    assert run(*EVALUATE, file) == 2
    assert "--track" in capsys.readouterr().err
    options = ("--conditioning", "gold_acts")
    assert run("evaluate", "--benchmark", "crosswoz-dst", file, *options) == 0
    assert "Full joint" in capsys.readouterr().out


def test_bad_files_are_refused_with_all_problems(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = gold_file(GOLD.fold, "nlu", ["user_acts"])
    plain["1"][0]["user_acts"].append(["Infrom", "景点", "门票", "免费"])
    plain["2"][0]["user_acts"].append(["Inform"])
    file = write(world, plain)
    assert run(*EVALUATE, file) == 2
    assert run("validate", "--benchmark", "crosswoz", file) != 0
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert {problem["kind"] for problem in problems} == {"unknown-intent", "not-an-act"}
    del plain["2"][0]["user_acts"][-1]
    assert run(*EVALUATE, write(world, plain), "--lenient") == 0


def test_every_warning_is_an_error_when_strict(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = gold_file(GOLD.fold, "nlu", ["user_acts"])
    plain["1"][0]["user_acts"] *= 2
    file = write(world, plain)
    second = world / "second.json"
    second.write_text(Path(file).read_text("utf-8"), "utf-8")
    for verb, *files in (
        ["validate", file],
        ["evaluate", file],
        ["runs", file, str(second)],
        ["evaluate", "--fail-below", str(second), file],
    ):
        assert run(verb, "--benchmark", "crosswoz", *files) == 0
        assert "user_acts" in "".join(capsys.readouterr())
        assert run(verb, "--benchmark", "crosswoz", *files, "--strict") == 2


def test_a_log_of_a_simulation_is_checked_as_strictly_as_predictions(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    turns = [{"user_acts": [["Infrom", "景点", "门票", "免费"]], "system_acts": []}]
    file = str(log(world, [dialogue("a", "1", turns=turns), dialogue("b", "2")]))
    for verb in ("evaluate", "validate"):
        for options, code in (((), 2), (("--lenient",), 0), (("--strict",), 2)):
            assert run(verb, "--benchmark", "crosswoz", file, *options) == code
            assert "Infrom" in "".join(capsys.readouterr())
        assert run(verb, "--benchmark", "crosswoz", file, "--strict", "--lenient") == 2


@pytest.mark.parametrize("name", BASELINES)
def test_what_baselines_write_can_be_scored(
    name: str, world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(world / "baseline.json")
    assert run("crosswoz", "baseline", name, "-o", file) == 0
    assert run(*EVALUATE, file) == 0
    shown = capsys.readouterr().out
    for line in shown.splitlines() if name.startswith("gold") else ():
        assert not line.startswith("total") or "100.00" in line
    assert "gold as prediction" in shown


def test_a_folder_that_cannot_be_made_is_named(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = world / "taken"
    taken.write_text("")
    assert run("crosswoz", "mine-templates", "--fold", "test", "-o", str(taken)) == 2
    assert str(taken) in capsys.readouterr().err


INTERRUPTED_SYSTEM = """
class System:
    def __init__(self, database):
        pass

    def answer(self, acts):
        raise KeyboardInterrupt
"""


def test_an_interrupted_simulation_says_how_to_go_on(
    world: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (world / "interrupted_system.py").write_text(INTERRUPTED_SYSTEM, "utf-8")
    monkeypatch.syspath_prepend(str(world))
    options = ("--revision", "sample", "--per-type", "1", "-o", str(world / "log.jsonl"))
    assert run("crosswoz", "simulate", "--system", "interrupted_system:System", *options) == 130
    assert "--resume" in capsys.readouterr().err


def test_a_log_of_a_simulation_is_recognised(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(log(world, [dialogue("a", "1"), dialogue("b", "2", finished=False)]))
    assert run(*EVALUATE, file) == 0
    shown = capsys.readouterr().out
    assert "Finish rate" in shown
    assert "natural mix" in shown
    assert run("explain", "--benchmark", "crosswoz", file, "a") == 0
    assert "甲店" in capsys.readouterr().out


def test_baselines_are_columns_and_goal_types_have_their_own_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(ROOT / "predictions" / "crosswoz-sample-dst.json")
    output = str(tmp_path / "report.json")
    assert run(*EVALUATE, file, "-o", output) == 0
    shown = capsys.readouterr().out
    assert re.search(
        r"\n +Slot F1 +gold +copy previous +n\n"
        r"total +94\.53 +100\.00 +82\.06 +40\n"
        r"S +100\.00 +8\n",
        shown,
    )
    assert "Slot F1, gold as prediction" not in shown
    (joint,) = re.findall(r"^Single-turn joint {2,}70\.79 .*", shown, re.MULTILINE)
    assert joint.split()[-2:] == ["100.00", "35.58"]
    assert "\ngold: gold as prediction\ncopy previous: copy of the previous turn\n" in shown
    gold = json.loads((ROOT / "data" / "crosswoz" / "sample" / "test.json").read_text("utf-8"))
    domains = {"景点": 0, "餐馆": 0, "酒店": 0, "地铁": 0, "出租": 0}
    for each in gold.values():
        filled = {
            domain
            for message in each["messages"]
            for domain, slots in message.get("sys_state_init", {}).items()
            if any(value for slot, value in slots.items() if slot != "selectedResults")
        }
        for domain in filled:
            domains[domain] += 1
    scores = json.loads(Path(output).read_text("utf-8"))["meta"]["scores"]
    found = {of["scope"]: of["n"] for of in scores if of["score"] == "dst.slot_f1"}
    assert {domain: found[domain] for domain in domains} == domains


def test_explanations_have_the_labels_of_scores_and_json_their_keys(
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = str(ROOT / "predictions" / "crosswoz-sample-dst.json")
    explain = ["explain", "--benchmark", "crosswoz", file]
    assert run(*explain) == 0
    assert re.match("25 of 40 .*Single-turn joint\n", capsys.readouterr().out)
    assert run(*explain, "--against", file) == 0
    assert re.match("40 .*Single-turn joint\n", capsys.readouterr().out)
    assert run(*explain, "--worst", "1", "-f", "json") == 0
    (worst,) = json.loads(capsys.readouterr().out)
    assert {reason["outcome"] for reason in worst["reasons"]} == {"dst.joint_single_turn"}


def test_files_that_are_not_the_published_ones_are_told(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(world, gold_file(GOLD.fold, "nlu", ["user_acts"]))
    assert run(*EVALUATE, file, "-o", "-") == 0
    shown = capsys.readouterr()
    (warning,) = json.loads(shown.out)["meta"]["warnings"]
    assert warning["kind"] == "other-corpus-files"
    assert "crosswoz/database/attraction_db.json" in warning["message"]
    digits = json.loads(shown.out)["meta"]["sources"]
    assert f"crosswoz-release@{digits}" in shown.err


def test_the_revision_of_a_file_counts_unless_another_is_named(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = gold_file(GOLD.fold, "nlu", ["user_acts"])
    plain["_meta"]["revision"] = "convlab2"
    file = write(world, plain)
    assert run(*EVALUATE, file) == 2
    assert "convlab2_revision/test.json.zip" in capsys.readouterr().err
    assert run(*EVALUATE, file, "--revision", "release") == 2
    assert '"convlab2"' in capsys.readouterr().err


@pytest.mark.parametrize("revision", [None, "samle"])
def test_a_corpus_that_is_not_there_is_told_with_the_file_that_asked_for_it(
    revision: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = gold_file(GOLD.fold, "nlu", ["user_acts"])
    plain["_meta"]["revision"] = revision
    file, data = write(tmp_path, plain), str(tmp_path)
    assert run(*EVALUATE, file, "--data", data) == 2
    error = capsys.readouterr().err
    for datum in (file, revision or "revision", "test.json"):
        assert datum in error


def test_only_known_tracks_are_benchmarks() -> None:
    assert benchmark_named("crosswoz-dst") is benchmark_named("crosswoz")
    with pytest.raises(UsageError, match='"crosswoz-policy"'):
        benchmark_named("crosswoz-polcy")


@pytest.mark.parametrize(
    ("track", "format_"),
    [
        *((track, "text") for track in TRACKS),
        *(("dst", format_) for format_ in ("csv", "markdown", "latex", "jsonl", "html")),
    ],
)
def test_gold_stands_beside_each_track_in_every_format(
    track: str, format_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(ROOT / "predictions" / f"crosswoz-sample-{track}.json")
    output = str(tmp_path / "report.json")
    assert run(*EVALUATE, file, "-f", format_, "-o", output) == 0
    shown = capsys.readouterr().out + Path(output).read_text("utf-8")
    as_name = format_ in ("csv", "jsonl")
    assert (f"gold.{track}." if as_name else "gold as prediction") in shown
    if format_ != "html":
        beside = json.loads(Path(output).read_text("utf-8"))["beside"]["gold"]
        assert {name.partition(".")[0] for name in beside} == {track}


@pytest.fixture
def folds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder beside a corpus that has dialogues in its test and val fold, and no train fold."""
    corpus = write_folds(tmp_path / "shelf" / "crosswoz", test=["1", "2"], val=["1b", "2b"])
    monkeypatch.setenv("MWZEVAL_DATA", str(corpus.parent))
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
    header: dict[str, None], folds: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = changed(of_fold("val"), **header)
    assert run(*EVALUATE, file, "-o", "report.json") == 0
    assert "fold:val" in capsys.readouterr().out
    assert json.loads(Path("report.json").read_text("utf-8"))["meta"]["fold"] == "val"
    for verb, *more in (["validate"], ["explain", "1b"], ["report", "-o", "page.html"]):
        assert run(verb, "--benchmark", "crosswoz", file, *more) == 0, verb
    # What is said is not read again: a fold that is named must be the one that is meant.
    assert run(*EVALUATE, file, "--fold", "val") == 0


def test_a_fold_that_is_named_must_be_the_files(
    folds: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = of_fold("val")
    for verb in ("evaluate", "validate"):
        capsys.readouterr()
        assert run(verb, "--benchmark", "crosswoz", file, "--fold", "test") == 2
        assert "val" in "".join(capsys.readouterr())


@pytest.mark.parametrize("split", ["test", "vla"])
def test_a_split_that_is_not_that_of_the_ids_is_refused(
    split: str, folds: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = changed(of_fold("val"), split=split)
    assert run(*EVALUATE, file) == 2
    told = capsys.readouterr().err
    assert split in told
    assert "val" in told


def test_files_of_different_folds_are_each_their_own_and_not_comparable(
    folds: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = of_fold("val", file="val.json"), of_fold("test", file="test.json")
    assert run("validate", "--benchmark", "crosswoz", one) == 0
    assert run("validate", "--benchmark", "crosswoz", other) == 0
    capsys.readouterr()
    assert run("compare", "--benchmark", "crosswoz", one, other) == 2
    assert "val and test" in capsys.readouterr().err
    again = changed(of_fold("val", file="again.json"), split=None)
    assert run("compare", "--benchmark", "crosswoz", one, again) == 0
    assert "fold:val" in capsys.readouterr().out


def test_a_simulation_needs_no_fold_in_particular(folds: Path) -> None:
    (folds / "shelf" / "crosswoz" / "test.json").unlink()
    file = str(log(folds, [dialogue("a", "1"), dialogue("b", "2")]))
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
        assert "4 of 4" in capsys.readouterr().out
    assert run("crosswoz", "statistics", "--fold", "train") == 0
    assert "7871" in capsys.readouterr().out
    assert run("crosswoz", "mine-templates", "-o", "templates") == 0


@pytest.mark.integration
def test_models_learn_from_the_train_fold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = write_folds(tmp_path / "crosswoz", train=["1", "2", "1b", "2b"], val=["1c", "2c"])
    vocabulary = ROOT / "data" / "crosswoz" / "sample"
    for side in ("sys", "usr"):
        shutil.copy(vocabulary / f"{side}_da_voc.json", corpus)
    monkeypatch.setenv("MWZEVAL_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    small = ("--epochs", "1", "--hidden", "4", "--fold", "train")
    for family, verb, more in (
        ("nlu", "predict", ()),
        ("nlg", "generate", ("--hold-out", "1")),
        ("policy", "predict", ()),
    ):
        assert run("crosswoz", family, "train", *small, *more, "-o", family) == 0, family
        file = f"{family}.json"
        assert run("crosswoz", family, verb, family, "--fold", "train", "-o", file) == 0
        # A policy may say services that no hotel of the small world has.
        assert run(*EVALUATE, file, "--lenient") == 0, family


@pytest.mark.parametrize(
    "call",
    [
        ("crosswoz", "statistics", "--fold", "train"),
        ("crosswoz", "mine-templates", "-o", "templates"),
        *(
            pytest.param(("crosswoz", family, "train", "-o", family), marks=pytest.mark.integration)
            for family in ("policy", "nlu", "nlg")
        ),
        (*EVALUATE, "predictions.json", "--fold", "train"),
    ],
)
def test_without_a_train_fold_it_is_told_what_misses_and_what_is_there(
    call: tuple[str, ...], folds: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of_fold("val")
    assert run(*call) == 2
    told = capsys.readouterr().err
    for datum in ("train fold", "test, val", "train.json.zip"):
        assert datum in told


def test_the_sample_says_which_folds_it_has(
    folds: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("crosswoz", "statistics", "--fold", "train", "--revision", "sample") == 2
    assert "test, val" in capsys.readouterr().err
    of_sample = ("--revision", "sample", "--fold", "val", "-o", "sample.json")
    assert run("crosswoz", "baseline", "rule-dst", *of_sample) == 0
    assert run(*EVALUATE, "sample.json") == 0
    assert "val fold" in capsys.readouterr().out
