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
        ("evalute x", 'argument VERB: unknown "evalute" — did you mean "evaluate"?'),
        ("evaluate --blue x", 'unrecognized arguments: --blue — did you mean "--bleu"?'),
        ("compare --alpah=.1 x y", '--alpah=.1 — did you mean "--alpha"?'),
        ("evaluate -f htm x", 'argument -f/--format: unknown "htm" — did you mean "html"?'),
        ("evaluate", "required: INPUT"),
        ("plot x", "required: -o/--output"),
        ("pydial runn", 'argument ACTION: unknown "runn" — did you mean "run"?'),
        ("pydial run -o x --tsks CR-1", '--tsks CR-1 — did you mean "--tasks"?'),
        ("crosswoz nlu train --epoch 3 -o x -o", "expected one argument"),
        ("evaluate \x1b[31m --no\x1b[0m", r"unrecognized arguments: --no\x1b[0m"),
    ],
)
def test_a_mistake_is_told_in_three_lines(
    arguments: str, mistake: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments.split(" "))
    printed = capsys.readouterr()
    assert printed.out == ""
    error, usage, advice = printed.err.splitlines()
    assert mistake in error
    assert usage.startswith("usage: mwzeval ")
    assert advice.startswith("all options: mwzeval ")
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


@pytest.mark.parametrize(
    "call",
    [
        "evaluate -b unread.json -o OUT",
        "evaluate -g unread.json --claims OUT",
        "compare unread.json unread.json -o OUT",
        "report unread.json -o OUT",
        "plot unread.json -o OUT",
        "delexicalize unread.json -o x.json --mentions OUT",
        "live --agent random --goals 5 -o OUT",
        "pydial plot runs -o OUT",
    ],
)
@pytest.mark.parametrize("place", ["folder", "missing/file.json", "file/below.json", "read-only"])
def test_an_output_that_cannot_be_is_refused_before_the_work(
    call: str,
    place: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").write_text("", encoding="utf-8")
    Path("read-only").write_text("", encoding="utf-8")
    Path("read-only").chmod(0o444)
    before = sorted(tmp_path.rglob("*"))
    assert main(call.replace("OUT", place).split()) == 2
    assert capsys.readouterr().err.startswith(f"error: cannot write {place}: ")
    assert sorted(tmp_path.rglob("*")) == before


def test_what_was_written_is_told_and_what_it_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for more in ("", " in place of the one there was"):
        assert main(["evaluate", "-s", GOOD]) == 0
        assert f"wrote evaluation_results.json{more}\n" in capsys.readouterr().err
        assert main(["compare", "-s", GOOD, GOOD, "-o", "c.txt", "-j", "1"]) == 0
        assert f"wrote c.txt{more}\n" in capsys.readouterr().err
    assert main(["evaluate", "-s", "-q", GOOD]) == 0
    assert capsys.readouterr().err == ""
