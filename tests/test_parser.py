"""What people read who have mistyped, and where outputs cannot be: said at once, in a few lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from mwzeval.benchmark import own_verbs
from mwzeval.cli import GROUPS, VERBS, VERBS_OF_NONE, main
from tests.places import ROOT

GOOD = str(ROOT / "predictions" / "sample-good.json")


@pytest.mark.parametrize(
    ("arguments", "mistake"),
    [
        ("evalute x", ("evalute", '"evaluate"')),
        ("evaluate --blue x", ("--blue", '"--bleu"')),
        ("compare --alpah=.1 x y", ("--alpah=.1", '"--alpha"')),
        ("evaluate -f htm x", ("-f/--format", '"htm"', '"html"')),
        ("evaluate", ("INPUT",)),
        ("plot x", ("-o/--output",)),
        ("pydial runn", ("ACTION", '"runn"', '"run"')),
        ("pydial run -o x --tsks CR-1", ("--tsks CR-1", '"--tasks"')),
        ("crosswoz nlu train --epoch 3 -o x -o", ("-o",)),
        ("evaluate \x1b[31m --no\x1b[0m", (r"--no\x1b[0m",)),
    ],
)
def test_a_mistake_is_named_in_three_lines(
    arguments: str, mistake: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments.split(" "))
    printed = capsys.readouterr()
    assert printed.out == ""
    error, usage, advice = printed.err.splitlines()
    assert all(name in error for name in mistake)
    assert usage.startswith("usage: mwzeval ")
    assert advice.startswith("for all options, run mwzeval ")
    assert max(map(len, (usage, advice))) < 100


def test_help_lists_every_verb_once_under_what_it_is_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.removesuffix(":") in GROUPS.values()] == [
        f"{title}:" for title in GROUPS.values()
    ]
    listed = [line.split()[0] for line in lines if line.startswith("  ") and line[2] not in " -"]
    assert sorted(listed) == sorted([*VERBS, *own_verbs(), *VERBS_OF_NONE])


OUTPUTS = [
    *(
        ("evaluate -b unread.json -o OUT", place)
        for place in ("read-only", "folder", "not_there/", "none/x.json", "file/x.json", "x" * 300)
    ),
    (f"evaluate -b {GOOD} -o OUT", "/dev/full"),
    *(
        (f"{call} -o OUT", "folder")
        for call in (
            "claims unread.json",
            "compare unread.json unread.json",
            "report unread.json",
            "plot unread.json",
            "live --agent random --goals 5",
            "pydial plot runs",
        )
    ),
    ("delexicalize unread.json -o x.json --mentions OUT", "folder"),
]


@pytest.mark.parametrize(("call", "place"), OUTPUTS)
def test_an_output_that_cannot_be_is_refused_before_the_work(
    call: str,
    place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    for name in ("file", "read-only"):
        Path(name).write_text("mine", encoding="utf-8")
    Path("read-only").chmod(0o444)
    before = sorted(tmp_path.rglob("*"))
    assert main(call.replace("OUT", place).split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert place[:99] in printed.err
    assert sorted(tmp_path.rglob("*")) == before
    assert Path("file").read_text(encoding="utf-8") == "mine"


def test_what_was_written_is_told_and_what_it_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for replaced in (False, True):
        assert main(["evaluate", "-s", GOOD]) == 0
        (line,) = capsys.readouterr().err.splitlines()
        assert "evaluation_results.json" in line
        assert line.endswith("evaluation_results.json") != replaced
        assert main(["compare", "-s", GOOD, GOOD, "-o", "c.txt"]) == 0
        assert "c.txt" in capsys.readouterr().err
    assert main(["evaluate", "-s", "-q", GOOD]) == 0
    assert capsys.readouterr().err == ""
