"""The result of a comparison of systems, and the tables, data frames and JSON made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mwzeval.comparison.model import MCNEMAR, RANDOMIZATION, ComparedMeasure, ComparedSystem
from mwzeval.errors import UsageError
from mwzeval.scores.comparable import Group, apart
from mwzeval.scores.score import WHOLE, Interval
from mwzeval.scores.sheets import (
    ALIKE,
    BETTER,
    COUNT,
    FEW,
    FLAG,
    FLOAT,
    TEXT,
    UNKNOWN,
    WORSE,
    Cell,
    Document,
    Sheet,
    interval_text,
    number_text,
    plural,
    sheet,
    to_frame,
    to_markdown,
    to_text,
)
from mwzeval.statistics.runs import FEWEST_RUNS, HIERARCHICAL

if TYPE_CHECKING:
    import pandas

SCHEMA = 2
TONES = {1: BETTER, 0: "", -1: WORSE}
METHODS = {
    MCNEMAR: "McNemar's exact test",
    RANDOMIZATION: "approximate randomisation",
    HIERARCHICAL: "bootstrap of {unit}s and runs",
    "wilson": "Wilson",
    "bootstrap": "bootstrap of {unit}s",
    "jackknife": "jackknife of {unit}s",
}
"""What tests and methods of intervals are called in texts."""
FEW_CLUSTERS = 30
SENTENCES = 5
"""How many systems the verdict is about."""
NAMED_SCORES = 8
"""How many scores one clause of the verdict names."""

COLUMNS: Mapping[str, str] = {
    "score": TEXT,
    "scope": TEXT,
    "setting": TEXT,
    "system": TEXT,
    "value": FLOAT,
    "best": FLAG,
    "p_best": FLOAT,
    "runs": COUNT,
    "sd": FLOAT,
    "n": COUNT,
    "cases": COUNT,
    "difference": FLOAT,
    "low": FLOAT,
    "high": FLOAT,
    "interval": TEXT,
    "p": FLOAT,
    "p_holm": FLOAT,
    "test": TEXT,
    "wins": COUNT,
    "ties": COUNT,
    "losses": COUNT,
    "rank": COUNT,
    "rank_worst": COUNT,
    "signature": TEXT,
}
"""The columns of a data frame, which are those of the CSV."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Systems with what they score, the baseline first, each with the names of its runs.

    A score has an entry in `measures` for each group of systems that can be compared in it.
    `lacking` names the systems without a score that others have, which is therefore not compared,
    by the score's label; `undefined` names the scores without a value on the common units.
    `amounts` says how much of each unit was scored of each system. `conditions` are those under
    which a system was scored (gold states, say), of the systems that have some.
    """

    systems: tuple[str, ...]
    runs: Mapping[str, tuple[str, ...]]
    measures: tuple[ComparedMeasure, ...]
    lacking: Mapping[str, tuple[str, ...]]
    undefined: tuple[str, ...]
    amounts: Mapping[str, Mapping[str, str]]
    level: float
    confidence: float
    samples: int
    seed: int
    unit: str = "dialogue"
    conditions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups of systems that are compared with each other in some score."""
        groups = {measure.group.systems: measure.group for measure in self.measures}
        return tuple(groups.values())

    def groups_of(self, name: str, scope: str = WHOLE) -> list[Group]:
        """Return the groups of systems that can be compared with each other in a score."""
        return [m.group for m in self.measures if (m.name, m.scope) == (name, scope)]

    @property
    def drawn(self) -> str:
        """What is resampled, and on which systems are held against each other."""
        has_clusters = any(group.clusters is not None for group in self.groups)
        return "cluster" if has_clusters else self.unit

    @property
    def baseline(self) -> str:
        """The system that the others are compared to."""
        return self.systems[0]

    @property
    def pairs(self) -> int:
        """How many pairs of systems there are in the largest group."""
        return max(group.pairs for group in self.groups)

    @property
    def several_runs(self) -> bool:
        """Whether a system has more runs than one."""
        return any(len(names) > 1 for names in self.runs.values())

    def measure(self, name: str, scope: str = WHOLE) -> ComparedMeasure:
        """Return one score of the baseline and what can be compared with it.

        Raises:
            KeyError: When it was not compared.
        """
        for measure in self.measures:
            if (measure.name, measure.scope) == (name, scope):
                return measure
        raise KeyError(name)

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame in long form, unrounded; docs/python.md lists its columns.

        Raises `DependencyError` when pandas (the extra `frames`) is not installed.
        """
        return to_frame(COLUMNS, _records(self))

    def __str__(self) -> str:
        return to_text(comparison_document(self)).rstrip("\n")

    def _repr_markdown_(self) -> str:
        return to_markdown(comparison_document(self))


def comparison_document(comparison: Comparison, *, places: int | None = None) -> Document:
    """Return a table per score, a row per system; `places` overrides the customary decimals."""
    sentences = verdict(comparison)
    signatures = tuple(dict.fromkeys(str(measure.signature) for measure in comparison.measures))
    notes = (*about_tests(comparison), *_notes(comparison), *signatures)
    records = _records(comparison)
    return Document(
        heading=(*sentences, *_heading(comparison)),
        sheets=tuple(_sheet(comparison, measure, places) for measure in comparison.measures),
        notes=notes,
        records=tuple(
            {key: value for key, value in record.items() if key != "values"} for record in records
        ),
        plain={
            "schema": SCHEMA,
            "verdict": sentences,
            "baseline": comparison.baseline,
            "systems": comparison.systems,
            "runs": comparison.runs,
            "cautions": tuple(_cautions(comparison)),
            "groups": tuple(_groups(comparison)),
            "amounts": comparison.amounts,
            "level": comparison.level,
            "confidence": comparison.confidence,
            "samples": comparison.samples,
            "seed": comparison.seed,
            "conditions": comparison.conditions,
            "not_compared": {
                **comparison.lacking,
                **dict.fromkeys(comparison.undefined, comparison.systems),
            },
            "comparisons": records,
            "notes": notes,
        },
        signatures=signatures,
    )


def verdict(comparison: Comparison) -> tuple[str, ...]:
    """Return one sentence per system: in which scores it is better or worse than the baseline.

    Only scores of the whole that have a direction count, and of a system with any that is tested
    only those that are. Systems that cannot be compared with the baseline have no sentence; of
    many systems the first ones have.
    """
    found: dict[tuple[str, str], dict[int | None, list[str]]] = {}
    for measure in comparison.measures:
        if measure.scope != WHOLE or not measure.has_direction:
            continue
        baseline, *others = measure.systems
        for entry in others:
            if (difference := entry.difference) is None:
                continue
            result = number_text(difference.value, f"+.{measure.places}f")
            direction: int | None = None
            if (p_value := difference.adjusted) is not None:
                shown = shown_p(p_value, is_least=difference.is_least)
                shown = shown if shown.startswith(("<", "≤")) else f"= {shown}"
                result += f", p {shown}"
                direction = measure.direction(difference, comparison.level)
            by_direction = found.setdefault((entry.system, baseline.system), {})
            by_direction.setdefault(direction, []).append(f"{measure.label} ({result})")
    sentences = [
        _sentence(system, f" than {baseline}" if len(comparison.systems) > 2 else "", results)
        for (system, baseline), results in list(found.items())[:SENTENCES]
    ]
    if len(found) > SENTENCES:
        sentences.append(f"{plural(len(found) - SENTENCES, 'more system')}: see the tables")
    return tuple(sentences)


def _sentence(system: str, than: str, results: Mapping[int | None, Sequence[str]]) -> str:
    """Return in which scores a system is better (1), worse (-1), neither (0) or not tested."""
    if not results.keys() - {None}:
        return f"{system}: no significance test for {_listed(results[None])}"
    parts = [
        f"{word}{than} in {_listed(results[direction])}"
        for direction, word in ((1, "better"), (-1, "worse"))
        if direction in results
    ]
    level = f"no significant difference in {_listed(results[0])}" if 0 in results else ""
    if not parts:
        return f"{system}: {level}"
    return "; ".join(filter(None, (f"{system} is {', and '.join(parts)}", level)))


def _listed(texts: Sequence[str]) -> str:
    """Return `a, b and c`; of many texts the first ones, with the number of the others."""
    *shown, last = texts
    if len(texts) > NAMED_SCORES:
        shown, last = [*texts[:NAMED_SCORES]], f"{len(texts) - NAMED_SCORES} more"
    return f"{', '.join(shown)} and {last}" if shown else last


def about_units(comparison: Comparison) -> Iterator[str]:
    """Yield which systems are compared on which units, and what is left out."""
    for group in largest_groups(comparison):
        baseline, *others = group.systems
        named = f"{len(others)} systems"
        if len(group.systems) < len(comparison.systems) or len(others) == 1:
            named = ", ".join(others)
        both = "both" if len(others) == 1 else "all"
        left_out = [f"{count} of {name}" for name, count in group.left_out.items() if count]
        rest = f"; left out: {', '.join(left_out)}" if left_out else " (all of them)"
        pair = f"{named} against {baseline} (the baseline)"
        yield f"{pair}, on the {_common(comparison, group)} that {both} have{rest}"


def _common(comparison: Comparison, group: Group) -> str:
    """Return the number of units that all systems of a group have, and of clusters if any."""
    clusters = "" if group.clusters is None else f" in {plural(group.clusters, 'cluster')}"
    return f"{plural(len(group.units), comparison.unit)}{clusters}"


def _heading(comparison: Comparison) -> Iterator[str]:
    """Yield what is compared, under which conditions, and what is to be regarded."""
    yield from about_units(comparison)
    systems: dict[str, list[str]] = {}
    for system, conditions in comparison.conditions.items():
        for condition in conditions:
            systems.setdefault(condition, []).append(system)
    yield from (f"{', '.join(names)}: {condition}" for condition, names in systems.items())
    yield from apart_in(comparison, comparison.measures)
    if comparison.several_runs:
        counts = (f"{len(runs)} of {name}" for name, runs in comparison.runs.items())
        yield f"runs: {', '.join(counts)}"
    yield from (f"caution: {caution}" for caution in _cautions(comparison))
    labels: dict[tuple[str, ...], list[str]] = {}
    for label, names in comparison.lacking.items():
        labels.setdefault(names, []).append(label)
    for names, lacking in labels.items():
        yield f"not compared, because not available for {', '.join(names)}: {', '.join(lacking)}"
    for label in comparison.undefined:
        yield f"not compared, because it has no value on these {comparison.unit}s: {label}"


def largest_groups(comparison: Comparison) -> list[Group]:
    """Return the groups of two or more systems, of those on the same units the largest."""
    groups: dict[tuple[str, ...], Group] = {}
    for group in comparison.groups:
        known = groups.get(group.units)
        if len(group.systems) > 1 and (known is None or len(known.systems) < len(group.systems)):
            groups[group.units] = group
    return list(groups.values())


def apart_in(comparison: Comparison, measures: Sequence[ComparedMeasure]) -> list[str]:
    """Return sentences that say which systems cannot be compared in which of the scores."""
    of_whole = (measure for measure in measures if measure.scope == WHOLE)
    return apart({measure.label: comparison.groups_of(measure.name) for measure in of_whole})


def _groups(comparison: Comparison) -> Iterator[Mapping[str, Any]]:
    """Yield the groups of systems that are compared with each other, and in which scores."""
    groups: dict[tuple[tuple[str, ...], str], list[ComparedMeasure]] = {}
    for measure in comparison.measures:
        groups.setdefault((measure.group.systems, measure.setting), []).append(measure)
    for (systems, setting), measures in groups.items():
        group = measures[0].group
        yield {
            "systems": systems,
            "baseline": systems[0],
            "setting": setting,
            "scores": tuple(dict.fromkeys(measure.name for measure in measures)),
            "common": len(group.units),
            **({"clusters": group.clusters} if group.clusters is not None else {}),
            "left_out": group.left_out,
        }


def about_few(comparison: Comparison) -> str:
    """Return what the mark of few runs or seeds means, empty where it is not there."""
    if not any(entry.has_few_runs for m in comparison.measures for entry in m.systems):
        return ""
    what = "runs" if _few_runs(comparison) else "seeds"
    return f"fewer than {FEWEST_RUNS} {what} say little about others: no interval is shown"


def _few_runs(comparison: Comparison) -> list[str]:
    return [name for name, runs in comparison.runs.items() if 1 < len(runs) < FEWEST_RUNS]


def _cautions(comparison: Comparison) -> Iterator[str]:
    if few := _few_runs(comparison):
        yield (
            f"{', '.join(few)}: fewer than {FEWEST_RUNS} runs say little about other runs; no "
            "interval is shown, and p values can show large differences only"
        )
    clusters = min((g.clusters for g in comparison.groups if g.clusters), default=FEW_CLUSTERS)
    if clusters < FEW_CLUSTERS:
        yield (
            f"of {plural(clusters, 'cluster')} little is known about others; intervals "
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
    scores = [
        entry.runs
        for measure in comparison.measures
        for entry in measure.systems
        if entry.system == system
    ]
    return len(comparison.runs[system]) > 1 and all(len(set(of_runs)) == 1 for of_runs in scores)


def _sheet(comparison: Comparison, measure: ComparedMeasure, places: int | None) -> Sheet:
    decimals = measure.places if places is None else places
    scope = "" if measure.scope == WHOLE else f", {measure.scope}"
    setting = f", {measure.setting}" if measure.setting else ""
    about = [f"n = {measure.n}"]
    if measure.test is not None:
        about.append(METHODS[measure.test].format(unit=comparison.drawn))
    if measure.lower_is_better and not measure.is_description:
        about.append("lower is better")
    title = f"{measure.label}{scope}{setting} ({'; '.join(about)})"
    systems, form = measure.systems, f".{decimals}f"
    columns: dict[str, list[Cell | str]] = {"": [entry.system for entry in systems]}
    if any(entry.cases != measure.n for entry in systems):
        columns["of"] = [str(entry.cases) for entry in systems]
    values = [Cell(entry.value, form=form, best=entry in measure.best) for entry in systems]
    columns["mean" if comparison.several_runs else "score"] = [*values]
    if comparison.several_runs:
        spreads = (entry.over.standard_deviation if entry.over else None for entry in systems)
        columns["sd"] = [Cell(spread, form=form) for spread in spreads]
    if len(systems) > 1:
        names = ["difference", f"{100 * comparison.confidence:g} % interval"]
        if measure.test is not None:
            names += ["p" if len(systems) == 2 else "p (Holm)", "win/tie/loss"]
        cells = [difference_cells(measure, each, decimals, comparison.level) for each in systems]
        columns |= zip(names, map(list, zip(*cells, strict=True)), strict=False)
    if any(entry.place for entry in systems):
        columns["rank"] = [str(entry.place.rank) if entry.place else UNKNOWN for entry in systems]
    return sheet(title, list(columns), list(zip(*columns.values(), strict=True)))


def difference_cells(
    measure: ComparedMeasure, entry: ComparedSystem, decimals: int, level: float | None = None
) -> list[Cell]:
    """Return the difference to the baseline, its interval, the corrected p value, and the counts.

    Of the baseline itself, `baseline` and empty cells.
    """
    difference = entry.difference
    if difference is None:
        return [Cell("baseline"), Cell(""), Cell(""), Cell("")]
    interval, counts = difference.interval, difference.counts
    form = f"+.{decimals}f"
    shown = UNKNOWN
    if any(each.has_few_runs for each in (entry, measure.systems[0])):
        shown = FEW
    elif interval is not None and interval.low < interval.high:
        shown = interval_text(interval, form, "[{}, {}]")
    return [
        Cell(difference.value, form=form, tone=TONES[measure.direction(difference, level)]),
        Cell(shown),
        Cell(shown_p(difference.adjusted, is_least=difference.is_least)),
        Cell(f"{counts.wins}/{counts.ties}/{counts.losses}" if counts else UNKNOWN),
    ]


def shown_p(p_value: float | None, *, is_least: bool = False) -> str:
    """Return a p value with three decimals; a dash where nothing was tested.

    What rounds to nothing is `< 0.001`. A p value that is the least that a permutation test can
    return is an upper bound: `≤ 0.001`.
    """
    if p_value is None:
        return UNKNOWN
    if p_value < 0.0005:
        return "< 0.001"
    return f"{'≤ ' * is_least}{p_value:.3f}"


def about_tests(comparison: Comparison) -> Iterator[str]:
    """Yield how p values and intervals were found."""
    unit, samples = comparison.drawn, comparison.samples
    if any(measure.test is not None for measure in comparison.measures):
        sizes = {len(group.systems) for group in comparison.groups} - {1}
        how = "two-sided"
        if max(sizes) > 2:
            over = plural(max(sizes) - 1, "system") if len(sizes) == 1 else "the systems of a table"
            how += f", after Holm's correction over {over}"
        yield f"p: {how}; at most {comparison.level:g} is significant"
    if few := about_few(comparison):
        yield f"{FEW}: {few}"
    if any(measure.test == RANDOMIZATION for measure in comparison.measures):
        yield (
            f"approximate randomisation: {unit}s swapped at random in {samples} samples, seed "
            f"{comparison.seed}; the least p value is {1 / (1 + samples):.2g}"
        )
    if comparison.several_runs:
        yield (
            f"bootstrap of {unit}s and runs: the same {unit}s for all runs, and runs of each "
            f"system, drawn in {samples} samples, seed {comparison.seed}; the least p value is "
            f"{1 / (1 + samples):.2g}; interval: of the difference of means, on other {unit}s and "
            "in other runs like these"
        )
        yield "mean, sd: over the runs; sd is the standard deviation of one run"
    if comparison.pairs / (1 + samples) > comparison.level and any(
        measure.test not in (None, MCNEMAR) for measure in comparison.measures
    ):
        least = int(comparison.pairs / comparison.level)
        yield (
            f"with {samples} samples no rank can differ by resampling, because "
            f"{plural(comparison.pairs, 'pair')} are tested: use --samples {least} or more"
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


def _notes(comparison: Comparison) -> Iterator[str]:
    """Yield what the counts and ranks of a table are, and amounts that differ between systems."""
    unit = comparison.drawn
    whose = "the mean over its runs" if comparison.several_runs else "the system"
    than = "that of the baseline" if comparison.several_runs else "the baseline"
    how = "higher than, the same as, or lower than"
    if any(m.lower_is_better and not m.is_description for m in comparison.measures):
        how = "better than, the same as, or worse than"
    if any(measure.test is not None for measure in comparison.measures):
        yield f"win/tie/loss: {unit}s on which {whose} is {how} {than}"
    if any(entry.place for measure in comparison.measures for entry in measure.systems):
        corrected = ""
        if any(len(group.systems) > 2 for group in comparison.groups):
            corrected = f" ({all_pairs(comparison)}, Holm's correction)"
        yield f"rank: 1 + the number of systems that are significantly better{corrected}"
    if any(
        entry.cases != measure.n for measure in comparison.measures for entry in measure.systems
    ):
        yield f"of: the number of {comparison.unit}s that the score of a system is about"
    keys = dict.fromkeys(key for amounts in comparison.amounts.values() for key in amounts)
    differing = [
        key
        for key in keys
        if len({amounts.get(key) for amounts in comparison.amounts.values()}) > 1
    ]
    if differing:
        for system, amounts in comparison.amounts.items():
            yield f"{system}: " + ", ".join(f"{key} {amounts.get(key, '?')}" for key in differing)


def all_pairs(comparison: Comparison) -> str:
    """Return over how many pairs of systems p values are corrected, as a text."""
    sizes = {len(group.systems) for group in comparison.groups} - {1}
    return f"all {plural(comparison.pairs, 'pair')}" if len(sizes) == 1 else "all pairs of a table"


def _interval_methods(measure: ComparedMeasure) -> set[str]:
    if measure.systems[0].has_few_runs:
        return set()
    shown = [entry.difference for entry in measure.systems if not entry.has_few_runs]
    return {d.interval.method for d in shown if d is not None and d.interval is not None}


def _records(comparison: Comparison) -> list[Mapping[str, Any]]:
    return [
        _record(comparison, measure, entry)
        for measure in comparison.measures
        for entry in measure.systems
    ]


def _record(
    comparison: Comparison, measure: ComparedMeasure, entry: ComparedSystem
) -> dict[str, Any]:
    """Return one score of one system in long form; `values` has the scores of its runs."""
    difference, place = entry.difference, entry.place
    interval, counts = (difference.interval, difference.counts) if difference else (None, None)
    record: dict[str, Any] = {
        "score": measure.name,
        "scope": measure.scope,
        "setting": measure.setting,
        "system": entry.system,
        "value": entry.value,
        "best": entry in measure.best,
        "p_best": measure.against_best(entry),
        "runs": len(entry.runs),
        "sd": entry.over.standard_deviation if entry.over else None,
        "values": entry.runs,
        "n": measure.n,
        "cases": entry.cases,
        "difference": difference.value if difference else None,
        **_interval_record(interval),
        "p": difference.p_value if difference else None,
        "p_holm": difference.adjusted if difference else None,
        "test": measure.test if difference else None,
        "wins": counts.wins if counts else None,
        "ties": counts.ties if counts else None,
        "losses": counts.losses if counts else None,
        "rank": place.rank if place else None,
        "rank_worst": place.worst if place else None,
        "signature": str(measure.signature),
    }
    if comparison.conditions:
        record["conditions"] = "; ".join(comparison.conditions.get(entry.system, ()))
    return record


def _interval_record(interval: Interval | None) -> dict[str, Any]:
    return {
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "interval": interval.method if interval else None,
    }


ENDS, HALF_WIDTH, NONE = "ends", "half-width", "none"
INTERVALS = (ENDS, HALF_WIDTH, NONE)
"""How intervals are shown: `[lo, hi]`, `± half their width`, not at all."""

PAPER_COLUMNS = (
    *("system", "score", "value", "low", "high", "interval", "runs", "sd", "n"),
    *("best", "p_best", "alike", "setting", "signature"),
)
"""The columns of the CSV of a table for a paper, whose intervals are those of the scores."""


def paper_document(
    comparison: Comparison, intervals: str = ENDS, *, places: int | None = None
) -> Document:
    """Return one table for a paper: a row per system, a column per score of the whole, a caption.

    The best score of a column stands out; a dagger marks what does not differ from it
    significantly, by the test of the score and Holm's correction over all pairs of systems, as
    ranks do. Of systems that cannot be compared (gold states, say) each group has its own best.
    `intervals` is one of `INTERVALS`; the comparison has to have those of the scores themselves.

    Raises:
        UsageError: Where there is no score of the whole.
    """
    document = comparison_document(comparison, places=places)
    measures = [measure for measure in comparison.measures if measure.scope == WHOLE]
    if not measures:
        raise UsageError("--table is of scores of the whole, and there are none: leave it out")
    labels: dict[str, str] = {}
    for m in measures:
        labels.setdefault(m.name, f"{m.label} ↓" if m.lower_is_better else m.label)
    known = {(entry.system, m.name): (m, entry) for m in measures for entry in m.systems}
    records: list[Mapping[str, Any]] = []
    rows: list[list[Cell | str]] = []
    for system in comparison.systems:
        rows.append([system])
        for name in labels:
            if (system, name) not in known:
                rows[-1].append(UNKNOWN)
                continue
            measure, entry = known[system, name]
            record = _record(comparison, measure, entry)
            record |= _interval_record(entry.interval)
            record["alike"] = measure.is_alike(entry, comparison.level)
            records.append({key: record[key] for key in PAPER_COLUMNS})
            form = f".{measure.places if places is None else places}f"
            mark = ALIKE if record["alike"] else ""
            if entry.has_few_runs:
                mark += FEW
            elif entry.interval and intervals == ENDS:
                mark += interval_text(entry.interval, form, " [{}, {}]")
            elif entry.interval and intervals == HALF_WIDTH:
                mark += f" ± {(entry.interval.high - entry.interval.low) / 2:{form}}"
            rows[-1].append(Cell(entry.value, record["best"], mark, form=form))
    signatures = tuple(dict.fromkeys(str(measure.signature) for measure in measures))
    caption = tuple(_caption(comparison, measures, intervals))
    return Document(
        heading=document.heading,
        sheets=(sheet("", ["", *labels.values()], rows, caption),),
        notes=signatures,
        signatures=signatures,
        records=tuple(records),
        plain={**document.plain, "table": tuple(records)},
    )


def _caption(
    comparison: Comparison, measures: Sequence[ComparedMeasure], intervals: str
) -> Iterator[str]:
    unit = comparison.drawn
    runs = ""
    if comparison.several_runs:
        counts = ", ".join(f"{system} {len(names)}" for system, names in comparison.runs.items())
        runs = f", means over runs ({counts})"
    common = dict.fromkeys(_common(comparison, group) for group in largest_groups(comparison))
    yield f"Scores on {' and '.join(common)}{runs}."
    tested: dict[str, dict[str, None]] = {}
    for measure in measures:
        if measure.best and measure.test is not None:
            tested.setdefault(METHODS[measure.test].format(unit=unit), {})[measure.label] = None
    if tested:
        tests = list(tested)
        if len(tested) > 1:
            tests = [f"{test} ({', '.join(labels)})" for test, labels in tested.items()]
        sizes = {group.pairs for group in comparison.groups} - {0}
        pairs = f"{plural(max(sizes), 'pair')} of" if len(sizes) == 1 else "all pairs of comparable"
        yield (
            f"{ALIKE}: does not differ significantly from the best of its column: "
            f"{'; '.join(tests)}; p > {comparison.level:g} after Holm's correction over {pairs} "
            "systems."
        )
    methods = dict.fromkeys(
        METHODS.get(entry.interval.method, entry.interval.method).format(unit=unit)
        for measure in measures
        for entry in measure.systems
        if entry.interval and not entry.has_few_runs
    )
    if methods and intervals != NONE:
        more = " and, of several runs, in other runs" if comparison.several_runs else ""
        shown = "Brackets:" if intervals == ENDS else "±: half the width of"
        level = f"{100 * comparison.confidence:g} % intervals"
        yield f"{shown} {level}, on other {unit}s{more} like these ({', '.join(methods)})."
    if few := about_few(comparison):
        yield f"{FEW}: {few}."
    yield from apart_in(comparison, measures)
