"""The class that evaluates predictions, for the command line as well as for training loops.

To score an input in parts, over time or in several processes, `IncrementalEvaluator` has `update`,
`merge` and `compute`, as in torchmetrics. `IncrementalEvaluator` stores only sums, so memory does
not grow with the number of dialogues. The scores of `IncrementalEvaluator` are bit-identical to the
scores of `Evaluator.evaluate`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

from mwzeval.errors import InputError, Problem, UsageError, shorten
from mwzeval.libraries import no_garbage_collection
from mwzeval.metrics.measure import Resampling
from mwzeval.multiwoz import (
    AUTO,
    CORPUS_NAMES,
    DEFAULT_CORPUS,
    FOLDS,
    INPUT_FORMATS,
    LEXICALIZED,
    RESPONSES,
    RULES,
    SAMPLE,
    Fold,
    Responses,
    Rules,
    known_name,
)
from mwzeval.multiwoz.census import Census
from mwzeval.multiwoz.corpus import (
    SAMPLE_PREFIX,
    available_references,
    corpus_root,
    load_fold,
    load_references,
    own_references,
)
from mwzeval.multiwoz.formats import adapt, adapt_dialogue
from mwzeval.multiwoz.functions import Tools, read_tools
from mwzeval.multiwoz.plausibility import (
    check_each_turn,
    check_fit,
    check_turns,
    check_whole,
    with_ids_of_fold,
)
from mwzeval.multiwoz.predictions import (
    Dialogues,
    PredictedTurn,
    Predictions,
    check_dialogues,
    filled,
    parse_unfilled,
)
from mwzeval.multiwoz.scoring.goal_success import DialogueOutcome
from mwzeval.multiwoz.scoring.reward import DEFAULT_WEIGHTS, Reward, RewardWeights
from mwzeval.multiwoz.scoring.scored_predictions import Rows, ScoredPredictions
from mwzeval.multiwoz.scoring.scorer import Metrics, NormalizedDialogue, Scorer, Sources
from mwzeval.multiwoz.tracking import parse_rules
from mwzeval.output import followed
from mwzeval.scores.findings import Findings
from mwzeval.scores.report import Report
from mwzeval.statistics.bootstrap import SAMPLES, SEED

Turns = Sequence[PredictedTurn] | Sequence[Mapping[str, Any]]


class Evaluator:
    """Scores the predictions of a MultiWOZ system.

    `bleu`, `success`, `richness` and `dst` select the metrics. `dst_rules` names published rules by
    which state tracking is also scored. A rule is a preset such as `trade` or a modified preset
    such as `exact+dontcare=absent`; several rules are given in a list or separated by commas
    (docs/metrics.md#choices). `corpus` is one of `mwzeval.multiwoz.CORPUS_NAMES` or `auto`,
    which selects the sample if all dialogues are in the sample, and MultiWOZ 2.2 otherwise. `rules`
    names the rule set by which slots and values are normalized. `data` is a folder with the public
    files (default: `MWZEVAL_DATA`, else the user's cache; missing files are downloaded unless
    `offline` is true). `references` names the reference sets for BLEU, in a list or separated by
    commas (default: the corpus and every `references/*.json` in the data folder). With a
    `confidence` such as 0.95, every score has an interval; resampled intervals use `samples`
    samples and `seed`. With `rollouts`, a dialogue may be predicted more than once under numbered
    ids (`sng0073#12`). `input_format` is the format of the predictions, one of
    `mwzeval.multiwoz.INPUT_FORMATS` (docs/formats.md); `auto` detects the format. `tools`,
    a JSON file or its content, maps a system's own functions and arguments to those of the schema.
    `responses` is the kind of responses: `delexicalized` (with placeholders), `lexicalized` (with
    literal values), or `auto`, which selects the kind of most responses. Lexicalized responses are
    delexicalized with the database before they are scored. `unfilled` lists state values that mean
    "not filled", such as `none,not mentioned`; by default they count as ordinary values, and a
    warning is printed. `grounded` adds scores of factual correctness and of bookings, which are
    computed with the database (docs/metrics.md).

    Gold data are read and prepared once, when they are first needed. An evaluator never changes its
    arguments, can be reused and shared between threads, and can be pickled.

    Raises `UsageError` if a metric, corpus, fold or rule set is unknown or `confidence` is invalid.
    Raises `DataError` if gold data are missing, and `InputError` with every problem if predictions
    cannot be scored.

    >>> evaluator = Evaluator(success=True, corpus="sample")
    >>> state = {"hotel": {"area": "south", "type": "hotel", "pricerange": "expensive"}}
    >>> turn = {"response": "how about [hotel_name]?", "state": state, "active_domains": ["hotel"]}
    >>> report = evaluator.evaluate({"smp0021": [turn]})
    >>> report
    <Report of multiwoz: inform 100.0, success 0.0>
    >>> report.metrics["success"]["inform"]
    {'total': 100.0, 'hotel': 100.0}
    """

    def __init__(
        self,
        bleu: bool = False,
        success: bool = False,
        richness: bool = False,
        dst: bool = False,
        *,
        corpus: str = AUTO,
        fold: str = "test",
        rules: str | int = "2021",
        data: str | Path | None = None,
        offline: bool | None = None,
        references: str | Sequence[str] | None = None,
        confidence: float | None = None,
        samples: int = SAMPLES,
        seed: int = SEED,
        dst_rules: str | Sequence[str] = (),
        rollouts: bool = False,
        input_format: str = AUTO,
        tools: str | Path | Mapping[str, Any] | Tools | None = None,
        responses: str = AUTO,
        unfilled: str | Sequence[str] = (),
        grounded: bool = False,
    ) -> None:
        fuzzy95, conventions = parse_rules(dst_rules)
        self.metrics = Metrics(bleu, success, richness, dst or fuzzy95, conventions, grounded)
        self.corpus = known_name("corpus", corpus, (AUTO, *CORPUS_NAMES))
        self.fold: Fold = known_name("fold", fold, FOLDS)
        self.rules: Rules = known_name("rules", str(rules), RULES)
        self.data = data
        self.offline = offline
        if isinstance(references, str):
            references = references.split(",")
        self.references = None if references is None else tuple(references)
        self.resampling = None if confidence is None else Resampling(confidence, samples, seed)
        self.input_format = known_name("input format", input_format, INPUT_FORMATS)
        self.tools = read_tools(tools)
        self.responses: Responses = known_name("kind of responses", responses, RESPONSES)
        self.unfilled = parse_unfilled(unfilled)
        self.rollouts = rollouts
        if rollouts and confidence is not None:
            raise UsageError(
                "intervals assume independent dialogues, but rollouts of the same dialogue are "
                "dependent: choose either a confidence or rollouts"
            )
        self._scorers: dict[str, Scorer] = {}

    def evaluate(
        self, predictions: Predictions, *, file: str | None = None, progress: bool = False
    ) -> Report:
        """Return the scores of predictions: dialogue id → list of turns, or another known format.

        The report contains the metrics `bleu`, `success`, `richness` and `dst` (None if not
        selected), `meta`, and `grounded` if this metric is selected. The report also contains the
        scores with signatures and intervals, the rows from which they are computed, and warnings.

        `file` names the input in messages; `progress` shows a progress line on standard error.
        """
        # Because of the separate call, scored data are released before garbage collection is
        # enabled again.
        with no_garbage_collection():
            return self.score(predictions, file=file, progress=progress).report()

    def score(
        self, predictions: Predictions, *, file: str | None = None, progress: bool = False
    ) -> ScoredPredictions:
        """Return the rows and measures of predictions, for reports and comparisons."""
        self.check_metrics()
        with no_garbage_collection():
            checked = self.checked(predictions, file=file)
            names = followed(checked.dialogues, "dialogues", shown=progress)
            rows = Rows.of(checked.scorer, checked.dialogues, checked.sources, names)
            return checked.with_rows(rows)

    def check_metrics(self) -> None:
        """Raise `UsageError` if no metric is selected."""
        if self.metrics == Metrics():
            names = ", ".join(metric.name for metric in fields(Metrics))
            raise UsageError(f"no metric was selected: choose from {names}")

    def checked(self, predictions: Predictions, *, file: str | None = None) -> ScoredPredictions:
        """Return checked predictions, whose scores are computed on request.

        Raises `InputError` with every problem if the predictions cannot be scored.
        """
        findings = Findings(file)
        checked = self._check(predictions, findings)
        if checked is None or findings.errors:
            raise InputError(findings.errors)
        return checked

    def validate(self, predictions: Predictions, *, file: str | None = None) -> list[Problem]:
        """Return every problem of the predictions, errors first, instead of raising an error.

        If an input has both lexicalized and delexicalized responses, the problems list all turns
        whose responses are not of the assumed kind.
        """
        findings = Findings(file)
        checked = self._check(predictions, findings)
        if checked is None:
            return findings.problems
        more = check_each_turn(checked.dialogues, checked.sources.lexicalized, findings)
        return [*findings.problems, *more]

    def evaluate_dialogue(self, dialogue_id: str, turns: Turns) -> DialogueOutcome:
        """Return the Inform and Success outcome of one dialogue, regardless of the selected
        metrics.

        This method does not compute BLEU and richness, so it is fast enough for rewards. Raises
        `InputError` if the turns are invalid.
        """
        scorer, dialogue = self._normalized(dialogue_id, turns)
        return scorer.outcome(dialogue)

    def reward(
        self, dialogue_id: str, turns: Turns, *, weights: RewardWeights = DEFAULT_WEIGHTS
    ) -> Reward:
        """Return the reward of a complete or incomplete dialogue: value, outcome, and credit per
        turn.

        `mwzeval.multiwoz.scoring.reward` defines credits and weights; the metrics selected for the
        evaluator have no effect. Raises `InputError` if the turns cannot be scored. Raises
        `UsageError` for weights of grounded scores unless `responses` is "lexicalized".
        """
        self.check_weights(weights)
        scorer, dialogue = self._normalized(dialogue_id, turns)
        return scorer.reward(dialogue, weights)

    def rewards(
        self, rollouts: Iterable[tuple[str, Turns]], *, weights: RewardWeights = DEFAULT_WEIGHTS
    ) -> list[Reward]:
        """Return the rewards of (dialogue id, turns) pairs, in the same order.

        A dialogue may occur several times; each occurrence is judged separately. Raises
        `InputError` with the problems of all pairs, each labeled with the index of its pair (from
        0). Raises `UsageError` under the same conditions as `reward`.
        """
        self.check_weights(weights)
        rewards: list[Reward] = []
        findings = Findings()
        for number, rollout in enumerate(rollouts):
            place = f"rollout {number}"
            if not isinstance(rollout, list | tuple) or len(rollout) != 2:
                findings.of_file(place).error(
                    "shape",
                    f"expected a pair (dialogue id, turns), not {shorten(repr(rollout))} (for "
                    "predictions, dialogue id → turns, pass `.items()`)",
                )
                continue
            with findings.collecting():
                scorer, dialogue = self._normalized(*rollout, place)
                rewards.append(scorer.reward(dialogue, weights))
        findings.check()
        return rewards

    def check_weights(self, weights: RewardWeights) -> None:
        """Raise `UsageError` if a weighted score is undefined for this kind of responses."""
        if weights.grounded and self.responses != LEXICALIZED:
            raise UsageError(
                "weights of grounded_success, hallucination and consistency need lexicalized "
                'responses: use Evaluator(responses="lexicalized")'
            )

    def scorer(self, corpus: str) -> Scorer:
        """Return the scorer of a corpus; the gold data of the scorer are read when first needed."""
        if corpus not in self._scorers:
            root = corpus_root(corpus, self.data, offline=self.offline)
            gold = replace(load_fold(corpus, self.fold, root), rollouts=self.rollouts)
            own, names = gold.reference_set, self.references
            if names is None:
                names = (own, *available_references(root))
            self._scorers[corpus] = Scorer(
                gold,
                self.rules,
                self.metrics,
                {
                    n: own_references(gold) if n == own else load_references(n, self.fold, root)
                    for n in (names if self.metrics.bleu else ())
                },
                self.responses,
                self.unfilled,
                self.tools.checksum,
            )
        return self._scorers[corpus]

    def unloaded(self) -> Evaluator:
        """Return a copy without gold data, for another machine that reads the gold data itself."""
        other = copy(self)
        other._scorers = {}
        return other

    def incremental(
        self, *, states: str | None = None, active_domains: str | None = None
    ) -> IncrementalEvaluator:
        """Return an evaluator for an input in parts, with `update`, `merge` and `compute`.

        `states` ("predicted" or "gold") and `active_domains` ("predicted" or "estimated") declare
        the sources for the whole input. If sources are declared, each part is scored with one
        source only.
        """
        declared = {}
        for name, what, source, other in (
            ("predicted_states", "states", states, "gold"),
            ("predicted_domains", "active_domains", active_domains, "estimated"),
        ):
            if source is not None:
                known = known_name(f"source of {what}", source, ("predicted", other))
                declared[name] = known == "predicted"
        return IncrementalEvaluator(self, declared)

    def part(self, predictions: Any, findings: Findings) -> ScoredPredictions | None:
        """Check a part of an input, and return it ready for scoring, or None if it is empty."""
        raw = adapt(predictions, self.input_format, findings, self.tools)
        if raw is None and findings.errors:
            return None
        need_responses = self.metrics.need_responses
        dialogues = check_dialogues(raw, findings, need_responses=need_responses)
        if not dialogues:
            return None
        scorer, dialogues = self._fitted(dialogues, findings)
        check_turns(dialogues, self.rules, findings)
        census = Census.of(
            dialogues, scorer.reference_sets, scorer.gold, self.rules, findings.positions
        )
        return ScoredPredictions(dialogues, scorer, census, resampling=self.resampling)

    def _check(self, predictions: Any, findings: Findings) -> ScoredPredictions | None:
        checked = self.part(predictions, findings)
        if checked is not None:
            check_whole(checked.census, checked.scorer, findings)
            checked.warnings = tuple(findings.warnings)
        return checked

    def _normalized(
        self, dialogue_id: str, turns: Turns, file: str | None = None
    ) -> tuple[Scorer, NormalizedDialogue]:
        """Return one checked dialogue in normal form, and its scorer. Raises `InputError`."""
        findings = Findings(file)
        raw = adapt_dialogue(dialogue_id, turns, self.input_format, findings, self.tools)
        dialogues = check_dialogues(raw, findings, need_responses=True)
        scorer, dialogues = self._fitted(dialogues, findings)
        findings.check()
        ((name, checked),) = dialogues.items()
        return scorer, scorer.normalize(name, checked, scorer.sources_alone(name, checked))

    def _fitted(self, dialogues: Dialogues, findings: Findings) -> tuple[Scorer, Dialogues]:
        """Return the scorer, and the dialogues with the fold's ids and without unfilled slots."""
        dialogues, corpus = filled(dialogues, self.unfilled), self.corpus
        if corpus == AUTO:
            # The majority of ids decides, so that a single wrong id is reported as an unknown id.
            of_sample = sum(name.lower().startswith(SAMPLE_PREFIX) for name in dialogues)
            corpus = SAMPLE if 2 * of_sample > len(dialogues) else DEFAULT_CORPUS
        scorer = self.scorer(corpus)
        dialogues = with_ids_of_fold(dialogues, scorer.gold, findings)
        check_fit(dialogues, scorer.gold, findings)
        return scorer, dialogues


OF_THE_INPUT = frozenset({"n", "turns", "state", "domains", "responses", "bookings"})
"""Keys of signatures that describe the input; all other keys describe scoring options."""


class IncrementalEvaluator:
    """Scores an input part by part.

    `IncrementalEvaluator` objects are created by `Evaluator.incremental`. `merge` appends the parts
    of a second evaluator to the parts of this evaluator. A dialogue must not occur in two parts of
    the input. Pickles do not contain gold data.

    The choice of states, active domains and kind of responses depends on all turns of an input.
    Therefore, rows are summed for every combination of sources that is still possible: predicted or
    gold states, predicted or estimated domains, and (unless `responses` is set) lexicalized or
    delexicalized responses. If all turns have states and domains, scoring takes up to eight times
    as long. If sources are declared (see `Evaluator.incremental`), only the declared combinations
    are scored. The argument `sources` selects a single combination of sources for any input.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        declared: Mapping[str, bool] = MappingProxyType({}),
        *,
        sources: Sources | None = None,
    ) -> None:
        if evaluator.resampling is not None:
            raise UsageError(
                "intervals need the scores of each dialogue, but only sums over dialogues are "
                "stored: leave out the confidence, or evaluate the whole input at once"
            )
        evaluator.check_metrics()
        self._evaluator = evaluator
        self._declared = dict(declared)
        self._sources = sources
        self.reset()

    def reset(self) -> None:
        """Remove all parts that were added to the evaluator."""
        self.census = Census()
        self._findings = Findings()
        self._rows: dict[Sources, Rows] = {}
        self._corpus: str | None = None
        self._signed: dict[tuple[str, str], str] = {}

    def blank(self) -> IncrementalEvaluator:
        """Return an evaluator with the same settings and without parts."""
        return IncrementalEvaluator(self._evaluator, self._declared, sources=self._sources)

    def update(self, predictions: Predictions, *, file: str | None = None) -> None:
        """Add a part of the input; predictions may have any form that `Evaluator.evaluate` accepts.

        Raises `InputError` with every problem of the part; an invalid part is not added.
        """
        with no_garbage_collection():
            later = self.blank()
            later._findings = findings = Findings(file)
            part = self._evaluator.part(predictions, findings)
            if part is None or findings.errors:
                raise InputError(findings.errors)
            later.census, later._corpus = part.census, part.scorer.gold.corpus
            possible = later._possible()
            self._check(later, possible)
            for sources in possible:
                if self._corpus is None or sources in self._rows:
                    later._rows[sources] = Rows.of(part.scorer, part.dialogues, sources)
            later._signed = self._signed or {
                (measure.name, key): value
                for rows in later._rows.values()
                for measure in part.with_rows(rows).measures()
                for key, value in measure.signature.choices
                if key not in OF_THE_INPUT
            }
            self._add(later)

    def merge(self, later: IncrementalEvaluator) -> None:
        """Append the parts of the evaluator `later` to the parts of this evaluator.

        Raises `InputError` if a dialogue is in both evaluators, and `UsageError` if their settings
        (corpus, metrics, rules or versions) differ.
        """
        if later._corpus is not None:
            self._check(later, later._rows)
            self._add(later)

    def compute(self, *, file: str | None = None) -> Report:
        """Return the scores of all parts, like `Evaluator.evaluate`. More parts of the input can be
        added after this call.

        The table of the report has a single row, which contains the sums over all dialogues. `file`
        names the whole input in warnings that do not concern a single part. Raises `InputError` if
        there is no dialogue, and `UsageError` if the input does not match the declarations.
        """
        if self._corpus is None:
            raise InputError([Problem("empty", "the input has no dialogue")])
        scorer = self._evaluator.scorer(self._corpus)
        findings = Findings(file)
        findings.merge(self._findings)
        check_whole(self.census, scorer, findings)
        scored = ScoredPredictions({}, scorer, self.census, tuple(findings.warnings))
        # Predicted states and domains are used if all turns so far have them.
        sources = max(
            self._rows,
            key=lambda s: (
                s.lexicalized == scored.sources.lexicalized,
                s.predicted_states,
                s.predicted_domains,
            ),
        )
        return scored.with_rows(self._rows[sources].with_windows()).report()

    def _possible(self) -> Sequence[Sources]:
        """Return the sources that can be used to score this part, preferred sources first.

        Raises `InputError` if there are none.
        """
        if self._sources is not None:
            return (self._sources,)
        census, responses = self.census, self._evaluator.responses
        both, own = (True, False), Sources.of_census(census, responses)
        other_kind = (not own.lexicalized,) if responses == AUTO else ()
        choices = product(
            both if own.predicted_states else (False,),
            both if own.predicted_domains else (False,),
            (own.lexicalized, *other_kind),
        )
        possible = [
            sources
            for sources in (Sources(*choice) for choice in choices)
            if all(getattr(sources, name) == value for name, value in self._declared.items())
        ]
        if not possible:
            there = {"state": census.with_state, "active_domains": census.with_domains}
            lacking = ", ".join(
                f'{census.turns - number} of {census.turns} turns have no "{key}"'
                for key, number in there.items()
                if number < census.turns
            )
            message = f"{lacking}, although every turn must have what is declared as predicted"
            raise InputError([Problem("undeclared", message, file=self._findings.file)])
        return possible

    def _check(self, later: IncrementalEvaluator, sources: Collection[Sources]) -> None:
        """Raise an error if a part that can be scored with these sources cannot be added."""
        if self._corpus is None:
            return
        different = {}
        if later._corpus != self._corpus:
            different["corpus"] = f"{self._corpus} and {later._corpus}"
        for (name, key), value in later._signed.items():
            own = self._signed.get((name, key), value)
            if own != value:
                different.setdefault(key, f"{own} and {value}")
        if different:
            listed = "; ".join(f"{key}: {values}" for key, values in different.items())
            raise UsageError(f"parts with different settings cannot be added ({listed})")
        if repeated := [*self.census.seen.common(later.census.seen)]:
            message, file = "the dialogue occurs twice", later._findings.file
            raise InputError(
                Problem("repeated-dialogue", message, file=file, dialogue=name) for name in repeated
            )
        if self._rows.keys().isdisjoint(sources):
            raise UsageError(
                "parts with predicted states or domains cannot be added to parts without "
                "predicted ones"
            )

    def _add(self, later: IncrementalEvaluator) -> None:
        """Add the sums for sources that the two evaluators share, and drop the other sums."""
        if self._corpus is None:
            self._rows = {sources: rows.folded() for sources, rows in later._rows.items()}
        else:
            self._rows = {s: rows for s, rows in self._rows.items() if s in later._rows}
            for sources, rows in self._rows.items():
                rows.merge(later._rows[sources])
        self._corpus = later._corpus
        self._signed = {**self._signed, **later._signed}
        self.census.merge(later.census)
        self._findings.merge(later._findings)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_evaluator": self._evaluator.unloaded()}
