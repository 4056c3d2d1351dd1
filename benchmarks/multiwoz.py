"""Speed and memory of MultiWOZ evaluation on real predictions.

Needs the public data (`MWZEVAL_DATA`) and a folder of predictions for the test fold.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import sacrebleu
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

from benchmarks.measure import REPETITIONS, Row, paired, run_process, seconds
from mwzeval import Evaluator
from mwzeval.multiwoz.corpus.corpora import corpus_root, load_fold
from mwzeval.multiwoz.corpus.references import own_references
from mwzeval.multiwoz.database.venues import Database
from mwzeval.multiwoz.predictions.reading import Findings, check_dialogues
from mwzeval.multiwoz.scoring.measures import scored_table
from mwzeval.multiwoz.scoring.scored_dialogues import Metrics, ScoredDialogues
from mwzeval.multiwoz.scoring.scorer import Scorer

ROOT = Path(__file__).parent.parent
WARM_UP = "ubar"
SYSTEMS = ("augpt", "galaxy-e2e", "hdsa")
GROWTH = (1_000, 10_000, 100_000)

Predictions = dict[str, list[dict[str, Any]]]


def rows(folder: Path) -> Iterator[Row]:
    """Yield the lines of the table, one measurement after the other."""
    warm_up = _read(folder / f"{WARM_UP}.json")
    for system in SYSTEMS:
        predictions = _read(folder / f"{system}.json")
        corpus_bleu = yardstick_of(predictions)
        base = statistics.median(seconds(corpus_bleu) for _ in range(REPETITIONS))
        yield Row(
            f"{system}: sacreBLEU `corpus_bleu` (the yardstick)", f"{base:.2f} s", 1.0, "", None
        )
        for what, limit, chosen in (
            ("warm `evaluate`, BLEU + Inform & Success + richness", 1.5, (True, True, True)),
            ("warm `evaluate`, Inform & Success", 0.15, (False, True, False)),
        ):
            took, ratio = paired(
                functools.partial(_warmed, chosen, warm_up, predictions), corpus_bleu
            )
            yield Row(f"{system}: {what}", f"{took:.2f} s", ratio, f"{limit} ×", ratio <= limit)
        yield from _cold(system, folder / f"{system}.json", corpus_bleu)
    yield _one_dialogue(predictions)
    yield _query()
    yield from _growth(predictions)


def _read(path: Path) -> Predictions:
    predictions: Predictions = json.loads(path.read_bytes())
    return predictions


def yardstick(path: Path) -> Callable[[], object]:
    """Return the yardstick for a predictions file: `corpus_bleu` on its turns."""
    return yardstick_of(_read(path))


def yardstick_of(predictions: Mapping[str, Sequence[Mapping[str, Any]]]) -> Callable[[], object]:
    """Return `corpus_bleu` on the turns of predictions."""
    fold = load_fold("multiwoz-2.2", "test", corpus_root("multiwoz-2.2", None, offline=None))
    hypotheses, references = [], []
    for name, turns in predictions.items():
        for turn, reference in zip(turns, fold.dialogues[name].references, strict=False):
            hypotheses.append(turn["response"])
            references.append(reference)

    def corpus_bleu() -> object:
        # A fresh tokeniser each time: sacreBLEU remembers lines, and every run is of new ones.
        bleu = sacrebleu.BLEU(force=True)
        for tokenizer in (Tokenizer13a, TokenizerRegexp):
            vars(tokenizer)["__call__"].cache_clear()
        return bleu.corpus_score(hypotheses, [references])

    return corpus_bleu


def _warmed(
    metrics: tuple[bool, bool, bool], warm_up: Predictions, predictions: Predictions
) -> Callable[[], object]:
    """Return an evaluation of predictions that this process has not seen, after another one."""
    for remembered in _caches():
        remembered.cache_clear()
    evaluator = Evaluator(*metrics, corpus="multiwoz-2.2")
    evaluator.evaluate(warm_up)
    return lambda: evaluator.evaluate(predictions)


def _caches() -> list[Any]:
    return [
        value
        for name, module in list(sys.modules.items())
        if name.startswith(("mwzeval.", "sacrebleu."))
        for value in vars(module).values()
        if hasattr(value, "cache_clear")
    ]


def _cold(system: str, path: Path, yardstick: Callable[[], object]) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        arguments = [str(ROOT / "evaluate.py"), "-b", "-s", "-r", "-i", str(path)]
        arguments += ["-o", str(Path(folder) / "report.json")]
        run_process(arguments)
        costs, ratios = [], []
        for _ in range(REPETITIONS):
            costs.append(run_process(arguments))
            ratios.append(costs[-1].wall_seconds / seconds(yardstick))
    wall = statistics.median(cost.wall_seconds for cost in costs)
    peak = max(cost.peak_megabytes for cost in costs)
    ratio = statistics.median(ratios)
    what = f"{system}: cold process `evaluate.py -b -s -r`, prepared cache"
    yield Row(what, f"{wall:.2f} s", ratio, "2.5 ×", ratio <= 2.5)
    yield Row(f"{system}: its peak memory", f"{peak:.0f} MB", None, "400 MB", peak <= 400)


def _one_dialogue(predictions: Predictions) -> Row:
    evaluator = Evaluator(success=True, corpus="multiwoz-2.2")
    for name in list(predictions)[:20]:
        evaluator.evaluate_dialogue(name, predictions[name])
    for remembered in _caches():
        remembered.cache_clear()
    times = [
        seconds(functools.partial(evaluator.evaluate_dialogue, name, turns))
        for name, turns in predictions.items()
    ]
    milliseconds = 1000 * statistics.median(times)
    return Row(
        "`evaluate_dialogue`, median over the fold, nothing seen before",
        f"{milliseconds:.3f} ms",
        None,
        "0.5 ms",
        milliseconds <= 0.5,
    )


def _query() -> Row:
    root = corpus_root("multiwoz-2.2", None, offline=None)
    database = Database(load_fold("multiwoz-2.2", "test", root).tables, "2021")
    constraints = {"food": "italian", "area": "centre", "pricerange": "expensive"}
    database.query("restaurant", constraints)
    count = 20_000
    took = seconds(lambda: [database.query("restaurant", constraints) for _ in range(count)])
    microseconds = 1e6 * took / count
    what = "database query with a repeated fuzzy value"
    return Row(what, f"{microseconds:.1f} µs", None, "20 µs", microseconds <= 20)


def _growth(predictions: Predictions) -> Iterator[Row]:
    """Time one pass over so many dialogues: copies of the fold's under other names."""
    fold = load_fold("multiwoz-2.2", "test", corpus_root("multiwoz-2.2", None, offline=None))
    for dialogues in GROWTH:
        copies = range(dialogues // len(predictions))
        many = {f"{name}-{copy}": turns for copy in copies for name, turns in predictions.items()}
        gold = {f"{name}-{copy}": gold for copy in copies for name, gold in fold.dialogues.items()}
        copied = dataclasses.replace(fold, dialogues=gold)
        scorer = Scorer(copied, "2021", {fold.reference_set: own_references(copied)})

        def evaluate(scorer: Scorer = scorer, many: Predictions = many) -> None:
            checked = check_dialogues(many, Findings(), need_responses=True)
            asked = Metrics(bleu=True, success=True, richness=True)
            scored_table(ScoredDialogues.of(scorer, checked, asked)).scores()

        took = seconds(evaluate)
        yield Row(
            f"{dialogues:,} dialogues in one pass (repeated predictions)",
            f"{took:.1f} s",
            None,
            "linear",
            None,
        )
        yield Row("… a thousand", f"{1000 * took / (dialogues / 1000):.0f} ms", None, "", None)
