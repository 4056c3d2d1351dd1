"""What `mwzeval doctor` says is what pip and the folders say."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pytest

from mwzeval.cli import main
from mwzeval.commands.doctor import PURPOSES, diagnosis
from tests.places import ROOT

EXTRAS_OF_DEVELOPERS = {"dev", "dev-all", "docs"}


def test_every_extra_has_its_purpose_and_what_is_there_of_it() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    table = text.split("[project.optional-dependencies]\n")[1].split("\n[")[0]
    declared = {line.partition(" = ")[0] for line in table.splitlines() if " = [" in line}
    assert set(PURPOSES) == declared - EXTRAS_OF_DEVELOPERS
    extras = {of["extra"]: of for of in diagnosis().plain["extras"]}
    assert list(extras) == list(PURPOSES)
    pytest.importorskip("matplotlib")
    assert extras["plot"]["found"] == f"matplotlib {version('matplotlib')}"
    assert extras["plot"]["missing"] == ""


def test_packages_that_are_not_there_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ['nowhere>=1; extra == "plot"', 'numpy>=999; extra == "rl"', "numpy>=1"]
    monkeypatch.setattr("mwzeval.commands.doctor.requires", lambda name: lines)
    found = {of["extra"]: of for of in diagnosis().plain["extras"]}
    assert found["plot"]["missing"] == "nowhere"
    assert found["rl"]["missing"] == f"numpy>=999 (not {version('numpy')})"
    assert found["rl"]["found"] == ""
    assert found["neural"]["missing"] == ""


def test_public_files_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "hotel_db.json").write_text("[]", encoding="utf-8")
    assert main(["doctor", "--data", str(tmp_path), "-f", "json"]) == 0
    found = {of["corpus"]: of for of in json.loads(capsys.readouterr().out)["corpora"]}
    assert found["multiwoz-2.4"]["state"] == "1 of 8, 1 not as published"
    assert found["multiwoz-2.4"]["missing"] == "7"
    assert found["pydial"]["state"] == "0 of 6"
