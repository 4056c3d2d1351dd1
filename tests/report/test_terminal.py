"""Results on a terminal: colours where these are wanted, and lines that fit."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Mapping

import pytest

from mwzeval.report.terminal import output_look, printed
from mwzeval.scores.sheets import BETTER, PLAIN, WORSE, Cell, Document, Look, sheet, to_text

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


def test_what_is_no_terminal_has_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert printed(DOCUMENT, "text") == to_text(DOCUMENT)


@pytest.mark.parametrize("colours", [False, True])
def test_a_wide_terminal_has_the_same_text(colours: bool) -> None:
    shown = STYLE.sub("", to_text(DOCUMENT, Look(colours, 200)))
    assert [line for line in shown.splitlines() if line] == [
        line for line in to_text(DOCUMENT).splitlines() if line
    ]


def test_the_best_and_what_is_significant_stand_out() -> None:
    text = to_text(DOCUMENT, Look(colours=True, width=80))
    for shown in (
        "\x1b[1m93.5*\x1b[0m",
        "\x1b[32m+1.5\x1b[0m",
        "\x1b[31m-50.0\x1b[0m",
        "\x1b[33mcaution: these are few\x1b[0m",
        "\x1b[2minform|rev:3\x1b[0m",
        "\x1b[1mInform (n = 62)\x1b[0m",
    ):
        assert shown in text
    assert "  37.1†" in text


@pytest.mark.parametrize("width", [18, 20, 26, 40, 80])
def test_tables_fit_and_no_number_is_broken(width: int) -> None:
    text = to_text(DOCUMENT, Look(width=width))
    assert all(len(line) <= width for line in text.splitlines())
    for row in ROWS:
        for cell in row[1:]:
            line = next(line for line in text.splitlines() if cell.text in line)
            assert line.startswith((row[0].text, "餐馆")) or not cell.text
    assert sum(line.startswith("theirs") for line in text.splitlines()) == sum(
        line.startswith("ours") for line in text.splitlines()
    )


def test_a_line_stands_for_signatures() -> None:
    short = to_text(DOCUMENT, Look(width=80), signatures=False)
    assert "1 signature" in short
    assert "rev:3" not in short
    assert "p: two-sided" in short
    assert "rev:3" in to_text(DOCUMENT, Look(width=80))
    bare = to_text(Document((), (), ("a",), (), {}), PLAIN, signatures=False)
    assert bare == "a\n"


def test_nothing_that_a_terminal_would_obey_is_printed() -> None:
    odd = Document(
        ("\x1b[31mred",), (sheet("\x1b[0m", ["", "\x1b"], [["\x07", "\x1b[2J"]]),), (), (), {}
    )
    text = STYLE.sub("", to_text(odd, Look(colours=True, width=80)))
    assert "\x1b" not in text
    assert "\x07" not in text
