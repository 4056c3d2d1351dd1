"""Scores of SGD, equal to the official scorer's (`metrics.py` of 2020), and failure reasons."""

import math
import re
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from importlib.metadata import version
from itertools import product
from statistics import fmean
from typing import Any

import Levenshtein

from mwzeval.benchmark import FileScorer, ScoredFile
from mwzeval.errors import Problem
from mwzeval.metrics.measure import Resampling, ScoredTable, table_of_means
from mwzeval.scores.explanation import Explanation, Reason, Utterance
from mwzeval.scores.findings import Coverage, Findings
from mwzeval.scores.report import Report
from mwzeval.scores.score import WHOLE, Signature
from mwzeval_sgd.data import MEANINGS, Frame, Gold, Scored, Service, load_gold, read_predictions

Scores = dict[str, float]
VERSIONS = {"mwzeval-sgd": f"{version('mwzeval-sgd')}-r1", "version": version("mwzeval")}
KINDS = ("goal", "cat", "noncat")
NAMES = (
    *(f"{how}_{kind}_accuracy" for how in ("joint", "average") for kind in KINDS),
    "active_intent_accuracy",
    *(f"requested_slots_{what}" for what in ("f1", "precision", "recall", "f1_nonempty")),
    *(f"slot_tagging_{what}" for what in ("f1", "precision", "recall")),
)
JOINT = NAMES[:3]
LABELS = {name: name.replace("_", " ").capitalize().replace(" f1", " F1") for name in NAMES}
SCOPES = ("seen", "unseen", "single", "multi")
SCRIPT = {WHOLE: "#ALL_SERVICES", "seen": "#SEEN_SERVICES", "unseen": "#UNSEEN_SERVICES"}


@lru_cache(2**16, typed=True)
def similarity(algorithm: str, gold: Any, predicted: Any) -> float:
    """Return the `token_sort_ratio` of fuzzywuzzy, 0 to 1, or whether two values are equal."""
    if algorithm == "exact":
        return float(gold == predicted)
    first, second = (
        " ".join(sorted(re.sub(r"\W", " ", re.sub("[\x80-\xff]", "", str(text))).lower().split()))
        for text in (gold, predicted)
    )
    if not first or not second or first == second:
        return float(first == second)
    if algorithm == "levenshtein":
        return round(100 * Levenshtein.ratio(first, second)) / 100
    return round(100 * SequenceMatcher(None, first, second).ratio()) / 100


def correctness(gold: Frame, predicted: Frame, service: Service, algorithm: str) -> Scores:
    """Return the correctness of the value of each slot, 0 to 1."""
    found = {}
    for slot, possible in service.slots.items():
        right, values = gold.values.get(slot), predicted.values.get(slot)
        if right is None or values is None:
            found[slot] = float(right is values)
        elif possible is not None:
            found[slot] = float(right[0] == values[0])
        else:
            found[slot] = max(similarity(algorithm, value, values[0]) for value in right)
    return found


def _of_sets(name: str, gold: Sequence[Any], predicted: Sequence[Any]) -> Scores:
    """Return F1, precision and recall of two multisets; precision is 1 if nothing is predicted."""
    common = (Counter(gold) & Counter(predicted)).total() if gold and predicted else 0
    precision, recall = (common / len(side) if side else 1.0 for side in (predicted, gold))
    f1 = 2 * precision * recall / (precision + recall or 1)
    return {f"{name}_f1": f1, f"{name}_precision": precision, f"{name}_recall": recall}


def frame_scores(gold: Frame, predicted: Frame, service: Service, algorithm: str) -> Scores:
    """Return the scores of a frame, 0 to 1; undefined scores are omitted."""
    found = {"active_intent_accuracy": float(gold.intent == predicted.intent)}
    found |= _of_sets("requested_slots", gold.requested, predicted.requested)
    if gold.requested or predicted.requested:
        found["requested_slots_f1_nonempty"] = found["requested_slots_f1"]
    if predicted.tags is not None:
        found |= _of_sets("slot_tagging", gold.tags or (), predicted.tags)
    right = correctness(gold, predicted, service, algorithm)
    free = {slot for slot, possible in service.slots.items() if possible is None}
    for kind, slots in zip(KINDS, (right.keys(), right.keys() - free, free), strict=True):
        if filled := [right[slot] for slot in slots if slot in gold.values]:
            found[f"average_{kind}_accuracy"] = fmean(filled)
        if slots:
            found[f"joint_{kind}_accuracy"] = math.prod(right[s] for s in right if s in slots)
    return found


@dataclass
class StateScorer(FileScorer):
    """Scores predictions according to the options of the command line."""

    options: Namespace
    reasons = MEANINGS

    def read_shards(self, files: Sequence[str], findings: Findings) -> "ScoredStates":
        """Return the scores of predictions in several files. Raises `InputError`, `DataError`."""
        options = self.options
        gold = load_gold(options.data, options.corpus, options.fold)
        findings.other_files("sgd", gold.edition, gold.different)
        if not any(service.is_seen for service in gold.services.values()):
            findings.warning("unseen", "train/schema.json has none of the services: all are unseen")
        found = read_predictions(files, gold, options.missing, findings)
        algorithm = "exact" if options.match == "exact" else options.similarity
        return ScoredStates(options, gold, algorithm, *found, findings.warnings)


@dataclass
class ScoredStates(ScoredFile):
    """Scored predictions. A row is a dialogue, because errors in states persist over its turns."""

    options: Namespace
    gold: Gold
    algorithm: str
    frames: Mapping[str, Sequence[Scored]]
    coverage: Coverage
    skipped: str
    warnings: Sequence[Problem] = ()

    def _values(self, name: str) -> Iterator[tuple[str, str, float]]:
        """Yield scope, name and value of the scores of each frame (or turn: `--joint turn`)."""
        domains = "single" if len(self.gold.services_of[name]) == 1 else "multi"
        products: dict[tuple[str, str, int], float] = defaultdict(lambda: 1)
        for turn, service, gold, predicted, _ in self.frames[name]:
            scopes = [WHOLE, "seen" if service.is_seen else "unseen", domains]
            scopes += [service.name.partition("_")[0], *[service.name] * self.options.services]
            found = frame_scores(gold, predicted, service, self.algorithm)
            for (metric, value), scope in product(found.items(), scopes):
                if self.options.joint == "turn" and metric in JOINT:
                    products[scope, metric, turn] *= value
                else:
                    yield scope, metric, value
        yield from ((scope, metric, value) for (scope, metric, _), value in products.items())

    @cached_property
    def scored_table(self) -> ScoredTable:
        """The rows and the measures."""
        rows = {name: self._values(name) for name in self.frames}
        return table_of_means(rows, LABELS, self._signature, SCOPES)

    def _signature(self, metric: str) -> Signature:
        options, gold, is_exact = self.options, self.gold, self.options.match == "exact"
        corpus = f"{options.corpus}@{gold.edition}" if gold.different else options.corpus
        choices = {"corpus": corpus, "fold": options.fold, "match": options.match}
        choices |= {"similarity": None if is_exact else options.similarity}
        choices |= {"joint": options.joint if metric in JOINT else None}
        choices |= {"missing": None if self.coverage.is_complete else options.missing}
        choices |= {"skipped": self.skipped or None, **gold.schemas, "n": len(self.frames)}
        return Signature.of(metric, {**choices, **VERSIONS})

    def report(self, resampling: Resampling | None = None) -> Report:
        """Return the report; `script` has the figures in the format of the official scorer."""
        scores, table = self.scored_table.scores(resampling), self.scored_table.table
        script: dict[str, Scores] = defaultdict(dict)
        for score in scores:
            if score.scope not in SCOPES[2:] and "nonempty" not in score.name:
                script[SCRIPT.get(score.scope, score.scope)][score.name] = score.value
        seen = [service.is_seen for service in self.gold.services.values()]
        meta = {"corpus": self.options.corpus, "fold": self.options.fold, "unit": "dialogue"}
        meta |= {"coverage": self.coverage, "versions": VERSIONS}
        meta |= {"services": {"seen": sum(seen), "of": len(seen)}}
        return Report({"script": dict(script)}, scores, table, (*self.warnings,), meta, "sgd")

    def explain(self, unit: str) -> Explanation:
        """Return the explanation of a dialogue."""
        turns = [
            (Utterance("user", turn.utterance), Utterance("reference", turn.response))
            for turn in self.gold.dialogues[unit]
        ]
        reasons = reasons_of(self.frames[unit], self.algorithm)
        services = sorted(self.gold.services_of[unit])
        return Explanation.of(unit, turns, ("states", "intents", "requests"), services, reasons)


def reasons_of(frames: Sequence[Scored], algorithm: str) -> Iterator[Reason]:
    """Yield a reason for each error in the frames of a dialogue."""
    owners: dict[Any, set[tuple[str, str]]] = defaultdict(set)
    for _, service, gold, *_ in frames:
        for slot, values in gold.values.items():
            for value in values:
                owners[value].add((service.name, slot))
    states: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for place, service, gold, predicted, missing in frames:
        if missing:
            yield Reason(missing, "states", service.name, place, MEANINGS[missing])
        for slot in (slot for slot in predicted.values if slot not in service.slots):
            yield Reason(f"unknown-slot:{slot}", "", service.name, place, MEANINGS["unknown-slot"])
        earlier = states[service.name]
        for slot, score in correctness(gold, predicted, service, algorithm).items():
            if score == 1 or missing:
                continue
            right, possible = gold.values.get(slot, ()), service.slots[slot]
            value = next(iter(predicted.values.get(slot, ())), None)
            is_stale = right and any(value in state.get(slot, ()) for state in earlier)
            is_late = value is None and earlier and slot not in earlier[-1]
            kinds = {
                "stale": is_stale or is_late,
                "elsewhere": value != "dontcare" and owners[value] - {(service.name, slot)},
                "dontcare": "dontcare" in (*right, value),
                "not-a-value": value is not None and possible is not None and value not in possible,
                "missing": value is None,
                "spurious": not right,
                "similar": score > 0,
                "wrong": True,
            }
            kind = next(kind for kind, applies in kinds.items() if applies)
            expected = " or ".join(map(repr, right)) or "no value"
            found = "no value" if value is None else repr(value)
            text = f"predicted {found}, gold {expected} (score {score:.2f})"
            yield Reason(f"{kind}:{slot}", "states", service.name, place, text)
        earlier.append(gold.values)
        if gold.intent != predicted.intent:
            text = f"predicted {predicted.intent}, gold {gold.intent}"
            yield Reason("intent", "intents", service.name, place, text)
        first, second = Counter(gold.requested), Counter(predicted.requested)
        for kind, slots in (("missing", first - second), ("spurious", second - first)):
            text = MEANINGS[f"{kind}-request"]
            for slot in slots:
                yield Reason(f"{kind}-request:{slot}", "requests", service.name, place, text)
