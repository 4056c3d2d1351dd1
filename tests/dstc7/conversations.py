"""Synthetic conversations on which a model can be trained in a second."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from mwzeval.dstc7.baselines.dual_encoder import Settings
from mwzeval.dstc7.baselines.query import Query

SMALL = Settings(
    dimensions=8,
    buckets=64,
    batch_size=16,
    epochs=4,
    evaluate_every=5,
    patience=50,
    context_words=40,
)
"""Settings for training in about a second."""

_FILLERS = ("well", "then", "maybe", "so", "now", "here", "there", "this", "that", "is", "was")


def conversations(count: int, seed: int, candidates: int = 20) -> list[Query]:
    """Return examples whose right answer shares the topic of the context, but no words.

    Contexts of topic 7 contain `ask7`, answers `reply7`; a model must learn this relation.
    """
    dice = random.Random(seed)

    def utterance(*words: str) -> str:
        text = [*words, *dice.choices(_FILLERS, k=dice.randint(1, 6))]
        dice.shuffle(text)
        return " ".join(text)

    queries = []
    for number in range(count):
        topics = dice.sample(range(40), min(40, candidates))
        answer = dice.randrange(candidates)
        messages = (utterance(), utterance(), utterance(f"ask{topics[answer]}"))
        texts = tuple(utterance(f"reply{topic}") for topic in topics)
        ids = tuple(f"{seed}C{number}X{place}" for place in range(candidates))
        queries.append(
            Query(
                str(1000 + number), messages, ids, texts, (texts[answer],), frozenset({ids[answer]})
            )
        )
    return queries


def write_dialogues(path: Path, queries: list[Query]) -> Path:
    """Write conversations as a dialogue file with the right answers."""

    def option(identity: str, text: str) -> dict[str, Any]:
        return {"candidate-id": identity, "utterance": text}

    examples = [
        {
            "example-id": int(query.example),
            "messages-so-far": [
                {"speaker": f"participant_{1 + place % 2}", "utterance": text}
                for place, text in enumerate(query.messages)
            ],
            "options-for-correct-answers": [
                option(identity, text)
                for identity, text in zip(sorted(query.correct), query.answers, strict=True)
            ],
            "options-for-next": [
                option(identity, text)
                for identity, text in zip(query.candidate_ids, query.candidates, strict=True)
            ],
            "scenario": 1,
        }
        for query in queries
    ]
    path.write_text(json.dumps(examples), encoding="utf-8")
    return path
