"""Wrong usage and unsuitable input give exit code 2 and the reason; no file is written."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cases import tabled
from tests.command_lines import Run
from tests.commands.test_live import AGENT
from tests.multiwoz.live.written_runs import USED, line, write
from tests.places import ROOT, SAMPLE_SYSTEMS, sample_file, sample_predictions, without, write_json

SYSTEMS = dict(zip(("good", "weak", "no-phone", "policy"), SAMPLE_SYSTEMS, strict=False))
TABLES = {
    "t": "item,score\nt1,1\nt2,0\n",
    "numbers": "item,score\n1,1\n2,0\n",
    "reward": "item,reward\nt1,1\nt2,0\n",
    "wrong": "item,score\n" + "".join(f"{n},x\n" for n in range(50)),
    "one": "item,trial,success\nitem0,0,1\nitem0,1,0\n",
    "alone": "item,success\nitem0,1\n",
    "trials": "item,trial,success\nitem0,0,1\nitem0,1,0\nitem1,0,0\nitem1,1,0\n",
    "single": "item,success\nitem0,1\nitem1,0\n",
    "others": "item,success\na,1\na,0\nb,0\nb,1\n",
    "every": "item,success\n" + "".join(f"{n // 4},1\n" for n in range(80)),
    "texts": "item,cluster,score\na,x,1\nb,x,0\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with predictions, score tables and invalid files."""
    folder = tmp_path_factory.mktemp("refused")
    (folder / "logs").symlink_to(ROOT / "tests" / "comparison" / "items" / "inspect_logs")
    for name, system in SYSTEMS.items():
        (folder / f"{name}.json").symlink_to(sample_file(system))
    for name, text in TABLES.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    good = sample_predictions("good")
    parts: dict[str, Any] = {
        "empty": {},
        "prices": {"m": {"in": 1, "out": 1}},
        "first": dict(list(good.items())[:30]),
        "second": dict(list(good.items())[30:]),
        "fewer": dict(list(good.items())[3:]),
        "short": dict(list(good.items())[:-1]),
        "stateless": without(good, "state"),
    }
    for name, predictions in parts.items():
        write_json(folder / f"{name}.json", predictions)
    (folder / "broken.json").write_text("{", encoding="utf-8")
    (folder / "mine.py").write_text(AGENT, encoding="utf-8")
    write(folder / "run.jsonl", [line(USED[0])])
    write(folder / "endless.jsonl", [line(USED[0], turns=10**400)])
    live = [{"mwzeval_live": 1, "benchmark": "crosswoz"}, {"dialogue": "a", "acts": []}]
    turn = {"response": "hi", "state": {}, "active_domains": []}
    for name, values in (("live", live), ("turns", [{"mul0001": [turn]}])):
        lines = "".join(f"{json.dumps(value)}\n" for value in values)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder


@tabled
def test_invalid_commands_are_refused_and_write_nothing(
    command: str, said: str, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    code, out, err = run(*shlex.split(command))
    assert (code, out) == (2, "")
    assert [part for part in said.split("|") if part not in err] == []
    assert sorted(folder.iterdir()) == before
