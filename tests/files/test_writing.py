"""Files that are written: whole or not at all, with nothing left of writers that were killed."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path
from platform import node

import pytest

from mwzeval.errors import MwzevalError
from mwzeval.files.writing import (
    folder_written_atomically,
    write_atomically,
    written_atomically,
)
from tests.places import ROOT

WRITER = """
import os, signal, sys
from mwzeval.files.writing import written_atomically
with written_atomically(sys.argv[1]) as stream:
    stream.write(b"half")
    stream.flush()
    print("begun", flush=True)
    if sys.argv[2] == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    sys.stdin.readline()
    stream.write(b" and half")
"""
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


def start(target: Path, how: str) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(target), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    return process


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.integration
def test_what_a_killed_process_left_is_swept_by_the_next_that_writes_there(tmp_path: Path) -> None:
    killed = start(tmp_path / "a.json", "die")
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    (left,) = names(tmp_path)
    assert left.startswith(".mwzeval-")
    write_atomically(tmp_path / "b.json", "x")
    assert names(tmp_path) == ["b.json"]


@pytest.mark.integration
def test_what_is_being_written_is_left_alone(tmp_path: Path) -> None:
    writing = start(tmp_path / "a.json", "live")
    write_atomically(tmp_path / "b.json", "x")
    writing.communicate(b"\n")
    assert writing.returncode == 0
    assert names(tmp_path) == ["a.json", "b.json"]
    assert (tmp_path / "a.json").read_bytes() == b"half and half"


def test_what_is_not_ours_is_not_swept(tmp_path: Path) -> None:
    theirs = tmp_path / ".mwzeval-another.host-0123456789ab.tmp"
    theirs.write_bytes(b"theirs")
    prefix = f".mwzeval-{''.join(c for c in node() if c.isalnum() or c == '.')}-"
    (tmp_path / "kept.json").write_bytes(b"kept")
    (tmp_path / f"{prefix}link.tmp").symlink_to("kept.json")
    os.mkfifo(tmp_path / f"{prefix}pipe.tmp")  # opening it would wait for ever
    before = names(tmp_path)
    write_atomically(tmp_path / "a.json", "x")
    assert names(tmp_path) == sorted([*before, "a.json"])
    assert (tmp_path / "kept.json").read_bytes() == b"kept"


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
        ["dstc7", "generate", "--track", "dstc7-ubuntu-1", "--train", "0", "--dev", "9"],
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


FOLDER_WRITER = """
import os, signal, sys
from pathlib import Path
from mwzeval.files.writing import folder_written_atomically
with folder_written_atomically(Path(sys.argv[1])) as folder:
    (folder / "file").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.integration
def test_a_folder_of_a_killed_process_is_swept_and_one_that_is_written_is_not(
    tmp_path: Path,
) -> None:
    killed = subprocess.run([sys.executable, "-c", FOLDER_WRITER, tmp_path / "a"], cwd=ROOT)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    with folder_written_atomically(tmp_path / "b") as folder:
        assert list(tmp_path.iterdir()) == [folder]
        with folder_written_atomically(tmp_path / "c") as other:
            (other / "file").write_text("whole")
            assert set(tmp_path.iterdir()) == {folder, other}
    assert sorted(tmp_path.iterdir()) == [tmp_path / "b", tmp_path / "c"]
    with (
        pytest.raises(MwzevalError, match=r"/c: "),
        folder_written_atomically(tmp_path / "c") as folder,
    ):
        (folder / "file").write_text("late")
    assert (tmp_path / "c/file").read_text() == "whole"
    assert sorted(tmp_path.iterdir()) == [tmp_path / "b", tmp_path / "c"]
