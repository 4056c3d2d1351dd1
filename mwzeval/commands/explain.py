"""Tell why dialogues lost Inform or Success.

With DIALOGUE: its goal, what the scorer made of each turn, and the turn and reason of each loss.
Without: how often which reason occurs in the file, by domain. Reasons: docs/reasons.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mwzeval.commands.arguments import add_reading, reading
from mwzeval.errors import UsageError, did_you_mean, shorten

if TYPE_CHECKING:
    from mwzeval.explanation import Explanation

SHOWN_IDS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of this verb."""
    parser.add_argument(
        "predictions",
        metavar="PREDICTIONS",
        help="predictions: .json or .jsonl, also .gz or .zst; - reads JSON from standard input",
    )
    parser.add_argument(
        "dialogue", nargs="?", metavar="DIALOGUE", help="id of the dialogue to explain"
    )
    add_choice(parser)
    add_reading(parser)


def add_choice(parser: argparse.ArgumentParser, units: str = "dialogues") -> None:
    """Add which units are listed instead of the histogram, and the format."""
    parser.add_argument(
        "--worst",
        type=_positive,
        metavar="N",
        help=f"list the N {units} that lost most, with their reasons",
    )
    parser.add_argument(
        "--reason",
        metavar="CODE",
        help=f"list the {units} with this reason; a kind stands for all its details "
        "(wrong-constraint for wrong-constraint:area)",
    )
    parser.add_argument(
        "-f", "--format", choices=("text", "json"), default="text", help="default: %(default)s"
    )


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a number, 1 or more, not {text!r}")
    return number


def run(arguments: argparse.Namespace) -> int:
    """Print the explanation, the list or the histogram."""
    if arguments.dialogue is not None and (arguments.worst or arguments.reason):
        arguments.parser.error("--worst and --reason choose dialogues: leave out DIALOGUE")
    from mwzeval.evaluator import Evaluator
    from mwzeval.multiwoz.explanation import explain, explain_all
    from mwzeval.multiwoz.grounding_reasons import GROUNDED_KINDS
    from mwzeval.multiwoz.predictions import read_predictions
    from mwzeval.multiwoz.reasons import KINDS
    from mwzeval.multiwoz.scoring import Sources
    from mwzeval.report.explanation_text import explanation_text
    from mwzeval.report.json import to_json
    from mwzeval.report.text import warnings_text

    evaluator = Evaluator(
        success=True,
        **reading(arguments),
    )
    checked = evaluator.checked(read_predictions(arguments.predictions), file=arguments.predictions)
    sys.stderr.write(warnings_text(checked.warnings))
    scorer, dialogues = checked.scorer, checked.dialogues
    sources = Sources.of(dialogues.values())
    if arguments.dialogue is not None:
        name = _known_dialogue(arguments.dialogue, tuple(dialogues))
        explanation = explain(scorer, scorer.normalize(name, dialogues[name], sources))
        as_json = arguments.format == "json"
        print(to_json(asdict(explanation)) if as_json else explanation_text(explanation), end="")
        return 0
    explanations = list(explain_all(scorer, dialogues, sources))
    print(listed(explanations, arguments, {**KINDS, **GROUNDED_KINDS}), end="")
    return 0


def listed(
    explanations: Sequence[Explanation],
    arguments: argparse.Namespace,
    kinds: Collection[str],
    units: str = "dialogues",
) -> str:
    """Return the units that `--worst` and `--reason` choose, or how often which reason occurs.

    Raises `UsageError` for a reason that is not among the `kinds` and that no unit has.
    """
    from mwzeval.report.explanation_text import histogram_text, listing_text
    from mwzeval.report.json import to_json

    as_json = arguments.format == "json"
    if not (arguments.worst or arguments.reason):
        histogram = _histogram(explanations, units)
        return to_json(histogram) if as_json else histogram_text(explanations)
    chosen = [explanation for explanation in explanations if explanation.reasons]
    if arguments.reason:
        chosen = _having(arguments.reason, chosen, kinds)
    elif not chosen and not as_json:
        return histogram_text(explanations)
    if arguments.worst:
        chosen = sorted(chosen, key=_badness, reverse=True)[: arguments.worst]
    return to_json([_listed(each) for each in chosen]) if as_json else listing_text(chosen)


def _known_dialogue(name: str, known: Sequence[str]) -> str:
    if name in known:
        return name
    close = did_you_mean(name.partition(".")[0].lower(), known)
    some = ", ".join(known[:SHOWN_IDS]) + (", …" if len(known) > SHOWN_IDS else "")
    raise UsageError(
        f'there is no dialogue "{shorten(name)}" in the predictions{close} (they have {some})'
    )


def _having(
    code: str, explanations: Sequence[Explanation], kinds: Collection[str]
) -> list[Explanation]:
    """Return the units with a reason; a kind stands for all its details."""
    chosen = [e for e in explanations if any(_matches(reason.code, code) for reason in e.reasons)]
    if not chosen and code not in kinds:
        found = sorted({reason.code for e in explanations for reason in e.reasons})
        occurring = ", ".join(found) or "none"
        close = did_you_mean(code, [*found, *kinds])
        raise UsageError(f'unknown reason "{shorten(code)}"{close} (in this file: {occurring})')
    return chosen


def _matches(code: str, asked: str) -> bool:
    return asked in (code, code.partition(":")[0])


def _badness(explanation: Explanation) -> tuple[int, int]:
    domains = {reason.scope for reason in explanation.reasons}
    return len(domains), len(explanation.reasons)


def _listed(explanation: Explanation) -> dict[str, Any]:
    plain = asdict(explanation)
    return {key: plain[key] for key in ("unit", "outcomes", "reasons")}


def _histogram(explanations: Sequence[Explanation], units: str) -> dict[str, Any]:
    from mwzeval.explanation import count_reasons

    return {
        units: len(explanations),
        "lost": sum(bool(explanation.reasons) for explanation in explanations),
        "reasons": [
            {"code": code, "scope": scope, units: count}
            for (code, scope), count in count_reasons(explanations).items()
        ],
    }
