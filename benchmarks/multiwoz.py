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

from benchmarks.measure import REPETITIONS, Row, cpu_seconds, run_process, seconds
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
    """Yield the lines of the table, one measurement after the other.

    Ratios are of CPU time, each to a yardstick that runs next to it.
    """
    yield from _start()
    paths = {system: folder / f"{system}.json" for system in SYSTEMS}
    yardsticks = {system: yardstick(path) for system, path in paths.items()}
    for system, corpus_bleu in yardsticks.items():
        base = statistics.median(cpu_seconds(corpus_bleu) for _ in range(REPETITIONS))
        what = f"{system}: sacreBLEU `corpus_bleu` (the yardstick)"
        yield Row(what, f"{base:.2f} s", 1.0, "", None)
    for what, limit, chosen in (
        ("BLEU + Inform & Success + richness", 0.7, (True, True, True)),
        ("Inform & Success", 0.12, (False, True, False)),
    ):
        warm_up = folder / f"{WARM_UP}.json"
        yield from _file_after_file(what, limit, chosen, warm_up, paths, yardsticks)
    for system, corpus_bleu in yardsticks.items():
        yield from _cold(system, paths[system], corpus_bleu)
    predictions = _read(paths[SYSTEMS[-1]])
    yield _one_dialogue(predictions)
    yield _query()
    yield from _growth(predictions)


def _start() -> Iterator[Row]:
    """What a process takes before it does anything."""
    evaluate = "import mwzeval.commands.evaluate, mwzeval.multiwoz.input_scorer"
    for what, limit, arguments in (
        ("`mwzeval --help`", 60, ["-m", "mwzeval", "--help"]),
        ("the imports of `evaluate.py -b -s -r`", None, ["-c", evaluate]),
    ):
        run_process(arguments)
        costs = []
        for _ in range(REPETITIONS):
            bare = run_process(["-c", "pass"]).cpu_seconds
            costs.append(1000 * (run_process(arguments).cpu_seconds - bare))
        took = statistics.median(costs)
        allowed = "" if limit is None else f"{limit} ms"
        met = None if limit is None else took <= limit
        yield Row(f"{what}, beyond an empty program", f"{took:.0f} ms", None, allowed, met)


def _file_after_file(
    what: str,
    limit: float,
    chosen: tuple[bool, bool, bool],
    warm_up: Path,
    paths: Mapping[str, Path],
    yardsticks: Mapping[str, Callable[[], object]],
) -> Iterator[Row]:
    """Score files that a process with its corpus loaded has not seen, and then has, as in training.

    What earlier files had in common with a file is remembered, as it is in a training loop.
    """
    unseen: dict[str, list[tuple[float, float]]] = {system: [] for system in paths}
    again: dict[str, list[tuple[float, float]]] = {system: [] for system in paths}
    for _ in range(REPETITIONS):
        for remembered in _caches():
            remembered.cache_clear()
        evaluator = Evaluator(*chosen, corpus="multiwoz-2.2")
        evaluator.evaluate(_read(warm_up))
        for system, path in paths.items():
            for seen in (unseen, again):
                # Parsed anew: texts that were looked up once would know their hashes.
                took = cpu_seconds(functools.partial(evaluator.evaluate, _read(path)))
                seen[system].append((took, took / cpu_seconds(yardsticks[system])))
    for of_system, how, most in (
        (unseen, "warm `evaluate`, not seen before", limit),
        (again, "warm `evaluate`, the same file again", None),
    ):
        for system, times in of_system.items():
            took, ratio = (statistics.median(column) for column in zip(*times, strict=True))
            allowed = "" if most is None else f"{most} ×"
            met = None if most is None else ratio <= most
            yield Row(f"{system}: {how}, {what}", f"{took:.2f} s", ratio, allowed, met)


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
            ratios.append(costs[-1].cpu_seconds / cpu_seconds(yardstick))
    took = statistics.median(cost.cpu_seconds for cost in costs)
    peak = max(cost.peak_megabytes for cost in costs)
    ratio = statistics.median(ratios)
    what = f"{system}: cold process `evaluate.py -b -s -r`, prepared cache"
    yield Row(what, f"{took:.2f} s", ratio, "1.5 ×", ratio <= 1.5)
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
