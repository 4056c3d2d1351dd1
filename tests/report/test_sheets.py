"""Sheets in every format and on terminals: nothing lost, nothing that breaks the format."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from textwrap import wrap

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.scores.report import Report, summary
from mwzeval.scores.sheets import (
    BETTER,
    PLAIN,
    WORSE,
    Cell,
    Document,
    Look,
    output_look,
    printed,
    render,
    sheet,
    to_text,
)
from mwzeval.text import CLOSING, OPENING, broken, cut, padded, width_of
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


def test_tables_keep_their_columns_whatever_the_cells_hold() -> None:
    document = hostile_document()
    table = [line for line in render(document, "markdown").splitlines() if line.startswith("| ")]
    assert len(table) == 3
    unescaped = [line.replace("\\\\", "").replace("\\|", "") for line in table]
    assert all(line.count("|") == 3 for line in unescaped)
    assert "\\<script" in table[2]

    value = [{"low": 0.0, "count": 3}, {"low": 0.5, "text": "ü"}]
    document = replace(document, records=(*document.records, {"more": value}))
    rows = list(csv.DictReader(io.StringIO(render(document, "csv"))))
    assert [row["name"] for row in rows] == [HOSTILE, 'a "b", c\nd', ""]
    assert rows[1]["value"] == ""
    assert json.loads(rows[2]["more"]) == value


@pytest.mark.integration
def test_latex_compiles(report: Report, tmp_path: Path) -> None:
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not installed: LaTeX output is not compiled (texlive-latex-base)")
    body = "".join(render(document, "latex") for document in (summary(report), hostile_document()))
    source = (
        rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{body}\end{{document}}"
    )
    (tmp_path / "table.tex").write_text(source, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-1500:]
    assert (tmp_path / "table.pdf").read_bytes().startswith(b"%PDF")


STYLE = re.compile("\x1b\\[[0-9;]*m")
ROWS = [
    [Cell("ours"), Cell("93.5", best=True), Cell("+1.5", tone=BETTER), Cell("餐馆")],
    [Cell("theirs"), Cell("37.1", mark="†"), Cell("-50.0", tone=WORSE), Cell("")],
]
DOCUMENT = Document(
    heading=("two systems, on as many dialogues as there are", "caution: these are few"),
    sheets=(sheet("Inform (n = 62)", ["", "score", "difference", "domain"], ROWS),),
    notes=("p: two-sided", "inform|rev:3"),
    records=(),
    plain={"n": 2},
    signatures=("inform|rev:3",),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("is_terminal", "given", "colours"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": ""}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (False, {}, False),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"CLICOLOR_FORCE": "1"}, True),
        (False, {"FORCE_COLOR": "0", "CLICOLOR_FORCE": "0"}, False),
    ],
)
def test_colours_are_for_terminals_and_for_those_who_want_them(
    is_terminal: bool, given: Mapping[str, str], colours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", "COLUMNS": "70", **given}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", Terminal() if is_terminal else io.StringIO())
    assert output_look() == Look(colours, 70 if is_terminal else None)
    text = printed(DOCUMENT, "text")
    assert bool(STYLE.search(text)) == colours
    assert "\x1b" not in printed(DOCUMENT, "json")


def test_the_best_and_what_is_significant_stand_out() -> None:
    text = to_text(DOCUMENT, Look(colours=True, width=80))
    styled = {"\x1b[1m93.5*\x1b[0m", "\x1b[32m+1.5\x1b[0m", "\x1b[31m-50.0\x1b[0m"}
    assert styled <= set(text.split())
    assert "\x1b[33mcaution: these are few\x1b[0m" in text
    assert "  37.1†" in text
    wide = STYLE.sub("", to_text(DOCUMENT, Look(colours=True, width=200)))
    assert wide.split() == to_text(DOCUMENT).split()


@pytest.mark.parametrize("width", [18, 26, 80])
def test_tables_fit_and_no_number_is_broken(width: int) -> None:
    text = to_text(DOCUMENT, Look(width=width))
    assert all(len(line) <= width for line in text.splitlines())
    for row in ROWS:
        for cell in row[1:]:
            line = next(line for line in text.splitlines() if cell.text in line)
            assert line.startswith((row[0].text, "餐馆")) or not cell.text
    assert text.count("\nours") == text.count("\ntheirs")


def test_a_line_stands_for_signatures() -> None:
    short = to_text(DOCUMENT, Look(width=80), signatures=False)
    assert "1 signature" in short
    assert "rev:3" not in short
    assert "rev:3" in to_text(DOCUMENT, Look(width=80))
    assert to_text(Document((), (), ("a",), (), {}), PLAIN, signatures=False) == "a\n"


MIXED = st.text(alphabet="ab ,.（，“”酒店価格ｶカé\u0301-", max_size=200)


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("餐馆酒店", 8, "餐馆酒店"),
        ("餐馆酒店", 7, "餐馆酒…"),
        ("餐馆酒店", 6, "餐馆…"),
        ("a\x1b[2J", 20, "a\\x1b[2J"),
    ],
)
def test_texts_are_cut_and_padded_by_columns(text: str, width: int, shown: str) -> None:
    assert cut(text, width) == shown
    assert padded(shown, width + 1) == shown + " " * (width + 1 - width_of(shown))
    assert padded(shown, 1) == shown


def test_wide_characters_are_two_columns_and_marks_stay_with_their_character() -> None:
    widths = {"": 0, "abc": 3, "餐馆": 4, "a餐b": 4, "“餐”": 4, "ｶ": 1, "e\u0301": 1}
    assert {text: width_of(text) for text in widths} == widths
    assert broken("他说：“可以。”", 7) == ["他说：", "“可", "以。”"]


@given(st.text(alphabet="ab -,.\n\t", max_size=200), st.integers(10, 40))
def test_latin_words_are_broken_as_usual(text: str, width: int) -> None:
    assert broken(text, width, "  ", "    ") == wrap(
        text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
    )


@given(MIXED, st.integers(10, 40))
def test_no_line_is_too_wide_and_none_of_the_text_is_lost(text: str, width: int) -> None:
    lines = broken(text, width, "  ")
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(line.startswith("  ") for line in lines)
    longest = max(map(width_of, lines), default=0)
    # Marks that stand together with a character make it as long as a word.
    if not any(a in OPENING or b in CLOSING for a, b in pairwise(text)):
        assert longest <= width
