"""Templates out of a corpus: its sentences, with placeholders where values stood."""

from __future__ import annotations

from collections.abc import Iterable

from mwzeval.crosswoz.act_keys import said_values, spelled_key
from mwzeval.crosswoz.corpus.acts import Acts
from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.simulation.protocols import SYSTEM, USER, Side


def mine_templates(dialogues: Iterable[Dialogue]) -> dict[Side, dict[str, list[str]]]:
    """Return the sentences of both sides by key, for `write_templates(folder, "auto", …)`.

    A sentence that does not say all values of its acts word for word is left out. Keys are in
    order; sentences stay in that of the corpus, and as often as they are there, so that a choice
    among them is as frequent as in the corpus.
    """
    mined: dict[Side, dict[str, list[str]]] = {USER: {}, SYSTEM: {}}
    for dialogue in dialogues:
        for exchange in dialogue.exchanges:
            for side, turn in ((USER, exchange.user), (SYSTEM, exchange.system)):
                template = template_of(turn.utterance, turn.acts)
                if template is not None:
                    mined[side].setdefault(spelled_key(turn.acts), []).append(template)
    return {side: dict(sorted(of_side.items())) for side, of_side in mined.items()}


def template_of(utterance: str, acts: Acts) -> str | None:
    """Return an utterance with placeholders for its values, None when it lacks one of them."""
    template, missing = delexicalized(utterance, acts)
    return None if missing else template


def delexicalized(utterance: str, acts: Acts) -> tuple[str, int]:
    """Return an utterance with placeholders for the values of acts, and how many it lacks.

    Values are replaced in the order of the acts (a short one may break up a longer one).
    """
    missing = 0
    for placeholder, value in said_values(acts):
        if value in utterance:
            utterance = utterance.replace(value, placeholder)
        else:
            missing += 1
    return utterance, missing
