"""Frames and tables in notebooks: the numbers of the JSON and the text, and nothing else."""

from __future__ import annotations

import json
import math
import pickle
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from mwzeval.benchmark import benchmark_named
from mwzeval.comparison import Comparison, compare
from mwzeval.comparison.comparison import comparison_document
from mwzeval.errors import DependencyError, UsageError
from mwzeval.metrics.measure import Resampling
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.scores.report import Report, summary
from mwzeval.scores.score import Score, Signature
from mwzeval.scores.sheets import to_html, to_text
from mwzeval.scores.table import Table
from mwzeval.text import to_json
from tests.command_lines import parser_of
from tests.places import sample_predictions
from tests.samples import NAMES, write_sample

HOSTILE = "<script>alert(1)</script>`&\"'\x1b[31m"


@pytest.fixture(scope="module")
def pandas() -> Any:
    return pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def report() -> Report:
    evaluator = Evaluator(True, True, True, corpus="sample", confidence=0.95, samples=50)
    return evaluator.evaluate(sample_predictions("good"))


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    evaluator = Evaluator(True, True, True, corpus="sample")
    systems = {name: sample_predictions(name) for name in ("good", "no-phone")}
    scored = {name: evaluator.score(of).scored_table for name, of in systems.items()}
    return compare(scored, resampling=Resampling(0.95, 100, 1))


def plain(frame: Any) -> list[dict[str, Any]]:
    """Return the rows as JSON has them: None for what is missing."""
    rows = frame.astype(object).to_dict("records")
    return [
        {name: None if value is None or value != value else value for name, value in row.items()}
        for row in json.loads(json.dumps(rows, default=lambda missing: None))
    ]


@pytest.mark.usefixtures("pandas")
@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_has_frames_tables_and_a_name(name: str, tmp_path: Path) -> None:
    sample = write_sample(name, tmp_path)
    command = ["-i", sample.better, "--benchmark", name]
    arguments = parser_of("evaluate", command).parse_args(command)
    report = benchmark_named(name).scorer(arguments).score(sample.better).report()
    assert report.benchmark == name
    assert plain(report.to_frame()) == report.to_dict()["meta"]["scores"]
    assert len(report.table.to_frame()) == len(report.table.units)
    # A share from 0 to 1 is not in percent.
    assert not [s.name for s in report.scores if s.unit == "%" and 0 < s.value <= 1]
    assert report._repr_html_() == to_html(summary(report))


def test_a_report_has_the_dict_that_is_written_as_json(report: Report) -> None:
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
    assert [report.score(each.name, each.scope) for each in report.scores] == [*report.scores]
    assert report.score("inform", "hotel").value == report.metrics["success"]["inform"]["hotel"]
    for name, scope, meant in (
        ("infrom", "total", "infrom .*inform"),
        ("inform", "hotell", "inform of hotell .*hotel"),
    ):
        with pytest.raises(KeyError, match=meant):
            report.score(name, scope)


def test_flat_names_have_the_benchmark_the_part_and_the_ends_of_intervals(report: Report) -> None:
    odd = replace(report.scores[0], name="a^b", value=math.nan, interval=None)
    scores = (*report.scores, odd, replace(odd, name="a*b", value=1 / 3))
    flat = replace(report, scores=scores).flat()
    assert len(flat) == 3 * len(report.scores) + 2
    inform = report.score("inform", "hotel")
    assert inform.interval
    assert flat["multiwoz/inform.hotel"] == inform.value
    assert flat["multiwoz/inform.hotel_low"] == inform.interval.low
    assert flat["multiwoz/inform.hotel_high"] == inform.interval.high
    assert math.isnan(flat["multiwoz/a_b"])
    assert flat["multiwoz/a_b_"] == 1 / 3
    assert {type(value) for value in flat.values()} == {float}
    dev = report.flat("dev/a^b/")
    assert {name.replace("dev/a_b/", "multiwoz/") for name in dev} == set(report.flat())
    with pytest.raises(UsageError, match="flat"):
        report.log_to("wandb")


def test_results_are_shown_as_the_command_line_prints_them(
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
def test_frames_have_records_with_the_same_types_whatever_is_missing(
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
    assert frame.iloc[0, 1] != report.table.values[0, 0], "a frame is a copy"


def test_without_pandas_the_extra_is_named(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(DependencyError, match=r"mwzeval\[frames\]"):
        report.to_frame()


def rows(shown: str) -> list[list[str]]:
    """Return the texts of cells; the HTML has to be well-formed."""
    found = ElementTree.fromstring(shown).iter("tr")
    return [["".join(cell.itertext()) for cell in row] for row in found]


def test_notebooks_show_the_ends_of_a_large_table_and_say_how_large_it_is() -> None:
    columns = tuple(f"c{number}" for number in range(20))
    table = Table(tuple(f"u{n}" for n in range(50)), columns, np.arange(1000.0).reshape(50, 20))
    shown = table._repr_html_()
    assert "50 rows × 20 columns" in shown
    assert [row[0] for row in rows(shown)] == ["unit", *(f"u{n}" for n in range(5)), "…"] + [
        f"u{n}" for n in range(45, 50)
    ]
    assert rows(shown)[1] == ["u0", "0", "1", "2", "3", "4", "…", "15", "16", "17", "18", "19"]
    small = Table.from_rows(("a",), [("x", {"a": 0.5})])
    assert rows(small._repr_html_()) == [["unit", "a"], ["x", "0.5"]]


def test_what_notebooks_show_has_tags_of_tables_only(
    report: Report, comparison: Comparison
) -> None:
    hostile = Score(HOSTILE, HOSTILE, math.pi, 1, Signature.of(HOSTILE, {"a": HOSTILE}))
    table = Table.from_rows((HOSTILE,), [(HOSTILE, {HOSTILE: 1})])
    meta = {**report.meta, "corpus": HOSTILE, "note": HOSTILE}
    of_hostile = Report({}, (hostile,), table, (), meta, "multiwoz")
    for result in (of_hostile, table, report, comparison):
        shown = result._repr_html_()
        root = ElementTree.fromstring(shown)
        tags = {element.tag for element in root.iter()}
        assert tags <= {"div", "p", "br", "table", "caption", "tr", "th", "td", "b", "code"}
        assert not any(element.attrib for element in root.iter())
        assert "\x1b" not in shown
        if result in (of_hostile, table):
            assert HOSTILE[1:7] in "".join(root.itertext())
    best = list(ElementTree.fromstring(comparison._repr_html_()).iter("b"))
    assert best
