"""Simulating and training from the command line."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from mwzeval.crosswoz import command
from mwzeval.crosswoz.corpus.folds import load_gold
from mwzeval.crosswoz.scoring.evaluation import evaluate
from mwzeval.errors import UsageError
from mwzeval.scores import sheets
from mwzeval.scores.sheets import Look
from tests.crosswoz.logs import read_log
from tests.places import ROOT


def run(*arguments: str | Path) -> int:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args(list(map(str, arguments))))


def simulate(*arguments: str | Path) -> int:
    fixed = ("--revision", "sample", "--per-type", "3", "--quiet")
    return run("simulate", *fixed, *arguments)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise SystemExit(0)", "SystemExit"),
        ("def", "SyntaxError"),
        ("import no_such_module", "ModuleNotFoundError"),
        ("1 / 0", "ZeroDivisionError"),
        ("", "AttributeError"),
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
    with pytest.raises(UsageError, match=f'"{name}:Mine".*{reason}'):
        simulate(*option, f"{name}:Mine")


def test_an_nlu_of_ones_own_that_cannot_be_made_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_nlu.py").write_text("class Mine:\n    def __init__(self):\n        exit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=r'"own_nlu:Mine".*SystemExit'):
        simulate("--level", "text", "--nlu", "own_nlu:Mine")


def live(*arguments: str) -> int:
    fixed = ("live", "--benchmark", "crosswoz", "-q", "--revision", "sample", "--agent")
    return main([*fixed, *arguments])


@pytest.mark.integration
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
    assert '"rule-paper"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "datum"),
    [
        (("rule", "--goals", "sampled:0"), "--goals"),
        (("rule", "--goals", "corpus"), "--goals"),
        (("rule", "--goals", "sampled:1", "--trials", "2"), "--trials"),
        (("rules", "--goals", "sampled:1"), '"rule"'),
    ],
)
def test_live_refuses_what_makes_no_sense(
    options: tuple[str, ...], datum: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert live(*options) == 2
    assert datum in capsys.readouterr().err


def test_it_prints_a_table_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate() == 0
    head = capsys.readouterr().out.splitlines()[0]
    assert head.split() == ["goal", "type", "dialogues", "finished", "%", "user", "turns"]
    assert simulate("--json") == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["macro_finish_rate"] == 1
    assert plain["outcomes"]["finished"] == 15


def test_tables_fit_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed = ("crosswoz", "statistics", "--revision", "sample")
    assert main(fixed) == 0
    plain = capsys.readouterr().out
    look = Look(colours=True, width=57)
    monkeypatch.setattr(sheets, "output_look", lambda: look)
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
    with pytest.raises(UsageError, match="manual"):
        simulate("--level", "text", "--templates", tmp_path)


def test_in_words_the_templates_that_come_along_are_understood(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    assert simulate("--level", "text", "-o", log) == 0
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
    ("arguments", "datum"),
    [
        (("--system", "ruel"), '"rule"'),
        *((("--system", name), name) for name in ("..x:y", ":x", "x:", "os:path.join:")),
        *((("--system", name), name) for name in ("no.such:Thing", "math:pi")),
        (("--level", "text", "--nlu", "bert"), "bert"),
        (("--templates", "x.zip"), "--level text"),
        (("--resume",), "output"),
        (("--limit", "0"), "limit"),
    ],
)
def test_bad_use_is_told(arguments: Sequence[str], datum: str) -> None:
    with pytest.raises(UsageError, match=re.escape(datum)):
        simulate(*arguments)


@pytest.mark.parametrize("chosen", [("--hold-out", "20"), ()])
def test_training_needs_dialogues_to_choose_on(tmp_path: Path, chosen: Sequence[str]) -> None:
    fixed = ("-o", str(tmp_path), "--revision", "sample", "--fold", "val")
    with pytest.raises(UsageError, match="hold-out"):
        run("policy", "train", *fixed, *chosen)


def test_generated_texts_are_compared_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = str(tmp_path / "one.json"), str(tmp_path / "other.json")
    for seed, file in (("1", one), ("2", other)):
        fixed = ("--revision", "sample", "--fold", "val", "--seed", seed, "-o", file)
        assert run("baseline", "template", *fixed) == 0
    compare = ("compare", "--benchmark", "crosswoz", one, other, "--samples", "9")
    assert main(compare) == 0
    said = capsys.readouterr().out
    assert "BLEU-4, user" in said
    assert "Slot error rate, system" in said
    assert "BLEU-4, user, S" not in said  # a part, which --scopes would show
    assert main([*compare, "--table", "ends"]) == 2
    assert main(["explain", "--benchmark", "crosswoz", one]) == 2


def test_the_bleu_of_templates_and_of_gold_come_from_the_command_line(tmp_path: Path) -> None:
    gold = load_gold("sample")
    fixed = ("--revision", "sample", "-o")

    def written(*arguments: str | Path) -> dict[str, Any]:
        file = tmp_path / "predictions.json"
        assert run("baseline", *arguments, *fixed, file) == 0
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
    with pytest.raises(UsageError, match="template"):
        written("gold-nlg", "--templates", templates)
