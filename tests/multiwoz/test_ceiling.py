"""The gold annotation scored as a system is: its known scores, alone and beside a system's."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from mwzeval.cli import main
from mwzeval.multiwoz.ceiling import gold_predictions, with_placeholders
from mwzeval.multiwoz.corpus import GoldFold, corpus_root, load_fold
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.placeholders import normalize_response
from tests.places import ROOT, read_json, sample_predictions, shared

GOOD = str(ROOT / "predictions" / "sample-good.json")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def gold() -> GoldFold:
    return load_fold("sample", "test", corpus_root("sample", None, offline=True))


def test_a_reference_with_placeholders_normalises_to_itself(gold: GoldFold) -> None:
    for dialogue in gold.dialogues.values():
        for reference in dialogue.references:
            assert normalize_response(with_placeholders(reference)) == reference


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("NAME is in the AREA.", "[name] is in the [area]."),
        ("TRAINID leaves at TIME", "[trainid] leaves at [booktime]"),
        ("my id is ID", "my id is [hospital_id]"),
    ],
)
def test_canonical_names_become_placeholders(reference: str, expected: str) -> None:
    assert with_placeholders(reference) == expected


def test_gold_gets_full_marks_where_there_are_any(evaluator: Evaluator, gold: GoldFold) -> None:
    report = evaluator.evaluate(gold_predictions(gold))
    assert report.metrics["bleu"] == {"sample": pytest.approx(100)}
    assert report.metrics["dst"]["joint_accuracy"] == pytest.approx(100)
    assert report.warnings == ()


@pytest.mark.integration
@pytest.mark.parametrize("rules", ["2021", "2023"])
def test_the_real_ceiling_is_as_known(capsys: pytest.CaptureFixture[str], rules: str) -> None:
    data = str(shared("data", "multiwoz"))
    assert main(["ceiling", "--data", data, "--rules", rules, "-f", "jsonl"]) == 0
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    values = {(line["score"], line["scope"]): line for line in lines}
    if rules == "2021":
        assert values["inform", "total"]["value"] == 92.5
        assert values["success", "total"]["value"] == 88.8
    assert values["bleu.mwz22", "total"]["value"] == pytest.approx(100)
    signature = values["inform", "total"]["signature"]
    assert "|state:gold|domains:estimated|" in signature
    assert signature.endswith("|predictions:gold")


def test_the_ceiling_command_has_formats_intervals_and_a_report(
    elsewhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["ceiling", "--corpus", "sample", "--ci", "-o", "gold.json"]
    assert main([*arguments, "-f", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {"inform", "bleu.sample", "dst.joint_accuracy", "richness.msttr"} <= {
        row["score"] for row in rows
    }
    assert all(row["low"] for row in rows if row["score"] == "inform")
    report = read_json(elsewhere / "gold.json")
    assert report["bleu"]["sample"] == pytest.approx(100)
    assert main(["ceiling", "--corpus", "sample"]) == 0
    assert "Inform" in capsys.readouterr().out


def test_the_ceiling_stands_beside_each_score(
    elsewhere: Path, evaluator: Evaluator, gold: GoldFold, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ceiling", "-bsrd", "-i", GOOD, "-o", "evaluation_results.json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    expected = evaluator.evaluate(gold_predictions(gold))
    inform = next(index for index, line in enumerate(lines) if line.startswith("Inform"))
    found = lines[inform + 1].split()
    assert found[0] == "ceiling"
    assert found[1:] == [f"{rate:.1f}" for rate in expected.metrics["success"]["inform"].values()]
    bleu = next(line for line in lines if line.startswith("BLEU"))
    assert bleu.split()[-1] == "100.00"
    report = read_json(elsewhere / "evaluation_results.json")
    assert report["meta"]["ceiling"] == json.loads(json.dumps(expected.metrics))
    del report["meta"]["ceiling"]
    assert report == evaluator.evaluate(sample_predictions("good")).to_dict()


def test_the_ceiling_is_of_the_dialogues_and_turns_that_were_predicted(
    elsewhere: Path, gold: GoldFold
) -> None:
    some = dict(list(sample_predictions("good").items())[:7])
    some = {name: turns[:-1] or turns for name, turns in some.items()}
    (elsewhere / "some.json").write_text(json.dumps(some))
    assert main(["ceiling", "-sr", "-i", "some.json", "-o", "evaluation_results.json"]) == 0
    found = read_json(elsewhere / "evaluation_results.json")["meta"]["ceiling"]
    expected = (
        Evaluator(success=True, richness=True).evaluate(gold_predictions(gold, some)).to_dict()
    )
    assert found == {key: expected[key] for key in ("bleu", "success", "richness", "dst")}
    lengths = {name: len(turns) for name, turns in gold_predictions(gold, some).items()}
    assert lengths == {name: len(turns) for name, turns in some.items()}


@pytest.mark.integration
def test_grounded_scores_have_the_human_responses_as_their_ceiling(
    elsewhere: Path, gold: GoldFold, capsys: pytest.CaptureFixture[str]
) -> None:
    words = elsewhere / "cheap.json"
    said = (ROOT / "predictions" / "sample-lexicalized.json").read_text(encoding="utf-8")
    words.write_text(said.replace("moderate", "cheap"), encoding="utf-8")
    arguments = ["ceiling", "-sg", "-i", str(words), "-o", "evaluation_results.json"]
    assert main(arguments) == 0
    tables = capsys.readouterr().out.split("\n\n")
    human = gold_predictions(gold, in_words=True)
    assert not any("[" in turn["response"] for turns in human.values() for turn in turns)
    alone = Evaluator(grounded=True, corpus="sample", responses="lexicalized").evaluate(human)
    values = {(score.name, score.scope): score for score in alone.scores}

    ceiling = read_json(elsewhere / "evaluation_results.json")["meta"]["ceiling"]
    assert ceiling["grounded"] == json.loads(json.dumps(alone.metrics["grounded"]))
    classic = Evaluator(success=True, corpus="sample").evaluate(gold_predictions(gold))
    assert ceiling["success"] == json.loads(json.dumps(classic.metrics["success"]))

    # Rates by domain have it below, those of many slots beside.
    by_domain = next(table.splitlines() for table in tables if "Grounded Inform" in table)
    place = next(i for i, line in enumerate(by_domain) if line.startswith("Grounded Success"))
    scopes = by_domain[0].split()
    expected = [f"{values['grounded_success', scope].value:.1f}" for scope in scopes]
    assert by_domain[place + 1].split() == ["ceiling", *expected]
    for name in ("Hallucination", "Consistency"):
        header, *rows = next(t.splitlines() for t in tables if t.split()[0] == name)
        assert header.split() == [name, "ceiling", "n"]
        shown = {row.split()[0]: row.split()[2] for row in rows}
        assert {scope: f"{values[name.lower(), scope].value:.1f}" for scope in shown} == shown
    assert any(row.split()[1] != row.split()[2] for row in rows)

    assert main([*arguments, "-f", "csv"]) == 0
    for row in csv.DictReader(io.StringIO(capsys.readouterr().out)):
        if "grounded" in row["score"] or row["score"] in ("hallucination", "consistency"):
            assert float(row["ceiling"]) == values[row["score"], row["scope"]].value
