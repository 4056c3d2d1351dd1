"""Speed and memory of MultiWOZ evaluation on published predictions, and of rewards."""

from __future__ import annotations

import functools
import gc
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

from benchmarks.measure import (
    REPETITIONS,
    Row,
    at_most,
    at_most_times,
    cpu_seconds,
    median_cpu,
    run_process,
    seconds,
)
from mwzeval import Evaluator
from mwzeval.multiwoz import LEXICALIZED
from mwzeval.multiwoz.annotations import dialogue_id
from mwzeval.multiwoz.corpus import GoldFold, corpus_root, load_fold
from mwzeval.multiwoz.database import Database
from mwzeval.multiwoz.scoring.reward import DEFAULT_WEIGHTS, RewardWeights
from mwzeval.multiwoz.words.delexicalize import Delexicalizer

ROOT = Path(__file__).parent.parent
CORPUS = "multiwoz-2.2"
WARM_UP = "ubar"
SYSTEMS = ("augpt", "galaxy-e2e", "hdsa")
REWARDED = ("galaxy-e2e", "hdsa")
"""A system with predicted states, and a system with gold states."""

Predictions = dict[str, list[dict[str, Any]]]


def rows(data: Path) -> Iterator[Row]:
    """Yield the rows of the table, with ratios of CPU time to that of a yardstick."""
    yield from _start()
    folder = data / "multiwoz" / "predictions"
    yardsticks = {system: yardstick(_read(folder, system)) for system in SYSTEMS}
    for system, corpus_bleu in yardsticks.items():
        what = f"{system}: sacreBLEU `corpus_bleu` (the yardstick)"
        yield Row(what, f"{median_cpu(corpus_bleu):.2f} s", 1.0)
    yield from _file_after_file(folder, yardsticks)
    for system, corpus_bleu in yardsticks.items():
        yield from _cold(system, folder / f"{system}.json", corpus_bleu)
    yield _one_dialogue(_read(folder, SYSTEMS[-1]))
    yield _query()


def _start() -> Iterator[Row]:
    """Yield the CPU time of a process beyond that of an empty program."""
    evaluate = "import mwzeval.commands.evaluate, mwzeval.multiwoz.file_scorer"
    for what, limit, arguments in (
        ("`mwzeval --help`", 60, ["-m", "mwzeval", "--help"]),
        ("the imports of `evaluate.py -b -s -r`", None, ["-c", evaluate]),
    ):
        run_process(arguments)
        took = statistics.median(
            1000 * (run_process(arguments).cpu_seconds - run_process(["-c", "pass"]).cpu_seconds)
            for _ in range(REPETITIONS)
        )
        yield at_most(f"{what}, beyond an empty program", took, "ms", limit, 0)


def _file_after_file(folder: Path, yardsticks: Mapping[str, Callable[[], object]]) -> Iterator[Row]:
    """Score new files in a process that has scored other files, as in a training loop."""
    for what, limit, chosen in (
        ("BLEU + Inform & Success + richness", 0.7, (True, True, True)),
        ("Inform & Success", 0.12, (False, True, False)),
    ):
        times: dict[str, list[tuple[float, float]]] = {system: [] for system in yardsticks}
        for _ in range(REPETITIONS):
            _forget()
            evaluator = Evaluator(*chosen, corpus=CORPUS)
            evaluator.evaluate(_read(folder, WARM_UP))
            for system, corpus_bleu in yardsticks.items():
                took = cpu_seconds(functools.partial(evaluator.evaluate, _read(folder, system)))
                times[system].append((took, cpu_seconds(corpus_bleu)))
        for system, pairs in times.items():
            what_row = f"{system}: warm `evaluate`, not seen before, {what}"
            yield at_most_times(what_row, pairs, limit)


def _fold() -> GoldFold:
    return load_fold(CORPUS, "test", corpus_root(CORPUS, None, offline=None))


def _read(folder: Path, system: str) -> Predictions:
    predictions: Predictions = json.loads((folder / f"{system}.json").read_bytes())
    return predictions


def yardstick(predictions: Mapping[str, Sequence[Mapping[str, Any]]]) -> Callable[[], object]:
    """Return the yardstick for predictions: `corpus_bleu` on their turns."""
    fold = _fold()
    hypotheses, references = [], []
    for name, turns in predictions.items():
        for turn, reference in zip(turns, fold.dialogues[name].references, strict=False):
            hypotheses.append(turn["response"])
            references.append(reference)

    def corpus_bleu() -> object:
        # A new tokeniser each time, because sacreBLEU caches lines.
        bleu = sacrebleu.BLEU(force=True)
        for tokenizer in (Tokenizer13a, TokenizerRegexp):
            vars(tokenizer)["__call__"].cache_clear()
        return bleu.corpus_score(hypotheses, [references])

    return corpus_bleu


def _forget() -> None:
    """Clear all caches of mwzeval and sacreBLEU."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("mwzeval.", "sacrebleu.")):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def _cold(system: str, path: Path, corpus_bleu: Callable[[], object]) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        arguments = [str(ROOT / "evaluate.py"), "-b", "-s", "-r", "-i", str(path)]
        arguments += ["-o", str(Path(folder) / "report.json")]
        run_process(arguments)
        costs = [(run_process(arguments), cpu_seconds(corpus_bleu)) for _ in range(REPETITIONS)]
    what = f"{system}: cold process `evaluate.py -b -s -r`, prepared cache"
    yield at_most_times(what, [(cost.cpu_seconds, bleu) for cost, bleu in costs], 1.5)
    peak = max(cost.megabytes for cost, _ in costs)
    yield at_most(f"{system}: its peak memory", peak, "MB", 400, 0)


def _one_dialogue(predictions: Predictions) -> Row:
    evaluator = Evaluator(success=True, corpus=CORPUS)
    for name in list(predictions)[:20]:
        evaluator.evaluate_dialogue(name, predictions[name])
    _forget()
    took = 1000 * statistics.median(
        seconds(functools.partial(evaluator.evaluate_dialogue, name, turns))
        for name, turns in predictions.items()
    )
    what = "`evaluate_dialogue`, median over the fold, nothing seen before"
    return at_most(what, took, "ms", 0.5, 3)


def _query() -> Row:
    database = Database(_fold().tables, "2021")
    constraints = {"food": "italian", "area": "centre", "pricerange": "expensive"}
    database.find("restaurant", constraints)
    count = 20_000
    took = seconds(lambda: [database.find("restaurant", constraints) for _ in range(count)])
    return at_most("database query with a repeated fuzzy value", 1e6 * took / count, "µs", 20, 1)


def reward_rows(data: Path) -> Iterator[Row]:
    """Yield the rows of delexicalization and of rewards."""
    folder = data / "multiwoz" / "data" / "MultiWOZ_2.2" / "test"
    human: Predictions = {
        dialogue_id(dialogue["dialogue_id"]): [
            {"response": turn["utterance"]}
            for turn in dialogue["turns"]
            if turn["speaker"] == "SYSTEM"
        ]
        for file in sorted(folder.glob("dialogues_*.json"))
        for dialogue in json.loads(file.read_bytes())
    }
    evaluator = Evaluator(success=True, corpus=CORPUS, responses=LEXICALIZED)
    yield _delexicalization(human, evaluator)
    grounded = RewardWeights(grounded_success=0.5, hallucination=-0.5, consistency=0.5)
    yield from _rewards("human responses", human, evaluator)
    yield from _rewards("human responses, grounded", human, evaluator, grounded)
    for system in REWARDED:
        predictions = _read(data / "multiwoz" / "predictions", system)
        yield from _rewards(system, predictions, Evaluator(corpus=CORPUS))


def _delexicalization(human: Predictions, evaluator: Evaluator) -> Row:
    checked = evaluator.checked(human)
    scorer, sources = checked.scorer, checked.sources
    situations = []
    for name, turns in checked.dialogues.items():
        normal = scorer.normalize(name, turns, sources).turns
        states, domains = [turn.state for turn in normal], [turn.active_domains for turn in normal]
        situations.append(([turn.response or "" for turn in turns], states, domains))
    gc.collect()
    gc.freeze()
    corpus_bleu, pairs = yardstick(human), []
    for _ in range(REPETITIONS):
        delexicalizer = Delexicalizer(scorer.gold.tables)  # has an empty cache
        took = cpu_seconds(lambda: [delexicalizer.dialogue(*s) for s in situations])  # noqa: B023
        pairs.append((took, cpu_seconds(corpus_bleu)))
    what = f"delexicalization of {sum(len(s[0]) for s in situations):,} human responses"
    return at_most_times(what, pairs, 0.5)


def _rewards(
    what: str,
    predictions: Predictions,
    evaluator: Evaluator,
    weights: RewardWeights = DEFAULT_WEIGHTS,
) -> Iterator[Row]:
    first = next(iter(predictions))
    evaluator.reward(first, predictions[first], weights=weights)  # reads the gold data
    for how in ("not seen before", "seen before"):
        times = sorted(
            1000 * seconds(functools.partial(evaluator.reward, name, turns, weights=weights))
            for name, turns in predictions.items()
        )
        what_row = f"{what}: `reward` of a dialogue {how}, median"
        yield at_most(what_row, statistics.median(times), "ms", 1, 3)
    took = 1000 * seconds(lambda: evaluator.rewards(predictions.items(), weights=weights))
    yield at_most(f"{what}: `rewards` per dialogue", took / len(predictions), "ms", 1, 3)
