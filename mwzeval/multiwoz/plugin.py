"""The benchmark class of MultiWOZ, which the entry point registers."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mwzeval.benchmark import Benchmark, BenchmarkInfo, OwnVerb, recognised
from mwzeval.multiwoz import HEADLINE, NAME, TITLE

if TYPE_CHECKING:
    from mwzeval.conversation.pool import RunSetting
    from mwzeval.files.downloads import DataRoot
    from mwzeval.multiwoz.file_scorer import MultiWozScorer
    from mwzeval.scores.report import Report
    from mwzeval.scores.sheets import Document


class MultiWoz(Benchmark):
    """MultiWOZ, and the embedded sample corpus."""

    api = 1
    info = BenchmarkInfo(
        NAME,
        TITLE,
        input_help='A correct file: {"sng0073": [{"response": "How about [hotel_name]?", '
        '"state": {"hotel": {"area": "south"}}}, …], …}\n'
        "docs/formats.md describes all formats that are read.",
        headline=HEADLINE,
        gates="inform=85,success=70,inform.hotel=80",
    )
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
        from mwzeval.multiwoz.benchmark import add_arguments

        add_arguments(parser, verb)

    def scorer(self, arguments: Namespace) -> MultiWozScorer:
        """Return the scorer of predictions and live dialogues. Raises `UsageError`."""
        from mwzeval.multiwoz.benchmark import scorer_of

        return scorer_of(arguments)

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
        from mwzeval.multiwoz.choices import DEFAULT_CORPUS, SAMPLE
        from mwzeval.multiwoz.corpus import CORPORA, corpus_root, places

        patterns = {name: places(layout) for name, layout in CORPORA.items() if name != SAMPLE}
        patterns["convlab2"] = ("convlab2/*",)
        return replace(corpus_root(DEFAULT_CORPUS, data), corpora=patterns)
