"""Predictions in, report out: what the command line runs and what a training loop imports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mwzeval.errors import InputError, Problem, UsageError
from mwzeval.metrics.goal_success import DialogueOutcome
from mwzeval.metrics.measure import Resampling, no_garbage_collection
from mwzeval.metrics.reward import DEFAULT_WEIGHTS, Reward, RewardWeights, checked_pair, collected
from mwzeval.multiwoz.choices import (
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
from mwzeval.multiwoz.corpus.corpora import (
    SAMPLE_PREFIX,
    corpus_root,
    load_fold,
)
from mwzeval.multiwoz.corpus.references import (
    References,
    available_references,
    load_references,
    own_references,
)
from mwzeval.multiwoz.formats.adaptation import adapt, adapt_dialogue
from mwzeval.multiwoz.formats.functions import Tools, read_tools
from mwzeval.multiwoz.predictions.census import (
    Census,
    Coverage,
    check_fit,
    coverage,
    with_ids_of_fold,
)
from mwzeval.multiwoz.predictions.evidence import Evidence, check_evidence
from mwzeval.multiwoz.predictions.plausibility import (
    check_grounded,
    check_keys,
    check_references,
    check_responses,
    check_tracking,
    check_turns,
)
from mwzeval.multiwoz.predictions.reading import Dialogues, Findings, check_dialogues
from mwzeval.multiwoz.predictions.shapes import PredictedTurn, Predictions
from mwzeval.multiwoz.predictions.unfilled import filled, parse_unfilled
from mwzeval.multiwoz.predictions.wording import answers_alike, check_each_turn
from mwzeval.multiwoz.scoring.scored_dialogues import Metrics, ScoredDialogues
from mwzeval.multiwoz.scoring.scored_predictions import (
    CheckedPart,
    CheckedPredictions,
    ScoredPredictions,
)
from mwzeval.multiwoz.scoring.scorer import NormalizedDialogue, Scorer, Sources
from mwzeval.multiwoz.tracking.conventions import parse_rules
from mwzeval.progress import followed
from mwzeval.scores.report import Report
from mwzeval.statistics import SAMPLES, SEED

if TYPE_CHECKING:
    from mwzeval.multiwoz.incremental import IncrementalEvaluator

UNREAD = ("missing-response", "shape")
"""Kinds of errors after which the checks of responses and states of all turns would mislead."""
Turns = Sequence[PredictedTurn] | Sequence[Mapping[str, Any]]


class Evaluator:
    """Scores predictions of a MultiWOZ system.

    `bleu`, `success`, `richness`, `dst` choose the metrics, and `dst_rules` state tracking under
    further rules, each a preset or a changed one, as `mwzeval.multiwoz.tracking.conventions` spells
    them: `trade`, or with commas or as a list `exact,exact+dontcare=absent`. `corpus` is one of
    `mwzeval.multiwoz.choices.CORPUS_NAMES`, or `auto`: the sample when all dialogues are the
    sample's, else MultiWOZ 2.2. `rules` are the normalisation rules, `data` a folder with the
    public files (default: `MWZEVAL_DATA`, else the user's cache, filled on first use unless
    `offline`).
    `references` names the reference sets for BLEU, a list or with commas between (default: the
    corpus' own and every `references/*.json` in the data folder). With a `confidence` such as 0.95
    every score has an interval, resampled ones from `samples` samples drawn with `seed`. With
    `rollouts`, ids may be numbered (`sng0073#12`) to predict a dialogue more than once.
    `input_format` is how predictions are written, one of `mwzeval.multiwoz.choices.INPUT_FORMATS`
    (docs/formats.md); `auto`: told by their shape. `tools` maps a system's own functions and
    arguments to those of the schema: a JSON file, or what is in it. `responses` says whether
    responses are `lexicalized`, and so to be delexicalised with the database before they are
    scored, or `delexicalized`; `auto`: what most is (docs/delexicalization.md). `unfilled`
    are values of states that say that a slot is not filled, such as `none,not mentioned`; by
    default they are values like any other, and warned about. `grounded` adds what words say, held
    against the database, and bookings (docs/metrics.md).

    Gold data are read when first needed and prepared once. An evaluator never changes its
    arguments, can be used again and again and by several threads, and pickles.

    Raises `UsageError` for an unknown metric, corpus, fold or rule set, or an odd `confidence`;
    `DataError` when gold data are missing; `InputError` with every problem when predictions cannot
    be scored.

    >>> evaluator = Evaluator(success=True, corpus="sample")
    >>> state = {"hotel": {"area": "south", "type": "hotel", "pricerange": "expensive"}}
    >>> turn = {"response": "how about [hotel_name]?", "state": state, "active_domains": ["hotel"]}
    >>> report = evaluator.evaluate({"smp0021": [turn]})
    >>> report
    <Report of multiwoz: inform 100.0, success 0.0>
    >>> report["success"]["inform"]
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
        self.fold: Fold = known_name("fold", "dev" if fold == "val" else fold, FOLDS)
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
                "intervals take dialogues to be independent, and rollouts of one dialogue are not: "
                "choose a confidence or rollouts"
            )
        self._scorers: dict[str, Scorer] = {}

    def evaluate(
        self, predictions: Predictions, *, file: str | None = None, progress: bool = False
    ) -> Report:
        """Return the scores of predictions, dialogue id → list of turns, or another known format.

        The report is a dict with keys `bleu`, `success`, `richness`, `dst` (None when not asked
        for), `meta`, and `grounded` when asked for. Beside them it has the scores with their
        signatures and intervals, the rows behind them, and warnings.

        `file` names the input in messages; `progress` shows a line on a terminal's standard error.
        """
        # In a call of its own, so that what was scored is gone when the collector is back.
        with no_garbage_collection():
            return self.score(predictions, file=file, progress=progress).report()

    def score(
        self, predictions: Predictions, *, file: str | None = None, progress: bool = False
    ) -> ScoredPredictions:
        """Return the rows and measures of predictions: what reports and comparisons start from."""
        self.check_metrics()
        with no_garbage_collection():
            checked = self.checked(predictions, file=file)
            names = followed(checked.dialogues, "dialogues", shown=progress)
            return ScoredPredictions.of(
                self,
                checked,
                ScoredDialogues.of(
                    checked.scorer,
                    checked.dialogues,
                    self.metrics,
                    names=names,
                    sources=Sources.of_census(checked.census),
                ),
            )

    def check_metrics(self) -> None:
        """Raise `UsageError` when no metric was asked for."""
        if self.metrics == Metrics():
            names = ", ".join(field.name for field in fields(Metrics))
            raise UsageError(f"no metric was asked for: choose among {names}")

    def checked(self, predictions: Predictions, *, file: str | None = None) -> CheckedPredictions:
        """Return predictions that can be scored, with what scores them.

        Raises `InputError` with every problem when they cannot be scored.
        """
        findings = Findings(file)
        checked = self._check(predictions, findings)
        if checked is None or findings.errors:
            raise InputError(findings.errors)
        return checked

    def validate(self, predictions: Predictions, *, file: str | None = None) -> list[Problem]:
        """Return every problem of the predictions, errors first, instead of raising.

        Where responses are of both kinds, the turns that are not as the others are listed, too.
        """
        findings = Findings(file)
        checked = self._check(predictions, findings)
        if checked is None:
            return findings.problems
        lexicalized = checked.scorer.delexicalizes(Sources.of(checked.dialogues.values()))
        return [
            *findings.problems,
            *check_each_turn(checked.dialogues, lexicalized, findings),
        ]

    def evaluate_dialogue(self, dialogue_id: str, turns: Turns) -> DialogueOutcome:
        """Return Inform and Success of one dialogue, whichever metrics were chosen.

        Fast enough to be a reward: no BLEU, no richness. Raises `InputError`.
        """
        scorer, dialogue = self._normalized(dialogue_id, turns)
        return scorer.outcome(dialogue)

    def reward(
        self, dialogue_id: str, turns: Turns, *, weights: RewardWeights = DEFAULT_WEIGHTS
    ) -> Reward:
        """Return the reward of one dialogue, or of its first turns: value, outcome, credit by turn.

        Stateless, whichever metrics were chosen; `mwzeval.metrics.reward` says what a turn's
        credit is and what may be weighted. Raises `InputError`, and `UsageError` for weights of
        grounded scores where it was not said that responses are lexicalised.
        """
        self.check_weights(weights)
        scorer, dialogue = self._normalized(dialogue_id, turns)
        return scorer.reward(dialogue, weights)

    def rewards(
        self, rollouts: Iterable[tuple[str, Turns]], *, weights: RewardWeights = DEFAULT_WEIGHTS
    ) -> list[Reward]:
        """Return the rewards of many (dialogue id, turns) pairs, in their order.

        A dialogue may come any number of times, and each is judged alone. Raises `InputError` with
        the problems of all of them, each under the number of its rollout (from 0), and `UsageError`
        as `reward` does.
        """
        self.check_weights(weights)

        def reward(rollout: tuple[str, Turns], place: str) -> Reward:
            scorer, dialogue = self._normalized(*checked_pair(rollout, place), place)
            return scorer.reward(dialogue, weights)

        return collected(reward, rollouts, "rollout")

    def check_weights(self, weights: RewardWeights) -> None:
        """Raise `UsageError` for weights that the said kind of responses has nothing for."""
        if weights.grounded and self.responses != LEXICALIZED:
            raise UsageError(
                "weights of grounded_success, hallucination and consistency are for responses in "
                'words: say Evaluator(responses="lexicalized")'
            )

    def _normalized(
        self, dialogue_id: str, turns: Turns, file: str | None = None
    ) -> tuple[Scorer, NormalizedDialogue]:
        """Return one checked dialogue in normal form, with its scorer. Raises `InputError`."""
        findings = Findings(file)
        predictions = adapt_dialogue(dialogue_id, turns, self.input_format, findings, self.tools)
        dialogues = filled(
            check_dialogues(predictions, findings, need_responses=True), self.unfilled
        )
        scorer = self._scorer_of(dialogues)
        dialogues = with_ids_of_fold(dialogues, scorer.gold, findings)
        check_fit(dialogues, scorer.gold, findings)
        findings.check()
        ((name, checked),) = dialogues.items()
        return scorer, scorer.normalize(name, checked, scorer.sources_alone(name, checked))

    def _check(self, predictions: Any, findings: Findings) -> CheckedPredictions | None:
        part = self.part(predictions, findings)
        if part is None:
            return None
        findings.sort_warnings()
        covered = self.conclude(part.scorer, part.census, findings)
        warnings = tuple(findings.warnings)
        return CheckedPredictions(part.dialogues, part.scorer, covered, warnings, part.census)

    def part(self, predictions: Any, findings: Findings) -> CheckedPart | None:
        """Check what can be said of a part of an input as of the whole; None when it is empty."""
        need_responses = self.metrics.need_responses
        predictions = adapt(predictions, self.input_format, findings, self.tools)
        if predictions is None and findings.errors:
            return None
        dialogues = filled(
            check_dialogues(predictions, findings, need_responses=need_responses), self.unfilled
        )
        if not dialogues:
            return None
        scorer = self._scorer_of(dialogues)
        dialogues = with_ids_of_fold(dialogues, scorer.gold, findings)
        check_fit(dialogues, scorer.gold, findings)
        check_turns(dialogues, self.rules, findings)
        census = Census.of(dialogues, scorer.reference_sets, scorer.gold)
        census.evidence = Evidence.of(dialogues, scorer.gold, self.rules, findings.positions)
        return CheckedPart(dialogues, scorer, census)

    def conclude(self, scorer: Scorer, census: Census, findings: Findings) -> Coverage:
        """Check what only the whole input tells, and return how much of the fold it is."""
        findings.other_files(scorer.gold.corpus, scorer.gold.checksum, scorer.gold.other_files)
        if any(error.kind in UNREAD for error in findings.errors):
            return coverage(census, scorer.gold, findings)
        # Without any metric, an input is only validated, for whatever it may be scored by.
        metrics = self.metrics
        judges_goals = metrics.success or metrics.grounded or metrics == Metrics()
        check_keys(census, scorer.gold, findings, judges_goals=judges_goals)
        if self.metrics.tracking:
            check_tracking(census, findings)
        lexicalized = scorer.delexicalizes(Sources.of_census(census))
        if self.metrics.need_responses:
            check_responses(census, lexicalized, findings, self.responses)
        if self.metrics.grounded:
            check_grounded(census, lexicalized, findings)
        check_evidence(
            census.evidence,
            findings,
            responses=self.metrics.need_responses,
            informative=not answers_alike(census.answers),
        )
        check_references(census, scorer.reference_sets, scorer.gold.reference_set, findings)
        return coverage(census, scorer.gold, findings)

    def _scorer_of(self, dialogues: Dialogues) -> Scorer:
        """Return the scorer for the corpus that these dialogues are of."""
        corpus = self.corpus
        if corpus == AUTO:
            of_sample = all(name.lower().startswith(SAMPLE_PREFIX) for name in dialogues)
            corpus = SAMPLE if of_sample else DEFAULT_CORPUS
        return self.scorer(corpus)

    def scorer(self, corpus: str) -> Scorer:
        """Return what scores dialogues of a corpus; its gold data are read when first needed."""
        scorer = self._scorers.get(corpus)
        if scorer is None:
            scorer = self._scorers[corpus] = self._load(corpus)
        return scorer

    def unloaded(self) -> Evaluator:
        """Return a copy that reads its gold data itself, fit to be sent to another machine."""
        other = copy(self)
        other._scorers = {}
        return other

    def incremental(
        self, *, states: str | None = None, active_domains: str | None = None
    ) -> IncrementalEvaluator:
        """Return an evaluator for an input that comes in parts: `update`, `merge`, `compute`.

        `states` ("predicted" or "gold") and `active_domains` ("predicted" or "estimated") tell
        beforehand what an input shows at its end, which saves scoring a part for either case.
        """
        from mwzeval.multiwoz.incremental import IncrementalEvaluator, declared

        return IncrementalEvaluator(self, declared(states, active_domains))

    def _load(self, corpus: str) -> Scorer:
        root = corpus_root(corpus, self.data, offline=self.offline)
        gold = replace(load_fold(corpus, self.fold, root), rollouts=self.rollouts)
        sets: dict[str, References] = {}
        if self.metrics.bleu:
            names = self.references
            if names is None:
                names = (gold.reference_set, *available_references(root))
            own = own_references(gold)
            for name in dict.fromkeys(names):
                is_own = name == gold.reference_set
                sets[name] = own if is_own else load_references(name, self.fold, root)
        return Scorer(
            gold,
            self.rules,
            sets,
            self.metrics.dst_rules,
            self.responses,
            self.unfilled,
            self.tools.checksum,
        )
