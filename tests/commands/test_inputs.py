"""Inputs are named by their place or by `-i`, and tell their benchmark themselves."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest

from mwzeval.cli import main, whole_parser
from mwzeval.output_checks import READ
from tests.samples import NAMES, write_sample

FEW = "--samples 20"
CALLS = {
    "evaluate": "-o report.json",
    "validate": "",
    "explain": "",
    "power": "--difference 5",
    "report": f"-o page.html {FEW}",
    "plot": f"-o figure.svg {FEW}",
    "leaderboard": FEW,
}
"""Verbs of every benchmark that read a file of predictions, with what else they need."""
OF_TWO = {"compare": f"--jobs 1 {FEW}"}
OTHER_THAN_INPUT = frozenset({"model", "training", "dev"})
"""Positional arguments that are read beside or before the input, so that `-i` would not tell which
is meant."""
WRITES = frozenset({"mwzeval data examples"})
"""What has a folder of this name to write to."""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MWZEVAL_OFFLINE", "1")


def printed(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, list[str]]:
    code = main(words)
    said = capsys.readouterr()
    return code, said.out, [line for line in said.err.splitlines() if not line.startswith("wrote ")]


@pytest.mark.parametrize("verb", [*CALLS, *OF_TWO])
@pytest.mark.parametrize("name", NAMES)
def test_inputs_come_with_or_without_i_and_tell_their_benchmark(
    name: str, verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No score is named either: without, there are all that the file allows."""
    sample = write_sample(name, tmp_path)
    files = [sample.better, sample.worse][: 2 if verb in OF_TWO else 1]
    others = {**CALLS, **OF_TWO}[verb].split()
    named = [word for file in files for word in ("-i", file)]
    by_place = printed([verb, "--benchmark", name, *files, *others], capsys)
    assert printed([verb, *named, *others], capsys) == by_place
    assert by_place[0] == 0 or verb == "leaderboard"  # where nothing is published


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in dict.fromkeys(action.choices.values()):
                yield from parsers(inner)


READING = [pytest.param(p, id=p.prog) for p in parsers(whole_parser()) if p.prog not in WRITES]


@pytest.mark.parametrize("parser", READING)
def test_what_is_read_by_its_place_is_read_with_i_too(parser: argparse.ArgumentParser) -> None:
    by_place = {action.dest for action in parser._actions if not action.option_strings} & READ
    if by_place - OTHER_THAN_INPUT:
        options = {option for action in parser._actions for option in action.option_strings}
        assert {"-i", "--input"} <= options
