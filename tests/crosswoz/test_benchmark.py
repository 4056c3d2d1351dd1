"""CrossWOZ files on the command line, and the detection of their fold."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from mwzeval.benchmark import benchmark_named
from mwzeval.crosswoz.scoring.baselines import BASELINES, gold_file, rule_tracker_file
from mwzeval.crosswoz.tracks import TRACKS
from mwzeval.errors import UsageError
from tests.command_lines import Ran, Run
from tests.crosswoz.logs import dialogue, log
from tests.crosswoz.small_world import small_gold, write_folds, write_world
from tests.places import ROOT, read_json

GOLD = small_gold()
UNKNOWN = ["Infrom", "景点", "门票", "免费"]
Plain = dict[str, Any]


@pytest.fixture
def of_crosswoz(run: Run) -> Run:
    """Run a verb with CrossWOZ as the benchmark."""

    def command(verb: str, *words: str) -> Ran:
        return run(verb, "--benchmark", "crosswoz", *words)

    return command


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the small world, which MWZEVAL_DATA names."""
    monkeypatch.setenv("MWZEVAL_DATA", str(write_world(tmp_path / "shelf" / "crosswoz").parent))
    return tmp_path


def write(folder: Path, plain: Plain, name: str = "predictions.json") -> str:
    (folder / name).write_text(json.dumps(plain, ensure_ascii=False), "utf-8")
    return str(folder / name)


def user_acts(**header: str | None) -> Plain:
    """Return gold user acts as predictions with changes in the header."""
    plain = gold_file(GOLD.fold, "nlu", ["user_acts"])
    plain["_meta"] |= header
    return plain


def unknown_in_predictions(folder: Path) -> str:
    plain = user_acts()
    plain["1"][0]["user_acts"].append(UNKNOWN)
    return write(folder, plain)


def unknown_in_log(folder: Path) -> str:
    turns = [{"user_acts": [UNKNOWN], "system_acts": []}]
    return str(log(folder, [dialogue("a", "1", turns=turns), dialogue("b", "2")]))


def test_options_replace_a_missing_file_header(world: Path, run: Run, of_crosswoz: Run) -> None:
    plain = rule_tracker_file(GOLD.fold)
    ran = of_crosswoz("evaluate", write(world, plain), "-o", "-")
    assert json.loads(ran.out)["dst"]["joint_single_turn"]["S"] == 0
    del plain["_meta"]
    file = write(world, plain)
    ran = of_crosswoz("evaluate", file)
    assert ran.code == 2
    assert "--track" in ran.err
    options = ("--benchmark", "crosswoz-dst", "--conditioning", "gold_acts")
    ran = run("evaluate", file, *options, "-o", "-")
    assert "joint_full" in json.loads(ran.out)["dst"]


def test_strict_turns_warnings_into_errors(world: Path, of_crosswoz: Run) -> None:
    plain = user_acts()
    plain["1"][0]["user_acts"] *= 2
    file, second = (write(world, plain, name) for name in ("first.json", "second.json"))
    for verb, *files in (
        ["validate", file],
        ["evaluate", file],
        ["runs", file, second],
        ["evaluate", "--fail-below", second, file],
    ):
        ran = of_crosswoz(verb, *files)
        assert ran.code == 0
        assert "user_acts" in ran.out + ran.err
        assert of_crosswoz(verb, *files, "--strict").code == 2


@pytest.mark.parametrize("written", [unknown_in_predictions, unknown_in_log])
def test_unknown_intents_are_errors_unless_lenient(
    written: Callable[[Path], str], world: Path, of_crosswoz: Run
) -> None:
    file = written(world)
    for verb in ("evaluate", "validate"):
        for options, code in (((), 2), (("--lenient",), 0), (("--strict",), 2)):
            ran = of_crosswoz(verb, file, *options)
            assert ran.code == code
            assert "Infrom" in ran.out + ran.err
        assert of_crosswoz(verb, file, "--strict", "--lenient").code == 2


def test_folder_creation_errors_name_the_folder(world: Path, run: Run) -> None:
    taken = world / "taken"
    taken.write_text("")
    ran = run("crosswoz", "mine-templates", "--fold", "test", "-o", str(taken))
    assert ran.code == 2
    assert str(taken) in ran.err


class Interrupted:
    """A system that raises KeyboardInterrupt."""

    def __init__(self, database: object) -> None:
        pass

    def answer(self, acts: object) -> object:
        raise KeyboardInterrupt


def test_interrupted_simulations_suggest_the_resume_option(tmp_path: Path, run: Run) -> None:
    options = ("--revision", "sample", "--per-type", "1", "-o", str(tmp_path / "log.jsonl"))
    ran = run("crosswoz", "simulate", "--system", f"{__name__}:Interrupted", *options)
    assert ran.code == 130
    assert "--resume" in ran.err


def test_simulation_logs_are_recognised(world: Path, of_crosswoz: Run) -> None:
    file = str(log(world, [dialogue("a", "1"), dialogue("b", "2", finished=False)]))
    assert "natural mix" in of_crosswoz("evaluate", file).out
    assert "甲店" in of_crosswoz("explain", file, "a").out


@pytest.mark.parametrize("track", TRACKS)
def test_report_shows_gold_scores_for_each_track(
    track: str, tmp_path: Path, of_crosswoz: Run
) -> None:
    file = str(ROOT / "predictions" / f"crosswoz-sample-{track}.json")
    output = tmp_path / "report.json"
    ran = of_crosswoz("evaluate", file, "-o", str(output))
    assert "gold as prediction" in ran.out
    beside = read_json(output)["beside"]["gold"]
    assert {name.partition(".")[0] for name in beside} == {track}


def test_domain_slot_scores_count_dialogues_with_slots_of_the_domain(of_crosswoz: Run) -> None:
    file = str(ROOT / "predictions" / "crosswoz-sample-dst.json")
    scores = json.loads(of_crosswoz("evaluate", file, "-o", "-").out)["meta"]["scores"]
    found = {score["scope"]: score["n"] for score in scores if score["score"] == "dst.slot_f1"}
    gold = read_json(ROOT / "data" / "crosswoz" / "sample" / "test.json").values()
    for domain in ("景点", "餐馆", "酒店", "地铁", "出租"):
        states = [
            [message["sys_state_init"][domain] for message in record["messages"][1::2]]
            for record in gold
        ]
        assert found[domain] == sum(
            any(v for slots in turns for key, v in slots.items() if key != "selectedResults")
            for turns in states
        )


def test_modified_corpus_files_are_reported(world: Path, of_crosswoz: Run) -> None:
    ran = of_crosswoz("evaluate", write(world, user_acts()), "-o", "-")
    meta = json.loads(ran.out)["meta"]
    (warning,) = meta["warnings"]
    assert warning["kind"] == "other-corpus-files"
    assert "crosswoz/database/attraction_db.json" in warning["message"]
    assert f"crosswoz-release@{meta['sources']}" in ran.err


def test_header_revision_selects_the_corpus_and_conflicts_are_errors(
    world: Path, of_crosswoz: Run
) -> None:
    file = write(world, user_acts(revision="convlab2"))
    for options, datum in (
        ((), "convlab2_revision/test.json.zip"),
        (("--revision", "release"), '"convlab2"'),
    ):
        ran = of_crosswoz("evaluate", file, *options)
        assert ran.code == 2
        assert datum in ran.err


@pytest.mark.parametrize("revision", [None, "samle"])
def test_missing_corpus_error_names_the_predictions_file(
    revision: str | None, tmp_path: Path, of_crosswoz: Run
) -> None:
    file = write(tmp_path, user_acts(revision=revision))
    ran = of_crosswoz("evaluate", file, "--data", str(tmp_path))
    assert ran.code == 2
    for datum in (file, revision or "revision", "test.json"):
        assert datum in ran.err


def test_unknown_benchmark_tracks_are_refused() -> None:
    assert benchmark_named("crosswoz-dst") is benchmark_named("crosswoz")
    with pytest.raises(UsageError, match='"crosswoz-policy"'):
        benchmark_named("crosswoz-polcy")


@pytest.fixture
def folds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder next to a corpus with a test and val fold but without a train fold."""
    corpus = write_folds(tmp_path / "shelf" / "crosswoz", test=["1", "2"], val=["1b", "2b"])
    monkeypatch.setenv("MWZEVAL_DATA", str(corpus.parent))
    monkeypatch.chdir(tmp_path)
    return tmp_path


Baseline = Callable[..., str]


@pytest.fixture
def baseline(run: Run) -> Baseline:
    """Write gold acts of a fold with changes in the header; keys with value None are removed."""

    def of_fold(fold: str, file: str = "predictions.json", **header: str | None) -> str:
        assert run("crosswoz", "baseline", "gold-nlu", "--fold", fold, "-o", file).code == 0
        plain = read_json(Path(file))
        said = {**plain["_meta"], **header}
        plain["_meta"] = {key: value for key, value in said.items() if value is not None}
        return write(Path(), plain, file)

    return of_fold


@pytest.mark.parametrize("header", [{}, {"split": None}])
def test_predictions_of_the_val_fold_are_recognised(
    header: dict[str, None], folds: Path, baseline: Baseline, of_crosswoz: Run
) -> None:
    file = baseline("val", **header)
    ran = of_crosswoz("evaluate", file, "-o", "-")
    assert json.loads(ran.out)["meta"]["fold"] == "val"
    for verb, *more in (["validate"], ["explain", "1b"], ["report", "-o", "page.html"]):
        assert of_crosswoz(verb, file, *more).code == 0, verb
    assert of_crosswoz("evaluate", file, "--fold", "val").code == 0


def test_named_fold_must_match_the_predictions(
    folds: Path, baseline: Baseline, of_crosswoz: Run
) -> None:
    for verb in ("evaluate", "validate"):
        ran = of_crosswoz(verb, baseline("val"), "--fold", "test")
        assert ran.code == 2
        assert "val" in ran.out + ran.err
    for split in ("test", "vla"):
        ran = of_crosswoz("evaluate", baseline("val", split=split))
        assert ran.code == 2
        assert split in ran.err
        assert "val" in ran.err


def test_predictions_of_different_folds_cannot_be_compared(
    folds: Path, baseline: Baseline, of_crosswoz: Run
) -> None:
    val, test = baseline("val", "val.json"), baseline("test", "test.json")
    assert of_crosswoz("validate", val).code == of_crosswoz("validate", test).code == 0
    ran = of_crosswoz("compare", val, test)
    assert ran.code == 2
    assert "val and test" in ran.err
    again = baseline("val", "again.json", split=None)
    assert "fold:val" in of_crosswoz("compare", val, again).out


def test_simulation_logs_are_evaluated_without_the_test_fold(folds: Path, of_crosswoz: Run) -> None:
    (folds / "shelf" / "crosswoz" / "test.json").unlink()
    file = str(log(folds, [dialogue("a", "1"), dialogue("b", "2")]))
    assert of_crosswoz("evaluate", file).code == 0


@pytest.mark.parametrize("is_zipped", [True, False])
def test_train_fold_suffices_for_baselines_evaluation_and_statistics(
    is_zipped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, of_crosswoz: Run
) -> None:
    corpus = write_folds(tmp_path / "crosswoz", train=["1", "2", "1b", "2b"])
    if is_zipped:
        with ZipFile(corpus / "train.json.zip", "w") as archive:
            archive.write(corpus / "train.json", "train.json")
        (corpus / "train.json").unlink()
    monkeypatch.setenv("MWZEVAL_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for name in BASELINES:
        assert run("crosswoz", "baseline", name, "--fold", "train", "-o", "x.json").code == 0
        shown = of_crosswoz("evaluate", "x.json").out
        assert "4 of 4" in shown
        assert "gold as prediction" in shown
        scores = read_json(tmp_path / "evaluation_results.json")["meta"]["scores"]
        found = {(score["score"], score["scope"]): score["value"] for score in scores}
        gold = {key: found[key] for key in found if key[0].startswith("gold.")}
        assert gold
        if name.startswith("gold"):
            assert gold == {key: found[key[0].removeprefix("gold."), key[1]] for key in gold}
    assert "7871" in run("crosswoz", "statistics", "--fold", "train").out
    assert run("crosswoz", "mine-templates", "-o", "templates").code == 0


@pytest.mark.parametrize(
    "call",
    [
        ("crosswoz", "statistics", "--fold", "train"),
        ("crosswoz", "mine-templates", "-o", "templates"),
        *(
            pytest.param(("crosswoz", family, "train", "-o", family), marks=pytest.mark.integration)
            for family in ("policy", "nlu", "nlg")
        ),
        ("evaluate", "--benchmark", "crosswoz", "predictions.json", "--fold", "train"),
    ],
)
def test_missing_train_fold_error_lists_the_available_folds(
    call: tuple[str, ...], folds: Path, baseline: Baseline, run: Run
) -> None:
    baseline("val")
    ran = run(*call)
    assert ran.code == 2
    for datum in ("train fold", "test, val", "train.json.zip"):
        assert datum in ran.err


def test_sample_corpus_lists_its_available_folds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run, of_crosswoz: Run
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("crosswoz", "statistics", "--fold", "train", "--revision", "sample")
    assert ran.code == 2
    assert "test, val" in ran.err
    of_sample = ("--revision", "sample", "--fold", "val", "-o", "sample.json")
    assert run("crosswoz", "baseline", "rule-dst", *of_sample).code == 0
    assert "val fold" in of_crosswoz("evaluate", "sample.json").out
