"""One document in every format: the same numbers, nothing lost, nothing that breaks the format."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.scores.explanation import Fact, TurnView, Utterance
from mwzeval.scores.report import Report, per_dialogue, summary
from mwzeval.scores.sheets import FORMATS, Cell, Document, render, sheet
from mwzeval.text import plain
from tests.places import ROOT, SAMPLE_SYSTEMS, sample_predictions

HOSTILE = r"50% & $x_1$ #1 {a} ~b ^c \d <script>|`*_[x](y) — † 漢"


@pytest.fixture(scope="module")
def report() -> Report:
    evaluator = Evaluator(True, True, True, True, corpus="sample", confidence=0.95)
    return evaluator.evaluate(sample_predictions("good"))


def hostile_document() -> Document:
    rows: list[list[Cell | str]] = [[Cell(HOSTILE, best=True, mark="†"), HOSTILE]]
    records = ({"name": HOSTILE, "value": 1.5}, {"name": 'a "b", c\nd', "more": None})
    return Document((HOSTILE,), (sheet(HOSTILE, [HOSTILE, "x"], rows),), (HOSTILE,), records, {})


@pytest.mark.parametrize(
    ("system", "confidence"),
    [
        ("good", 0.9),
        ("lexicalized", None),
        *(pytest.param(s, None, marks=pytest.mark.integration) for s in SAMPLE_SYSTEMS[:-1]),
    ],
)
def test_json_reports_are_as_the_schema_says(system: str, confidence: float | None) -> None:
    schema = json.loads((ROOT / "mwzeval" / "report" / "schema.json").read_text())
    evaluator = Evaluator(True, True, True, True, corpus="sample", confidence=confidence)
    plain = json.loads(json.dumps(evaluator.evaluate(sample_predictions(system)).to_dict()))
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    assert [error.message for error in validator.iter_errors(plain)] == []
    plain["dst"] = "none"
    assert not validator.is_valid(plain)


def test_long_forms_hold_every_score_unrounded(report: Report) -> None:
    document = summary(report)
    rows = list(csv.DictReader(io.StringIO(render(document, "csv"))))
    lines = [json.loads(line) for line in render(document, "jsonl").splitlines()]
    assert len(rows) == len(lines) == len(report.scores)
    for score, row, line in zip(report.scores, rows, lines, strict=True):
        assert (row["score"], row["scope"]) == (score.name, score.scope)
        assert float(row["value"]) == line["value"] == score.value
        assert score.interval is not None
        assert float(row["low"]) == line["low"] == score.interval.low
        assert row["signature"] == str(score.signature)


@pytest.mark.parametrize("name", ["text", "markdown", "latex"])
def test_tables_show_every_score_with_its_interval(report: Report, name: str) -> None:
    shown = render(summary(report), name).replace("--", "–")
    for score in report.scores:
        assert f"{score.value:.{score.places}f}" in shown
        assert score.interval is not None
        low, high = score.interval.low, score.interval.high
        assert f"{low:.{score.places}f}–{high:.{score.places}f}" in shown


def test_rows_of_dialogues_add_up_to_the_table(report: Report) -> None:
    lines = render(per_dialogue(report), "jsonl").splitlines()
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    assert [row["dialogue"] for row in rows] == list(report.table.units)
    sums = report.table.sums()
    assert {name: sum(row[name] for row in rows) for name in sums} == sums


def test_markdown_tables_keep_their_columns_whatever_the_cells_hold() -> None:
    lines = render(hostile_document(), "markdown").splitlines()
    table = [line for line in lines if line.startswith("| ")]
    assert len(table) == 3
    unescaped = [line.replace("\\\\", "").replace("\\|", "") for line in table]
    assert all(line.count("|") == 3 for line in unescaped)
    assert "\\<script" in table[2]


def test_csv_survives_quotes_and_line_breaks() -> None:
    rows = list(csv.DictReader(io.StringIO(render(hostile_document(), "csv"))))
    assert [row["name"] for row in rows] == [HOSTILE, 'a "b", c\nd']
    assert rows[1]["value"] == ""


def test_csv_holds_lists_and_mappings_as_json() -> None:
    value = [{"low": 0.0, "count": 3}, {"low": 0.5, "text": "ü"}]
    document = Document((), (), (), ({"bins": value},), {})
    (row,) = csv.DictReader(io.StringIO(render(document, "csv")))
    assert json.loads(row["bins"]) == value


def test_every_format_is_the_same_bytes_twice(report: Report) -> None:
    for name in FORMATS:
        assert render(summary(report), name) == render(summary(report), name)


@pytest.mark.integration
@pytest.mark.parametrize("document", ["scores", "hostile"])
def test_latex_compiles(report: Report, document: str, tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed: LaTeX output is not compiled (texlive-latex-base)")
    body = render(summary(report) if document == "scores" else hostile_document(), "latex")
    source = (
        rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{body}\end{{document}}"
    )
    (tmp_path / "table.tex").write_text(source, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-1500:]
    assert (tmp_path / "table.pdf").read_bytes().startswith(b"%PDF")


def test_what_is_explained_has_the_names_of_its_fields() -> None:
    turn = TurnView((Utterance("user", "Hi"),), (Fact("active", "hotel"),))
    assert plain({"turns": (turn,), "n": 1}) == {
        "turns": [
            {
                "utterances": [{"speaker": "user", "text": "Hi"}],
                "facts": [{"label": "active", "value": "hotel", "scope": None}],
                "claims": [],
                "calls": [],
            }
        ],
        "n": 1,
    }
