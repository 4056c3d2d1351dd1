"""`mwzeval play`: a person is the user or the agent of a dialogue, which is then explained."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mwzeval.cli import main

PLAY = ["play", "multiwoz", "--corpus", "sample"]


Typed = Callable[..., None]


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Put lines into standard input."""
    monkeypatch.chdir(tmp_path)
    return lambda *lines: monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join([*lines, ""])))


def dialogues() -> list[dict[str, object]]:
    return [json.loads(line) for line in Path("run.jsonl").read_text("utf-8").splitlines()[1:]]


def test_a_person_is_the_user(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    typed("a cheap hotel, please", "/bye thanks")
    assert main([*PLAY, "--goals", "corpus:smp0036", "-o", "run.jsonl"]) == 0
    shown = capsys.readouterr()
    assert "Your goal:" in shown.err
    assert shown.out.splitlines()[1].startswith("smp0036")
    assert [dialogue["end"] for dialogue in dialogues()] == ["user_stop"]


def test_a_person_is_the_agent_until_they_leave(
    typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    typed("/find_train day=monday", "/quit")
    assert main([*PLAY, "--as", "agent", "-o", "run.jsonl"]) == 130
    shown = capsys.readouterr()
    assert '"trainid"' in shown.err
    assert shown.out == ""
    assert not Path("run.jsonl").exists()


def test_the_benchmark_may_be_named_after_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", "--as", "agent", "crosswoz"]) == 2
    assert "CrossWOZ" in capsys.readouterr().err


def test_the_next_dialogue_is_about_another_goal(typed: Typed) -> None:
    for _ in range(2):
        typed("/bye")
        assert main([*PLAY, "--goals", "corpus:2", "-o", "run.jsonl"]) == 0
    assert len({str(dialogue["dialogue"]) for dialogue in dialogues()}) == 2
    typed("/bye")
    assert main([*PLAY, "--goals", "corpus:2", "-o", "run.jsonl"]) == 2
