"""Simulating and training from the command line."""

from __future__ import annotations

import argparse
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.crosswoz import command, command_simulate
from mwzeval.crosswoz.corpus.acts import parse_acts
from mwzeval.crosswoz.corpus.folds import corpus_root, load_fold, load_gold
from mwzeval.crosswoz.scoring.evaluation import evaluate
from mwzeval.errors import InputError, UsageError
from mwzeval.report.terminal import Look
from tests.crosswoz.logs import read_log
from tests.places import ROOT


def run(module: ModuleType, *arguments: str | Path) -> int:
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    code: int = module.run(parser.parse_args(list(map(str, arguments))))
    return code


def simulate(*arguments: str | Path) -> int:
    fixed = ("--revision", "sample", "--per-type", "3", "--quiet")
    return run(command_simulate, *fixed, *arguments)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("def", "SyntaxError: "),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("", "AttributeError: "),
    ],
)
@pytest.mark.parametrize("option", [("--system",), ("--level", "text", "--nlu")])
def test_whatever_a_module_of_ones_own_raises_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    option: tuple[str, ...],
    source: str,
    reason: str,
) -> None:
    name = f"own_module_{sum(map(ord, source))}"
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=f'^"{name}:Mine" cannot be imported: {reason}'):
        simulate(*option, f"{name}:Mine")


@pytest.mark.parametrize("name", ["..x:y", ":x", "x:", "os:path.join:", "no.such:Thing"])
def test_a_name_that_leads_nowhere_is_told(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be imported"):
        simulate("--system", name)


def test_an_nlu_of_ones_own_that_cannot_be_made_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_nlu.py").write_text("class Mine:\n    def __init__(self):\n        exit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match='"own_nlu:Mine" cannot be made: SystemExit: 0'):
        simulate("--level", "text", "--nlu", "own_nlu:Mine")


def live(*arguments: str) -> int:
    fixed = ("live", "--benchmark", "crosswoz", "-q", "--revision", "sample", "--agent")
    return main([*fixed, *arguments])


@pytest.mark.parametrize("more", [(), ("--level", "text")])
def test_live_holds_the_same_dialogues(
    more: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    assert simulate("--system", "rule-paper", "--seed", "4", "-o", one, *more) == 0
    options = ("--goals", "sampled:3", "--seed", "4", "-o", str(other), "--jobs", "2", *more)
    assert live("rule-paper", *options) == 0
    assert other.read_bytes() == one.read_bytes()
    assert live("rule", *options) == 2
    assert 'agent.spec: "rule-paper" in the file, "rule" now' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("rule", "--goals", "sampled:0"), "--goals sampled:N"),
        (("rule", "--goals", "corpus"), "--goals sampled:N"),
        (("rule", "--goals", "sampled:1", "--trials", "2"), "each goal is talked about once"),
        (("rules", "--goals", "sampled:1"), 'did you mean "rule"'),
    ],
)
def test_live_refuses_what_makes_no_sense(
    options: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert live(*options) == 2
    assert told in capsys.readouterr().err


def test_it_prints_a_table_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate() == 0
    table = capsys.readouterr().out
    assert table.splitlines()[0].split() == [
        "goal",
        "type",
        "dialogues",
        "finished",
        "%",
        "user",
        "turns",
    ]
    assert simulate("--json") == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["macro_finish_rate"] == 1
    assert plain["outcomes"]["finished"] == 15


@pytest.mark.parametrize(
    "arguments",
    [
        ("statistics",),
        ("dst", "conventions", str(ROOT / "predictions" / "crosswoz-sample-dst.json")),
    ],
)
def test_tables_fit_a_terminal(
    arguments: Sequence[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed = ("crosswoz", *arguments, "--revision", "sample")
    assert main(fixed) == 0
    plain = capsys.readouterr().out
    look = Look(colours=True, width=57)
    monkeypatch.setattr(Look, "of_output", classmethod(lambda _: look))
    assert main(fixed) == 0
    shown = capsys.readouterr().out
    lines = re.sub("\x1b\\[[0-9;]*m", "", shown).splitlines()
    assert "\x1b[1m" in shown
    assert max(map(len, plain.splitlines())) > 57 >= max(map(len, lines))
    assert set(plain.split()) == {word for line in lines for word in line.split()}


def test_templates_that_cannot_be_understood_are_refused(tmp_path: Path) -> None:
    for side in ("user", "system"):
        mined = tmp_path / f"auto_{side}_template_nlg.json"
        mined.write_text('{"General+bye+none": ["再见"]}', "utf-8")
    with pytest.raises(UsageError, match="manual templates"):
        simulate("--level", "text", "--templates", tmp_path)


def test_in_words_the_templates_that_come_along_are_understood(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    assert simulate("--level", "text", "-o", log, "--processes", "2") == 0
    meta, dialogues = read_log(log)
    assert (meta["level"], meta["template_mode"], meta["nlu"]) == ("text", "manual", "templates")
    turns = [turn for dialogue in dialogues for turn in dialogue["acts"]]
    assert all(turn["response"] and turn["user_response"] for turn in turns)
    understood = [sorted(turn["system_acts"]) == sorted(turn["system_acts_nlu"]) for turn in turns]
    assert sum(understood) >= 0.98 * len(understood)


def test_a_system_of_ones_own_takes_part(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert simulate("--system", "examples.crosswoz_own_system:NamesOnly", "--json") == 0
    plain = json.loads(capsys.readouterr().out)
    assert not plain["problems"]
    assert plain["outcomes"]["limit"] > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--system", "ruel"), 'did you mean "rule"'),
        (("--system", "no.such:Thing"), "cannot be imported"),
        (("--system", "math:pi"), "cannot be called"),
        (("--level", "text", "--nlu", "bert"), "unknown NLU"),
        (("--templates", "x.zip"), "for --level text"),
        (("--resume",), "only a simulation with an output"),
        (("--limit", "0"), "at least one exchange"),
    ],
)
def test_bad_use_is_told(arguments: Sequence[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        simulate(*arguments)


def test_a_policy_is_trained_speaks_is_scored_and_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = tmp_path / "policy", tmp_path / "predictions.json"
    sample = ("--revision", "sample")
    chosen = ("--fold", "val", "--hold-out", "4", "--epochs", "3", "--hidden", "20")
    assert run(command, "policy", "train", "-o", folder, *sample, *chosen) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert run(command, "policy", "predict", folder, "-o", file, *sample) == 0
    evaluated = evaluate(str(file), load_gold("sample"))
    assert evaluated.report().scores
    assert json.loads(file.read_text())["_meta"]["learned_from"] == ["val"]
    assert simulate("--system", folder) == 0


def test_a_simulation_does_not_go_on_with_a_model_that_was_trained_anew(tmp_path: Path) -> None:
    folder, log = tmp_path / "policy", tmp_path / "log.jsonl"
    fixed = ("--revision", "sample", "--fold", "val", "--hold-out", "4", "--hidden", "20")
    assert run(command, "policy", "train", "-o", folder, *fixed, "--epochs", "1") == 0
    held = ("--system", folder, "--per-type", "1", "--limit", "2", "-o", log, "--resume")
    assert simulate(*held) == 0
    whole = log.read_bytes()
    assert simulate(*held) == 0
    assert log.read_bytes() == whole
    shutil.rmtree(folder)
    assert (
        run(command, "policy", "train", "-o", folder, *fixed, "--epochs", "1", "--seed", "1") == 0
    )
    with pytest.raises(UsageError, match="models"):
        simulate(*held)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [(("--hold-out", "20"), "between 1 and 19"), ((), "hold-out some")],
)
def test_training_needs_dialogues_to_choose_on(
    tmp_path: Path, chosen: Sequence[str], message: str
) -> None:
    fixed = ("-o", str(tmp_path), "--revision", "sample", "--fold", "val")
    with pytest.raises(UsageError, match=message):
        run(command, "policy", "train", *fixed, *chosen)


def test_a_trained_nlu_takes_part_in_several_processes(tmp_path: Path) -> None:
    from mwzeval.crosswoz.nlu.examples import NluSettings
    from mwzeval.crosswoz.nlu.model import load_tagger
    from mwzeval.crosswoz.nlu.training import train_tagger

    folder, log = tmp_path / "nlu", tmp_path / "log.jsonl"
    dialogues = list(load_fold(corpus_root("sample"), "test", "sample").dialogues.values())
    quick = NluSettings(embedding=16, hidden=16, dropout=0.0, learning_rate=0.01, epochs=3)
    train_tagger(dialogues[::4], folder, quick)
    fixed = ("--level", "text", "--template-mode", "manual", "--processes", "2", "--limit", "4")
    assert simulate(*fixed, "--nlu", folder, "-o", log) == 0
    tagger = load_tagger(folder)
    heard = 0
    for dialogue in read_log(log)[1]:
        assert dialogue["end"] in ("user_stop", "limit")
        before: list[str] = []
        for turn in dialogue["acts"]:
            before.append(turn["user_response"])
            acts = tagger.understand(turn["response"], before[-3:], "system")
            assert turn["system_acts_nlu"] == [list(act) for act in acts]
            before.append(turn["response"])
            heard += 1
    assert heard
    with pytest.raises(InputError):
        simulate("--level", "text", "--nlu", log)


class Deaf:
    """An NLU of one's own that understands nothing."""

    def understand(self, utterance: str, context: Sequence[str], side: str) -> tuple[()]:
        return ()


def test_generators_are_trained_speak_are_scored_and_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mwzeval.crosswoz.sclstm.generator import load_sclstm
    from mwzeval.crosswoz.simulation.protocols import SeededRng

    folder, file, log = tmp_path / "nlg", tmp_path / "predictions.json", tmp_path / "log.jsonl"
    sample = ("--revision", "sample")
    chosen = ("--fold", "val", "--hold-out", "4", "--epochs", "2", "--hidden", "8")
    assert run(command, "nlg", "train", "-o", folder, *sample, *chosen) == 0
    sides = [line.split()[:2] for line in capsys.readouterr().out.splitlines()[1:]]
    assert sides == [["user", "1"], ["user", "2"], ["system", "1"], ["system", "2"]]
    assert run(command, "nlg", "generate", folder, "-o", file, *sample, "--beam", "2") == 0
    with pytest.raises(UsageError, match="--beam is 1 or more"):
        run(command, "nlg", "generate", folder, "-o", file, *sample, "--beam", "0")
    plain = json.loads(file.read_text(encoding="utf-8"))
    nlg = load_sclstm(folder, beam=2)
    for name, dialogue in load_gold("sample").fold.dialogues.items():
        for said, exchange in zip(plain[name], dialogue.exchanges, strict=True):
            words = nlg.say(exchange.user.acts, "user", SeededRng(0))
            assert said["user_response"] == (words or "")
    scores = evaluate(str(file), load_gold("sample")).report().scores
    assert {"nlg.bleu4", "nlg.missing_values", "nlg.slot_errors"} <= {s.name for s in scores}

    spoken = ("--level", "text", "--nlg", folder, "--per-type", "1", "--limit", "2")
    own = f"{__name__}:{Deaf.__name__}"
    assert simulate(*spoken, "--nlu", own, "--processes", "2", "-o", log) == 0
    meta, dialogues = read_log(log)
    assert meta["nlg"] == str(folder)
    nlg = load_sclstm(folder)
    for turn in dialogues[0]["acts"]:
        acts = parse_acts(turn["user_acts"])
        assert turn["user_response"] == (nlg.say(acts, "user", SeededRng(0)) or "")
    with pytest.raises(UsageError, match="understands templates alone"):
        simulate(*spoken)
    with pytest.raises(UsageError, match='unknown NLG "template"'):
        simulate("--level", "text", "--nlg", "template", "--nlu", own)


def test_generated_texts_are_compared_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = str(tmp_path / "one.json"), str(tmp_path / "other.json")
    for seed, file in (("1", one), ("2", other)):
        fixed = ("--revision", "sample", "--fold", "val", "--seed", seed, "-o", file)
        assert run(command, "baseline", "template", *fixed) == 0
    compare = ("compare", "--benchmark", "crosswoz", one, other, "--samples", "9", "-j", "1")
    assert main(compare) == 0
    said = capsys.readouterr().out
    assert "BLEU-4, user" in said
    assert "Slot error rate, system" in said
    assert "BLEU-4, user, S" not in said  # a part, which --scopes would show
    assert main([*compare, "--table", "ends"]) == 2
    assert "scores of the whole, and there are none" in capsys.readouterr().err
    assert main(["explain", "--benchmark", "crosswoz", one]) == 2
    assert "no dialogues that are won or lost" in capsys.readouterr().err


def test_the_bleu_of_templates_and_of_gold_come_from_the_command_line(tmp_path: Path) -> None:
    gold = load_gold("sample")
    fixed = ("--revision", "sample", "-o")

    def written(*arguments: str | Path) -> dict[str, Any]:
        file = tmp_path / "predictions.json"
        assert run(command, "baseline", *arguments, *fixed, file) == 0
        plain: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return plain

    by_gold = written("gold-nlg")
    for name, dialogue in gold.fold.dialogues.items():
        said = [(turn["user_response"], turn["response"]) for turn in by_gold[name]]
        assert said == [(e.user.utterance, e.system.utterance) for e in dialogue.exchanges]
    first, again = written("template", "--seed", "1"), written("template", "--seed", "1")
    assert first == again != written("template", "--seed", "2")
    assert first["_meta"]["seed"] == 1
    templates = tmp_path / "templates"
    templates.mkdir()
    for side in ("user", "system"):
        place = templates / f"manual_{side}_template_nlg.json"
        place.write_text('{"General+thank+none": ["谢谢"]}', encoding="utf-8")
    plain = written("template", "--templates", templates, "--template-mode", "manual")
    texts = {turn["user_response"] for name in gold.fold.dialogues for turn in plain[name]}
    assert texts == {"", "谢谢。"}
    scores = {s.name: s for s in evaluate(first, gold).scored_table.scores() if s.scope == "system"}
    assert 0 < scores["nlg.bleu4"].value < 1
    with pytest.raises(UsageError, match="for the baseline template"):
        written("gold-nlg", "--templates", templates)
