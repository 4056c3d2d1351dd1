"""Predictions in, report out: what the command line runs and what a training loop imports."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from tqdm import tqdm

from mwzeval.errors import InputError, Problem, UsageError, did_you_mean
from mwzeval.measure import Resampling, Scored
from mwzeval.metrics.goal_success import DialogueOutcome
from mwzeval.multiwoz.choices import (
    AUTO,
    CORPUS_NAMES,
    DEFAULT_CORPUS,
    FOLDS,
    RULES,
    SAMPLE,
    Fold,
    Rules,
)
from mwzeval.multiwoz.corpus import (
    SAMPLE_PREFIX,
    corpus_root,
    load_fold,
)
from mwzeval.multiwoz.coverage import Coverage, check_fit, coverage
from mwzeval.multiwoz.evaluation import Evaluation, Metrics
from mwzeval.multiwoz.measures import scored
from mwzeval.multiwoz.plausibility import (
    check_active_domains,
    check_keys,
    check_references,
    check_responses,
    check_states,
    check_tracking,
)
from mwzeval.multiwoz.predictions import Dialogues, Findings, check_dialogues
from mwzeval.multiwoz.references import (
    References,
    available_references,
    load_references,
    own_references,
)
from mwzeval.multiwoz.scoring import Scorer, Sources
from mwzeval.report.json import to_plain
from mwzeval.report.model import Report
from mwzeval.statistics import SAMPLES, SEED
from mwzeval.version import SCORING_REVISION, __version__, library_version

DEPENDENCIES = (
    *("sacrebleu", "sacremoses", "fuzzywuzzy", "python-Levenshtein"),
    *("lexical-diversity", "numpy"),
)


SAMPLE_NOTE = "The sample corpus is an invented town: these are not MultiWOZ scores."


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """Predictions that can be scored, and what scores them."""

    dialogues: Dialogues
    scorer: Scorer
    coverage: Coverage
    warnings: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated:
    """Predictions that have been scored: their rows, and the measures over these."""

    checked: Checked
    evaluation: Evaluation
    scored: Scored


class Evaluator:
    """Scores predictions of a MultiWOZ system.

    `bleu`, `success`, `richness`, `dst` choose the metrics. `corpus` is one of
    `mwzeval.multiwoz.choices.CORPUS_NAMES`, or `auto`: the sample when all dialogues are the
    sample's, else MultiWOZ 2.2. `rules` are the normalisation rules, `data` a folder with the
    public files (default: `MWZEVAL_DATA`, else the user's cache, filled on first use unless
    `offline`).
    `references` names the reference sets for BLEU, a list or with commas between (default: the
    corpus' own and every `references/*.json` in the data folder). With a `confidence` such as 0.95
    every score has an interval, resampled ones from `samples` samples drawn with `seed`.

    Gold data are read when first needed and prepared once. An evaluator never changes its
    arguments, can be used again and again and by several threads, and pickles.

    Raises `UsageError` for an unknown metric, corpus, fold or rule set, or an odd `confidence`;
    `DataError` when gold data are missing; `InputError` with every problem when predictions cannot
    be scored.
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
    ) -> None:
        self.metrics = Metrics(bleu, success, richness, dst)
        self.corpus = _known("corpus", corpus, (AUTO, *CORPUS_NAMES))
        self.fold: Fold = _known("fold", "dev" if fold == "val" else fold, FOLDS)
        self.rules: Rules = _known("rules", str(rules), RULES)
        self.data = data
        self.offline = offline
        if isinstance(references, str):
            references = references.split(",")
        self.references = None if references is None else tuple(references)
        self.resampling = None if confidence is None else Resampling(confidence, samples, seed)
        self._scorers: dict[str, Scorer] = {}

    def evaluate(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        """Return the scores of predictions, dialogue id → list of turns, as a plain report.

        Keys `bleu`, `success`, `richness`, `dst` (None when not asked for) and `meta`.
        """
        with _no_garbage_collection():
            return to_plain(self.report(predictions))

    def report(
        self, predictions: Mapping[str, Any], *, file: str | None = None, progress: bool = False
    ) -> Report:
        """Return the scores with their signatures, intervals, rows and warnings.

        `file` names the input in messages; `progress` shows a bar on a terminal's standard error.
        """
        # In a call of its own, so that what was scored is gone when the collector is back.
        with _no_garbage_collection():
            return self._report(self.score(predictions, file=file, progress=progress))

    def _report(self, evaluated: Evaluated) -> Report:
        checked, scorer = evaluated.checked, evaluated.checked.scorer
        return Report(
            metrics=evaluated.evaluation.plain(),
            scores=evaluated.scored.scores(self.resampling),
            table=evaluated.scored.table,
            warnings=checked.warnings,
            meta={
                "corpus": scorer.gold.corpus,
                "note": SAMPLE_NOTE if scorer.gold.corpus == SAMPLE else None,
                "fold": scorer.gold.fold,
                "sources": scorer.gold.checksum,
                "rules": scorer.rules,
                "coverage": checked.coverage.to_json(),
                "versions": {name: library_version(name) for name in DEPENDENCIES}
                | {"mwzeval": __version__, "scoring_revision": SCORING_REVISION},
            },
        )

    def score(
        self, predictions: Any, *, file: str | None = None, progress: bool = False
    ) -> Evaluated:
        """Return the rows and measures of predictions: what reports and comparisons start from."""
        if self.metrics == Metrics():
            names = ", ".join(field.name for field in fields(Metrics))
            raise UsageError(f"no metric was asked for: choose among {names}")
        with _no_garbage_collection():
            checked = self.checked(predictions, file=file)
            names = tqdm(
                checked.dialogues,
                unit="dialogue",
                delay=1,
                leave=False,
                disable=None if progress else True,
            )
            evaluation = Evaluation.of(checked.scorer, checked.dialogues, self.metrics, names=names)
            return Evaluated(checked, evaluation, scored(evaluation))

    def checked(self, predictions: Any, *, file: str | None = None) -> Checked:
        """Return predictions that can be scored, with what scores them.

        Raises `InputError` with every problem when they cannot be scored.
        """
        findings = Findings(file)
        checked = self._check(predictions, findings)
        if checked is None or findings.errors:
            raise InputError(findings.errors)
        return checked

    def validate(self, predictions: Any, *, file: str | None = None) -> list[Problem]:
        """Return every problem of the predictions, errors first, instead of raising."""
        findings = Findings(file)
        self._check(predictions, findings)
        return [*findings.errors, *findings.warnings]

    def evaluate_dialogue(
        self, dialogue_id: str, turns: Sequence[Mapping[str, Any]]
    ) -> DialogueOutcome:
        """Return Inform and Success of one dialogue, whichever metrics were chosen.

        Fast enough to be a reward: no BLEU, no richness. Raises `InputError`.
        """
        findings = Findings()
        dialogues = check_dialogues({dialogue_id: turns}, findings, need_responses=True)
        scorer = self._scorer_of(dialogues)
        check_fit(dialogues, scorer.gold, findings)
        findings.check()
        checked = dialogues[dialogue_id]
        return scorer.outcome(scorer.normalize(dialogue_id, checked, Sources.of([checked])))

    def _check(self, predictions: Any, findings: Findings) -> Checked | None:
        need_responses = self.metrics.need_responses
        dialogues = check_dialogues(predictions, findings, need_responses=need_responses)
        if not dialogues:
            return None
        scorer = self._scorer_of(dialogues)
        check_fit(dialogues, scorer.gold, findings)
        check_keys(dialogues, findings)
        check_states(dialogues, findings)
        check_active_domains(dialogues, findings)
        if self.metrics.dst:
            check_tracking(dialogues, findings)
        if need_responses:
            check_responses(dialogues, findings)
        check_references(dialogues, scorer.reference_sets, findings)
        covered = coverage(dialogues, scorer.gold, findings)
        return Checked(dialogues, scorer, covered, tuple(findings.warnings))

    def _scorer_of(self, dialogues: Dialogues) -> Scorer:
        """Return the scorer for the corpus that these dialogues are of."""
        corpus = self.corpus
        if corpus == AUTO:
            of_sample = all(name.lower().startswith(SAMPLE_PREFIX) for name in dialogues)
            corpus = SAMPLE if of_sample else DEFAULT_CORPUS
        scorer = self._scorers.get(corpus)
        if scorer is None:
            scorer = self._scorers[corpus] = self._load(corpus)
        return scorer

    def _load(self, corpus: str) -> Scorer:
        root = corpus_root(corpus, self.data, offline=self.offline)
        gold = load_fold(corpus, self.fold, root)
        sets: dict[str, References] = {}
        if self.metrics.bleu:
            names = self.references
            if names is None:
                names = (gold.reference_set, *available_references(root))
            own = own_references(gold)
            for name in dict.fromkeys(names):
                is_own = name == gold.reference_set
                sets[name] = own if is_own else load_references(name, self.fold, root)
        return Scorer(gold, self.rules, sets)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Pause the collector: scoring makes no cycles, and one search costs as much as Success."""
    was_collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_collecting:
            gc.enable()


Name = TypeVar("Name", bound=str)


def _known(what: str, name: str, known: Sequence[Name]) -> Name:
    for candidate in known:
        if candidate == name or candidate == f"multiwoz-{name}":
            return candidate
    # No hint for a year: the closest spelling is not the closest meaning.
    hint = "" if name.isdigit() else did_you_mean(name, known)
    raise UsageError(f'unknown {what} "{name}"{hint} (known: {", ".join(known)})')
