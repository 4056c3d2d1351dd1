"""Explain why dialogues (or examples, or episodes) failed.

With the id of a dialogue: print its goal, how each turn was scored, and where and why it failed;
the id of an item includes all its trials. Without an id: count the dialogues with each failure
reason, by scope and in total; a dialogue with a reason in several scopes counts once.
With --against OTHER: print where this system failed and OTHER passed, the worst first, with the
user's utterances and both answers. docs/explaining.md lists the reasons.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mwzeval.arguments import InputFile, add_format, number
from mwzeval.benchmark import Benchmark, ScoredFile
from mwzeval.commands.systems import score_files
from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.output import warnings_behind, write_result
from mwzeval.scores import explanation as explaining
from mwzeval.scores.explanation import Explanation
from mwzeval.scores.score import Words
from mwzeval.scores.sheets import output_look
from mwzeval.statistics.trials import item_of_trial
from mwzeval.text import plain, to_json

AGAINST = 10


def add_arguments(parser: argparse.ArgumentParser, benchmark: Benchmark) -> None:
    unit, units = benchmark.words.unit, benchmark.words.units
    parser.add_argument("file", type=InputFile, nargs="?", metavar="INPUT", help="a system's file")
    parser.add_argument(
        "unit", nargs="?", metavar=unit.upper(), help=f"id of the {unit} to explain"
    )
    parser.add_argument("-i", "--input", type=InputFile, metavar="INPUT", help="the same as INPUT")
    parser.add_argument(
        "--against",
        type=InputFile,
        metavar="OTHER",
        help=f"another system's file: list the {units} in which INPUT failed and OTHER passed, "
        f"grouped by outcome, with the answers of both systems. The worst {units} of INPUT "
        f"come first; --worst N lists N of them (default: {AGAINST})",
    )
    parser.add_argument(
        "--worst",
        type=number(lambda count: count > 0, "a number, 1 or more", int),
        metavar="N",
        help=f"list the N worst {units}, with their failure reasons",
    )
    parser.add_argument(
        "--reason",
        metavar="CODE",
        help=f"list the {units} with this failure reason; a code without details includes all "
        "details (wrong-constraint includes wrong-constraint:area)",
    )
    add_format(parser, ("text", "json"))
    benchmark.add_arguments(parser, "explain")


def run(arguments: argparse.Namespace, benchmark: Benchmark) -> int:
    words, as_json = benchmark.words, arguments.format == "json"
    given = [arguments.input, arguments.file, arguments.unit]
    file, *ids = [word for word in given if word is not None] or [None]
    if file is None or len(ids) > 1:
        arguments.parser.error("name one file: INPUT or -i INPUT")
    if ids and (arguments.worst or arguments.reason):
        arguments.parser.error(
            f"--worst and --reason select {words.units}: leave out {words.unit.upper()}"
        )
    files = [file] if arguments.against is None else [file, arguments.against]
    scorer = benchmark.scorer(arguments)
    systems = score_files(files, arguments, benchmark, scorer)
    with warnings_behind(*(system.warnings for system in systems.values())):
        units = _common_units(systems, words.unit)
        if ids:
            units = _trials_named(ids[0], units, words.unit)
        kept = set(units)
        explained = {}
        for name, system in systems.items():
            explanations = map(system.explain, units) if ids else system.explain_all()
            measures = () if as_json else system.scored_table.measures
            labels = {m.name: m.label for m in measures if not m.name.isalpha()}
            common = (explanation for explanation in explanations if explanation.unit in kept)
            explained[name] = explaining.labelled(common, labels)
        chosen = next(iter(explained.values()))
        if arguments.against is not None:
            found = _compared_failures(explained, arguments, words, scorer.reasons)
        elif not ids:
            found = _reasons(chosen, arguments, words, scorer.reasons)
        elif as_json:
            found = plain(chosen[0] if units == ids else chosen)
        else:
            goal, look = words.goal.capitalize(), output_look()
            found = "\n".join(explaining.explanation_text(e, goal=goal, look=look) for e in chosen)
        write_result(to_json(found) if as_json else found, "text")
    return 0


def _common_units(systems: Mapping[str, ScoredFile], unit: str) -> Sequence[str]:
    """Return the units of all systems, which `compare` can compare. Raises `UsageError`."""
    units = {name: system.units() for name, system in systems.items()}
    if len(systems) == 1:
        return next(iter(units.values()))
    from mwzeval.comparison.systems import check_comparable, common_units

    tables = {}
    for name, system in systems.items():
        scored = system.scored_table
        # Explanations are per trial, so the common units are trials.
        tables[name] = replace(scored, table=scored.trial_rows)
    check_comparable(tables)
    return common_units(tables, unit, units)


def _trials_named(name: str, known: Sequence[str], unit: str) -> list[str]:
    """Return a unit, or all trials of an item. Raises `UsageError` for an unknown name."""
    if name in known:
        return [name]
    trials = [unit_name for unit_name in known if item_of_trial(unit_name) == name]
    if not trials:
        close = did_you_mean(name.partition(".")[0].lower(), known)
        some = ", ".join(known[:5]) + ", …" * (len(known) > 5)
        raise UsageError(
            f'there is no {unit} "{shorten(name)}" in the file{close} (the file has {some})'
        )
    return trials


def _reasons(
    explanations: Sequence[Explanation],
    arguments: argparse.Namespace,
    words: Words,
    kinds: Mapping[str, str],
) -> Any:
    """Return the units that `--worst` and `--reason` select, or the counts of each reason."""
    units, as_json = words.units, arguments.format == "json"
    if not any(status for explanation in explanations for status in explanation.outcomes.values()):
        raise UsageError(
            f"{arguments.input or arguments.file} only has scores without a pass or fail outcome, "
            "so there are no failures to explain"
        )
    failed = [explanation for explanation in explanations if explanation.reasons]
    chosen = explaining.with_reason(arguments.reason, failed, kinds)
    if arguments.worst:
        chosen = explaining.worst_first(chosen)[: arguments.worst]
    if arguments.reason or (arguments.worst and (chosen or as_json)):
        keys = ("unit", "outcomes", "reasons")
        records = [{key: plain(getattr(unit, key)) for key in keys} for unit in chosen]
        return records if as_json else explaining.listing_text(chosen, output_look())
    if not as_json:
        return explaining.histogram_text(explanations, kinds, output_look())
    counts = explaining.count_reasons(explanations, lambda reason: [(reason.code, reason.scope)])
    reasons = [{"code": code, "scope": scope, units: n} for (code, scope), n in counts.items()]
    return {units: len(explanations), "lost": len(failed), "reasons": reasons}


def _compared_failures(
    explained: Mapping[str, Sequence[Explanation]],
    arguments: argparse.Namespace,
    words: Words,
    kinds: Mapping[str, str],
) -> Any:
    as_json = arguments.format == "json"
    (first, mine), (second, theirs) = explained.items()
    others = {explanation.unit: explanation for explanation in theirs}
    counts = explaining.count_outcomes((own, others[own.unit]) for own in mine)
    chosen = explaining.worst_first(explaining.with_reason(arguments.reason, mine, kinds))
    found = explaining.compared_failures((own, others[own.unit]) for own in chosen)
    worst = list(dict.fromkeys(failure.unit for failure in found))
    shown = set(worst[: arguments.worst or (None if as_json else AGAINST)])
    found = [failure for failure in found if failure.unit in shown]
    if as_json:
        record = {"systems": [first, second], words.units: len(mine), "outcomes": plain(counts)}
        return {**record, "lost": plain(found)}
    common = f"{len(mine)} {words.unit if len(mine) == 1 else words.units}"
    text = explaining.against_text((first, second), common, counts, found, output_look())
    if arguments.worst or len(shown) == len(worst):
        return text
    more = f"{len(worst) - len(shown)} more {words.units}: --worst {len(worst)} lists all"
    return f"{text}\n{more}\n"
