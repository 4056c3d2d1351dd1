"""What delexicalising costs, on the human responses of the real test fold."""

from __future__ import annotations

import functools
import gc
import json
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import REPETITIONS, Row, paired, seconds
from benchmarks.multiwoz import yardstick_of
from mwzeval import Evaluator
from mwzeval.metrics.reward import DEFAULT_WEIGHTS, RewardWeights
from mwzeval.multiwoz.choices import LEXICALIZED
from mwzeval.multiwoz.corpus.gold import dialogue_id
from mwzeval.multiwoz.normalization.normalize import State
from mwzeval.multiwoz.scoring.scorer import Sources
from mwzeval.multiwoz.words.delexicalization import Delexicalizer

Predictions = dict[str, list[dict[str, str]]]


def rows(folder: Path) -> Iterator[Row]:
    """Yield the lines of the table; `folder` is that of the published predictions."""
    predictions = human_responses(folder.parent / "data" / "MultiWOZ_2.2" / "test")
    evaluator = Evaluator(success=True, corpus="multiwoz-2.2", responses=LEXICALIZED)
    checked = evaluator.checked(predictions)
    scorer, sources = checked.scorer, Sources.of(checked.dialogues.values())
    turns = sum(len(turns) for turns in checked.dialogues.values())
    # The states and active domains that it starts from are there in any evaluation.
    situations = []
    for name, of_dialogue in checked.dialogues.items():
        normal = scorer.normalize(name, of_dialogue, sources)
        situations.append(
            (
                [turn.response or "" for turn in of_dialogue],
                [turn.state for turn in normal.turns],
                [turn.active_domains for turn in normal.turns],
            )
        )
    gc.collect()
    gc.freeze()

    def fresh() -> Callable[[], object]:
        # One that has seen nothing, so that nothing it remembers helps.
        delexicalizer = Delexicalizer(scorer.gold.tables)
        return lambda: [delexicalizer.dialogue(*situation) for situation in situations]

    took, ratio = paired(fresh, yardstick_of(predictions))
    what = f"delexicalising {turns:,} human responses"
    yield Row(what, f"{took:.2f} s", ratio, "0.5 ×", ratio <= 0.5)
    made = statistics.median(
        seconds(functools.partial(Delexicalizer, scorer.gold.tables)) for _ in range(REPETITIONS)
    )
    yield Row("… preparing the database for it, once", f"{1000 * made:.0f} ms", None, "", None)
    grounded = RewardWeights(grounded_success=0.5, hallucination=-0.5, consistency=0.5)
    for what, weights in (
        ("`reward` of one dialogue in words, median", DEFAULT_WEIGHTS),
        ("… with grounded scores", grounded),
    ):
        times = [
            1000 * seconds(functools.partial(evaluator.reward, name, turns, weights=weights))
            for name, turns in predictions.items()
        ]
        median = statistics.median(times)
        yield Row(what, f"{median:.2f} ms", None, "1 ms", median <= 1)
    yield _growth(Delexicalizer(scorer.gold.tables), situations)


def _growth(
    delexicalizer: Delexicalizer,
    situations: list[tuple[list[str], list[State], list[tuple[str, ...]]]],
) -> Row:
    """Return how much longer ten times the text takes: a quadratic step would be a hundred."""
    text = " ".join(response for responses, _, _ in situations for response in responses)

    def took(size: int) -> float:
        delexicalize = functools.partial(delexicalizer.dialogue, [text[:size]], [{}], [()])
        return min(seconds(delexicalize) for _ in range(REPETITIONS))

    growth = took(200_000) / took(20_000)
    return Row(
        "… ten times the text in one response", f"{growth:.0f} ×", None, "20 ×", growth <= 20
    )


def human_responses(folder: Path) -> Predictions:
    """Return the system's side of the dialogues, without states."""
    return {
        dialogue_id(dialogue["dialogue_id"]): [
            {"response": turn["utterance"]}
            for turn in dialogue["turns"]
            if turn["speaker"] == "SYSTEM"
        ]
        for file in sorted(folder.glob("dialogues_*.json"))
        for dialogue in json.loads(file.read_bytes())
    }
