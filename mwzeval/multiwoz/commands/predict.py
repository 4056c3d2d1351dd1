"""Let an agent answer the user turns of the corpus, and write a file of predictions.

The agent is one of `mwzeval live`: rule, rule-convlab, silent, openai:MODEL, package.module:Name or
file.py:Name. The messages and calls of the agent are saved in OUTPUT.run.jsonl at the end of each
dialogue. To resume an interrupted run, repeat the same command; see docs/formats.md.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

from mwzeval.arguments import add_data
from mwzeval.conversation.models import add_model_options, add_request_options
from mwzeval.conversation.pool import add_pool_options
from mwzeval.conversation.trajectory import LiveFile, check_live, live_text
from mwzeval.errors import UsageError, shorten
from mwzeval.multiwoz.benchmark import add_options
from mwzeval.multiwoz.choices import AUTO, FOLDS, LEXICALIZED, SAMPLE, known_name
from mwzeval.output import notify, warnings_behind

RUN_ENDING = ".run.jsonl"
"""Suffix of the file with the messages, which is in the same folder as the predictions."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this command."""
    from mwzeval.multiwoz.answering import CONTEXTS, GOLD
    from mwzeval.multiwoz.live.options import add_agent_options

    parser.add_argument(
        "--agent",
        required=True,
        metavar="NAME",
        help="agent that answers; the choices are those of `mwzeval live`",
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="output file: .json or .jsonl",
    )
    parser.add_argument(
        "--context",
        choices=CONTEXTS,
        default=GOLD,
        help="system turns in the agent's history: gold (default) uses the responses of the "
        "corpus, own uses the agent's earlier responses and calls",
    )
    parser.add_argument(
        "--fold", default=FOLDS[0], metavar="FOLD", help=f"{', '.join(FOLDS)} (default: test)"
    )
    parser.add_argument(
        "--dialogues",
        metavar="NUMBER or IDS",
        help="number of dialogues (the same dialogues as those of live --goals "
        "corpus:FOLD:NUMBER), or ids separated by commas (default: all)",
    )
    parser.add_argument(
        "--no-states",
        action="store_true",
        help="do not write the states that are derived from the agent's calls; for agents that "
        "call no functions, so that their scores use the gold states",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")
    add_pool_options(parser)
    add_agent_options(parser)
    add_data(parser)
    add_model_options(parser)
    add_request_options(parser)
    add_options(parser, "--prices")
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="no progress bar; print only problems"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the predictions of an agent; return 1 if infrastructure errors ended dialogues, else 0.

    Raises `UsageError` if an option is invalid, and `DataError` if the corpus is missing.
    """
    from mwzeval.conversation.protocols import INFRASTRUCTURE
    from mwzeval.conversation.runs import run_as_asked
    from mwzeval.conversation.usage import AGENT, Accounts, read_prices, usage_text
    from mwzeval.files.reading import read_bytes
    from mwzeval.files.writing import write_atomically
    from mwzeval.multiwoz.answering import CorpusSetting, predicted_turns
    from mwzeval.multiwoz.goals import CORPUS
    from mwzeval.multiwoz.live.options import LiveOptions
    from mwzeval.multiwoz.predictions import check_name, predictions_text
    from mwzeval.scores.findings import Findings

    output = arguments.output
    check_name(output)
    if Path(output).suffix not in (".json", ".jsonl"):
        raise UsageError(f"{shorten(output, 300)}: the output must be a .json or .jsonl file")
    file = str(Path(output).with_suffix("")) + RUN_ENDING
    prices = None if arguments.prices is None else read_prices(arguments.prices)
    fold = known_name("fold", arguments.fold, FOLDS)
    chosen = () if arguments.dialogues is None else (arguments.dialogues,)
    options = LiveOptions.of(arguments, goals=":".join((CORPUS, fold, *chosen)))
    setting = CorpusSetting(options, arguments.context)
    arguments.interrupted = f"repeat the same command to resume {file}"
    summary = run_as_asked(arguments, setting, file)
    arguments.interrupted = f"repeat the same command to write {output} from {file}"
    held = LiveFile()
    if summary.scored:
        findings = Findings(file)
        held = check_live(live_text(read_bytes(file), file), findings)
        findings.check()
    predictions = {
        name: predicted_turns(dialogue, len(setting.turns[name]), states=not arguments.no_states)
        for name, dialogue in held.dialogues.items()
        if dialogue.end != INFRASTRUCTURE
    }
    if predictions:
        write_atomically(output, predictions_text(predictions, output))
    responses = [turn["response"] for turns in predictions.values() for turn in turns]
    empty = responses.count("")
    missing = len(setting.items) - len(predictions)
    if empty or missing or not arguments.quiet:
        for line in str(summary).splitlines():
            notify(line)
    if empty:
        notify(
            f"{empty:,} of {len(responses):,} turns have no answer, so their responses are empty"
        )
    if not arguments.quiet:
        usage = Findings()
        sides = Accounts.of(held.dialogues, held.header, prices, usage).sides
        with warnings_behind(usage.warnings, can_be_validated=False):
            for account in sides:
                if account.side == AGENT:
                    notify(f"the model: {usage_text(account.total, account.usd(account.total))}")
        if predictions:
            notify(f"wrote {output}: {len(predictions):,} dialogues, {len(responses):,} turns")
            notify(f"next: {_next(arguments, fold, responses)}")
    if missing:
        what = f"{missing:,} of {len(setting.items):,} dialogues are missing in the predictions"
        why = f": {summary.problem}" if summary.is_stopped else ""
        notify(f"failed: {what}; repeat the command to retry only these ({file}){why}")
        return 1
    return 0


def _next(arguments: argparse.Namespace, fold: str, responses: Sequence[str]) -> str:
    """Return the command that scores the predictions."""
    from mwzeval.multiwoz.census import Wording

    words = ["mwzeval", "evaluate", arguments.output]
    if arguments.corpus not in (AUTO, SAMPLE):
        words += ["--corpus", arguments.corpus]
    if fold != FOLDS[0]:
        words += ["--fold", fold]
    if arguments.data is not None:
        words += ["--data", arguments.data]
    wording = Wording.of(responses)
    if wording.identifier_in_words and wording.lexicalized:
        words += ["--responses", LEXICALIZED]
    return shlex.join(words)
