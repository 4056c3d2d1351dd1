"""Simulating and training from the command line."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from mwzeval.cli import main
from mwzeval.crosswoz import command
from mwzeval.errors import UsageError
from tests.crosswoz.logs import read_log
from tests.places import ROOT, read_json


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
def test_errors_raised_by_custom_modules_are_reported(
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


def test_custom_nlu_construction_errors_are_reported() -> None:
    with pytest.raises(UsageError, match=r'"builtins:exit".*SystemExit'):
        simulate("--level", "text", "--nlu", "builtins:exit")


def live(*arguments: str) -> int:
    fixed = ("live", "--benchmark", "crosswoz", "-q", "--revision", "sample", "--agent")
    return main([*fixed, *arguments])


@pytest.mark.integration
@pytest.mark.parametrize("more", [(), ("--level", "text")])
def test_live_command_produces_the_same_dialogues_as_simulate(
    more: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    assert simulate("--system", "rule-paper", "--seed", "4", "-o", first, *more) == 0
    options = ("--goals", "sampled:3", "--seed", "4", "-o", str(second), "--jobs", "2", *more)
    assert live("rule-paper", *options) == 0
    assert second.read_bytes() == first.read_bytes()
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
def test_live_command_refuses_invalid_options(
    options: tuple[str, ...], datum: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert live(*options) == 2
    assert datum in capsys.readouterr().err


def test_simulate_prints_a_table_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate() == 0
    head = capsys.readouterr().out.splitlines()[0]
    assert head.split() == ["goal", "type", "dialogues", "finished", "%", "user", "turns"]
    assert simulate("--json") == 0
    assert json.loads(capsys.readouterr().out)["outcomes"]["finished"] == 15


def test_mined_templates_are_refused_for_template_nlu(tmp_path: Path) -> None:
    for side in ("user", "system"):
        mined = tmp_path / f"auto_{side}_template_nlg.json"
        mined.write_text('{"General+bye+none": ["再见"]}', "utf-8")
    with pytest.raises(UsageError, match="manual"):
        simulate("--level", "text", "--templates", tmp_path)


def test_bundled_templates_are_understood_in_text_simulations(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    assert simulate("--level", "text", "-o", log) == 0
    meta, dialogues = read_log(log)
    assert (meta["level"], meta["template_mode"], meta["nlu"]) == ("text", "manual", "templates")
    turns = [turn for dialogue in dialogues for turn in dialogue["acts"]]
    understood = [sorted(turn["system_acts"]) == sorted(turn["system_acts_nlu"]) for turn in turns]
    assert sum(understood) >= 0.98 * len(understood)


def test_custom_system_can_be_simulated(
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
def test_invalid_simulate_options_are_refused(arguments: Sequence[str], datum: str) -> None:
    with pytest.raises(UsageError, match=re.escape(datum)):
        simulate(*arguments)


@pytest.mark.parametrize("chosen", [("--hold-out", "20"), ()])
def test_training_requires_held_out_validation_dialogues(
    tmp_path: Path, chosen: Sequence[str]
) -> None:
    fixed = ("-o", str(tmp_path), "--revision", "sample", "--fold", "val")
    with pytest.raises(UsageError, match="hold-out"):
        run("policy", "train", *fixed, *chosen)


def baseline(folder: Path, *arguments: str | Path) -> Path:
    file = folder / f"{len(list(folder.iterdir()))}.json"
    assert run("baseline", *arguments, "--revision", "sample", "-o", file) == 0
    return file


def test_compare_shows_scores_of_generated_texts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = (
        str(baseline(tmp_path, "template", "--fold", "val", "--seed", seed)) for seed in "12"
    )
    compare = ("compare", "--benchmark", "crosswoz", first, second, "--samples", "9")
    assert main(compare) == 0
    output = capsys.readouterr().out
    assert "BLEU-4, user" in output
    assert "Slot error rate, system" in output
    assert "BLEU-4, user, S" not in output  # only --scopes shows the goal types
    assert main([*compare, "--table", "ends"]) == 2
    assert main(["explain", "--benchmark", "crosswoz", first]) == 2


def test_template_output_depends_on_the_seed_and_the_template_files(tmp_path: Path) -> None:
    first, again, other = (
        read_json(baseline(tmp_path, "template", "--seed", seed)) for seed in "112"
    )
    assert first == again != other
    assert first["_meta"]["seed"] == 1
    templates = tmp_path / "templates"
    templates.mkdir()
    for side in ("user", "system"):
        place = templates / f"manual_{side}_template_nlg.json"
        place.write_text('{"General+thank+none": ["谢谢"]}', encoding="utf-8")
    mine = ("--templates", templates)
    plain = read_json(baseline(tmp_path, "template", *mine, "--template-mode", "manual"))
    assert plain.pop("_meta")["system"] == "templates, manual"
    assert {turn["user_response"] for turns in plain.values() for turn in turns} == {"", "谢谢。"}
    with pytest.raises(UsageError, match="template"):
        baseline(tmp_path, "gold-nlg", *mine)
