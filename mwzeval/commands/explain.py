"""Explain why units failed: one in full, the worst, those with a reason, or counts of reasons.

With the id of a unit: its goal, how each turn was scored, and the turn and reason of each failure;
the id of an item stands for all its trials. Without an id: how often each reason occurs, by scope.
With --against OTHER: where this system failed and another one succeeded, the worst first, with the
user's words and both answers. Reasons: docs/reasons.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mwzeval.arguments import InputFile
from mwzeval.commands.systems import score_all, scorer_of
from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.output import warnings_behind, write_result
from mwzeval.scores.trials import item_of_trial

if TYPE_CHECKING:
    from mwzeval.benchmark import Benchmark, ScoredFile
    from mwzeval.scores.explanation import Explanation

SHOWN_IDS = 5
AGAINST = 10
"""How many units `--against` shows, unless another number is asked for."""


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    """Add the arguments of this verb."""
    unit, units = benchmark.words.unit, benchmark.words.units
    parser.add_argument(
        "file", type=InputFile, nargs="?", metavar="INPUT", help="the file of a system"
    )
    parser.add_argument(
        "unit", nargs="?", metavar=unit.upper(), help=f"id of the {unit} to explain"
    )
    parser.add_argument("-i", "--input", type=InputFile, metavar="INPUT", help="the same as INPUT")
    parser.add_argument(
        "--against",
        type=InputFile,
        metavar="OTHER",
        help=f"the file of another system: list the {units} in which INPUT failed and it "
        f"succeeded, by outcome, with both answers, the worst of INPUT first (--worst: {AGAINST})",
    )
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
    benchmark.add_arguments(parser, "explain")


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a number, 1 or more, not {text!r}")
    return int(text)


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    """Print the explanation, the list or the histogram; return 0.

    Raises `UsageError` for an unknown unit or reason.
    """
    words = benchmark.words
    if arguments.input is not None:  # what stands alone is the unit then
        if arguments.unit is not None:
            arguments.parser.error("name one file: INPUT or -i INPUT")
        arguments.file, arguments.unit = arguments.input, arguments.file
    if arguments.file is None:
        arguments.parser.error("the following arguments are required: INPUT")
    if arguments.unit is not None and (arguments.worst or arguments.reason):
        arguments.parser.error(
            f"--worst and --reason choose {words.units}: leave out {words.unit.upper()}"
        )
    files = [file for file in (arguments.file, arguments.against) if file is not None]
    systems = score_all(scorer_of(benchmark, arguments), files)
    with warnings_behind(*(system.warnings for system in systems.values())):
        if arguments.against is not None:
            text = _against(systems, arguments, benchmark)
        elif arguments.unit is not None:
            text = _units(next(iter(systems.values())), arguments, benchmark)
        else:
            text = _reasons(next(iter(systems.values())), arguments, benchmark)
        write_result(text, "text")
    return 0


def _units(system: ScoredFile, arguments: argparse.Namespace, benchmark: Benchmark) -> str:
    """Return the explanation of a unit, or of all trials of an item."""
    from mwzeval.scores.explanation import explanation_text
    from mwzeval.scores.sheets import output_look
    from mwzeval.text import plain, to_json

    chosen = _named(arguments.unit, system.units(), benchmark.words.unit)
    explanations = _readable(system, map(system.explain, chosen), arguments)
    if arguments.format == "json":
        return to_json(plain(explanations[0] if chosen == [arguments.unit] else explanations))
    goal, look = benchmark.words.goal.capitalize(), output_look()
    return "\n".join(explanation_text(each, goal=goal, look=look) for each in explanations)


def _reasons(system: ScoredFile, arguments: argparse.Namespace, benchmark: Benchmark) -> str:
    """Return the units that `--worst` and `--reason` choose, or how often each reason occurs."""
    from mwzeval.scores.explanation import count_reasons, histogram_text, listing_text
    from mwzeval.scores.sheets import output_look
    from mwzeval.text import plain, to_json

    explanations = _readable(system, system.explain_all(), arguments)
    units = benchmark.words.units
    if not any(status for explanation in explanations for status in explanation.outcomes.values()):
        raise UsageError(
            f"{arguments.file} has scores alone, and no {units} that are won or lost: there is "
            "nothing to explain"
        )
    as_json, look = arguments.format == "json", output_look()
    chosen = [explanation for explanation in explanations if explanation.reasons]
    if arguments.reason:
        chosen = _having(arguments.reason, chosen, benchmark.reasons)
    if arguments.worst:
        chosen = sorted(chosen, key=_badness, reverse=True)[: arguments.worst]
    if arguments.reason or (arguments.worst and (chosen or as_json)):
        keys = ("unit", "outcomes", "reasons")
        records = [{key: plain(getattr(each, key)) for key in keys} for each in chosen]
        return to_json(records) if as_json else listing_text(chosen, look)
    if not as_json:
        return histogram_text(explanations, benchmark.reasons, look)
    by_scope = count_reasons(explanations, lambda reason: [(reason.code, reason.scope)])
    counts = [
        {"code": code, "scope": scope, units: count} for (code, scope), count in by_scope.items()
    ]
    lost = sum(bool(explanation.reasons) for explanation in explanations)
    return to_json({units: len(explanations), "lost": lost, "reasons": counts})


def _against(
    systems: Mapping[str, ScoredFile], arguments: argparse.Namespace, benchmark: Benchmark
) -> str:
    """Return what INPUT lost and another system won, as `compare` lets these be compared.

    Raises `UsageError` for systems that cannot be compared.
    """
    from mwzeval.comparison.alignment import check_comparable, common_units
    from mwzeval.scores.explanation import against_text, count_outcomes, lost_to_other
    from mwzeval.scores.sheets import output_look
    from mwzeval.text import plain, to_json

    words = benchmark.words
    # Trials are explained one by one, so they are what is common.
    tables = {
        name: replace(system.scored_table, table=system.scored_table.trial_rows)
        for name, system in systems.items()
    }
    check_comparable(tables)
    explained = {name: system.units() for name, system in systems.items()}
    units = common_units(tables, words.unit, explained)
    if arguments.unit is not None:
        units = tuple(_named(arguments.unit, units, words.unit))
    mine, others = (
        {each.unit: each for each in _readable(system, system.explain_all(), arguments)}
        for system in systems.values()
    )
    pairs = [(mine[unit], others[unit]) for unit in mine if unit in set(units)]
    counts = count_outcomes(pairs)
    if arguments.reason:
        having = _having(arguments.reason, [lost for lost, _ in pairs], benchmark.reasons)
        pairs = [pair for pair in pairs if pair[0] in having]
    pairs.sort(key=lambda pair: _badness(pair[0]), reverse=True)
    found = lost_to_other(pairs)
    worst = list(dict.fromkeys(lost.unit for lost in found))
    as_json = arguments.format == "json"
    shown = worst[: arguments.worst or (None if as_json else AGAINST)]
    found = [lost for lost in found if lost.unit in set(shown)]
    first, second = systems
    if as_json:
        record = {"systems": [first, second], words.units: len(units), "outcomes": plain(counts)}
        return to_json({**record, "lost": plain(found)})
    common = f"{len(units)} {words.unit if len(units) == 1 else words.units}"
    text = against_text((first, second), common, counts, found, output_look())
    left = 0 if arguments.worst else len(worst) - len(shown)
    more = f"\n{left} more {words.units}: --worst {len(worst)} lists all\n" if left else ""
    return text + more


def _readable(
    system: ScoredFile, explanations: Iterable[Explanation], arguments: argparse.Namespace
) -> list[Explanation]:
    """Return explanations; those for a text have the labels of scores in place of their keys.

    A plain word, such as `inform`, is kept.
    """
    from mwzeval.scores.explanation import labelled

    if arguments.format == "json":
        return list(explanations)
    measures = system.scored_table.measures
    return labelled(explanations, {m.name: m.label for m in measures if not m.name.isalpha()})


def _named(name: str, known: Sequence[str], unit: str) -> list[str]:
    """Return a unit, or all trials of an item. Raises `UsageError` for an unknown name."""
    if name in known:
        return [name]
    trials = [each for each in known if item_of_trial(each) == name]
    if not trials:
        close = did_you_mean(name.partition(".")[0].lower(), known)
        some = ", ".join(known[:SHOWN_IDS]) + (", …" if len(known) > SHOWN_IDS else "")
        raise UsageError(f'there is no {unit} "{shorten(name)}" in the file{close} (it has {some})')
    return trials


def _having(
    code: str, explanations: Sequence[Explanation], kinds: Collection[str]
) -> list[Explanation]:
    """Return the units with a reason; a kind stands for all its details."""
    chosen = [
        explanation
        for explanation in explanations
        if any(code in (r.code, r.kind) for r in explanation.reasons)
    ]
    if not chosen and code not in kinds:
        found = sorted({reason.code for e in explanations for reason in e.reasons})
        occurring = ", ".join(found) or "none"
        close = did_you_mean(code, [*found, *kinds])
        raise UsageError(f'unknown reason "{shorten(code)}"{close} (in this file: {occurring})')
    return chosen


def _badness(explanation: Explanation) -> tuple[int, int]:
    reasons = explanation.reasons
    return len({reason.scope for reason in reasons}), len(reasons)
