"""Files that are written: completely or not at all."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mwzeval.errors import MwzevalError
from mwzeval.files.writing import (
    folder_written_atomically,
    write_atomically,
    written_atomically,
)
from tests.places import ROOT

INTERRUPTING = """
import os, runpy, signal, sys

class Interrupts:
    def __init__(self, module):
        self.module = module

    def find_spec(self, name, *rest):
        if name == self.module:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts(sys.argv[1]))
sys.argv = ["mwzeval", "evaluate", "-s", "nothing.json"]
runpy.run_module("mwzeval", run_name="__main__", alter_sys=True)
"""

DIALOGUES = "data/dstc7/ubuntu_test_subtask_1.json"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_that_is_read_only_is_not_replaced(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("old")
    report.chmod(0o444)
    with pytest.raises(MwzevalError, match=r"report\.json"):
        write_atomically(report, "new")
    assert report.read_text() == "old"
    report.chmod(0o640)
    write_atomically(report, "new")
    assert report.read_text() == "new"
    assert stat.S_IMODE(report.stat().st_mode) == 0o640


def test_a_link_keeps_its_target_and_a_device_is_written_directly(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("report.json")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "report.json").read_text() == "new"
    write_atomically("/dev/null", "new")
    assert Path("/dev/null").is_char_device()


def test_what_goes_wrong_meanwhile_leaves_the_old_file(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text("old")
    with pytest.raises(ZeroDivisionError), written_atomically(report) as stream:
        stream.write(b"new" * (1 // 0))
    assert names(tmp_path) == ["report.json"]
    assert report.read_text() == "old"


@pytest.mark.integration
@pytest.mark.parametrize(
    "verb",
    [
        ["dstc7", "predict", DIALOGUES, "--baseline", "random", "--track", "dstc7-ubuntu-1"],
        ["crosswoz", "simulate", "--revision", "sample", "--per-type", "50", "-q"],
    ],
)
def test_a_full_disk_names_the_file(tmp_path: Path, verb: list[str]) -> None:
    output = tmp_path / "out.jsonl"
    done = subprocess.run(
        [sys.executable, "-m", "mwzeval", *verb, "-o", str(output)],
        capture_output=True,
        check=False,
        cwd=ROOT,
        # No file may become larger; Python takes the signal of it for an error.
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000)),
    )
    told = done.stderr.decode()
    assert done.returncode == 2
    (line,) = told.splitlines()
    assert str(output) in line
    assert not list(tmp_path.rglob(".mwzeval-*"))


@pytest.mark.integration
@pytest.mark.parametrize(
    "module", ["mwzeval.cli", "argparse", "mwzeval.commands.evaluate", "numpy"]
)
def test_an_interrupt_is_no_traceback_however_early(tmp_path: Path, module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTING, module],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 130
    assert b"Traceback" not in done.stderr


def test_a_folder_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), folder_written_atomically(tmp_path / "a") as folder:
        (folder / "file").write_text("half" * (1 // 0))
    assert names(tmp_path) == []
    with folder_written_atomically(tmp_path / "a") as folder:
        (folder / "file").write_text("whole")
        assert not (tmp_path / "a").exists()
    with pytest.raises(MwzevalError, match=r"/a: "), folder_written_atomically(tmp_path / "a") as f:
        (f / "file").write_text("late")
    assert (tmp_path / "a/file").read_text() == "whole"
    assert names(tmp_path) == ["a"]
