"""State tracking on SGD (Rastogi et al., AAAI 2020), equal to the official scorer of DSTC8."""

import re
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from mwzeval.arguments import add_data
from mwzeval.benchmark import Benchmark, FileScorer
from mwzeval.files.downloads import DataRoot
from mwzeval.scores.findings import first_item, misfit

HERE = Path(__file__).parent
CHOICES = {
    "corpus": (("sgd", "sample"), "the published gold data, or an invented sample"),
    "fold": (("test", "dev", "train"), "the fold of the gold data"),
    "match": (("fuzzy", "exact"), "how free-form values are compared"),
    "similarity": (("difflib", "levenshtein"), "the formula of fuzzy matching"),
    "joint": (("frame", "turn"), "score joint goals per frame of a service, or per turn"),
    "missing": (("error", "empty", "skip"), "treat missing turns as errors or empty, or skip them"),
}
HEADLINE = tuple(f"{name}_accuracy" for name in ("joint_goal", "average_goal", "active_intent"))


class Sgd(Benchmark):
    """The benchmark, registered by the entry point of the package."""

    api = 1
    name, title = "sgd", "SGD"
    input_help = "A correct input: dialogues in the format of the data, with predicted states"
    headline = (*HEADLINE, "requested_slots_f1")
    gates = "joint_goal_accuracy=0.5"
    examples = HERE / "examples"

    def recognises(self, raw: Any) -> bool:
        """Return whether all services of the first dialogue have names such as `Hotels_2`."""
        first = first_item(raw)
        fits = not misfit(first, {"services": (str,)})
        return fits and all(re.fullmatch(r"[A-Z][A-Za-z]*_[0-9]+", n) for n in first["services"])

    def add_arguments(self, parser: ArgumentParser, verb: str) -> None:
        """Add the option for the gold data, and the options of the official scorer."""
        add_data(parser)
        for name, (choices, text) in CHOICES.items():
            text = f"{text} (default: %(default)s)"
            parser.add_argument(f"--{name}", choices=choices, default=choices[0], help=text)
        parser.add_argument("--services", action="store_true", help="score each service as well")

    def scorer(self, arguments: Namespace) -> FileScorer:
        """Return the scorer of predictions."""
        from mwzeval_sgd.scoring import StateScorer

        return StateScorer(arguments)

    def shelf(self, data: str | None) -> DataRoot:
        """Return the public files of each fold."""
        from mwzeval_sgd.data import root_of

        return root_of(data)
