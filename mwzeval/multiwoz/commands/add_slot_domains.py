"""Fill active_domains of every turn with the domains that its placeholders name.

The command is for systems that write placeholders such as [restaurant_name] but predict no active
domains.
"""

from __future__ import annotations

import argparse
import re
import sys

from mwzeval.arguments import add_files, file_of
from mwzeval.errors import UsageError
from mwzeval.multiwoz.benchmark import add_input_format
from mwzeval.multiwoz.schema import ALL_DOMAINS
from mwzeval.output import notify, write_output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    add_files(parser, "predictions", several=False)
    add_input_format(parser)
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUTPUT.json",
        help="output file for the completed predictions",
    )
    parser.add_argument(
        "-y", "--yes", action="store_true", help="overwrite active_domains without asking"
    )


def run(arguments: argparse.Namespace) -> int:
    """Add active domains to the predictions, write the file, and return the exit code.

    Raises `UsageError` if there are no domains to add, or if domains would be overwritten.
    """
    from mwzeval.files.reading import STANDARD_INPUT
    from mwzeval.multiwoz.formats import adapt
    from mwzeval.multiwoz.functions import read_tools
    from mwzeval.multiwoz.predictions import (
        check_dialogues,
        predictions_text,
        read_predictions,
    )
    from mwzeval.scores.findings import Findings

    file = file_of(arguments)
    findings = Findings(file)
    tools = read_tools(arguments.tools)
    predictions = adapt(read_predictions(file), arguments.input_format, findings, tools)
    findings.check()
    check_dialogues(predictions, findings, need_responses=True)
    findings.check()
    completed = {
        name: [{**turn, "active_domains": _domains_of(turn["response"])} for turn in turns]
        for name, turns in predictions.items()
    }
    complete = all("active_domains" in turn for turns in predictions.values() for turn in turns)
    if complete and not arguments.yes:
        if file == STANDARD_INPUT or not sys.stdin.isatty():
            raise UsageError("every turn already has active_domains; --yes overwrites them")
        print(
            "Every turn already has active_domains. Overwrite them? [y/N] ", end="", file=sys.stderr
        )
        if not _says_yes():
            notify("nothing was written")
            return 1
    turns = [turn for turns in completed.values() for turn in turns]
    named = sum(bool(turn["active_domains"]) for turn in turns)
    if not named:
        raise UsageError(
            "no placeholder names its domain (as [restaurant_name] does), so nothing was "
            "written; without active_domains, the domains are estimated from the states"
        )
    text = predictions_text(completed, arguments.output)
    write_output(arguments.output, text, f": {named} of {len(turns)} turns have a domain")
    return 0


def _domains_of(response: str) -> list[str]:
    """Return the domains in a response's placeholders, in the order of `ALL_DOMAINS`."""
    named = {name.partition("_")[0] for name in re.findall(r"\[([^\[\]]*)\]", response.lower())}
    return [domain for domain in ALL_DOMAINS if domain in named]


def _says_yes() -> bool:
    try:
        return input().strip().lower() in ("y", "yes")
    except EOFError:
        return False
