"""Command line of models: training, prediction, scoring and simulation."""

from __future__ import annotations

import argparse
import pickle
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from mwzeval.crosswoz import command
from mwzeval.crosswoz.corpus.acts import parse_acts
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.folds import Fold, corpus_root, load_fold, load_gold
from mwzeval.crosswoz.models.nlu import JointNlu, Utterance, train_nlu
from mwzeval.crosswoz.models.sclstm import load_sclstm, train_sclstm
from mwzeval.crosswoz.protocols import SYSTEM, USER, Rng
from mwzeval.crosswoz.scoring.evaluation import evaluate
from mwzeval.crosswoz.speakers import TrainedNlu, nlu_named, system_named
from mwzeval.crosswoz.systems.sl_policy import Vocabulary, train_policy
from mwzeval.crosswoz.systems.templates import SIDES, load_templates
from mwzeval.crosswoz.training import NluSettings, PolicySettings, SclstmSettings
from mwzeval.errors import DependencyError, InputError, UsageError
from tests.crosswoz.logs import read_log
from tests.places import read_json

pytestmark = pytest.mark.integration

TEMPLATES = "templates"
WORDS = ("--level", "text", "--nlg", "nlg", "--nlu", "nlu")
Models = dict[str, Path]


@pytest.fixture(scope="module")
def fold() -> Fold:
    return load_fold(corpus_root("sample"), "val", "sample")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory, fold: Fold) -> dict[str, Path]:
    """Folders of models after a short training."""
    top = tmp_path_factory.mktemp("models")
    found = {name: top / name for name in ("policy", "nlu", "nlg")}
    dialogues = list(fold.dialogues.values())
    learned, checked = dialogues[:12], dialogues[12:]
    settings = PolicySettings(hidden=20, epochs=10, learning_rate=0.01)
    vocabulary, database = Vocabulary.mined(dialogues), Database(fold.tables)
    train_policy(learned, checked, database, vocabulary, found["policy"], settings)
    tagger = NluSettings(
        embedding=16, hidden=16, dropout=0.0, learning_rate=0.01, batch_size=8, epochs=6
    )
    train_nlu(learned, found["nlu"], tagger)
    train_sclstm(learned, checked, found["nlg"], SclstmSettings(hidden=8, epochs=2))
    return found


def run(*arguments: str | Path) -> int:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(list(map(str, arguments))))


def simulate(*arguments: str | Path) -> int:
    fixed = ("--revision", "sample", "--per-type", "1", "--limit", "4", "--quiet")
    return run("simulate", *fixed, *arguments)


@pytest.mark.parametrize(
    ("nlg", "nlu"), [(TEMPLATES, TEMPLATES), (TEMPLATES, "nlu"), ("nlg", "nlu")]
)
@pytest.mark.parametrize("system", ["rule", "rule-paper", "policy"])
def test_both_sides_use_the_chosen_nlg_and_nlu(
    tmp_path: Path, models: Models, fold: Fold, system: str, nlg: str, nlu: str
) -> None:
    log = tmp_path / "log.jsonl"
    system, nlg, nlu = (str(models.get(name, name)) for name in (system, nlg, nlu))
    words = ("--level", "text", "--nlg", nlg, "--nlu", nlu)
    assert simulate("--system", system, *words, "-o", log) == 0
    header, dialogues = read_log(log)
    assert (header["nlg"], header["nlu"]) == (nlg, nlu)
    assert ("template_mode" in header) == (nlg == TEMPLATES)
    database = Database(fold.tables)
    listener = nlu_named(nlu, load_templates(), database)
    generator = None if nlg == TEMPLATES else load_sclstm(nlg)
    heard = 0
    for dialogue in dialogues:
        assert dialogue["end"] in ("user_stop", "limit")
        agent = system_named(system)(database)
        said: list[str] = []
        for turn in dialogue["acts"]:
            acts = {side: parse_acts(turn[f"{side}_acts"]) for side in SIDES}
            spoken = {USER: turn["user_response"], SYSTEM: turn["response"]}
            if generator is not None:
                assert spoken == {s: generator.say(acts[s], s, Rng(0)) or "" for s in SIDES}
            understood = tuple(listener.understand(spoken[USER], said[-3:], USER))
            assert tuple(agent.answer(understood)) == acts[SYSTEM]
            said.append(spoken[USER])
            if spoken[SYSTEM]:
                found = tuple(listener.understand(spoken[SYSTEM], said[-3:], SYSTEM))
                assert found == parse_acts(turn["system_acts_nlu"])
            said.append(spoken[SYSTEM])
            heard += len(understood)
    assert heard


def test_processes_and_resumption_do_not_change_the_log(tmp_path: Path, models: Models) -> None:
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    fixed = ("--system", models["policy"], "--seed", "3", "--level", "text", "--nlu", models["nlu"])
    assert simulate(*fixed, "--nlg", models["nlg"], "-o", whole) == 0
    content = whole.read_bytes()
    part.write_bytes(content[: len(content) // 2])
    again = ("--nlg", models["nlg"], "-o", part, "--resume", "--processes", "2")
    assert simulate(*fixed, *again) == 0
    assert part.read_bytes() == content
    with pytest.raises(UsageError, match="nlg"):
        simulate(*fixed, "-o", whole, "--resume")


def test_nlu_results_are_cached_and_pickled_without_the_model(
    models: Models, fold: Fold, monkeypatch: pytest.MonkeyPatch
) -> None:
    nlu = nlu_named(str(models["nlu"]), None, Database(fold.tables))
    assert isinstance(nlu, TrainedNlu)
    first = nlu.understand("推荐一个景点", ["您好"], USER)
    assert len(pickle.dumps(nlu)) < 100_000
    copy = pickle.loads(pickle.dumps(nlu))
    assert copy.understand("推荐一个景点", ["您好"], USER) == first
    seen: list[Sequence[Utterance]] = []

    def counted(_: JointNlu, said: Sequence[Utterance]) -> list[tuple[()]]:
        seen.append(said)
        return [()]

    monkeypatch.setattr(JointNlu, "predict", counted)
    assert nlu.understand("推荐一个景点", ("您好",), USER) == first
    assert not seen
    nlu.understand("推荐一个景点", (), USER)
    nlu.understand("推荐一个景点", ("您好",), SYSTEM)
    nlu.understand("您好", ("您好",), USER)
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("option", "own"), [("--system", "policy"), ("--nlu", "nlu"), ("--nlg", "nlg")]
)
def test_folders_with_another_kind_of_model_are_errors(
    models: Models, option: str, own: str, tmp_path: Path
) -> None:
    words: tuple[str, ...] = () if option == "--system" else ("--level", "text")
    words += ("--nlu", str(models["nlu"])) if option == "--nlg" else ()
    for folder in (tmp_path, *(models[name] for name in models if name != own)):
        with pytest.raises(InputError, match="safetensors"):
            simulate(*words, option, folder)


@pytest.mark.parametrize(
    ("arguments", "datum"),
    [
        (("--nlg", "nlg"), "--nlg"),
        (("--nlu", "nlu"), "--nlu"),
        (("--nlu", TEMPLATES), "--nlu"),
        (("--level", "text", "--nlg", "nlg"), "templates"),
        ((*WORDS, "--template-mode", "auto"), "--template-mode"),
        ((*WORDS, "--templates", "x.zip"), "--templates"),
    ],
)
def test_options_without_effect_are_refused(
    models: Models, arguments: tuple[str, ...], datum: str
) -> None:
    with pytest.raises(UsageError, match=datum):
        simulate(*(models.get(name, name) for name in arguments))


def test_missing_dependencies_are_reported(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    nlu = ("--level", "text", "--nlu", models["nlu"])
    words = (*nlu, "--nlg", models["nlg"])
    monkeypatch.setitem(sys.modules, "jieba", None)
    assert simulate(*words) == 0  # jieba is required for training and scores only
    monkeypatch.setitem(sys.modules, "torch", None)
    for needed in (words, nlu):
        with pytest.raises(DependencyError, match=r"torch .*mwzeval\[neural\]"):
            simulate(*needed)
    assert simulate("--system", models["policy"]) == 0  # the policy runs without PyTorch
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(DependencyError, match=r"safetensors .*mwzeval\[neural\]"):
        simulate("--system", models["policy"])


POLICY = ("--revision", "sample", "--fold", "val", "--hold-out", "4", "--hidden", "20")


def test_policy_commands_train_and_predict_scorable_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = tmp_path / "policy", tmp_path / "predictions.json"
    assert run("policy", "train", "-o", folder, *POLICY, "--epochs", "3") == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert run("policy", "predict", folder, "-o", file, "--revision", "sample") == 0
    assert evaluate(str(file), load_gold("sample")).report().scores
    assert read_json(file)["_meta"]["learned_from"] == ["val"]


def test_simulation_does_not_resume_with_a_retrained_model(tmp_path: Path) -> None:
    folder, log = tmp_path / "policy", tmp_path / "log.jsonl"
    assert run("policy", "train", "-o", folder, *POLICY, "--epochs", "1") == 0
    held = ("--system", folder, "--limit", "2", "-o", log, "--resume")
    assert simulate(*held) == 0
    whole = log.read_bytes()
    assert simulate(*held) == 0
    assert log.read_bytes() == whole
    shutil.rmtree(folder)
    assert run("policy", "train", "-o", folder, *POLICY, "--epochs", "1", "--seed", "1") == 0
    with pytest.raises(UsageError, match="models"):
        simulate(*held)


class Deaf:
    """A custom NLU that returns no acts."""

    def understand(self, utterance: str, context: Sequence[str], side: str) -> tuple[()]:
        return ()


def test_nlg_commands_train_generate_score_and_simulate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file, log = tmp_path / "nlg", tmp_path / "predictions.json", tmp_path / "log.jsonl"
    sample = ("--revision", "sample")
    chosen = ("--fold", "val", "--hold-out", "4", "--epochs", "2", "--hidden", "8")
    assert run("nlg", "train", "-o", folder, *sample, *chosen) == 0
    sides = [line.split()[:2] for line in capsys.readouterr().out.splitlines()[1:]]
    assert sides == [["user", "1"], ["user", "2"], ["system", "1"], ["system", "2"]]
    assert run("nlg", "generate", folder, "-o", file, *sample, "--beam", "2") == 0
    with pytest.raises(UsageError, match="--beam"):
        run("nlg", "generate", folder, "-o", file, *sample, "--beam", "0")
    plain, gold, nlg = read_json(file), load_gold("sample"), load_sclstm(folder, beam=2)
    for name, dialogue in gold.fold.dialogues.items():
        assert [turn["user_response"] for turn in plain[name]] == [
            nlg.say(exchange.user.acts, USER, Rng(0)) or "" for exchange in dialogue.exchanges
        ]
    scores = evaluate(plain, gold).report().scores
    assert {"nlg.bleu4", "nlg.missing_values", "nlg.slot_errors"} <= {s.name for s in scores}

    spoken = ("--level", "text", "--nlg", folder, "--limit", "2")
    own = f"{__name__}:{Deaf.__name__}"
    assert simulate(*spoken, "--nlu", own, "--processes", "2", "-o", log) == 0
    assert read_log(log)[0]["nlg"] == str(folder)
    with pytest.raises(UsageError, match="only understands templates"):
        simulate(*spoken)
    with pytest.raises(UsageError, match='unknown NLG "template"'):
        simulate("--level", "text", "--nlg", "template", "--nlu", own)
