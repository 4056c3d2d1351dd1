"""Run command lines one after the other, each in a separate process with limits.

The input has lines of JSON, `{"call": [...], "output": folder}`. Each is answered with a line that
has the exit code, the standard error output, and whether a limit was exceeded.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Any

SECONDS = 20
BYTES = 10**9
"""Limit of the data segment, which does not count the mapped files of imported libraries."""


def run(call: list[str]) -> int:
    from mwzeval.cli import main

    try:
        return main(call)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
        return 99


def in_child(call: list[str], heard: Path) -> None:
    """Run a command line with limits, and exit."""
    os.setsid()
    for number, name in ((1, heard.with_suffix(".out")), (2, heard)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  (the old one has been read)
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    signal.alarm(3 * SECONDS)  # for blocked processes; the machine may be busy
    code = 98
    try:
        code = run(call)
        sys.stderr.flush()
        sys.stdout.flush()
    finally:
        os._exit(code)


def main() -> None:
    """Answer lines until the input ends."""
    for name in ("mwzeval.cli", "mwzeval.commands.evaluate", "mwzeval.multiwoz.evaluator"):
        import_module(name)
    for line in sys.stdin:
        asked: dict[str, Any] = json.loads(line)
        heard = Path(asked["heard"])
        child = os.fork()
        if not child:
            in_child(asked["call"], heard)
        _, status, used = os.wait4(child, 0)
        said = heard.read_text(encoding="utf-8", errors="replace")
        answer = {
            "code": os.waitstatus_to_exitcode(status),
            "said": said,
            "seconds": used.ru_utime + used.ru_stime,
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
