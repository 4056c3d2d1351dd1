"""Scores of an input that comes in parts: sums instead of rows, so that memory does not grow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from mwzeval.errors import Problem
from mwzeval.metrics.joint_goal_accuracy import Confusion
from mwzeval.metrics.richness import Richness
from mwzeval.multiwoz.evaluation import Evaluation, Metrics
from mwzeval.multiwoz.predictions.census import Census
from mwzeval.multiwoz.predictions.reading import Dialogues, Findings
from mwzeval.multiwoz.scoring import Scorer, Sources
from mwzeval.scores.table import Table

FOLDED = "all"
"""The unit of the one row that is left of many."""


@dataclass(slots=True)
class Sums:
    """What is left of the evaluations of parts, under one choice of sources."""

    table: Table | None = None
    richness: Richness = field(default_factory=Richness)
    turns: int = 0
    confusions: dict[str, Counter[Confusion]] = field(default_factory=dict)

    def add(self, part: Evaluation) -> None:
        """Add the evaluation of the next part."""
        self._add(part.table, part.turns, part.confusions)
        self.richness.update_all(part.words.dialogues)

    def merge(self, later: Sums) -> None:
        """Add the sums of parts that came after these."""
        if later.table is not None:
            self._add(later.table, later.turns, later.confusions)
            self.richness.merge(later.richness)

    def _add(self, table: Table, turns: int, confusions: Mapping[str, Counter[Confusion]]) -> None:
        rows = table if self.table is None else self.table + table
        self.table = rows.folded_into(FOLDED)
        self.turns += turns
        for rule, counted in confusions.items():
            self.confusions.setdefault(rule, Counter()).update(counted)

    def evaluation(self, scorer: Scorer, metrics: Metrics, sources: Sources) -> Evaluation:
        """Return the evaluation of the whole; its table is one row for all dialogues.

        Raises `ValueError` when there was no part.
        """
        if self.table is None:
            raise ValueError("nothing has been added")
        table, richness = self.table, Richness()
        richness.merge(self.richness)
        values = table.values.copy()
        # The windows of the whole text, which no part knew.
        for column, total in richness.totals().items():
            if column in table.columns:
                values[:, table.columns.index(column)] = total
        whole = replace(table, values=values)
        confusions = {rule: Counter(counted) for rule, counted in self.confusions.items()}
        return Evaluation(
            scorer, metrics, sources, whole, richness, self.turns, confusions=confusions
        )


@dataclass(slots=True)
class Accumulation:
    """What has been found so far: counts, warnings, and the sums under each choice of sources.

    Where states and domains come from, and whether responses are taken to be lexicalised, depends
    on every turn of an input. So there are sums for each choice that may still turn out to be the
    right one: with gold states for all, in case a turn without a state comes, as well as with the
    predicted ones as long as none has come; and delexicalised as well as not, because which kind of
    responses most are is known at the end.
    """

    census: Census = field(default_factory=Census)
    findings: Findings = field(default_factory=Findings)
    sums: dict[Sources, Sums] = field(default_factory=dict)

    def add(self, census: Census, findings: Findings, part: Iterable[Evaluation]) -> None:
        """Add the next part, which was evaluated under each choice that is still possible.

        Its dialogues must be others than before (see `repeated`).
        """
        evaluations = {evaluation.sources: evaluation for evaluation in part}
        self._keep(evaluations)
        for sources, sums in self.sums.items():
            sums.add(evaluations[sources])
        self.census.merge(census)
        self.findings.merge(findings)

    def merge(self, later: Accumulation) -> None:
        """Add what was found in parts that came after these, with other dialogues."""
        if later.census.turns:
            self._keep(later.sums)
            for sources, sums in self.sums.items():
                sums.merge(later.sums[sources])
            self.census.merge(later.census)
            self.findings.merge(later.findings)

    def _keep(self, choices: Iterable[Sources]) -> None:
        """Forget the choices that a next part rules out; the first part brings all there are."""
        if self.census.turns:
            self.sums = {sources: self.sums[sources] for sources in self.common(choices)}
        else:
            self.sums = {sources: Sums() for sources in choices}

    def common(self, choices: Iterable[Sources]) -> list[Sources]:
        """Return the choices that remain after a part with these."""
        return [s for s in choices if s in self.sums or not self.census.turns]

    def repeated(self, census: Census, file: str | None) -> list[Problem]:
        """Return an error for each dialogue of a next part that was given before."""
        return [
            Problem("repeated-dialogue", "the dialogue was given before", file=file, dialogue=name)
            for name in self.census.seen.common(census.seen)
        ]


def evaluate_under(
    scorer: Scorer, dialogues: Dialogues, metrics: Metrics, choices: Iterable[Sources]
) -> list[Evaluation]:
    """Return the evaluation of a part under each choice; those that are alike are made once."""
    made: dict[Sources, Evaluation] = {}
    evaluations = []
    for sources in choices:
        alike = replace(sources, lexicalized=scorer.delexicalizes(sources))
        if alike not in made:
            made[alike] = Evaluation.of(scorer, dialogues, metrics, sources=sources)
        evaluations.append(replace(made[alike], sources=sources))
    return evaluations


def decided(choices: Iterable[Sources], census: Census) -> Sources:
    """Return, of the choices that remain, the one that the whole input leads to."""
    lexicalized = Sources.of_census(census).lexicalized

    def fits(sources: Sources) -> tuple[bool, bool, bool]:
        kind = sources.lexicalized == lexicalized
        return kind, sources.predicted_states, sources.predicted_domains

    return max(choices, key=fits)


def possible_sources(census: Census) -> tuple[Sources, ...]:
    """Return the choices that an input with such a part may lead to, the part's own first."""
    own = Sources.of_census(census)
    return tuple(
        Sources(predicted_states=states, predicted_domains=domains, lexicalized=lexicalized)
        for states in ((True, False) if own.predicted_states else (False,))
        for domains in ((True, False) if own.predicted_domains else (False,))
        for lexicalized in (own.lexicalized, not own.lexicalized)
    )
