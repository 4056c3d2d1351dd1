"""The table of metrics has every score of a report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mwzeval.cli import main
from tests.places import ROOT

PAGE = (ROOT / "docs" / "every_metric.md").read_text(encoding="utf-8")
NAMES = set(re.findall(r"`([\w.@]+)`", "".join(re.findall(r"^\| (.*?) \|", PAGE, re.MULTILINE))))
PREFIX = re.compile(r"^(?:gold|copy_previous|ceiling)\.")
GENERAL = ((r"^bleu\.\w+", "bleu.SET"), (r"^dst\.exact\.", "dst.RULE."), (r"@(?!90)\d+", "@k"))


def general(name: str) -> str:
    """Return a score's name as the page has it."""
    name = PREFIX.sub("", name)
    for pattern, instead in GENERAL:
        name = re.sub(pattern, instead, name)
    return name


@pytest.mark.parametrize(
    "arguments",
    [
        ["-bsrd", "--dst-rule", "exact", "sample-good.json"],
        ["-g", "sample-lexicalized.json"],
        ["--benchmark", "crosswoz", "crosswoz-sample-dst.json"],
        ["--benchmark", "dstc7", "dstc7-overlap/Ubuntu_subtask_4.json"],
        ["--benchmark", "dstc7", "dstc7-overlap/Advising_subtask_3.json"],
        ["--benchmark", "dstc7", "--metric", "fscore", "dstc7-overlap/Ubuntu_subtask_1.json"],
        ["--benchmark", "crosswoz", "crosswoz-sample-nlu.json"],
        ["--benchmark", "crosswoz", "crosswoz-sample-policy.json"],
        ["--benchmark", "crosswoz", "crosswoz-sample-sim.json"],
        ["--benchmark", "crosswoz", "crosswoz-sample-nlg.json"],
        ["--benchmark", "crosswoz", "crosswoz-sample-e2e.json"],
        ["--benchmark", "crosswoz", "crosswoz-sample-simulation.jsonl"],
    ],
    ids=lambda arguments: "-".join(arguments[-2:]),
)
@pytest.mark.exhaustive(but=5)
def test_scores_of_files_are_in_the_table(arguments: list[str], tmp_path: Path) -> None:
    *options, file = arguments
    output = str(tmp_path / "report.json")
    assert main(["evaluate", *options, str(ROOT / "predictions" / file), "-q", "-o", output]) == 0
    report = json.loads(Path(output).read_text(encoding="utf-8"))
    scores = {general(score["score"]) for score in report["meta"]["scores"]}
    assert len(scores) >= 3
    assert scores - NAMES == set()


@pytest.mark.parametrize("level", ["words", "acts"])
def test_scores_of_live_dialogues_are_in_the_table(
    level: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--corpus", "sample", "--goals", "corpus:3", "--level", level, "-f", "json"]
    assert main(["live", "--agent", "rule-convlab", *options]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {general(score["score"]) for score in report["meta"]["scores"]} - NAMES == set()
