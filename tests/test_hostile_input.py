"""Whatever comes in ends in a message or a correct result: no traceback, no hang."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mwzeval.cli import main
from tests.places import ROOT
from tests.work import calls

pytestmark = pytest.mark.integration

EVALUATE = str(ROOT / "evaluate.py")
GOOD = str(ROOT / "predictions" / "sample-good.json")


def run(
    *arguments: str, environment: dict[str, str] | None = None, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    done = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | (environment or {}),
        capture_output="stdout" not in options,
        check=False,
        **options,
    )
    assert b"Traceback" not in (done.stderr or b"")
    return done


def mwzeval(*arguments: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return run(
        "-c", "from mwzeval.cli import main; raise SystemExit(main())", *arguments, **options
    )


def test_a_lone_surrogate_comes_out_as_the_escape_it_came_in(tmp_path: Path) -> None:
    text = r'{"smp0021": [{"response": "x", "state": {"\ud800": {"a": "b"}}}]}'
    (tmp_path / "in.json").write_text(text)
    report = tmp_path / "out.json"
    assert run(EVALUATE, "-b", "-i", str(tmp_path / "in.json"), "-o", str(report)).returncode == 0
    keys = [warning.get("key") for warning in json.loads(report.read_bytes())["meta"]["warnings"]]
    assert "state.\ud800" in keys
    listed = mwzeval("validate", "-i", str(tmp_path / "in.json")).stdout
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


def test_dev_stdout_is_standard_output_and_not_a_file_to_replace(tmp_path: Path) -> None:
    with (tmp_path / "out").open("wb") as stream:
        done = run(EVALUATE, "-b", "-i", GOOD, "-o", "/dev/stdout", stdout=stream)
    assert done.returncode == 0
    assert json.loads((tmp_path / "out").read_bytes())["bleu"]["sample"] > 0


@pytest.mark.parametrize(
    ("closing", "code"), [("<&-", 2), (">&-", 0), ("2>&-", 0), (">/dev/full", 2)]
)
def test_closed_or_full_streams_are_no_crash(tmp_path: Path, closing: str, code: int) -> None:
    source = "-" if closing == "<&-" else GOOD
    command = f"{sys.executable} {EVALUATE} -b -i {source} -o {tmp_path}/out.json {closing}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode == code


@pytest.mark.parametrize("where", [">/dev/full", "> >(exit)"])
def test_a_result_does_not_depend_on_what_is_told_beside_it(tmp_path: Path, where: str) -> None:
    command = f"{sys.executable} {EVALUATE} -s -i {GOOD} -o {tmp_path}/out.json"
    whole = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert b"wrote" in whole.stderr
    done = subprocess.run(["bash", "-c", f"{command} 2{where}"], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, whole.stdout)


def test_the_prompt_takes_the_end_of_input_for_no(tmp_path: Path) -> None:
    program = str(ROOT / "add_slot_domains.py")
    command = f"{sys.executable} {program} -i {GOOD} -o {tmp_path}/out.json"
    done = subprocess.run(
        ["script", "-qec", command, "/dev/null"], input=b"\x04", capture_output=True, check=False
    )
    assert b"Traceback" not in done.stdout
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("environment", "arguments"),
    [
        ({"MWZEVAL_CACHE": "~nobody123/x"}, ()),
        ({}, ("--corpus", "multiwoz-2.2", "--data", "a" * 300)),
        ({}, ("--corpus", "sample", "--references", "../../etc/passwd")),
        ({}, ("--corpus", "sample", "--references", "nowhere")),
    ],
)
def test_odd_places_are_told(
    tmp_path: Path, environment: dict[str, str], arguments: tuple[str, ...]
) -> None:
    output = str(tmp_path / "out.json")
    done = run(
        EVALUATE, "-b", "-i", GOOD, "-o", output, *arguments, environment=environment, cwd=tmp_path
    )
    assert done.returncode == (2 if arguments else 0)
    assert done.stderr.startswith(b"error: ") or not arguments


def test_a_number_too_large_for_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('{"smp0021": [{"response": "x", "extra": 1e999}]}')
    done = mwzeval("validate", "-i", str(tmp_path / "in.json"))
    assert done.returncode == 2
    assert "1e999" in json.loads(done.stdout)["problems"][0]["message"]
