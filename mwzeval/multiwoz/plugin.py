"""The benchmark class of MultiWOZ, which the entry point registers, and its options.

`mwzeval --help` imports this module, so slow modules are imported in functions.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, _ActionsContainer, _ArgumentGroup
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mwzeval.benchmark import Benchmark, OwnVerb, recognised
from mwzeval.multiwoz import (
    AUTO,
    CONVLAB2,
    CORPUS_NAMES,
    FOLDS,
    HEADLINE,
    INPUT_FORMATS,
    LIVE,
    NAME,
    RESPONSES,
    RULES,
    TITLE,
)

if TYPE_CHECKING:
    from mwzeval.conversation.pool import RunSetting
    from mwzeval.files.downloads import DataRoot
    from mwzeval.multiwoz.file_scorer import MultiWozScorer
    from mwzeval.scores.report import Report
    from mwzeval.scores.sheets import Document


OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "--tools": {
        "metavar": "FILE",
        "help": "JSON file that maps your own functions and their arguments to those of "
        "`mwzeval tools-schema` (docs/formats.md)",
    },
    "--responses": {
        "default": AUTO,
        "choices": RESPONSES,
        "help": "kind of responses: lexicalized responses are delexicalized with the database "
        "before they are scored; delexicalized responses have placeholders; auto "
        "(default) takes the kind of most responses (docs/formats.md)",
    },
    "--unfilled": {
        "default": (),
        "metavar": "VALUE,…",
        "help": "state values that mean \"not filled\", such as none,'not mentioned' ('' is the "
        "empty value); by default, every value counts as filled",
    },
    "--corpus": {
        "default": AUTO,
        "metavar": "NAME",
        "help": f"{', '.join(CORPUS_NAMES)}, or auto (default): sample for dialogues of the "
        "sample, else multiwoz-2.2",
    },
    "--fold": {
        "default": "test",
        "metavar": "FOLD",
        "help": f"{', '.join(FOLDS)} (default: test)",
    },
    "--rules": {
        "default": "2021",
        "metavar": "YEAR",
        "help": f"normalization rules, {' or '.join(RULES)} (default: 2021, the rules of the "
        "leaderboard)",
    },
    "--references": {
        "metavar": "NAMES",
        "help": "reference sets for BLEU, separated by commas (default: the corpus and every "
        "references/*.json in the data folder)",
    },
    "--compat": {
        "choices": (CONVLAB2,),
        "help": "judge live dialogues by their acts, like the public evaluator of ConvLab-2 "
        "(default: judge the text; dialogues without text are judged by their acts with "
        "corrected rules)",
    },
    "--prices": {
        "metavar": "FILE",
        "help": 'JSON file with the prices of models in live dialogues, {"MODEL": {"in": USD '
        'per million tokens, "out": …, "cached_in": …}}',
    },
    "--exclude-user-faults": {
        "action": "store_true",
        "help": "also print scores over only those live dialogues in which the simulated user "
        "makes no mistake",
    },
}
"""The options that several commands have. A FILE is the name of an input file."""
ACCOUNTING = ("--prices", "--exclude-user-faults")
_OF_EVALUATOR = (
    *("corpus", "fold", "rules", "data", "input_format", "responses", "unfilled"),
    *("references", "rollouts"),
)


def add_options(parser: _ActionsContainer, *names: str) -> None:
    """Add some of the `OPTIONS`."""
    from mwzeval.arguments import InputFile  # imports NumPy, which `--help` does not need

    for name in names:
        option = dict(OPTIONS[name])
        if option.get("metavar") == "FILE":
            option["type"] = InputFile
        parser.add_argument(name, **option)


def add_input_format(parser: ArgumentParser, *, others: Sequence[str] = ()) -> None:
    """Add the options `--input-format` and `--tools`.

    `others` are additional formats for files that are not predictions.
    """
    choices = (*INPUT_FORMATS, *others)
    parser.add_argument(
        "--input-format",
        default=AUTO,
        choices=choices,
        help=f"input format: {', '.join(choices)} (default: auto, detected from the content)",
    )
    add_options(parser, "--tools")


def add_reading(parser: ArgumentParser) -> None:
    """Add options for reading predictions, and for the data with which predictions are compared."""
    add_input_format(parser, others=(LIVE,))
    add_options(parser, "--responses", "--unfilled")
    add_corpus(parser)


def reading(arguments: Namespace) -> dict[str, Any]:
    """Return the values of the options of a command that are arguments of an `Evaluator`.

    Raises `InputError` if the file of tools cannot be read.
    """
    from mwzeval.multiwoz.functions import read_tools

    given = {name: getattr(arguments, name) for name in _OF_EVALUATOR if name in arguments}
    return given | {"tools": read_tools(getattr(arguments, "tools", None))}


def add_corpus(parser: ArgumentParser) -> None:
    """Add options for corpus, rules, and location of the data."""
    from mwzeval.arguments import add_data

    add_options(parser, "--corpus", "--fold", "--rules")
    add_data(parser)


def add_metrics(parser: ArgumentParser, default: str) -> _ArgumentGroup:
    """Add an option for each metric; `default` describes the metrics that are scored by default."""
    metrics = parser.add_argument_group("metrics", f"default: {default}")
    for short, name, what in METRICS:
        metrics.add_argument(short, f"--{name}", action="store_true", help=what)
    return metrics


def add_dst_rules(parser: _ActionsContainer, default: str | None = None) -> None:
    """Add `--dst-rule`, which selects additional rules for state tracking."""
    from mwzeval.multiwoz.tracking import FUZZY95, KNOWN_CHOICES, PRESETS

    choices = ", ".join(KNOWN_CHOICES)
    by_default = f" (default: {default})" if default else ""
    parser.add_argument(
        "--dst-rule",
        action="append",
        default=[],
        metavar="RULE,…",
        help="score state tracking by published rules, and print flexible goal accuracy (FGA): "
        f"{', '.join(PRESETS)}, or one of these rules with changed choices, such as "
        f"exact+dontcare=absent ({choices}; see docs/metrics.md#choices); --dst has the rules "
        f"{FUZZY95}{by_default}",
    )


METRICS = (
    ("-b", "bleu", "BLEU against every available reference set"),
    ("-s", "success", "Inform and Success rates"),
    ("-r", "richness", "lexical richness: distinct n-grams, entropies, lengths, MSTTR"),
    ("-d", "dst", "dialogue state tracking: joint accuracy, and precision, recall and F1 of slots"),
    (
        "-g",
        "grounded",
        "factual correctness of responses, compared with the database; bookings (docs/metrics.md)",
    ),
)
SCORING = ("evaluate", "rows", "runs", "compare", "power", "report", "plot")
"""Commands that score the selected metrics."""


class MultiWoz(Benchmark):
    """MultiWOZ, and the embedded sample corpus."""

    api = 1
    name, title = NAME, TITLE
    input_help = (
        'A correct file: {"sng0073": [{"response": "How about [hotel_name]?", '
        '"state": {"hotel": {"area": "south"}}}, …], …}\n'
        "docs/formats.md describes all formats that are read."
    )
    headline = HEADLINE
    gates = "inform=85,success=70,inform.hotel=80"
    verbs: Mapping[str, OwnVerb] = {
        "add-slot-domains": OwnVerb(
            "add active_domains, derived from the domains of placeholders",
            "mwzeval.multiwoz.commands:AddSlotDomains",
            "files",
        ),
        "delexicalize": OwnVerb(
            "replace values in responses with placeholders, using the database",
            "mwzeval.multiwoz.commands:Delexicalize",
            "files",
        ),
        "tools-schema": OwnVerb(
            "print the JSON schema of the tools, for systems that call tools",
            "mwzeval.multiwoz.commands:ToolsSchema",
            "agents",
        ),
        "predict": OwnVerb(
            "let an agent answer the user turns of the corpus, and write its answers as "
            "predictions",
            "mwzeval.multiwoz.answering:Predict",
            "agents",
        ),
        "tools-serve": OwnVerb(
            "serve the tools over MCP, for agents with their own client",
            "mwzeval.multiwoz.commands:ToolsServe",
            "agents",
        ),
        "ceiling": OwnVerb(
            "score the gold data, whose scores are a ceiling for systems",
            "mwzeval.multiwoz.commands:Ceiling",
            "score",
        ),
        "claims": OwnVerb(
            "list the facts that responses state, and whether they are true",
            "mwzeval.multiwoz.commands:Claims",
            "score",
        ),
        "dst-errors": OwnVerb(
            "count how often each slot of the state is correct, missing, spurious or wrong",
            "mwzeval.multiwoz.commands:DstErrors",
            "score",
        ),
        "judge": OwnVerb(
            "score live dialogues with other prices, without dialogues in which the user errs, or "
            "by the rules of ConvLab-2",
            "mwzeval.multiwoz.commands:Judge",
            "agents",
        ),
        "stress": OwnVerb(
            "compare runs under stress conditions with a run without them: drops, robustness, "
            "pass^k",
            "mwzeval.multiwoz.commands:Stress",
            "compare",
        ),
        "baseline": OwnVerb(
            "run a baseline system on a fold and write its predictions",
            "mwzeval.multiwoz.commands:Baseline",
            "files",
        ),
    }

    def recognises(self, raw: Any) -> bool:
        """Return whether a JSON value looks like predictions; only its first turn is checked.

        Without active domains, external benchmarks that recognize the value have priority.
        """
        turns = next(iter(raw.values()), None) if isinstance(raw, dict) else None
        first = turns[0] if isinstance(turns, list) and turns else None
        if not isinstance(first, dict) or "response" not in first:
            return False
        return "active_domains" in first or not recognised(raw, but=NAME, external=True)

    def add_arguments(self, parser: ArgumentParser, verb: str) -> None:
        """Add options for metrics, reading predictions, and comparison data."""
        if verb in SCORING:
            but = " but -g" if verb == "compare" else ""
            add_dst_rules(add_metrics(parser, f"all metrics that the input allows{but}"))
        if verb == "shards":
            add_dst_rules(add_metrics(parser, "-bsrd"))
            parser.add_argument(
                "--rollouts",
                action="store_true",
                help="accept several predictions of a dialogue, with numbered ids such as "
                "sng0073#12",
            )
        if verb == "explain":
            tracking = parser.add_argument_group("state tracking (docs/explaining.md)")
            tracking.add_argument(
                "-d",
                "--dst",
                action="store_true",
                help="explain states instead of responses: missing, spurious and wrong slots in "
                "each turn",
            )
            add_dst_rules(tracking)
        if verb == "validate":
            parser.add_argument(
                "-d",
                "--dst",
                action="store_true",
                help="check only what state tracking needs, so that responses may be missing",
            )
        if verb == "leaderboard":
            parser.add_argument(
                "--table",
                metavar="NAME",
                help="print only this table: end_to_end, policy_optimization, state_tracking or "
                "zero_shot (default: all tables; with a system, the first two: a system with "
                "predicted states is added to end_to_end, one with gold states to "
                "policy_optimization)",
            )
        if verb in (*SCORING, "shards"):
            add_options(parser, "--references")
        if verb == "live":
            from mwzeval.arguments import add_data
            from mwzeval.multiwoz.live.options import add_live

            add_live(parser)
            add_options(parser, "--compat")
            add_data(parser)
            add_options(parser, *ACCOUNTING)
        else:
            add_reading(parser)
            if verb not in ("evaluate", "validate", "leaderboard", "shards"):
                add_options(parser, "--compat")
            if verb in ("runs", "compare", "report"):
                add_options(parser, *ACCOUNTING)

    def scorer(self, arguments: Namespace) -> MultiWozScorer:
        """Return the scorer of predictions and live dialogues. Raises `UsageError`."""
        from mwzeval.arguments import files_of
        from mwzeval.conversation.usage import read_prices
        from mwzeval.multiwoz.file_scorer import MultiWozScorer

        verb, rules = arguments.verb, getattr(arguments, "dst_rule", [])
        everything = tuple(name for _, name, _ in METRICS)
        asked = tuple(name for name in everything if getattr(arguments, name, False))
        of_verb = {
            "validate": asked,
            "explain": asked if rules else asked or ("success",),
            "leaderboard": ("bleu", "success", "richness"),
            "claims": ("grounded",),
        }
        if verb == "ceiling" and not files_of(arguments, required=False):
            of_verb["ceiling"] = asked or everything
        metrics = of_verb.get(verb, asked)
        allowed = () if metrics or rules or verb in of_verb else everything
        if verb == "compare":
            allowed = tuple(name for name in allowed if name != "grounded")
        prices = getattr(arguments, "prices", None)
        return MultiWozScorer(
            arguments=reading(arguments) | {"dst_rules": rules},
            metrics=metrics,
            allowed=allowed,
            need_states=verb in ("compare", "explain") and bool(rules or "dst" in asked),
            live_options={
                "compat": getattr(arguments, "compat", None),
                "refusal": _refusal_of_live(arguments),
                "prices": None if prices is None else read_prices(prices),
                "exclude_user_faults": getattr(arguments, "exclude_user_faults", False),
            },
        )

    def live(self, arguments: Namespace) -> RunSetting:
        """Return a run setting at the text or act level that uses the database of a corpus."""
        from mwzeval.multiwoz.live.episodes import setting_of

        return setting_of(arguments)

    def leaderboard(self, entry: Report | None, arguments: Namespace) -> Document:
        """Return the published tables of response generation."""
        from mwzeval.multiwoz.leaderboard import published_document

        return published_document(entry, arguments.table)

    def shelf(self, data: str | None) -> DataRoot:
        """Return the collection of public files."""
        from mwzeval.multiwoz import DEFAULT_CORPUS, SAMPLE
        from mwzeval.multiwoz.corpus import CORPORA, corpus_root, places

        patterns = {name: places(layout) for name, layout in CORPORA.items() if name != SAMPLE}
        patterns["convlab2"] = ("convlab2/*",)
        return replace(corpus_root(DEFAULT_CORPUS, data), corpora=patterns)


def _refusal_of_live(arguments: Namespace) -> str | None:
    """Return why the options do not apply to live dialogues, or None if they apply."""
    if arguments.verb == "leaderboard":
        return "the published tables score responses to dialogues of the corpus"
    if arguments.verb == "ceiling":
        return "they have no gold data"
    of_corpus = [name for _, name, _ in METRICS if name != "grounded"]
    asked = [f"--{name}" for name in of_corpus if getattr(arguments, name, False)]
    asked += ["--dst-rule"] if getattr(arguments, "dst_rule", []) else []
    if asked:
        return (
            f"{asked[0]} needs responses to dialogues of the corpus; for live runs, only -g "
            "can be used"
        )
    return None
