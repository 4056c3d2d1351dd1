"""Evaluating an input that comes in parts, over time or over processes: update, merge, compute.

The habit of torchmetrics, without torch. What is kept are sums, so memory does not grow with the
number of dialogues, and the result is that of `Evaluator.evaluate` on all of it, to the last bit.

Scores of an input that comes in parts: sums instead of rows, so that memory does not grow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from mwzeval.errors import InputError, Problem, UsageError, did_you_mean
from mwzeval.metrics.joint_goal_accuracy import Confusion
from mwzeval.metrics.measure import no_garbage_collection
from mwzeval.metrics.richness import Richness
from mwzeval.multiwoz.evaluator import Evaluator
from mwzeval.multiwoz.predictions.census import Census
from mwzeval.multiwoz.predictions.reading import Dialogues, Findings
from mwzeval.multiwoz.predictions.shapes import Predictions
from mwzeval.multiwoz.scoring.measures import scored_table
from mwzeval.multiwoz.scoring.scored_dialogues import Metrics, ScoredDialogues
from mwzeval.multiwoz.scoring.scored_predictions import CheckedPredictions, ScoredPredictions
from mwzeval.multiwoz.scoring.scorer import Scorer, Sources
from mwzeval.scores.report import Report
from mwzeval.scores.score import Signature
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

    def add(self, part: ScoredDialogues) -> None:
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

    def scored_dialogues(
        self, scorer: Scorer, metrics: Metrics, sources: Sources
    ) -> ScoredDialogues:
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
        return ScoredDialogues(
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

    def add(self, census: Census, findings: Findings, part: Iterable[ScoredDialogues]) -> None:
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
) -> list[ScoredDialogues]:
    """Return the evaluation of a part under each choice; those that are alike are made once."""
    made: dict[Sources, ScoredDialogues] = {}
    evaluations = []
    for sources in choices:
        alike = replace(sources, lexicalized=scorer.delexicalizes(sources))
        if alike not in made:
            made[alike] = ScoredDialogues.of(
                scorer, dialogues, metrics, sources=sources, is_part=True
            )
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


OF_THE_INPUT = frozenset({"n", "turns", "state", "domains", "responses"})
"""Keys of signatures that say what was scored, not how."""

Choose = Callable[[Census], Sequence[Sources]]
"""Returns the choices of sources under which a part is to be scored, given its counts."""


class IncrementalEvaluator:
    """Scores an input part by part.

    Parts are told apart by their dialogues: one that comes a second time is an error, also when it
    comes from another process. Made by `Evaluator.incremental`; `merge` takes another one's
    parts as if they had come after the own ones. It pickles without gold data.

    Without a declaration (see `Evaluator.incremental`) each part is scored for every case that may
    still come about: with its own states and domains, and with those that replace them once a turn
    comes without; in words and with placeholders, unless the evaluator was told what responses
    are. That is up to eight times the work where all turns have both.
    """

    def __init__(self, evaluator: Evaluator, choose: Choose = possible_sources) -> None:
        if evaluator.resampling is not None:
            raise UsageError(
                "intervals need the numbers of each dialogue, and only sums are kept: leave out "
                "the confidence, or evaluate the whole input at once"
            )
        evaluator.check_metrics()
        self._evaluator = evaluator
        self._choose = choose
        self.reset()

    def reset(self) -> None:
        """Forget all parts."""
        self._found = Accumulation()
        self._corpus: str | None = None
        self._how: Mapping[str, Signature] = {}

    def blank(self) -> IncrementalEvaluator:
        """Return one that scores alike and has no part yet."""
        return IncrementalEvaluator(self._evaluator, self._choose)

    @property
    def census(self) -> Census:
        """What the input is made of so far."""
        return self._found.census

    def update(self, predictions: Predictions, *, file: str | None = None) -> None:
        """Add a part: predictions as `Evaluator.evaluate` takes them, in order.

        Raises `InputError` with every problem of the part, which is then left out.
        """
        with no_garbage_collection():
            findings = Findings(file)
            part = self._evaluator.part(predictions, findings)
            if part is None or findings.errors:
                raise InputError(findings.errors)
            choices = self._choose(part.census)
            if not choices:
                raise InputError([_undeclared(part.census, file)])
            scorer, metrics = part.scorer, self._evaluator.metrics
            corpus = scorer.gold.corpus
            self._check(corpus, {}, part.census, choices, file)
            remaining = self._found.common(choices)
            evaluations = evaluate_under(scorer, part.dialogues, metrics, remaining)
            how = {} if self._how else how_scored(evaluations)
            self._found.add(part.census, findings, evaluations)
            self._corpus, self._how = corpus, {**self._how, **how}

    def merge(self, later: IncrementalEvaluator) -> None:
        """Add the parts of another one, as if they had come after those of this one.

        Raises `InputError` for dialogues that are in both, `UsageError` when the two score
        differently (another corpus, other metrics, rules or versions).
        """
        if later._corpus is not None:
            found = later._found
            file = found.findings.file
            self._check(later._corpus, later._how, found.census, tuple(found.sums), file)
            self._found.merge(found)
            self._corpus, self._how = later._corpus, {**self._how, **later._how}

    def compute(self, *, file: str | None = None) -> Report:
        """Return the scores of all parts, as `Evaluator.evaluate` does; more may follow.

        Its table is a single row of sums. `file` names the whole input in warnings that are not
        about one part. Raises `InputError` when there was no dialogue, `UsageError` when the input
        is not what was declared.
        """
        if self._corpus is None:
            raise InputError([Problem("empty", "there is no dialogue in it")])
        census, evaluator = self._found.census, self._evaluator
        scorer = evaluator.scorer(self._corpus)
        sources = decided(self._found.sums, census)
        findings = Findings(file)
        findings.merge(self._found.findings)
        findings.sort_warnings()
        covered = evaluator.conclude(scorer, census, findings)
        checked = CheckedPredictions({}, scorer, covered, tuple(findings.warnings), census)
        evaluation = self._found.sums[sources].scored_dialogues(scorer, evaluator.metrics, sources)
        return ScoredPredictions.of(evaluator, checked, evaluation).report()

    def _check(
        self,
        corpus: str,
        how: Mapping[str, Signature],
        census: Census,
        choices: Sequence[Sources],
        file: str | None,
    ) -> None:
        """Raise what keeps a part from being added."""
        if self._corpus is None:
            return
        self._check_alike(corpus, how)
        repeated = self._found.repeated(census, file)
        if repeated:
            raise InputError(repeated)
        if not self._found.common(choices):
            raise UsageError(
                "parts that were declared to have predicted states or domains do not add up with "
                "parts that were declared to have none"
            )

    def _check_alike(self, corpus: str, how: Mapping[str, Signature]) -> None:
        what = {} if corpus == self._corpus else {"corpus": f"{self._corpus} and {corpus}"}
        for name, signature in how.items():
            if name in self._how:
                mine, theirs = dict(self._how[name].choices), dict(signature.choices)
                for key in self._how[name].differences(signature):
                    if key in mine and key in theirs:
                        what.setdefault(key, f"{mine[key]} and {theirs[key]}")
        if what:
            listed = "; ".join(f"{key}: {values}" for key, values in what.items())
            raise UsageError(f"parts that are scored differently do not add up ({listed})")

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_evaluator": self._evaluator.unloaded()}


def how_scored(evaluations: Sequence[ScoredDialogues]) -> dict[str, Signature]:
    """Return the signature of each score without what it says about the input."""
    signatures = {}
    for evaluation in evaluations:
        scores = scored_table(evaluation)
        named = {measure.name: measure.signature for measure in scores.measures}
        named |= {measure.name: measure.signature for measure in scores.type_measures}
        for name, full in named.items():
            kept = tuple((key, value) for key, value in full.choices if key not in OF_THE_INPUT)
            signatures[name] = Signature(full.metric, kept)
    return signatures


def declared(states: str | None, active_domains: str | None) -> Choose:
    """Return the choices of sources that remain when it is said beforehand where both come from.

    Raises `UsageError` for a word that is neither.
    """
    return partial(
        _declared,
        _is_predicted("states", states, "gold"),
        _is_predicted("active_domains", active_domains, "estimated"),
    )


def _declared(
    states: bool | None, active_domains: bool | None, census: Census
) -> tuple[Sources, ...]:
    return tuple(
        sources
        for sources in possible_sources(census)
        if states in (None, sources.predicted_states)
        and active_domains in (None, sources.predicted_domains)
    )


def _is_predicted(what: str, source: str | None, other: str) -> bool | None:
    known = ("predicted", other)
    if source is not None and source not in known:
        hint = did_you_mean(source, known)
        raise UsageError(f'unknown source of {what} "{source}"{hint} (known: {", ".join(known)})')
    return None if source is None else source == "predicted"


def _undeclared(census: Census, file: str | None) -> Problem:
    lacking = ", ".join(
        f'{census.turns - there} of {census.turns} turns have no "{key}"'
        for key, there in (("state", census.with_state), ("active_domains", census.with_domains))
        if there < census.turns
    )
    return Problem("undeclared", f"{lacking}, which was declared to be predicted", file=file)
