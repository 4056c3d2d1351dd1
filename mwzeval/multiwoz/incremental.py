"""Evaluating an input that comes in parts, over time or over processes: update, merge, compute.

The habit of torchmetrics, without torch. What is kept are sums, so memory does not grow with the
number of dialogues, and the result is that of `Evaluator.evaluate` on all of it, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from mwzeval.errors import InputError, Problem, UsageError, did_you_mean
from mwzeval.multiwoz.accumulation import (
    Accumulation,
    decided,
    evaluate_under,
    possible_sources,
)
from mwzeval.multiwoz.evaluation import Evaluation
from mwzeval.multiwoz.evaluator import Checked, Evaluated, Evaluator
from mwzeval.multiwoz.measures import scored
from mwzeval.multiwoz.predictions.census import Census
from mwzeval.multiwoz.predictions.reading import Findings
from mwzeval.multiwoz.scoring import Sources
from mwzeval.report.json import to_plain
from mwzeval.scores.measure import no_garbage_collection
from mwzeval.scores.score import Report, Signature

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

    def update(self, predictions: Any, *, file: str | None = None) -> None:
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

    def compute(self) -> dict[str, Any]:
        """Return the scores of all parts, as `Evaluator.evaluate` does; more may follow."""
        return to_plain(self.report())

    def report(self, *, file: str | None = None) -> Report:
        """Return the report of all parts; its table is a single row of sums.

        `file` names the whole input in warnings that are not about one part. Raises `InputError`
        when there was no dialogue, `UsageError` when the input is not what was declared.
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
        checked = Checked({}, scorer, covered, tuple(findings.warnings), census.wording)
        evaluation = self._found.sums[sources].evaluation(scorer, evaluator.metrics, sources)
        return evaluator.report_of(Evaluated(checked, evaluation, scored(evaluation)))

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


def how_scored(evaluations: Sequence[Evaluation]) -> dict[str, Signature]:
    """Return the signature of each score without what it says about the input."""
    signatures = {}
    for evaluation in evaluations:
        scores = scored(evaluation)
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
