"""Output: escapes for terminals, JSON in every encoding, warnings, progress bars."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mwzeval import output
from mwzeval.cli import main
from mwzeval.crosswoz.simulation import Rate, Summary
from mwzeval.errors import DataError, InputError, Problem, UsageError, printable
from mwzeval.output import (
    PROGRESS_VARIABLE,
    counting,
    followed,
    notify,
    warning_lines,
    warnings_behind,
    write_result,
)
from mwzeval.scores.sheets import FORMATS, Document, render, sheet
from mwzeval.text import json_line, to_json
from tests.command_lines import Run
from tests.places import GOOD, write_json

pytestmark = pytest.mark.usefixtures("elsewhere")

EVIL = "a\x1b[31m\nerror: b\u202ec\x9bd\re\u2028f\ud800"
SHOWN = r"a\x1b[31m\nerror: b\u202ec\x9bd\re\u2028f\ud800"
LEGITIMATE = "北京饭店　é café 👩‍💻 naïve ½ — עברית"
OBEYED = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def document(name: str) -> Document:
    record = {"system": name, "value": -1.5}
    rows = [[name, "1"], ["other", "2"]]
    return Document((name,), (sheet(name, ["", name], rows),), (name,), (record,), record)


def test_printable_escapes_only_control_and_invisible_characters() -> None:
    assert printable(EVIL) == SHOWN
    assert printable(LEGITIMATE) == LEGITIMATE


@pytest.mark.parametrize("format_name", FORMATS)
def test_every_format_escapes_only_terminal_control_characters(format_name: str) -> None:
    text = render(document(EVIL), format_name)
    assert not OBEYED.search(text)
    lines = list(csv.reader(io.StringIO(text))) if format_name == "csv" else text.splitlines()
    assert len(lines) == len(render(document("plain"), format_name).splitlines())
    if format_name != "latex":
        assert LEGITIMATE in render(document(LEGITIMATE), format_name)


def test_json_output_preserves_hostile_and_legitimate_text() -> None:
    for text in (EVIL, LEGITIMATE):
        assert json.loads(to_json({text: [text]})) == {text: [text]}
        assert json.loads(json_line({text: [text]})) == {text: [text]}
        assert "\n" not in json_line({text: [text]})


@pytest.mark.parametrize(
    "name", ['=HYPERLINK("http://x","y")', "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1"]
)
def test_csv_cells_are_not_spreadsheet_formulas(name: str) -> None:
    (row,) = csv.DictReader(io.StringIO(render(document(name), "csv")))
    assert not row["system"].lstrip().startswith(("=", "+", "-", "@", "\t", "\r"))
    assert name.strip() in row["system"]
    assert row["value"] == "-1.5"


def test_error_messages_keep_their_lines_and_escape_control_characters() -> None:
    for error, lines in (
        (UsageError(f"no {EVIL}"), [f"no {SHOWN}"]),
        (DataError("first", EVIL), ["first", SHOWN]),
        (InputError([Problem("x", EVIL, file=EVIL)]), [f"{SHOWN}: {SHOWN}"]),
    ):
        assert str(error).split("\n") == lines


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "-s", EVIL.replace("\ud800", "")],
        ["evaluate", "-s", GOOD, "-o", "no\x1b[31m\nfolder/x"],
        ["evaluate", "-s", GOOD, "--corpus", EVIL],
        ["evaluate", f"--x{EVIL}"],
        ["crosswoz", "simulate", "--revision", "sample", "--system", f"{EVIL}:x"],
        ["data", "status", EVIL],
        ["pydial", "table", EVIL],
    ],
)
def test_control_characters_in_arguments_are_escaped(arguments: list[str], run: Run) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert not OBEYED.search(out + err)
    assert not [line for line in err.splitlines()[1:] if line.startswith("error: b")]


def test_control_characters_in_file_names_are_escaped(elsewhere: Path, run: Run) -> None:
    folder = elsewhere / "data" / "MultiWOZ_2.2" / "test"
    folder.mkdir(parents=True)
    (folder / "dialogues_\x1b[31m\n.json").write_text("[]")
    _, out, _ = run("data", "status", "multiwoz-2.2", "--data", str(elsewhere))
    assert not OBEYED.search(out)
    assert r"dialogues_\x1b[31m\n.json" in out


def test_control_characters_in_system_exceptions_are_escaped() -> None:
    text = Summary({}, Rate.of([]), {}, 0, {f"ValueError: {EVIL}": 3}).to_text()
    assert f"3 × ValueError: {SHOWN}" in text.splitlines()


Encoded = Callable[[str, Callable[[], object]], bytes]


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> Encoded:
    """Return the bytes that an action prints to standard output with an encoding."""

    def encode(encoding: str, action: Callable[[], object]) -> bytes:
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        action()
        stream.flush()
        return stream.buffer.getvalue()

    return encode


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize(
    "arguments", ["validate in.json", "evaluate -s in.json -o -", "rows -s in.json -f jsonl"]
)
def test_json_output_is_valid_in_every_encoding(
    arguments: str, encoding: str, encoded: Encoded
) -> None:
    turn = {"response": "é😀 x", "state": {"é😀": {"x": "y"}, "\ud800": {"x": "y"}}}
    write_json(Path("in.json"), {"smp0021": [turn]})
    text = encoded(encoding, lambda: main(arguments.split())).decode(encoding)
    values = [json.loads(line) for line in (text.splitlines() if "jsonl" in arguments else [text])]
    assert values
    if "rows" not in arguments:
        assert "é😀" in json.dumps(values, ensure_ascii=False)


def test_html_is_utf_8_and_latex_is_valid_with_ascii_streams(encoded: Encoded) -> None:
    assert encoded("ascii", lambda: write_result("<p>é😀", "html")).decode().strip() == "<p>é😀"
    latex = encoded("ascii", lambda: write_result(render(document("é"), "latex"), "latex"))
    assert b"\\u" not in latex.replace(b"\\usepackage", b"")


def noticed(kind: str, message: str, file: str | None = "a/one.json", **about: Any) -> Problem:
    return Problem(kind, message, "warning", file, **about)


FIRST, THIRD = noticed("slot", "first", count=1_500), noticed("slot", "third", count=4)


@pytest.mark.parametrize(
    ("of_files", "lines"),
    [
        (
            [[noticed("slot", "odd", dialogue="d1", turn=2, count=3)]],
            ['warning: one.json: dialogue "d1", turn 2: odd (3 times)'],
        ),
        (
            [[FIRST, noticed("turns", "1 is missing"), noticed("slot", "second"), THIRD]],
            [
                "warning: one.json: first (1,500 times), and 2 more of this kind (5 times)",
                "warning: one.json: 1 is missing",
                "mwzeval validate",
            ],
        ),
        (
            [[noticed("corpus", "other files", f"{n}/{n}.json")] for n in "abcde"],
            ["warning: a.json, b.json, c.json and 2 more: other files"],
        ),
        (
            [[noticed("slot", "odd", "a.json")], [noticed("slot", "odd", "b.json", count=2)]],
            ["warning: a.json: odd", "warning: b.json: odd (2 times)"],
        ),
        ([[noticed("seeds", "few", None)], [noticed("seeds", "few", None)]], ["warning: few"]),
    ],
)
def test_warnings_are_printed_in_one_line_per_kind_and_file(
    of_files: list[list[Problem]], lines: list[str]
) -> None:
    found = warning_lines(of_files)
    assert len(found) == len(lines)
    assert all(line in text for line, text in zip(lines, found, strict=True))


def test_files_without_validation_show_up_to_twenty_single_warnings() -> None:
    found = [[noticed("column", f"{n} is left out") for n in range(25)]]
    *lines, rest = warning_lines(found, can_be_validated=False)
    assert lines == [f"warning: one.json: {n} is left out" for n in range(20)]
    assert " 5 " in rest


def test_warnings_are_printed_after_the_result_or_before_the_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    both = io.StringIO()
    monkeypatch.setattr(sys, "stdout", both)
    monkeypatch.setattr(sys, "stderr", both)
    with warnings_behind([noticed("slot", "odd")]):
        write_result("result\n", "text")
    assert both.getvalue() == "result\nwarning: one.json: odd\n"
    with pytest.raises(UsageError), warnings_behind([noticed("slot", "again")]):
        raise UsageError("cannot")
    assert both.getvalue().endswith("warning: one.json: again\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(output, "PROGRESS_DELAY", 0)
    monkeypatch.delenv(PROGRESS_VARIABLE, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return monkeypatch


def test_terminals_show_a_progress_bar_until_the_work_is_done(terminal: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    terminal.setattr(sys, "stderr", stream)
    with counting(4, "files") as update:
        update(3)
        assert list(followed("ab", "dialogues")) == ["a", "b"]
        notify("downloaded")
    lines = stream.getvalue().replace("\n", "\r").split("\r")
    assert any("3/4" in line and "files" in line for line in lines)
    assert any("0/2" in line and "dialogues" in line for line in lines)
    assert "downloaded" in lines
    assert not lines[-1].strip()


def test_non_terminal_streams_show_no_progress_bar(terminal: pytest.MonkeyPatch) -> None:
    def printed(stream: io.StringIO, *, shown: bool = True, **variables: str) -> str:
        with terminal.context() as patch:
            patch.setattr(sys, "stderr", stream)
            for name, value in variables.items():
                patch.setenv(name, value)
            assert list(followed("ab", "dialogues", shown=shown)) == ["a", "b"]
        return stream.getvalue()

    assert printed(Terminal())
    assert not printed(io.StringIO())
    assert not printed(Terminal(), shown=False)
    assert not printed(Terminal(), TERM="dumb")
    assert not printed(Terminal(), MWZEVAL_PROGRESS="0")
