"""The command line: verbs, arguments, exit codes. Nothing is computed here.

Exit codes: 0 fine, 1 a check failed, 2 bad use or bad input. Results go to standard output,
everything else to standard error.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from mwzeval.errors import MwzevalError
from mwzeval.version import __version__

VERBS = {
    "evaluate": "score a predictions file",
    "validate": "list every problem of a predictions file, as JSON",
    "add-slot-domains": "fill active_domains from the domains of placeholders",
    "data": "show, download or verify corpus files; copy example predictions",
}
"""Each verb is a module of `mwzeval.commands` with `add_arguments(parser)` and `run(arguments)`."""

BAD_USE = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `mwzeval VERB …` and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="mwzeval", description="The standard numbers for task-oriented dialogue systems."
    )
    parser.add_argument("--version", action="version", version=f"mwzeval {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb, summary in VERBS.items():
        _add_arguments(verbs.add_parser(verb, help=summary), verb)
    return _run(parser.parse_args(arguments))


def run_verb(verb: str, program: str) -> int:
    """Run one verb as a program of its own (`python evaluate.py …`) and return the exit code."""
    parser = argparse.ArgumentParser(prog=program)
    _add_arguments(parser, verb)
    return _run(parser.parse_args())


def _add_arguments(parser: argparse.ArgumentParser, verb: str) -> None:
    command = import_module(f"mwzeval.commands.{verb.replace('-', '_')}")
    parser.description = command.__doc__
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.set_defaults(run=command.run, parser=parser)
    command.add_arguments(parser)


def _run(arguments: argparse.Namespace) -> int:
    # Nothing here makes cycles worth collecting, and looking for them takes a tenth of the time.
    gc.disable()
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except MwzevalError as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_USE
    except MemoryError:
        print("error: the input does not fit into memory", file=sys.stderr)
        return BAD_USE
    except KeyboardInterrupt:
        print("interrupted; nothing was written", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of standard output has gone (`| head`); Python must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_USE
    return code
