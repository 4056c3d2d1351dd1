"""No verb overwrites one of its inputs; the error is raised before any input is read."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from mwzeval.cli import main
from tests.command_lines import Run

CALLS = """
evaluate -b -i IN -o IN
evaluate -b IN -o IN
runs -b OTHER IN -o IN
shards -b OTHER IN -o IN
shards -b FOLDER/*.json -o IN
evaluate -b OTHER --fail-below IN -o IN
claims IN -o IN
ceiling IN -o IN
report OTHER IN -o IN
compare OTHER IN -o IN
compare A=OTHER,IN B=OTHER -o IN
plot IN -o IN
add-slot-domains IN -o IN
delexicalize IN -o IN
delexicalize IN -o OTHER --mentions IN
delexicalize OTHER -o IN --mentions IN
evaluate --benchmark crosswoz IN -o IN
evaluate --benchmark pydial IN -o IN
pydial retest FOLDER --user-parameters IN -o IN
evaluate --benchmark dstc7-ubuntu-1 OTHER --targets IN -o IN
evaluate --benchmark dstc7-ubuntu-1 OTHER --dialogues IN -o IN
evaluate --benchmark dstc7-ubuntu-2 OTHER --pool IN -o IN
dstc7 predict IN --baseline random -o IN
dstc7 predict OTHER --baseline random --pool IN -o IN
dstc7 predict OTHER --baseline random --dev IN -o IN
dstc7 predict OTHER --baseline random --knowledge IN -o IN
dstc7 convert IN --to run -o IN
crosswoz dst predict IN -o IN
crosswoz nlg generate IN -o IN
crosswoz nlu predict IN -o IN
crosswoz nlu train --encoder FOLDER -o FOLDER
crosswoz policy predict IN -o IN
crosswoz simulate --level text --templates IN -o IN
pydial play Demo-CR-1 --policy IN -o IN
pydial record Demo-CR-1 --policy IN -o IN
pydial play Demo-CR-1 --ontology IN --entities OTHER -o IN
live --benchmark pydial --agent random --ontology IN --entities OTHER -o IN
evaluate -b IN -o FOLDER/symbolic.json
evaluate -b IN -o FOLDER/hard.json
evaluate -b IN -o FOLDER/sub/../same/./in.json
delexicalize IN -o FOLDER/new.json --mentions FOLDER/new.json
delexicalize IN -o FOLDER/new.json --mentions FOLDER/./new.json
"""


def called(call: str, folder: Path) -> list[str]:
    places = {"IN": folder / "in.json", "OTHER": folder / "other.json", "FOLDER": folder}
    return [
        re.sub(r"(?<![^=,])(IN|OTHER|FOLDER)\b", lambda match: str(places[match[1]]), word)
        for word in call.split()
    ]


@pytest.fixture
def files(elsewhere: Path) -> Path:
    # The content is invalid, so a verb that reads a file prints another message.
    for name in ("in.json", "other.json"):
        (elsewhere / name).write_text(f"not what any verb reads: {name}", encoding="utf-8")
    (elsewhere / "symbolic.json").symlink_to(elsewhere / "in.json")
    os.link(elsewhere / "in.json", elsewhere / "hard.json")
    (elsewhere / "sub").mkdir()
    (elsewhere / "same").symlink_to(elsewhere)
    return elsewhere


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_outputs_that_equal_an_input_or_another_output_are_rejected(files: Path, run: Run) -> None:
    before = contents(files)
    for call in CALLS.strip().splitlines():
        code, _, error = run(*called(call, files))
        assert (code, error[:9]) == (2, "error: --"), call
        assert contents(files) == before, call


def test_overwriting_the_file_behind_standard_input_is_rejected(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = files / "in.json"
    with place.open(encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert main(["evaluate", "-b", "-i", "-", "-o", str(place)]) == 2
    assert "overwritten" in capsys.readouterr().err


def test_devices_and_non_file_arguments_do_not_cause_overwrite_errors(
    files: Path, run: Run
) -> None:
    (files / "test").mkdir()
    for call in (
        "evaluate -b -i /dev/null -o /dev/null",
        "evaluate -b -i in.json -o test --fold test",
        "evaluate -b -i in.json -o test/in.json",
    ):
        code, _, error = run(*call.split())
        assert code == 2
        assert "overwritten" not in error
