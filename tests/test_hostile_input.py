"""Whatever comes in ends in a message or a correct result: no traceback, no hang."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mwzeval.cli import main
from tests.places import ROOT
from tests.work import calls

pytestmark = pytest.mark.integration

EVALUATE = str(ROOT / "evaluate.py")
GOOD = str(ROOT / "predictions" / "sample-good.json")


def run(
    *arguments: str, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in done.stderr
    return done


def test_a_lone_surrogate_comes_out_as_the_escape_it_came_in(tmp_path: Path) -> None:
    text = r'{"smp0021": [{"response": "x", "state": {"\ud800": {"a": "b"}}}]}'
    (tmp_path / "in.json").write_text(text)
    report = tmp_path / "out.json"
    assert run(EVALUATE, "-b", "-i", str(tmp_path / "in.json"), "-o", str(report)).returncode == 0
    keys = [warning.get("key") for warning in json.loads(report.read_bytes())["meta"]["warnings"]]
    assert "state.\ud800" in keys
    listed = run("-m", "mwzeval", "validate", str(tmp_path / "in.json")).stdout
    assert "state.\ud800" in [problem.get("key") for problem in json.loads(listed)["problems"]]


def test_garbage_in_quantity_is_linear_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in.json"

    def work(size: int) -> int:
        slots = {f"slot{number}x": "v" for number in range(size)}
        source.write_text(json.dumps({"smp0021": [{"response": "x", "state": {"hotel": slots}}]}))
        counted = calls(lambda: main(["validate", "-i", str(source)]))
        assert len(json.loads(capsys.readouterr().out)["problems"]) > size
        return counted

    work(10)
    assert work(4000) <= 4.4 * work(1000)


@pytest.mark.parametrize(
    ("streams", "code"),
    [
        ("-i - <&-", 2),
        (f"-i {GOOD} >&-", 0),
        (f"-i {GOOD} >/dev/full", 2),
        (f"-i {GOOD} 2>&-", 0),
        (f"-i {GOOD} 2>/dev/full", 0),
        (f"-i {GOOD} 2> >(exit)", 0),
        (f"-i {GOOD} -o /dev/stdout >out.json", 0),
    ],
)
def test_closed_or_full_streams_are_no_crash_and_lose_no_result(
    streams: str, code: int, tmp_path: Path
) -> None:
    command = f"{sys.executable} {EVALUATE} -s -o out.json {streams}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode == code
    if code == 0:
        assert json.loads((tmp_path / "out.json").read_bytes())["success"]
    if code == 0 and " 2>" in streams:
        assert b"Success" in done.stdout


def test_the_prompt_takes_the_end_of_input_for_no(tmp_path: Path) -> None:
    program = str(ROOT / "add_slot_domains.py")
    command = f"{sys.executable} {program} -i {GOOD} -o {tmp_path}/out.json"
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"], input=b"\x04", capture_output=True, check=False
    )
    assert b"Traceback" not in done.stdout
    assert not (tmp_path / "out.json").exists()


def test_a_cache_in_the_folder_of_nobody_is_an_error_and_makes_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    environment = {"MWZEVAL_CACHE": "~nobody123/x"}
    assert run(EVALUATE, "-b", "-i", GOOD, "-o", "-", environment=environment).returncode == 2
    assert not list(tmp_path.iterdir())
