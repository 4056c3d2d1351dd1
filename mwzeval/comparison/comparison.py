"""The result of a comparison of systems, and its tables, data frames and JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import TYPE_CHECKING, Any, TypeAlias

from mwzeval.errors import UsageError
from mwzeval.metrics.measure import ScoredTable
from mwzeval.scores.score import WHOLE, Group, Interval, Signature, comparability_notes, ends_record
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
    to_html,
    to_text,
)
from mwzeval.statistics.runs import FEWEST_RUNS, HIERARCHICAL, standard_deviation
from mwzeval.statistics.tests import Place, WinsTiesLosses

if TYPE_CHECKING:
    import pandas

SCHEMA = 2
MCNEMAR = "mcnemar"
RANDOMIZATION = "approximate-randomization"
METHODS = {
    MCNEMAR: "McNemar's exact test",
    RANDOMIZATION: "approximate randomization",
    HIERARCHICAL: "bootstrap of {unit}s and runs",
    "wilson": "Wilson",
    "bootstrap": "bootstrap of {unit}s",
    "paired-bootstrap": "paired bootstrap of {unit}s",
    "jackknife": "jackknife of {unit}s",
}
TONES = {1: BETTER, 0: "", -1: WORSE}
FEW_CLUSTERS = 30
SENTENCES = 5
NAMED_SCORES = 8

TEXTS = ("score", "scope", "setting", "system", "interval", "test", "signature", "conditions")
COUNTS = ("runs", "n", "cases", "wins", "ties", "losses", "rank", "rank_worst")
"""Columns of integers in a data frame; `best` is a flag, and the other columns are floats."""

System: TypeAlias = ScoredTable | Mapping[str, ScoredTable]
"""The scored table of a system, or the tables of several runs by name."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between the scores of a system and the baseline, in the unit of the score.

    `p_value` is two-sided, and `adjusted` is the p value after Holm's correction over all systems
    that are compared with the baseline. Without a test, `p_value` and `adjusted` are None. `counts`
    has the numbers of units on which the system is better or worse than the baseline; None if the
    score is not defined for single units. `is_least` means that the p value is the smallest
    possible value for the number of samples.
    """

    value: float
    interval: Interval | None
    p_value: float | None
    adjusted: float | None
    counts: WinsTiesLosses | None
    is_least: bool = False


@dataclass(frozen=True, slots=True)
class ComparedSystem:
    """One score of one system; `difference` is None for the baseline.

    `runs` has the score of each run, and `value` is the mean of these scores. `cases` is the number
    of common units that the score is about. `interval` is the interval of the score, not of a
    difference. A system that is alone in its group has no `place`. `seeds` is the number of
    resampled seeds if one file contains the tests of several seeds, otherwise None.
    """

    system: str
    value: float
    runs: tuple[float, ...]
    cases: int
    difference: Difference | None = None
    place: Place | None = None
    interval: Interval | None = None
    seeds: int | None = None

    @property
    def has_few_runs(self) -> bool:
        """Whether there are several runs or seeds, but too few for an interval."""
        return any(1 < number < FEWEST_RUNS for number in (len(self.runs), self.seeds or 0))

    @property
    def sd(self) -> float | None:
        """The standard deviation over the runs; None for a single run."""
        return standard_deviation(self.runs) if len(self.runs) > 1 else None


@dataclass(frozen=True, slots=True)
class ComparedMeasure:
    """One score of a group of comparable systems, the baseline first.

    `test` is the source of the p values: `MCNEMAR`, `RANDOMIZATION` or `HIERARCHICAL`; None if
    there is no test. `signature` has the choices that the systems share; `n` is the number of units
    (or clusters) that are resampled. `pairs` has the p value of each pair of systems, after Holm's
    correction over all pairs. The places of the systems in the ranking follow from these p values.
    Scores of parts have no pairs and no places. `has_direction` is true if higher or lower values
    of the score are better.
    """

    name: str
    label: str
    n: int
    signature: Signature
    test: str | None
    systems: tuple[ComparedSystem, ...]
    group: Group
    places: int = 2
    scope: str = WHOLE
    lower_is_better: bool = False
    has_direction: bool = True
    pairs: Mapping[tuple[str, str], float] = field(default_factory=dict)

    @property
    def best(self) -> Sequence[ComparedSystem]:
        """The systems with the best score; empty without a direction or if all scores are equal."""
        if not self.has_direction:
            return ()
        best = (min if self.lower_is_better else max)(entry.value for entry in self.systems)
        found = [entry for entry in self.systems if entry.value == best]
        return found if len(found) < len(self.systems) else ()

    def against_best(self, entry: ComparedSystem) -> float | None:
        """Return the corrected p value of a system and the best one; for several, the largest.

        Returns None if the system is the best, and for scores of parts.
        """
        best = self.best
        if not best or entry in best or not self.pairs:
            return None
        names = [(entry.system, other.system) for other in best]
        return max(self.pairs[pair if pair in self.pairs else pair[::-1]] for pair in names)

    def direction(self, difference: Difference, level: float | None) -> int:
        """Return 1 if a system is significantly better than the baseline, -1 if it is worse.

        Returns 0 if the difference is not significant, if the score has no direction, or if `level`
        is None.
        """
        if level is None or difference.adjusted is None or difference.adjusted > level:
            return 0
        if not (difference.value and self.best):
            return 0
        return 1 if (difference.value < 0) == self.lower_is_better else -1

    def is_alike(self, entry: ComparedSystem, level: float) -> bool:
        """Return whether a system is worse than the best system, but not significantly."""
        p_value = self.against_best(entry)
        return p_value is not None and p_value > level

    def of(self, system: str) -> ComparedSystem:
        """Return the entry of one system: its score, and the difference from the baseline.

        Raises `KeyError` if the system is not in the comparison.
        """
        return {entry.system: entry for entry in self.systems}[system]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The scores of systems, the baseline first, each with the names of its runs.

    A score has an entry in `measures` for each group of comparable systems. `lacking` maps the
    label of a score to the systems without this score; `undefined` names the scores without a value
    on the common units. `amounts` states how much data of each system was scored, and `conditions`
    states the conditions of each system's scores (for example gold states).
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
    def entries(self) -> list[tuple[ComparedMeasure, ComparedSystem]]:
        """All pairs of a compared score and one system's entry for this score."""
        return [(measure, entry) for measure in self.measures for entry in measure.systems]

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups of systems that are comparable with each other in some score."""
        groups = {measure.group.systems: measure.group for measure in self.measures}
        return tuple(groups.values())

    @property
    def drawn(self) -> str:
        """The noun for the resampled units: clusters if the units are in clusters."""
        has_clusters = any(group.clusters is not None for group in self.groups)
        return "cluster" if has_clusters else self.unit

    @property
    def baseline(self) -> str:
        """The system with which the other systems are compared."""
        return self.systems[0]

    @property
    def pairs(self) -> int:
        """The number of pairs of systems in the largest group."""
        return max(comb(len(group.systems), 2) for group in self.groups)

    @property
    def several_runs(self) -> bool:
        """Whether a system has more than one run."""
        return any(len(names) > 1 for names in self.runs.values())

    def measure(self, name: str, scope: str = WHOLE) -> ComparedMeasure:
        """Return the comparison of systems in one score, for the group that contains the baseline.

        Raises:
            KeyError: If it was not compared.
        """
        if found := [m for m in self.measures if (m.name, m.scope) == (name, scope)]:
            return found[0]
        raise KeyError(name)

    def to_frame(self) -> pandas.DataFrame:
        """Return a pandas DataFrame in long form, unrounded; docs/python.md lists its columns."""
        records = [_record(self, *entry) for entry in self.entries]
        types = dict.fromkeys(TEXTS, TEXT) | dict.fromkeys(COUNTS, COUNT) | {"best": FLAG}
        columns = {name: types.get(name, FLOAT) for name in records[0] if name != "values"}
        return to_frame(columns, records)

    def __str__(self) -> str:
        return to_text(comparison_document(self)).rstrip("\n")

    def _repr_html_(self) -> str:
        return to_html(comparison_document(self))


def comparison_document(comparison: Comparison, *, places: int | None = None) -> Document:
    """Return a table per score, a row per system; `places` overrides the usual decimals."""
    sentences = verdict(comparison)
    signatures = tuple(dict.fromkeys(str(measure.signature) for measure in comparison.measures))
    notes = (*about_tests(comparison), *_notes(comparison), *signatures)
    records = [_record(comparison, *entry) for entry in comparison.entries]
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
    )


def verdict(comparison: Comparison) -> tuple[str, ...]:
    """Return a sentence per system: which of its scores are better or worse than the baseline's.

    Scores without a direction and scores of parts are ignored. Scores without a significance test
    are ignored if any score has a test.
    """
    found: dict[tuple[str, str], dict[int | None, list[str]]] = {}
    for measure, entry in comparison.entries:
        difference = entry.difference
        if measure.scope != WHOLE or not measure.has_direction or difference is None:
            continue
        result = number_text(difference.value, f"+.{measure.places}f")
        direction: int | None = None
        if difference.adjusted is not None:
            shown = shown_p(difference.adjusted, is_least=difference.is_least)
            result += f", p {shown}" if shown[0] in "<≤" else f", p = {shown}"
            direction = measure.direction(difference, comparison.level)
        of_system = found.setdefault((entry.system, measure.group.systems[0]), {})
        of_system.setdefault(direction, []).append(f"{measure.label} ({result})")
    sentences = []
    for (system, baseline), results in list(found.items())[:SENTENCES]:
        than = f" than {baseline}" if len(comparison.systems) > 2 else ""
        clauses = {
            1: f"better{than} in",
            -1: f"worse{than} in",
            0: "no significant difference in",
            None: "no significance test for",
        }
        if len(results) > 1:
            results.pop(None, None)
        parts = [f"{text} {_listed(results[d])}" for d, text in clauses.items() if d in results]
        verb = " is" if results.keys() & {1, -1} else ":"
        sentences.append(f"{system}{verb} {'; '.join(parts)}")
    if len(found) > SENTENCES:
        sentences.append(f"{plural(len(found) - SENTENCES, 'more system')}: see the tables")
    return tuple(sentences)


def _listed(texts: Sequence[str]) -> str:
    """Return `a, b and c`; a long list is cut, and ends with the number of omitted texts."""
    *shown, last = texts
    if len(texts) > NAMED_SCORES:
        shown, last = [*texts[:NAMED_SCORES]], f"{len(texts) - NAMED_SCORES} more"
    return f"{', '.join(shown)} and {last}" if shown else last


def about_units(comparison: Comparison) -> Iterator[str]:
    """Yield the compared systems, their common units, and the number of excluded units."""
    for group in _largest_groups(comparison):
        baseline, *others = group.systems
        is_all = len(others) > 1 and len(group.systems) == len(comparison.systems)
        named = f"{len(others)} systems" if is_all else ", ".join(others)
        both = "both" if len(others) == 1 else "all"
        left_out = [f"{count} of {name}" for name, count in group.left_out.items() if count]
        rest = f"; left out: {', '.join(left_out)}" if left_out else " (all of them)"
        pair = f"{named} against {baseline} (the baseline)"
        yield f"{pair}, on the {_common(comparison, group)} that {both} have{rest}"


def _common(comparison: Comparison, group: Group) -> str:
    clusters = "" if group.clusters is None else f" in {plural(group.clusters, 'cluster')}"
    return f"{plural(len(group.units), comparison.unit)}{clusters}"


def _heading(comparison: Comparison) -> Iterator[str]:
    yield from about_units(comparison)
    under = comparison.conditions.items()
    for condition in dict.fromkeys(condition for _, texts in under for condition in texts):
        yield f"{', '.join(name for name, texts in under if condition in texts)}: {condition}"
    yield from _apart(comparison.measures)
    if comparison.several_runs:
        counts = (f"{len(runs)} of {name}" for name, runs in comparison.runs.items())
        yield f"runs: {', '.join(counts)}"
    yield from (f"caution: {caution}" for caution in _cautions(comparison))
    lacking = comparison.lacking.items()
    for names in dict.fromkeys(comparison.lacking.values()):
        labels = ", ".join(label for label, owners in lacking if owners == names)
        yield (
            f"not compared: {', '.join(names)} {'has' if len(names) == 1 else 'have'} no {labels}"
        )
    for label in comparison.undefined:
        yield f"not compared: {label} has no value on these {comparison.unit}s"


def _largest_groups(comparison: Comparison) -> list[Group]:
    """Return the largest group of systems for each set of units; omit groups of one system."""
    groups: dict[tuple[str, ...], Group] = {}
    for group in comparison.groups:
        known = groups.get(group.units)
        if len(group.systems) > max(1, len(known.systems) if known else 1):
            groups[group.units] = group
    return list(groups.values())


def _apart(measures: Iterable[ComparedMeasure]) -> list[str]:
    groups: dict[str, list[Group]] = {}
    for measure in measures:
        if measure.scope == WHOLE:
            groups.setdefault(measure.label, []).append(measure.group)
    return comparability_notes(groups)


def _groups(comparison: Comparison) -> Iterator[Mapping[str, Any]]:
    groups: dict[tuple[tuple[str, ...], str], list[ComparedMeasure]] = {}
    for measure in comparison.measures:
        groups.setdefault((measure.group.systems, measure.group.setting), []).append(measure)
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
    """Return the explanation of the mark for few runs or seeds; empty if no score has the mark."""
    what = "runs" if comparison.several_runs else "seeds"
    about = f"too few {what} for an interval (at least {FEWEST_RUNS} are needed)"
    return about if any(entry.has_few_runs for _, entry in comparison.entries) else ""


def _cautions(comparison: Comparison) -> Iterator[str]:
    few = dict.fromkeys(entry.system for _, entry in comparison.entries if entry.has_few_runs)
    if few:
        yield f"{', '.join(few)}: {about_few(comparison)} ({FEW})"
    clusters = min((g.clusters for g in comparison.groups if g.clusters), default=FEW_CLUSTERS)
    if clusters < FEW_CLUSTERS:
        yield (
            f"there are only {plural(clusters, 'cluster')}: with fewer than {FEW_CLUSTERS}, "
            "intervals are too narrow"
        )
    runs = {name: len(of_system) for name, of_system in comparison.runs.items()}
    differing = {entry.system for _, entry in comparison.entries if len(set(entry.runs)) > 1}
    if copies := [name for name, number in runs.items() if number > 1 and name not in differing]:
        yield f"{', '.join(copies)}: all runs have the same scores and may be copies of one run"
    single = [name for name, number in runs.items() if number == 1]
    if comparison.several_runs and single:
        yield (
            f"{', '.join(single)}: with a single run, intervals and p values leave out the "
            "variance between runs, so they do not support a claim about the method"
        )


def _sheet(comparison: Comparison, measure: ComparedMeasure, places: int | None) -> Sheet:
    decimals = measure.places if places is None else places
    scope = "" if measure.scope == WHOLE else f", {measure.scope}"
    setting = f", {measure.group.setting}" if measure.group.setting else ""
    about = [f"n = {measure.n}"]
    if measure.test is not None:
        about.append(METHODS[measure.test].format(unit=comparison.drawn))
    if measure.lower_is_better and measure.has_direction:
        about.append("lower is better")
    title = f"{measure.label}{scope}{setting} ({'; '.join(about)})"
    systems, form = measure.systems, f".{decimals}f"
    columns: dict[str, list[Cell | str]] = {"": [entry.system for entry in systems]}
    if any(entry.cases != measure.n for entry in systems):
        columns["of"] = [str(entry.cases) for entry in systems]
    values = [Cell(entry.value, form=form, best=entry in measure.best) for entry in systems]
    columns["mean" if comparison.several_runs else "score"] = [*values]
    if comparison.several_runs:
        columns["sd"] = [Cell(entry.sd, form=form) for entry in systems]
    if len(systems) > 1:
        names = ["difference", f"{100 * comparison.confidence:g} % interval"]
        if measure.test is not None:
            names += ["p" if len(systems) == 2 else "p (Holm)", "win/tie/loss"]
        cells = [difference_cells(measure, entry, decimals, comparison.level) for entry in systems]
        columns |= zip(names, map(list, zip(*cells, strict=True)), strict=False)
    if any(entry.place for entry in systems):
        columns["rank"] = [str(entry.place.rank) if entry.place else UNKNOWN for entry in systems]
    return sheet(title, list(columns), list(zip(*columns.values(), strict=True)))


def difference_cells(
    measure: ComparedMeasure, entry: ComparedSystem, decimals: int, level: float | None = None
) -> list[Cell]:
    """Return difference, interval, corrected p value and counts (for the baseline: `baseline`)."""
    difference = entry.difference
    if difference is None:
        return [Cell("baseline"), Cell(""), Cell(""), Cell("")]
    interval, counts = difference.interval, difference.counts
    form = f"+.{decimals}f"
    shown = UNKNOWN
    if any(compared.has_few_runs for compared in (entry, measure.systems[0])):
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
    """Return a p value with three decimals; a dash if there was no test.

    The smallest p value of a permutation test is an upper bound: `≤ 0.001`.
    """
    if p_value is None:
        return UNKNOWN
    if p_value < 0.0005:
        return "< 0.001"
    return f"{'≤ ' * is_least}{p_value:.3f}"


def about_tests(comparison: Comparison) -> Iterator[str]:
    """Yield descriptions of the methods that computed p values and intervals."""
    unit, samples = comparison.drawn, comparison.samples
    tests = {measure.test for measure in comparison.measures} - {None}
    if tests:
        how = "two-sided"
        if comparison.pairs > 1:
            how += ", after Holm's correction over the systems of a table"
        least = f"; resampling yields no p below {1 / (1 + samples):.2g}" * bool(tests - {MCNEMAR})
        yield f"p: {how}; significant if p ≤ {comparison.level:g}{least}"
    methods = dict.fromkeys(
        METHODS[entry.difference.interval.method].format(unit=unit)
        for measure, entry in comparison.entries
        if entry.difference is not None and entry.difference.interval is not None
        if not (entry.has_few_runs or measure.systems[0].has_few_runs)
    )
    if methods:
        others = f"{unit}s and runs" if comparison.several_runs else f"{unit}s"
        yield (
            f"interval: confidence interval of the difference, over random samples of {others} "
            f"({', '.join(methods)})"
        )
    if tests - {MCNEMAR} or methods:
        yield f"resampling: {samples} samples, seed {comparison.seed}"
    if tests - {MCNEMAR} and comparison.pairs / (1 + samples) > comparison.level:
        enough = int(comparison.pairs / comparison.level)
        yield (
            f"{samples} samples are too few for significant ranks, because "
            f"{plural(comparison.pairs, 'pair')} are tested: use --samples {enough} or more"
        )


def _notes(comparison: Comparison) -> Iterator[str]:
    """Yield the meanings of the columns of a table, and amounts that differ between systems."""
    if comparison.several_runs:
        yield "mean, sd: mean and standard deviation over the runs"
    if any(measure.test is not None for measure in comparison.measures):
        means = (
            "; systems with several runs are compared by the mean over their runs"
            if comparison.several_runs
            else ""
        )
        yield (
            f"win/tie/loss: {comparison.drawn}s on which the system is better than, the same as, "
            f"or worse than the baseline{means}"
        )
    if any(entry.place for _, entry in comparison.entries):
        corrected = " (all pairs of a table, Holm's correction)" * (comparison.pairs > 1)
        yield f"rank: 1 + the number of systems that are significantly better{corrected}"
    if any(entry.cases != measure.n for measure, entry in comparison.entries):
        yield "of: the number of cases from which the system's score is computed"
    amounts = comparison.amounts
    if any(of_system != amounts[comparison.baseline] for of_system in amounts.values()):
        for system, of_system in amounts.items():
            if of_system:
                yield f"{system}: " + ", ".join(
                    f"{key} {value}" for key, value in of_system.items()
                )


def _record(
    comparison: Comparison, measure: ComparedMeasure, entry: ComparedSystem, *, own: bool = False
) -> dict[str, Any]:
    """Return one score of one system in long form, with the interval of the difference or score."""
    difference, place = entry.difference, entry.place
    interval, counts = (difference.interval, difference.counts) if difference else (None, None)
    interval = entry.interval if own else interval
    record: dict[str, Any] = {
        "score": measure.name,
        "scope": measure.scope,
        "setting": measure.group.setting,
        "system": entry.system,
        "value": entry.value,
        "best": entry in measure.best,
        "p_best": measure.against_best(entry),
        "runs": len(entry.runs),
        "sd": entry.sd,
        "values": entry.runs,
        "n": measure.n,
        "cases": entry.cases,
        "difference": difference.value if difference else None,
        **ends_record(interval),
        "interval": interval.method if interval else None,
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


ENDS, HALF_WIDTH, NONE = "ends", "half-width", "none"
INTERVALS = (ENDS, HALF_WIDTH, NONE)
"""The formats of intervals: `[lo, hi]`, `± half the width`, or no interval."""

PAPER_COLUMNS = (
    *("system", "score", "value", "low", "high", "interval", "runs", "sd", "n"),
    *("best", "p_best", "alike", "setting", "signature"),
)
"""The columns of the CSV of a table for a paper; the intervals are those of the scores."""


def paper_document(
    comparison: Comparison, intervals: str = ENDS, *, places: int | None = None
) -> Document:
    """Return one table for a paper: a row per system, a column per score of the whole input.

    The best score of a column is highlighted. A dagger marks scores that do not differ
    significantly from the best, according to the score's test with Holm's correction over all pairs
    of systems (as for ranks). If some systems cannot be compared (for example because of gold
    states), each group of comparable systems has its own best score. `intervals` is one of
    `INTERVALS`; the comparison must have intervals of the scores themselves.

    Raises:
        UsageError: If no system has a score of the whole input.
    """
    document = comparison_document(comparison, places=places)
    measures = [measure for measure in comparison.measures if measure.scope == WHOLE]
    if not measures:
        raise UsageError(
            "--table needs scores over all items, but the systems have no such scores: leave "
            "out --table"
        )
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
            record = _record(comparison, measure, entry, own=True)
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
    common = dict.fromkeys(_common(comparison, group) for group in _largest_groups(comparison))
    yield f"Scores on {' and '.join(common)}{runs}."
    tests: dict[str, dict[str, None]] = {}
    for measure in measures:
        if measure.best and measure.test is not None:
            tests.setdefault(METHODS[measure.test].format(unit=unit), {})[measure.label] = None
    if tests:
        named = "; ".join(f"{test} ({', '.join(labels)})" for test, labels in tests.items())
        yield (
            f"{ALIKE}: not significantly different from the best score of the column: p > "
            f"{comparison.level:g} after Holm's correction over all pairs of comparable systems. "
            f"Tests: {named}."
        )
    own = [e.interval for m in measures for e in m.systems if e.interval and not e.has_few_runs]
    methods = dict.fromkeys(METHODS[interval.method].format(unit=unit) for interval in own)
    if methods and intervals != NONE:
        shown = "Brackets:" if intervals == ENDS else "±: half the width of"
        others = f"{unit}s and runs" if comparison.several_runs else f"{unit}s"
        level = f"{100 * comparison.confidence:g} % intervals"
        yield f"{shown} {level} over random samples of {others} ({', '.join(methods)})."
    if few := about_few(comparison):
        yield f"{FEW}: {few}."
    yield from _apart(measures)
