"""Sheets, explanations and data frames are complete and valid in each format."""

from __future__ import annotations

import csv
import io
import json
import math
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from textwrap import wrap
from typing import Any
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mwzeval.benchmark import benchmark_named
from mwzeval.comparison import Comparison, compare
from mwzeval.comparison.comparison import comparison_document
from mwzeval.errors import DependencyError, UsageError
from mwzeval.metrics.measure import Resampling
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.scores.explanation import (
    Explanation,
    Fact,
    Reason,
    TurnView,
    Utterance,
    against_text,
    compared_failures,
    count_outcomes,
    explanation_text,
    histogram_text,
    listing_text,
)
from mwzeval.scores.report import Report, summary
from mwzeval.scores.score import WHOLE, Score, Signature
from mwzeval.scores.sheets import (
    BETTER,
    BOLD,
    PLAIN,
    WORSE,
    Cell,
    Document,
    Look,
    output_look,
    printed,
    render,
    sheet,
    to_html,
    to_text,
)
from mwzeval.scores.table import Table
from mwzeval.text import CLOSING, OPENING, broken, cut, padded, to_json, width_of
from tests.command_lines import parser_of
from tests.places import ROOT, SAMPLE_SYSTEMS, sample_predictions
from tests.report.systems import conversation
from tests.samples import NAMES, write_sample
from tests.tables import present

HOSTILE = r"50% & $x_1$ #1 {a} ~b ^c \d <script>|`*_[x](y) — † 漢"


@pytest.fixture(scope="module")
def report() -> Report:
    evaluator = Evaluator(True, True, True, True, corpus="sample", confidence=0.95, samples=50)
    return evaluator.evaluate(sample_predictions("good"))


def hostile_document() -> Document:
    rows: list[list[Cell | str]] = [[Cell(HOSTILE, best=True, mark="†"), HOSTILE]]
    value = [{"low": 0.0, "count": 3}, {"low": 0.5, "text": "ü"}]
    first = {"name": HOSTILE, "value": 1.5, "more": None}
    records = (first, {"name": 'a "b", c\nd', "more": value})
    return Document((HOSTILE,), (sheet(HOSTILE, [HOSTILE, "x"], rows),), (HOSTILE,), records, {})


@pytest.mark.parametrize(
    ("system", "confidence"),
    [
        ("good", 0.9),
        ("lexicalized", None),
        *(pytest.param(s, None, marks=pytest.mark.integration) for s in SAMPLE_SYSTEMS[:-1]),
    ],
)
def test_json_reports_conform_to_the_schema(system: str, confidence: float | None) -> None:
    schema = json.loads((ROOT / "mwzeval" / "report" / "schema.json").read_text())
    evaluator = Evaluator(True, True, True, True, corpus="sample", confidence=confidence)
    plain = json.loads(json.dumps(evaluator.evaluate(sample_predictions(system)).to_dict()))
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    assert [error.message for error in validator.iter_errors(plain)] == []
    plain["dst"] = "none"
    assert not validator.is_valid(plain)


def test_tables_keep_their_columns_with_hostile_cell_texts() -> None:
    document = hostile_document()
    table = [line for line in render(document, "markdown").splitlines() if line.startswith("| ")]
    assert len(table) == 3
    unescaped = [line.replace("\\\\", "").replace("\\|", "") for line in table]
    assert all(line.count("|") == 3 for line in unescaped)
    assert "\\<script" in table[2]

    rows = list(csv.DictReader(io.StringIO(render(document, "csv"))))
    assert [row["name"] for row in rows] == [HOSTILE, 'a "b", c\nd']
    assert [row["value"] for row in rows] == ["1.5", ""]
    assert rows[0]["more"] == ""
    assert json.loads(rows[1]["more"]) == document.records[1]["more"]


@pytest.mark.integration
def test_latex_output_compiles(report: Report, tmp_path: Path) -> None:
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
def test_colours_are_used_on_terminals_or_on_request(
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


def test_best_scores_and_significant_differences_are_highlighted() -> None:
    text = to_text(DOCUMENT, Look(colours=True, width=80))
    styled = {"\x1b[1m93.5*\x1b[0m", "\x1b[32m+1.5\x1b[0m", "\x1b[31m-50.0\x1b[0m"}
    assert styled <= set(text.split())
    assert "\x1b[33mcaution: these are few\x1b[0m" in text
    assert "  37.1†" in text
    wide = STYLE.sub("", to_text(DOCUMENT, Look(colours=True, width=200)))
    assert wide.split() == to_text(DOCUMENT).split()


@pytest.mark.parametrize("width", [18, 26, 80])
def test_tables_fit_the_width_without_splitting_numbers(width: int) -> None:
    text = to_text(DOCUMENT, Look(width=width))
    assert all(len(line) <= width for line in text.splitlines())
    for row in ROWS:
        for cell in row[1:]:
            line = next(line for line in text.splitlines() if cell.text in line)
            assert line.startswith((row[0].text, "餐馆")) or not cell.text
    assert text.count("\nours") == text.count("\ntheirs")


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
def test_texts_are_truncated_and_padded_by_display_width(text: str, width: int, shown: str) -> None:
    assert cut(text, width) == shown
    assert padded(shown, width + 1) == shown + " " * (width + 1 - width_of(shown))
    assert padded(shown, 1) == shown


def test_wide_characters_take_two_columns_and_marks_stay_attached() -> None:
    widths = {"": 0, "abc": 3, "餐馆": 4, "a餐b": 4, "“餐”": 4, "ｶ": 1, "e\u0301": 1}
    assert {text: width_of(text) for text in widths} == widths
    assert broken("他说：“可以。”", 7) == ["他说：", "“可", "以。”"]


@given(st.text(alphabet="ab -,.\n\t", max_size=200), st.integers(10, 40))
def test_latin_text_is_wrapped_like_textwrap(text: str, width: int) -> None:
    assert broken(text, width, "  ", "    ") == wrap(
        text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
    )


@given(MIXED, st.integers(10, 40))
def test_wrapped_text_fits_the_width_and_keeps_all_characters(text: str, width: int) -> None:
    lines = broken(text, width, "  ")
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(line.startswith("  ") for line in lines)
    longest = max(map(width_of, lines), default=0)
    # Lines are not broken between a character and its punctuation, so such pairs may be longer.
    if not any(a in OPENING or b in CLOSING for a, b in pairwise(text)):
        assert longest <= width


def test_explanations_show_calls_before_responses_and_goal_progress() -> None:
    text = explanation_text(conversation(is_won=False))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "books hotel: 2 people, 3 nights from monday ✗ never" in lines
    assert "asks hotel: phone ✓ turn 0" in lines
    assert "asks hotel: entrance fee – could not be met" in lines
    first = lines.index("Turn 0")
    assert [line.split()[0] for line in lines[first + 1 : first + 3]] == ["user", "call"]
    assert 'failed {"error": "there is no hotel \\"the loge\\""}' in lines
    assert "✓ hotel, asks: phone" in lines
    assert lines.index("✓ hotel, asks: phone") < lines.index("✗ Turn 1")


LOST, WON = conversation(is_won=False), conversation(is_won=True)


PAIRS = [(LOST, WON)]
BOTH = (("ours", "theirs"), "1 dialogue", count_outcomes(PAIRS), compared_failures(PAIRS))
TEXTS: dict[str, Callable[[Look], str]] = {
    "full": lambda look: explanation_text(LOST, look=look),
    "listing": lambda look: listing_text([LOST], look),
    "histogram": lambda look: histogram_text([LOST], {"never-gave": "It is not given."}, look),
    "against": lambda look: against_text(*BOTH, look),
}


@pytest.mark.parametrize("name", TEXTS)
def test_colours_and_narrow_terminals_do_not_change_the_text(name: str) -> None:
    plain, coloured = TEXTS[name](PLAIN), TEXTS[name](Look(colours=True))
    assert f"\x1b[{BOLD}m" in coloured
    assert STYLE.sub("", coloured) == plain
    assert "\x1b" not in plain
    for width in (40, 80):
        narrow = TEXTS[name](Look(width=width))
        assert max(map(len, narrow.splitlines())) <= width
        # Only listings truncate sentences to the width.
        assert name == "listing" or set(plain.split()) <= set(narrow.split())


def test_listings_show_full_reasons_without_a_width_limit() -> None:
    assert LOST.reasons
    for reason in LOST.reasons:
        assert reason.text in listing_text([LOST])
        assert reason.text not in listing_text([LOST], Look(width=40))


REASONS = (
    Reason("wrong-constraint:酒店类型", "inform", "酒店", 0, "“石桥客栈” has “高档型”"),
    Reason("no-venue", "inform", "attraction", 0, "no venue was named"),
)
TURN = TurnView(
    (Utterance("user", "我要的酒店评分得是4.5分以上，" * 8),), (Fact("系统行为", "推荐", "酒店"),)
)
CHINESE = Explanation("1", {WHOLE: {"inform": False}}, (), (TURN,), REASONS)


@pytest.mark.parametrize("width", [None, 60])
def test_chinese_text_is_wrapped_and_its_columns_are_aligned(width: int | None) -> None:
    lines = explanation_text(CHINESE, look=Look(width=width)).splitlines()
    assert max(map(width_of, lines)) <= (width or 96)
    (fact,) = [line for line in lines if "推荐" in line]
    (said,) = [line for line in lines if "user" in line]
    assert width_of(fact.partition("酒店:")[0]) == width_of(said.partition("我")[0])
    _, first, second = listing_text([CHINESE]).splitlines()
    for above, below in (("“石桥客栈”", "no venue was named"), ("wrong-constraint", "no-venue")):
        assert width_of(first.partition(above)[0]) == width_of(second.partition(below)[0]) > 0


MARKUP = "<script>alert(1)</script>`&\"'\x1b[31m"


@pytest.fixture(scope="module")
def pandas() -> Any:
    return pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    evaluator = Evaluator(True, True, True, corpus="sample")
    systems = {name: sample_predictions(name) for name in ("good", "no-phone")}
    scored = {name: evaluator.score(outputs).scored_table for name, outputs in systems.items()}
    return compare(scored, resampling=Resampling(0.95, 100, 1))


def plain(frame: Any) -> list[dict[str, Any]]:
    """Return the rows with None for missing values, as in JSON."""
    rows = frame.astype(object).to_dict("records")
    return [
        {name: None if value is None or value != value else value for name, value in row.items()}
        for row in json.loads(json.dumps(rows, default=lambda missing: None))
    ]


@pytest.mark.usefixtures("pandas")
@pytest.mark.parametrize("name", NAMES)
def test_reports_of_every_benchmark_have_frames_tables_and_a_name(
    name: str, tmp_path: Path
) -> None:
    sample = write_sample(name, tmp_path)
    command = ["-i", sample.better, "--benchmark", name]
    arguments = parser_of("evaluate", command).parse_args(command)
    report = benchmark_named(name).scorer(arguments).score(sample.better).report()
    assert report.benchmark == name
    assert plain(report.to_frame()) == report.to_dict()["meta"]["scores"]
    assert len(report.table.to_frame()) == len(report.table.units)
    # Otherwise a score in percent would actually be a share from 0 to 1.
    assert not [s.name for s in report.scores if s.unit == "%" and 0 < s.value <= 1]
    assert report._repr_html_() == to_html(summary(report))


def test_report_dicts_equal_the_written_json(report: Report) -> None:
    written = report.to_dict()
    assert json.loads(to_json(written)) == written
    assert list(written) == ["schema", *report.metrics, "meta"]
    assert written["meta"]["signatures"] == {s.name: str(s.signature) for s in report.scores}
    copy = pickle.loads(pickle.dumps(report))
    assert copy.to_dict() == written
    assert copy.scores == report.scores
    for use in (lambda: report["bleu"], lambda: "bleu" in report, lambda: dict(report)):  # type: ignore[call-overload,operator]
        with pytest.raises(TypeError, match="to_dict"):
            use()


def test_scores_of_a_report_are_found_by_name(report: Report) -> None:
    assert [report.score(score.name, score.scope) for score in report.scores] == [*report.scores]
    assert report.score("inform", "hotel").value == report.metrics["success"]["inform"]["hotel"]
    with pytest.raises(KeyError, match=r"infrom .*inform"):
        report.score("infrom")
    with pytest.raises(KeyError, match=r"inform of hotell .*hotel"):
        report.score("inform", "hotell")


def test_flat_score_names_contain_benchmark_part_and_interval_end(report: Report) -> None:
    odd = replace(report.scores[0], name="a^b", value=math.nan, interval=None)
    scores = (*report.scores, odd, replace(odd, name="a*b", value=1 / 3))
    flat = replace(report, scores=scores).flat()
    assert len(flat) == 3 * len(report.scores) + 2
    inform = report.score("inform", "hotel")
    interval = present(inform.interval)
    for end, value in (("", inform.value), ("_low", interval.low), ("_high", interval.high)):
        assert flat[f"multiwoz/inform.hotel{end}"] == value
    assert math.isnan(flat["multiwoz/a_b"])
    assert flat["multiwoz/a_b_"] == 1 / 3
    assert {type(value) for value in flat.values()} == {float}
    dev = report.flat("dev/a^b/")
    assert {name.replace("dev/a_b/", "multiwoz/") for name in dev} == set(report.flat())
    with pytest.raises(UsageError, match="flat"):
        report.log_to("wandb")


def test_printed_results_match_the_command_line_output(
    report: Report, comparison: Comparison
) -> None:
    document = comparison_document(comparison)
    assert f"{report}\n" == to_text(summary(report))
    assert f"{comparison}\n" == to_text(document)
    assert comparison._repr_html_() == to_html(document)
    assert "\n" not in repr(report)
    assert len(repr(report)) < 400
    assert len(repr(report.table)) < 100


@pytest.mark.usefixtures("pandas")
def test_frames_have_the_same_column_types_with_missing_values(
    report: Report, comparison: Comparison
) -> None:
    without = Evaluator(success=True, corpus="sample").evaluate(sample_predictions("good"))
    assert without.to_frame()["low"].isna().all()
    types = report.to_frame().dtypes
    assert (without.to_frame().dtypes == types).all()
    assert types[["value", "low", "n"]].astype(str).to_list() == ["float64", "float64", "Int64"]

    frame = comparison.to_frame()
    records = json.loads(json.dumps(comparison_document(comparison).records))
    assert plain(frame) == records
    assert list(frame.columns) == list(records[0])

    frame = report.table.to_frame()
    assert list(frame.columns) == ["unit", *report.table.columns]
    assert tuple(frame["unit"]) == report.table.units
    assert np.array_equal(frame[list(report.table.columns)].to_numpy(), report.table.values)
    frame.iloc[0, 1] += 1
    assert frame.iloc[0, 1] != report.table.values[0, 0], "the data frame is a copy"


def test_missing_pandas_errors_name_the_extra(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(DependencyError, match=r"mwzeval\[frames\]"):
        report.to_frame()


def rows(shown: str) -> list[list[str]]:
    """Return the texts of the cells; fails if the HTML is not well-formed."""
    found = ElementTree.fromstring(shown).iter("tr")
    return [["".join(cell.itertext()) for cell in row] for row in found]


def test_notebooks_show_the_ends_and_the_size_of_large_tables() -> None:
    columns = tuple(f"c{number}" for number in range(20))
    table = Table(tuple(f"u{n}" for n in range(50)), columns, np.arange(1000.0).reshape(50, 20))
    shown = table._repr_html_()
    assert "50 rows × 20 columns" in shown
    names = [f"u{n}" for n in range(50)]
    assert [row[0] for row in rows(shown)] == ["unit", *names[:5], "…", *names[45:]]
    assert rows(shown)[1] == ["u0", "0", "1", "2", "3", "4", "…", "15", "16", "17", "18", "19"]
    small = Table.from_rows(("a",), [("x", {"a": 0.5})])
    assert rows(small._repr_html_()) == [["unit", "a"], ["x", "0.5"]]


def test_notebook_html_contains_only_table_tags(report: Report, comparison: Comparison) -> None:
    hostile = Score(MARKUP, MARKUP, math.pi, 1, Signature.of(MARKUP, {"a": MARKUP}))
    table = Table.from_rows((MARKUP,), [(MARKUP, {MARKUP: 1})])
    meta = {**report.meta, "corpus": MARKUP, "note": MARKUP}
    of_hostile = Report({}, (hostile,), table, (), meta, "multiwoz")
    for result in (of_hostile, table, report, comparison):
        shown = result._repr_html_()
        root = ElementTree.fromstring(shown)
        tags = {element.tag for element in root.iter()}
        assert tags <= {"div", "p", "br", "table", "caption", "tr", "th", "td", "b", "code"}
        assert not any(element.attrib for element in root.iter())
        assert "\x1b" not in shown
        if result in (of_hostile, table):
            assert MARKUP[1:7] in "".join(root.itertext())
    assert "<b>" in comparison._repr_html_()
