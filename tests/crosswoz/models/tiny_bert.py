"""A random BERT of a few thousand weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crosswoz.real_data import fold


def tiny_bert(folder: Path, seed: int = 0) -> Path:
    """Write a random BERT whose vocabulary has the characters of six dialogues."""
    if folder.exists():
        return folder
    transformers = pytest.importorskip("transformers")
    transformers.set_seed(seed)
    dialogues = list(fold("val").dialogues.values())[:6]
    turns = [turn for d in dialogues for e in d.exchanges for turn in (e.user, e.system)]
    characters = sorted({char for turn in turns for char in turn.utterance.lower()})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [*special, *(char for char in characters if not char.isspace()), "|"]
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys(words)), encoding="utf-8")
    tokenizer = transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt"))
    tokenizer.save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(dict.fromkeys(words)),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=128,
    )
    transformers.BertModel(config).save_pretrained(folder)
    return folder
