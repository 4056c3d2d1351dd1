"""`mwzeval play`: a person is the user or the agent of a dialogue, which is then explained."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from mwzeval.cli import main

PLAY = ["play", "multiwoz", "--corpus", "sample"]


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.chdir(tmp_path)
    return monkeypatch


def _type(typed: pytest.MonkeyPatch, *lines: str) -> None:
    typed.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def _dialogues(file: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(file).read_text("utf-8").splitlines()[1:]]


def test_a_person_is_the_user(
    typed: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _type(typed, "a cheap hotel, please", "/bye thanks")
    assert main([*PLAY, "--goals", "corpus:smp0036", "-o", "run.jsonl"]) == 0
    shown = capsys.readouterr()
    assert "Your goal:" in shown.err
    assert "agent> " in shown.err
    assert shown.out.splitlines()[1].startswith("smp0036")
    (dialogue,) = _dialogues("run.jsonl")
    assert dialogue["end"] == "user_stop"


def test_a_person_is_the_agent_until_they_leave(
    typed: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _type(typed, "/find_train day=monday", "/quit")
    assert main([*PLAY, "--as", "agent", "-o", "run.jsonl"]) == 130
    shown = capsys.readouterr()
    assert "user> " in shown.err
    assert '"trainid"' in shown.err
    assert shown.out == ""
    assert not Path("run.jsonl").exists()


def test_the_next_dialogue_is_about_another_goal(typed: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        _type(typed, "/bye")
        assert main([*PLAY, "--goals", "corpus:2", "-o", "run.jsonl"]) == 0
    assert len({str(dialogue["dialogue"]) for dialogue in _dialogues("run.jsonl")}) == 2
    _type(typed, "/bye")
    assert main([*PLAY, "--goals", "corpus:2", "-o", "run.jsonl"]) == 2


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("play multiwz", '"multiwoz"'),
        ("play --as agent pydial", "mwzeval play pydial"),
        ("live --agent human --user human", "people"),
        ("live --agent rule --user human --jobs 2", "people"),
        ("play dstc7", "error"),
    ],
)
def test_what_people_cannot_do_is_told(
    typed: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, problem: str
) -> None:
    of_sample = [] if "dstc7" in words else ["--corpus", "sample"]
    assert main([*words.split(), *of_sample]) == 2
    assert problem in capsys.readouterr().err
