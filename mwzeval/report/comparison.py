"""A comparison of systems as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mwzeval.comparison import ComparedMeasure, ComparedSystem, Comparison
from mwzeval.comparison.model import MCNEMAR, RANDOMIZATION
from mwzeval.report.formats import Cell, Document, Sheet, sheet
from mwzeval.scores.score import WHOLE
from mwzeval.statistics import HIERARCHICAL

SCHEMA = 1
SIGNIFICANT = "†"
NOTHING = "—"
TESTS = {
    MCNEMAR: "McNemar's exact test",
    RANDOMIZATION: "approximate randomisation",
    HIERARCHICAL: "bootstrap of {unit}s and runs",
}
FEW_CLUSTERS = 30
FEW_RUNS = 5
"""Of fewer runs than this little is known about others, and it is said."""


def comparison_document(comparison: Comparison, *, places: int | None = None) -> Document:
    """Return a table per score, a row per system; `places` overrides the customary decimals."""
    heading = tuple(_heading(comparison))
    notes = tuple(_notes(comparison))
    records = tuple(_records(comparison))
    return Document(
        heading=heading,
        sheets=tuple(_sheet(comparison, measure, places) for measure in comparison.measures),
        notes=notes,
        records=records,
        plain={
            "schema": SCHEMA,
            "baseline": comparison.baseline,
            "systems": comparison.systems,
            "runs": comparison.runs,
            "cautions": tuple(_cautions(comparison)),
            "common": len(comparison.units),
            **({"clusters": comparison.clusters} if comparison.clusters is not None else {}),
            "left_out": comparison.left_out,
            "choices": comparison.choices,
            "level": comparison.level,
            "confidence": comparison.confidence,
            "samples": comparison.samples,
            "seed": comparison.seed,
            "not_compared": {
                **comparison.lacking,
                **dict.fromkeys(comparison.undefined, comparison.systems),
            },
            "comparisons": tuple(_records(comparison, of_runs=True)),
            "notes": notes,
        },
    )


def _heading(comparison: Comparison) -> Iterator[str]:
    n, unit = len(comparison.units), comparison.unit
    systems = len(comparison.systems)
    others = "the other one" if systems == 2 else f"{systems - 1} others"
    within = "" if comparison.clusters is None else f", in {count(comparison.clusters, 'cluster')}"
    yield (
        f"{comparison.baseline} (the baseline) and {others}, on {count(n, unit)} that all have"
        f"{within}"
    )
    left_out = [f"{count} of {name}" for name, count in comparison.left_out.items() if count]
    if left_out:
        yield f"left out, because not all systems have them: {', '.join(left_out)}"
    else:
        yield f"no {unit} is left out"
    if comparison.several_runs:
        counts = (f"{len(runs)} of {name}" for name, runs in comparison.runs.items())
        yield f"runs: {', '.join(counts)}"
    yield from (f"caution: {caution}" for caution in _cautions(comparison))
    labels: dict[tuple[str, ...], list[str]] = {}
    for label, names in comparison.lacking.items():
        labels.setdefault(names, []).append(label)
    for names, lacking in labels.items():
        yield f"not compared, because there is none of {', '.join(names)}: {', '.join(lacking)}"
    for label in comparison.undefined:
        yield f"not compared, because it has no value on these {unit}s: {label}"


def few_runs(comparison: Comparison) -> list[str]:
    """Return the systems with several runs, but so few that they say little about others."""
    return [name for name, runs in comparison.runs.items() if 1 < len(runs) < FEW_RUNS]


def _cautions(comparison: Comparison) -> Iterator[str]:
    if few := few_runs(comparison):
        yield (
            f"{', '.join(few)}: fewer than {FEW_RUNS} runs say little about other runs; intervals "
            "and p values allow for it, and can show large differences only"
        )
    if comparison.clusters is not None and comparison.clusters < FEW_CLUSTERS:
        yield (
            f"of {count(comparison.clusters, 'cluster')} little is known about others; intervals "
            f"of fewer than {FEW_CLUSTERS} are too narrow"
        )
    if copies := [name for name in comparison.systems if _alike(comparison, name)]:
        yield (
            f"{', '.join(copies)}: all runs have the same scores, as copies of one run do, which "
            "say nothing about others"
        )
    single = [name for name, runs in comparison.runs.items() if len(runs) == 1]
    if comparison.several_runs and single:
        yield (
            f"{', '.join(single)}: of a single run nothing is known about others, so intervals and "
            "p values are of this run, and too small for a claim about the method"
        )


def _alike(comparison: Comparison, system: str) -> bool:
    """Tell whether several runs of a system differ in no score."""
    scores = [measure.of(system).runs for measure in comparison.measures]
    return len(comparison.runs[system]) > 1 and all(len(set(of_runs)) == 1 for of_runs in scores)


def count(n: int, what: str) -> str:
    """Return so many of something, in the plural where they are not one."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _sheet(comparison: Comparison, measure: ComparedMeasure, places: int | None) -> Sheet:
    decimals = measure.places if places is None else places
    scope = "" if measure.scope == WHOLE else f", {measure.scope}"
    test = TESTS[measure.test].format(unit=comparison.drawn)
    direction = "; lower is better" if measure.lower_is_better else ""
    title = f"{measure.label}{scope} (n = {measure.n}; {test}{direction})"
    spread = comparison.several_runs
    header = ["", *(["mean", "sd"] if spread else ["score"]), "difference"]
    header += [f"{100 * comparison.confidence:g} % interval", "p (Holm)", "win/tie/loss"]
    ranked = any(entry.place for entry in measure.systems)
    if ranked:
        header.append("rank")
    rows: list[list[Cell | str]] = [
        [
            entry.system,
            Cell(f"{entry.value:.{decimals}f}", best=entry in measure.best(entry.setting)),
            *([_spread(entry, decimals)] if spread else []),
            *_difference_cells(entry, decimals, comparison.level),
            *([str(entry.place.rank) if entry.place else NOTHING] if ranked else []),
        ]
        for entry in measure.systems
    ]
    return sheet(title, header, rows)


def _spread(entry: ComparedSystem, decimals: int) -> str:
    return f"{entry.over.standard_deviation:.{decimals}f}" if entry.over else NOTHING


def _difference_cells(entry: ComparedSystem, decimals: int, level: float) -> list[Cell]:
    difference = entry.difference
    if difference is None:
        return [Cell("baseline"), Cell(""), Cell(""), Cell("")]
    interval, counts = difference.interval, difference.counts
    ends = (interval.low, interval.high) if interval else ()
    return [
        Cell(
            _signed(difference.value, decimals),
            mark=SIGNIFICANT if difference.adjusted <= level else "",
        ),
        Cell(f"[{', '.join(_signed(end, decimals) for end in ends)}]" if ends else NOTHING),
        Cell(shown_p(difference.adjusted)),
        Cell(f"{counts.wins}/{counts.ties}/{counts.losses}" if counts else NOTHING),
    ]


def _signed(value: float, decimals: int) -> str:
    text = f"{value:+.{decimals}f}"
    # Nothing after rounding has no sign.
    return text[1:] if float(text) == 0 else text


def shown_p(p_value: float) -> str:
    """Return three decimals; only what rounds to nothing is `<0.001`."""
    return f"{p_value:.3f}" if p_value >= 0.0005 else "<0.001"


def _notes(comparison: Comparison) -> Iterator[str]:
    unit, samples = comparison.drawn, comparison.samples
    others = len(comparison.systems) - 1
    over = f"Holm's correction over {count(others, 'system')}"
    yield f"p: two-sided, after {over}; {SIGNIFICANT} at most {comparison.level:g}"
    if any(measure.test == RANDOMIZATION for measure in comparison.measures):
        yield (
            f"approximate randomisation: {unit}s swapped at random in {samples} samples, seed "
            f"{comparison.seed}; p is at least {1 / (1 + samples):.2g} before correction"
        )
    if comparison.several_runs:
        yield (
            f"bootstrap of {unit}s and runs: the same {unit}s for all runs, and runs of each "
            f"system, drawn in {samples} samples, seed {comparison.seed}; p is at least "
            f"{1 / (1 + samples):.2g} before correction; interval: of the difference of means, on "
            f"other {unit}s and in other runs like these"
        )
        yield "mean, sd: over the runs; sd is the standard deviation of one run"
    if comparison.pairs / (1 + samples) > comparison.level and any(
        measure.test != MCNEMAR for measure in comparison.measures
    ):
        least = int(comparison.pairs / comparison.level)
        yield (
            f"with {samples} samples no rank can differ by resampling, because "
            f"{count(comparison.pairs, 'pair')} are tested: use --samples {least} or more"
        )
    resampled, left_out = (
        [measure.label for measure in comparison.measures if method in _interval_methods(measure)]
        for method in ("paired-bootstrap", "jackknife")
    )
    if resampled:
        yield (
            f"interval: of the difference on other {unit}s like these, by a paired bootstrap of "
            f"{samples} samples, seed {comparison.seed}"
        )
    if left_out:
        yield f"interval, by leaving one {unit} out: {', '.join(left_out)}"
    alone = "mean over its runs is" if comparison.several_runs else "system alone scores"
    how = "higher, the same, or lower"
    if any(measure.lower_is_better for measure in comparison.measures):
        how = "better, the same, or worse"
    yield (
        f"win/tie/loss: {unit}s on which the {alone} {how} than "
        f"{'that of ' if comparison.several_runs else ''}the baseline"
    )
    yield (
        f"rank: systems that do not differ significantly share one (all "
        f"{count(comparison.pairs, 'pair')}, Holm's correction)"
    )
    yield from _choices(comparison)
    yield from dict.fromkeys(str(measure.signature) for measure in comparison.measures)


def _interval_methods(measure: ComparedMeasure) -> set[str]:
    differences = [entry.difference for entry in measure.systems]
    return {d.interval.method for d in differences if d is not None and d.interval is not None}


def _choices(comparison: Comparison) -> Iterator[str]:
    """Yield the systems' choices where these differ."""
    keys = dict.fromkeys(key for chosen in comparison.choices.values() for key in chosen)
    differing = [
        key for key in keys if len({chosen.get(key) for chosen in comparison.choices.values()}) > 1
    ]
    if differing:
        for system, chosen in comparison.choices.items():
            yield f"{system}: " + ", ".join(f"{key} {chosen.get(key, '?')}" for key in differing)


def _records(comparison: Comparison, *, of_runs: bool = False) -> Iterator[Mapping[str, Any]]:
    """Yield a record a score and system, `of_runs` with a list of the scores of its runs."""
    for measure in comparison.measures:
        for entry in measure.systems:
            difference, place = entry.difference, entry.place
            interval = difference.interval if difference else None
            counts = difference.counts if difference else None
            yield {
                "score": measure.name,
                "scope": measure.scope,
                "system": entry.system,
                "value": entry.value,
                "runs": len(entry.runs),
                "sd": entry.over.standard_deviation if entry.over else None,
                **({"values": entry.runs} if of_runs else {}),
                "n": measure.n,
                "difference": difference.value if difference else None,
                "low": interval.low if interval else None,
                "high": interval.high if interval else None,
                "interval": interval.method if interval else None,
                "p": difference.p_value if difference else None,
                "p_holm": difference.adjusted if difference else None,
                "test": measure.test if difference else None,
                "wins": counts.wins if counts else None,
                "ties": counts.ties if counts else None,
                "losses": counts.losses if counts else None,
                "rank": place.rank if place else None,
                "rank_best": place.best if place else None,
                "rank_worst": place.worst if place else None,
                "signature": str(measure.signature),
            }
