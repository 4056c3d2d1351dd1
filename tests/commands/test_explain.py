"""`mwzeval explain`: one dialogue in full, lists of dialogues, the histogram of a file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mwzeval.cli import main
from tests.places import ROOT

WEAK = str(ROOT / "predictions" / "sample-weak-tracker.json")
GOOD = str(ROOT / "predictions" / "sample-good.json")


def explained(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["explain", *arguments]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(explained(capsys, *arguments, "-f", "json"))


def test_a_lost_dialogue_is_told_turn_by_turn(capsys: pytest.CaptureFixture[str]) -> None:
    (worst,) = as_json(capsys, WEAK, "--worst", "1")
    full = as_json(capsys, WEAK, worst["unit"])
    shown = explained(capsys, WEAK, worst["unit"])
    assert shown.startswith(worst["unit"])
    assert {key: full[key] for key in worst} == worst
    assert full["goal"]
    assert full["turns"]
    for turn in range(len(full["turns"])):
        lost = turn in [reason["turn"] for reason in full["reasons"]]
        assert f"\n{'✗' if lost else ' '} Turn {turn}\n" in shown
    for reason in full["reasons"]:
        assert f"✗ {reason['scope']}, {reason['outcome']}: {reason['code']}" in shown
        assert reason["text"] in " ".join(shown.split())
    for turn in full["turns"]:
        for utterance in turn["utterances"]:
            assert " ".join(utterance["text"].split()) in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= 100


def test_a_dialogue_that_lost_nothing_has_no_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    fine = "smp0021"
    assert as_json(capsys, GOOD, fine)["reasons"] == []
    assert "✗" not in explained(capsys, GOOD, fine)


def test_the_histogram_counts_dialogues(capsys: pytest.CaptureFixture[str]) -> None:
    counted = as_json(capsys, WEAK)
    listed = as_json(capsys, WEAK, "--worst", "1000")
    assert counted["dialogues"] == 62
    assert counted["lost"] == len(listed)
    for entry in counted["reasons"]:
        pair = (entry["code"], entry["scope"])
        having = [u for u in listed if pair in [(r["code"], r["scope"]) for r in u["reasons"]]]
        assert entry["dialogues"] == len(having)
    shown = explained(capsys, WEAK)
    assert shown.startswith(f"{counted['lost']} of 62 were lost: ")
    (line,) = [line for line in shown.splitlines() if line.startswith("missing-constraint ")]
    of_kind = [u for u in listed if any("missing-c" in r["code"] for r in u["reasons"])]
    assert line.split()[-3:] == [
        str(len(of_kind)),
        f"{100 * len(of_kind) / len(listed):.1f}",
        "%",
    ]


def test_the_worst_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    listed = as_json(capsys, WEAK, "--worst", "5")
    badness = [
        (len({r["scope"] for r in unit["reasons"]}), len(unit["reasons"])) for unit in listed
    ]
    assert len(listed) == 5
    assert badness == sorted(badness, reverse=True)
    shown = explained(capsys, WEAK, "--worst", "5").splitlines()
    assert [line for line in shown if not line.startswith(" ")] == [u["unit"] for u in listed]
    assert len(shown) == 5 + sum(reasons for _, reasons in badness)
    assert max(map(len, shown)) <= 100


def test_a_reason_lists_its_dialogues(capsys: pytest.CaptureFixture[str]) -> None:
    everything = as_json(capsys, WEAK, "--worst", "1000")
    for asked in ("missing-constraint", "missing-constraint:area"):
        listed = as_json(capsys, WEAK, "--reason", asked)
        having = {
            unit["unit"]
            for unit in everything
            if any(r["code"] == asked or r["code"].startswith(asked + ":") for r in unit["reasons"])
        }
        assert having
        assert {unit["unit"] for unit in listed} == having
    assert len(as_json(capsys, WEAK, "--reason", "missing-constraint", "--worst", "2")) == 2
    assert explained(capsys, WEAK, "--reason", "unsatisfiable-goal") == ""


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        ([WEAK, "smp1"], ['no dialogue "smp1"', "smp0"]),
        ([WEAK, "smp002"], ['no dialogue "smp002"', "did you mean"]),
        ([WEAK, "SMP0021.json"], ['did you mean "smp0021"?']),
        (
            [WEAK, "--reason", "wrong-constrain"],
            ['did you mean "wrong-constraint', "in this file: "],
        ),
        (
            [WEAK, "--reason", "never-gave:fone"],
            ['unknown reason "never-gave:fone"', "did you mean"],
        ),
        ([WEAK, "--reason", ":area"], ['unknown reason ":area"', "missing-constraint:area"]),
        ([WEAK + "x"], ["cannot be read"]),
        ([WEAK, "--corpus", "multiwoz"], ["unknown corpus"]),
    ],
)
def test_what_is_not_there_is_named(
    capsys: pytest.CaptureFixture[str], arguments: list[str], messages: list[str]
) -> None:
    assert main(["explain", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    for message in messages:
        assert message in shown.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "INPUT"),
        ([WEAK, "--worst", "0"], "1 or more"),
        ([WEAK, "--worst", "many"], "1 or more"),
        ([WEAK, "smp0001", "--worst", "3"], "leave out DIALOGUE"),
        ([WEAK, "smp0001", "--reason", "no-state"], "leave out DIALOGUE"),
        ([WEAK, "-f", "html"], "invalid choice"),
    ],
)
def test_bad_use_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["explain", *arguments])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_control_characters_do_not_reach_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    evil = "\x1b[31m\nx"
    turn = {"response": f"[restaurant_name] {evil}", "state": {evil: {evil: evil}}}
    turn["active_domains"] = [evil]
    file = tmp_path / "evil.json"
    file.write_text(json.dumps({"smp0021": [turn]}))
    for arguments in (["smp0021"], [], ["--worst", "1"]):
        assert main(["explain", str(file), *arguments]) == 0
        assert "\x1b" not in capsys.readouterr().out


def test_warnings_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(ROOT / "predictions" / "sample-lexicalized.json")]) == 0
    shown = capsys.readouterr()
    assert "warning: " in shown.err
    assert "no-venue-offered" in shown.out
