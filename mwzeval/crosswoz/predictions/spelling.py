"""What predictions write as gold does, but in another width or case, or with other blanks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mwzeval.crosswoz.corpus.acts import Act
from mwzeval.crosswoz.corpus.folds import Fold
from mwzeval.crosswoz.corpus.normalization import comparable, comparable_text
from mwzeval.crosswoz.findings import Findings
from mwzeval.crosswoz.predictions.reading import Predictions
from mwzeval.crosswoz.predictions.tracks import DST, NLU, POLICY, SIMULATOR, Track

HALF_AND_FULL = "width (full or half), case or blanks"


def note_spelling(
    predictions: Predictions, fold: Fold, tracks: Sequence[Track], findings: Findings
) -> None:
    """Count values that are gold's but for their spelling, with the first place of each kind."""
    for name, exchanges in predictions.dialogues.items():
        dialogue = fold.dialogues[name]
        for turn, (gold, said) in enumerate(zip(dialogue.exchanges, exchanges, strict=True)):
            place = {"dialogue": name, "turn": turn}
            pairs: list[tuple[str, Iterable[Act] | None, Iterable[Act], bool]] = []
            if NLU in tracks or SIMULATOR in tracks:
                same = SIMULATOR not in tracks
                pairs.append(("user_acts", said.user_acts, gold.user.acts, same))
            if NLU in tracks:
                pairs.append(("system_acts_nlu", said.system_acts_nlu, gold.system.acts, True))
            if POLICY in tracks:
                pairs.append(("system_acts", said.system_acts, gold.system.acts, False))
            for key, acts, of_gold, counts_as_right in pairs:
                count = _respelled(acts or (), of_gold)
                if count:
                    findings.warning(
                        "other-spelling",
                        f"acts are gold's but for {HALF_AND_FULL}: "
                        + ("they are right" if counts_as_right else "they are wrong here"),
                        count=count,
                        key=key,
                        **place,
                    )
            if DST in tracks and said.state is not None:
                count = _respelled_values(said.state, gold.system.first_query)
                if count:
                    findings.warning(
                        "other-spelling",
                        f"values of states are gold's but for {HALF_AND_FULL}: they are wrong, "
                        "except for blanks in the normalised variants",
                        count=count,
                        key="state",
                        **place,
                    )


def _respelled(acts: Iterable[Act], gold: Iterable[Act]) -> int:
    wanted = set(gold)
    odd = [act for act in acts if act not in wanted]
    if not odd:
        return 0
    forms = {comparable(act) for act in wanted}
    return sum(comparable(act) in forms for act in odd)


def _respelled_values(state: dict[str, dict[str, str]], gold: dict[str, dict[str, str]]) -> int:
    if state == gold:
        return 0
    return sum(
        value != gold[domain][slot]
        and comparable_text(value) == comparable_text(gold[domain][slot])
        for domain, slots in state.items()
        if domain in gold
        for slot, value in slots.items()
        if slot in gold[domain]
    )
