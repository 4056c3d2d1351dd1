"""The commands that only MultiWOZ has, except `predict`.

Each command is a class: its docstring is the help, `add_arguments` adds the options, and `run`
returns the exit code. Slow modules are imported in `run`, so that `--help` is fast.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mwzeval.arguments import (
    STANDARD_OUTPUT,
    add_data,
    add_files,
    add_format,
    add_intervals,
    add_resampling,
    file_of,
    files_of,
    resampling_of,
)
from mwzeval.errors import InputError, UsageError
from mwzeval.multiwoz import (
    CORPUS_NAMES,
    DEFAULT_CORPUS,
    FOLDS,
    LEXICALIZED,
    LIVE,
    NAME,
    RULES,
    corpus_named,
    known_name,
)
from mwzeval.multiwoz.plugin import (
    ACCOUNTING,
    MultiWoz,
    add_corpus,
    add_dst_rules,
    add_input_format,
    add_metrics,
    add_options,
    add_reading,
    reading,
)
from mwzeval.multiwoz.schema import ALL_DOMAINS
from mwzeval.outcome import add_outcome, finish, finish_report
from mwzeval.output import notify, warnings_behind, write_output, write_result

if TYPE_CHECKING:
    from mwzeval.conversation.mcp import Sessions
    from mwzeval.conversation.protocols import Tools
    from mwzeval.multiwoz.words.text import Delexicalized
    from mwzeval.scores.report import Report
    from mwzeval.scores.sheets import Document


class Ceiling:
    """Score the gold data as predictions: the ceiling of a system's scores.

    Without a file of a system, the gold data of the whole fold are scored. With a system's file,
    the system's scores are printed next to those of the gold data of the same dialogues."""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Add the arguments of this command."""
        parser.set_defaults(benchmark=NAME)
        add_files(parser, "a system's file (default: none)", several=False)
        parser.add_argument(
            "-o", "--output", metavar="OUTPUT.json", help="also write a JSON report"
        )
        add_metrics(parser, "all metrics that the input allows (for a fold: all metrics)")
        add_options(parser, "--references")
        add_reading(parser)
        add_intervals(parser)
        add_format(parser)

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        """Print the scores; write a report if requested; return 0."""
        from mwzeval.metrics.measure import Resampling
        from mwzeval.multiwoz.ceiling import GOLD, ceiling_of, document_with, signed_as_gold
        from mwzeval.scores.report import summary
        from mwzeval.scores.sheets import printed
        from mwzeval.text import to_json

        scorer = MultiWoz().scorer(arguments)
        resampling = Resampling(arguments.ci) if arguments.ci else None
        if files := files_of(arguments, at_most=1, required=False):
            system: Any = scorer.score(files[0], progress=True)
            ceiling = ceiling_of(scorer, system, None)
            report = system.report(resampling)
            report = replace(report, meta={**report.meta, "ceiling": dict(ceiling.metrics)})
            document = document_with(ceiling, report)
        else:
            report = signed_as_gold(ceiling_of(scorer, None, resampling))
            document = summary(report)
            heading = (
                *document.heading,
                f"These are the scores of the {GOLD} when they are taken as predictions.",
            )
            document = replace(document, heading=heading)
        with warnings_behind(report.warnings):
            if arguments.output:
                write_output(arguments.output, to_json(report.to_dict()))
            write_result(printed(document, arguments.format), arguments.format)
        return 0


class Claims:
    """List the claims of lexicalized responses: position, meaning, and whether they are true.

    The output has one line of JSON per claim (docs/metrics.md#every-claim). Example for one
    dialogue:
      mwzeval claims FILE | grep sng0073"""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Add the arguments of this command."""
        parser.set_defaults(benchmark=NAME)
        add_files(parser, "a system's file", several=False)
        parser.add_argument(
            "-o",
            "--output",
            default="-",
            metavar="FILE.jsonl",
            help="output file for the claims (default: standard output)",
        )
        add_reading(parser)

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        """Write one line of JSON for each claim; return 0."""
        from mwzeval.text import json_line

        system: Any = MultiWoz().scorer(arguments).score(file_of(arguments))
        with warnings_behind(system.warnings):
            text = "".join(
                json_line({"dialogue": dialogue, **asdict(claim)}) + "\n"
                for dialogue, claim in system.claims()
            )
            if arguments.output in STANDARD_OUTPUT:
                write_result(text, "jsonl")
            else:
                write_output(arguments.output, text)
        return 0


NOTE = (
    "number of turns in which a slot was correct, missing (annotated but not predicted), "
    "spurious (predicted but not annotated) or wrong (predicted with a different value); gold → "
    "predicted: the most frequent wrong values"
)
SHOWN = 2
"""Maximum number of confusions in a row of a table; records and JSON contain more."""


class DstErrors:
    """Count how often each slot is correct, missing, spurious or wrong, with frequent confusions.

    A slot is missing when only the annotation has it, spurious when only the prediction has it, and
    wrong when the values differ.
    """

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Add the arguments of this command."""
        parser.set_defaults(benchmark=NAME)
        add_files(parser, "a system's file", several=False)
        add_dst_rules(parser, "exact")
        add_reading(parser)
        add_format(parser)

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        """Print the state errors in a table for each tracking rule; return 0.

        Raises `UsageError` for a file without states.
        """
        from mwzeval.scores.sheets import printed

        arguments.dst_rule = arguments.dst_rule or ["exact"]
        file = file_of(arguments)
        report = MultiWoz().scorer(arguments).score(file).report()
        document = _errors_document(report)
        if not document.sheets:
            raise UsageError(f"{file} has turns without a state, so errors cannot be counted")
        with warnings_behind(report.warnings):
            write_result(printed(document, arguments.format), arguments.format)
        return 0


def _errors_document(report: Report) -> Document:
    """Return a table for each rule (none without states) and a record for each slot."""
    from mwzeval.scores.sheets import Document, sheet

    by_rule = {
        rule: scores["errors"] for rule, scores in (report.metrics.get("dst_rules") or {}).items()
    }
    sheets, records = [], []
    for rule, of_slots in by_rule.items():
        rows = []
        for slot, errors in of_slots.items():
            counts = {kind: number for kind, number in errors.items() if kind != "confusions"}
            confusions = [
                "{gold} → {predicted} ({turns})".format(**confusion)
                for confusion in errors["confusions"]
            ]
            rows.append([slot, *map(str, counts.values()), "; ".join(confusions[:SHOWN])])
            everything = "; ".join(confusions)
            records.append({"rule": rule, "slot": slot, **counts, "confusions": everything})
        header = ["slot", "correct", "missing", "spurious", "wrong", "gold → predicted"]
        sheets.append(sheet(rule, header, rows))
    return Document(
        heading=(f"{report.meta['corpus']}, {report.meta['fold']} fold",),
        sheets=tuple(sheets),
        notes=(NOTE,),
        records=tuple(records),
        plain={"dst_errors": by_rule},
    )


class Judge:
    """Score files of live dialogues with settings that `mwzeval evaluate` does not have.

    Use the rules of ConvLab-2's public evaluator (--compat), add the cost of models (--prices),
    leave out dialogues in which the user makes a mistake, or read calls of your own tools
    (--tools)."""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Add the arguments of this command."""
        parser.set_defaults(benchmark=NAME, input_format=LIVE)
        add_files(parser, "a file of live dialogues", several=False)
        add_options(parser, "--compat", *ACCOUNTING)
        parser.add_argument(
            "-g", "--grounded", action="store_true", help="print all scores of factual correctness"
        )
        add_options(parser, "--tools")
        add_corpus(parser)
        add_intervals(parser)
        add_format(parser)
        add_outcome(parser, MultiWoz())

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        """Print the scores of live dialogues and return the exit code.

        Raises `UsageError` without live dialogues.
        """
        from mwzeval.conversation.trajectory import is_header
        from mwzeval.files.reading import beginning_value
        from mwzeval.metrics.measure import Resampling

        file = file_of(arguments)
        if Path(file).is_file() and not is_header(beginning_value(file)):
            raise UsageError(f"{file} has no live dialogues: `mwzeval evaluate` scores predictions")
        scorer = MultiWoz().scorer(arguments)
        system = scorer.score(file, progress=not arguments.quiet)
        report = system.report(Resampling(arguments.ci) if arguments.ci else None)
        return finish_report(arguments, scorer, report)


class Stress:
    """Compare runs under stress conditions with a run of the same agent without conditions.

    The runs must have the same goals, user and seed. The table shows for each run its success, the
    drop of success (paired by goal), robustness, recovery, false bookings, turns, calls and cost,
    and for all runs together pass^k. docs/stress.md describes the conditions. Example:
      mwzeval stress clean.jsonl realistic.jsonl hard.jsonl --fail-under drop=10,robustness=80"""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Add the arguments of this command."""
        parser.set_defaults(benchmark=NAME, input_format=LIVE)
        add_files(
            parser,
            "a run without stress conditions, then runs of the same agent with stress conditions",
        )
        add_options(parser, "--prices", "--tools")
        add_corpus(parser)
        add_resampling(parser)
        add_format(parser)
        add_outcome(parser, MultiWoz())

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        """Print the drops of scores; return the exit code.

        Raises `UsageError` if the runs do not match.
        """
        from mwzeval.comparison.gates import failures
        from mwzeval.files.reading import shortest_ends
        from mwzeval.multiwoz.live import drops
        from mwzeval.multiwoz.live.report import ScoredRun

        files = files_of(arguments)
        if len(set(files)) < max(len(files), 2):
            arguments.parser.error(
                "name a run without stress conditions, then one or more runs with stress "
                "conditions, each once"
            )
        scorer, runs = MultiWoz().scorer(arguments), {}
        names = shortest_ends([file.removesuffix(".jsonl") for file in files])
        for name, file in zip(names, files, strict=True):
            scored = scorer.score(file, progress=not arguments.quiet)
            if not isinstance(scored, ScoredRun):
                raise UsageError(f"{file} has no live dialogues")
            runs[name] = scored
        drops.check_runs(runs)
        how = resampling_of(arguments)
        scores = drops.scores_of(runs, how)
        failed = failures(arguments.fail_under, scores, {})
        warnings = [warning for run in runs.values() for warning in run.warnings]
        return finish(arguments, drops.stress_document(runs, scores, how), warnings, failed)


SYSTEMS = ("template",)


class Baseline:
    """Run a baseline system over a fold and write its predictions.

    The baseline `template` is a template-based policy that uses the database. The policy gets the
    gold states, and uses the user's utterances only to find requested slots by keywords; see
    docs/multiwoz.md."""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Add the arguments of this command."""
        parser.add_argument("system", choices=SYSTEMS, help="the baseline system: template")
        parser.add_argument(
            "-o",
            "--output",
            required=True,
            metavar="FILE",
            help="output file: .json or .jsonl; - writes JSON to standard output",
        )
        add_corpus(parser)
        parser.add_argument(
            "--lexicalized",
            action="store_true",
            help="write lexicalized responses, with values of the database instead of placeholders",
        )
        parser.add_argument(
            "--states",
            action="store_true",
            help="also write the gold states; in a file without states, the evaluation uses the "
            "gold states and prints a warning",
        )

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        """Run the system and write its predictions; return the exit code.

        Raises `UsageError` if the name of the output file ends in neither .json nor .jsonl.
        """
        from mwzeval.files.reading import STANDARD_INPUT
        from mwzeval.multiwoz.corpus import corpus_root, load_fold
        from mwzeval.multiwoz.predictions import check_name, predictions_text
        from mwzeval.multiwoz.template_system import baseline_predictions, known_services

        check_name(arguments.output)
        corpus = corpus_named(arguments.corpus)
        fold = known_name("fold", arguments.fold, FOLDS)
        rules = known_name("rules", arguments.rules, RULES)
        root = corpus_root(corpus, arguments.data)
        predictions = baseline_predictions(
            load_fold(corpus, fold, root),
            rules,
            states=arguments.states,
            services=known_services(root) if arguments.lexicalized else None,
        )
        text = predictions_text(predictions, arguments.output)
        if arguments.output == STANDARD_INPUT:
            write_result(text, "json")
            return 0
        count = f"{len(predictions)} dialogues, {sum(map(len, predictions.values()))} turns"
        write_output(arguments.output, text, f": {count} of the {fold} fold of {corpus}")
        return 0


class AddSlotDomains:
    """Fill active_domains of every turn with the domains that its placeholders name.

    The command is for systems that write placeholders such as [restaurant_name] but predict no
    active domains."""

    @staticmethod
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

    @staticmethod
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
                "Every turn already has active_domains. Overwrite them? [y/N] ",
                end="",
                file=sys.stderr,
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


NOT_OF_DATABASE = frozenset({"parking", "internet", "openhours", "reference", "count"})
"""Slots in the results of functions that are not looked up in the database."""
COLUMNS = {"mentions": "mentions", "not_in_database": "not in database", "unsure": "unsure"}
"""The column header for each key of a slot's counts."""


class Delexicalize:
    """Replace values of the database in lexicalized responses with placeholders.

    Everything else in the predictions is unchanged. A table shows the number of mentions of each
    slot, of mentions that are not in the database, and of ambiguous mentions."""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Add the arguments of this command."""
        add_files(
            parser,
            "predictions: .json or .jsonl, also .gz, .xz or .zst; - reads JSON from standard input",
            several=False,
        )
        parser.add_argument(
            "-o",
            "--output",
            required=True,
            metavar="OUTPUT.json",
            help="output file for the delexicalized predictions (- is standard output; the table "
            "then goes to standard error)",
        )
        parser.add_argument(
            "--mentions",
            metavar="FILE.jsonl",
            help="also write a list of all mentions: position, text, slot, domain, value and "
            "venues in the database, and whether the mention is certain",
        )
        add_format(parser)
        add_input_format(parser)
        add_options(parser, "--unfilled")
        add_corpus(parser)
        parser.add_argument("--strict", action="store_true", help="treat every warning as an error")

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        """Write the delexicalized predictions and print the counts of mentions; return 0.

        With `--strict`, raises `InputError` if there are warnings.
        """
        from mwzeval.multiwoz.evaluator import Evaluator
        from mwzeval.multiwoz.formats import adapt
        from mwzeval.multiwoz.predictions import predictions_text, read_predictions
        from mwzeval.scores.findings import Findings
        from mwzeval.scores.sheets import printed, render
        from mwzeval.text import json_line

        evaluator = Evaluator(**reading(arguments), responses=LEXICALIZED)
        file = file_of(arguments)
        raw = read_predictions(file)
        checked = evaluator.checked(raw, file=file)
        if arguments.strict and checked.warnings:
            raise InputError(checked.warnings)
        delexicalized = {
            name: checked.scorer.delexicalized(name, turns, checked.sources)
            for name, turns in checked.dialogues.items()
        }
        if arguments.mentions:
            lines = (
                json_line({"dialogue": name, "turn": number, **mention._asdict()}) + "\n"
                for name, turns in delexicalized.items()
                for number, turn in enumerate(turns)
                for mention in turn.mentions
            )
            write_output(arguments.mentions, "".join(lines))
        # The input is converted again, because the output also has the keys that are not scored.
        adapted = adapt(raw, arguments.input_format, Findings(), evaluator.tools)
        filled = {
            name: [
                {**turn, "response": found.response}
                for turn, found in zip(adapted[name], turns, strict=True)
            ]
            for name, turns in delexicalized.items()
        }
        written = predictions_text(filled, arguments.output)
        responses = [turn.response or "" for turns in checked.dialogues.values() for turn in turns]
        found = [turn for turns in delexicalized.values() for turn in turns]
        table = _mentions_document(responses, found)
        with warnings_behind(checked.warnings):
            if arguments.output in STANDARD_OUTPUT:
                write_result(written, "json")
                sys.stderr.write(render(table, arguments.format))
            else:
                write_output(arguments.output, written)
                write_result(printed(table, arguments.format), arguments.format)
        return 0


def _mentions_document(responses: Iterable[str], turns: list[Delexicalized]) -> Document:
    """Return the numbers of turns and of mentions by slot, the most frequent slot first.

    `not_in_database` counts values that are not in the database although the slot is. `unsure`
    counts ambiguous values and misspelled names.
    """
    from mwzeval.multiwoz.functions import RETURNED
    from mwzeval.multiwoz.placeholders import known_placeholders
    from mwzeval.scores.sheets import Document, sheet

    of_database = frozenset(RETURNED) - NOT_OF_DATABASE
    mentions = [mention for turn in turns for mention in turn.mentions]
    unknown = Counter(mention.slot for mention in mentions if mention.value is None)
    unsure = Counter(mention.slot for mention in mentions if not mention.sure)
    often = Counter(mention.slot for mention in mentions)
    slots: dict[str, dict[str, int | None]] = {}
    for slot, times in sorted(often.items(), key=lambda item: (-item[1], item[0])):
        not_found = unknown[slot] if slot in of_database else None
        slots[slot] = dict(zip(COLUMNS, (times, not_found, unsure[slot]), strict=True))
    with_mentions = sum(bool(turn.mentions) for turn in turns)
    heading = f"{len(mentions)} mentions in {with_mentions} of {len(turns)} turns"
    rows = [
        [slot, *("" if counts[key] is None else str(counts[key]) for key in COLUMNS)]
        for slot, counts in slots.items()
    ]
    return Document(
        heading=(heading,),
        sheets=(sheet("", ["", *COLUMNS.values()], rows),),
        notes=(),
        records=tuple({"slot": slot, **counts} for slot, counts in slots.items()),
        plain={
            "turns": len(turns),
            "with_mentions": with_mentions,
            "with_placeholders": sum(bool(known_placeholders(text)) for text in responses),
            "slots": slots,
        },
    )


class ToolsSchema:
    """Print the functions of MultiWOZ as a JSON tool schema.

    The schema is for systems that call tools: pass it to the model as `tools`, save the
    conversations, and score them with --input-format messages (docs/formats.md)."""

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Add the arguments of this command."""
        parser.add_argument(
            "--strict",
            action="store_true",
            help="print a schema for strict function calling: every argument is required, and "
            "null if unknown",
        )

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        """Print the tool schema; return 0."""
        from mwzeval.multiwoz.functions import tools_schema
        from mwzeval.text import to_json

        print(to_json(tools_schema(strict=arguments.strict)), end="")
        return 0


CANNOT_GO_ON = 2
"""The exit code if the log cannot be written."""


class ToolsServe:
    """Serve the functions of MultiWOZ over the Model Context Protocol (MCP).

    By default, an MCP client starts the server and uses its standard input and output. With --http,
    several clients and sessions can use one server. A session is one conversation. The name of a
    session determines its booking references and its tool faults. See docs/agents.md.
    """

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Add the arguments of this command."""
        from mwzeval.multiwoz.live.stress import LAYERS, TOOL_FAULTS

        faults = [condition for condition, layer in LAYERS.items() if layer == TOOL_FAULTS]
        parser.add_argument(
            "--http",
            nargs="?",
            const="",
            metavar="HOST:PORT",
            help="serve over HTTP at this address (default: a free port of 127.0.0.1)",
        )
        parser.add_argument(
            "--allowed-host",
            action="append",
            default=[],
            metavar="NAME",
            help="additional host name that HTTP clients may use; may be repeated",
        )
        parser.add_argument(
            "--session",
            metavar="NAME",
            help="session of clients that do not name a session, such as sng0073#2 (default: a new "
            "session)",
        )
        parser.add_argument(
            "--seed",
            type=int,
            default=0,
            metavar="N",
            help="seed of booking references, which also depend on the session (default: "
            "%(default)s)",
        )
        parser.add_argument(
            "--log",
            metavar="FILE",
            help="log file; each call adds a line of JSON: session, function, arguments, result",
        )
        parser.add_argument(
            "--stress",
            default="",
            metavar="CONDITIONS",
            help=f"tool faults: {TOOL_FAULTS}, or rates such as errors=.1 (conditions: "
            f"{', '.join(faults)}; sessions have no goal, so full applies to any first booking)",
        )
        parser.add_argument(
            "--corpus",
            default=DEFAULT_CORPUS,
            metavar="NAME",
            help=f"{', '.join(CORPUS_NAMES)} (default: %(default)s; sample needs no data)",
        )
        add_data(parser)

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        """Serve until the client disconnects or Ctrl-C is pressed; return the exit code.

        Raises `DependencyError` if the package is not installed, `UsageError` if the address or log
        is invalid, and `DataError` if the database is missing.
        """
        from mwzeval.conversation.mcp import (
            Address,
            CallLog,
            HttpServer,
            Sessions,
            ToolServer,
            check_installed,
            made_up_name,
            serve_stdio,
        )
        from mwzeval.conversation.trajectory import Planned, Record
        from mwzeval.multiwoz.corpus import corpus_root, read_tables
        from mwzeval.multiwoz.live.stress import (
            ATTITUDE,
            CHANGES,
            NOISE,
            parse_conditions,
        )
        from mwzeval.multiwoz.live.tools import DatabaseTools, schema_of, tools_of
        from mwzeval.statistics.trials import item_and_trial

        conditions = parse_conditions(arguments.stress)
        if wrong := conditions.of(CHANGES, NOISE, ATTITUDE):
            raise UsageError(
                f"--stress: these conditions do not apply to functions: {', '.join(wrong)}"
            )
        check_installed()
        address = None if arguments.http is None else Address.of(arguments.http)
        corpus = known_name("corpus", arguments.corpus, CORPUS_NAMES)
        database = DatabaseTools(read_tables(corpus_root(corpus, arguments.data)))

        def tools(session: str) -> Tools:
            """Return the tools of the live dialogue whose name is the session's name."""
            notify(f"session {session} begins")
            item, trial = item_and_trial(session)
            planned = Planned(item, None, trial or 1, seed=arguments.seed)
            return tools_of(database, planned, conditions, Record())

        with ExitStack() as stack:
            log = None if arguments.log is None else stack.enter_context(CallLog(arguments.log))
            sessions = Sessions(tools, log)
            session = arguments.session or made_up_name()
            server = ToolServer(NAME, schema_of(conditions), sessions.call, session)
            what = f"{len(database.schema)} functions of {corpus} over MCP"
            if address is None:
                notify(f"{what}, on standard input and output")
                serve_stdio(server, lambda: _left(sessions, server.failure))
            else:
                http = HttpServer(
                    server, address, allowed_hosts=arguments.allowed_host, default=arguments.session
                )
                notify(f"{what}, at {http.url}; press Ctrl-C to stop")
                with suppress(KeyboardInterrupt):
                    http.serve()
            return _left(sessions, server.failure)


def _left(sessions: Sessions, failure: Exception | None) -> int:
    """Print a summary of the calls and the reason why the server stopped; return the exit code."""
    notify(str(sessions))
    if failure is None:
        return 0
    notify(f"error: {failure}")
    return CANNOT_GO_ON
