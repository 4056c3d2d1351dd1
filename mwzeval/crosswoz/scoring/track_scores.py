"""The scores of each track, and what stands beside a system's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from mwzeval.crosswoz.corpus.dialogues import Dialogue
from mwzeval.crosswoz.corpus.folds import Gold
from mwzeval.crosswoz.predictions.fit import fields_needed
from mwzeval.crosswoz.predictions.reading import Predicted, Predictions
from mwzeval.crosswoz.predictions.tracks import (
    DST,
    END_TO_END,
    GOLD_PREVIOUS_STATE,
    NLG,
    NLU,
    POLICY,
    RESPONSE,
    SIMULATOR,
    SYSTEM_ACTS,
    SYSTEM_ACTS_NLU,
    Track,
)
from mwzeval.crosswoz.scoring.act_scores import (
    SYSTEM,
    USER,
    NluScores,
    PolicyScores,
    SimulatorScores,
)
from mwzeval.crosswoz.scoring.baselines import (
    CEILING,
    COPY_PREVIOUS,
    GOLD,
    ceiling_exchanges,
    copied_exchanges,
    gold_exchanges,
)
from mwzeval.crosswoz.scoring.end_to_end_scores import EndToEndScores
from mwzeval.crosswoz.scoring.scopes import Sign, TrackScores
from mwzeval.crosswoz.scoring.state_scores import StateScores
from mwzeval.crosswoz.scoring.text_scores import TextScores
from mwzeval.metrics.measure import Measure, ScoredTable
from mwzeval.scores.table import Table

AnyScores = TrackScores | TextScores | EndToEndScores
"""Scores of dialogues one by one, or of all their texts at once."""
Source = Callable[[Dialogue], Sequence[Predicted]]
"""Returns what is predicted for a dialogue."""


def scores_of(
    track: Track, predictions: Predictions, gold: Gold, conditioning: str | None
) -> AnyScores:
    """Return what scores `predictions` in a `track` against `gold`.

    `conditioning` is what states were predicted from, and given for the track of states.
    """
    needed = fields_needed(predictions, track)
    if track is NLU:
        return NluScores((USER, SYSTEM) if SYSTEM_ACTS_NLU in needed else (USER,))
    if track is DST:
        assert conditioning is not None, "checked before"
        return StateScores(conditioning)
    if track is POLICY:
        return PolicyScores(gold.database)
    if track is SIMULATOR:
        return SimulatorScores()
    if track is END_TO_END:
        texts = TextScores.of(gold.fold.dialogues, (RESPONSE,), track.name)
        return EndToEndScores(gold.database, texts, by_acts=SYSTEM_ACTS in needed)
    assert track is NLG, "all tracks are here"
    return TextScores.of(gold.fold.dialogues, needed)


def baseline_of(
    baseline: str, track: Track, gold: Gold, scores: AnyScores, conditioning: str | None
) -> Source | None:
    """Return the predictions of a `baseline` (a name of `BESIDE`) for a `track` of `gold`.

    They are conditioned as the system's are, and have what `scores` need of them. None where the
    baseline makes no sense in the track.
    """
    with_acts = not isinstance(scores, EndToEndScores) or scores.by_acts
    if baseline == GOLD:
        return partial(gold_exchanges, with_acts=with_acts)
    if baseline == CEILING and track is POLICY:
        return partial(ceiling_exchanges, vocabulary=gold.system_vocabulary)
    if baseline == COPY_PREVIOUS:
        own = track is DST and conditioning != GOLD_PREVIOUS_STATE
        return partial(copied_exchanges, with_acts=with_acts, own_states=own)
    return None


def scored_table(
    units: Iterable[str], gold: Gold, scores: Sequence[AnyScores], source: Source, sign: Sign
) -> ScoredTable:
    """Return the rows of dialogues and the measures over them, track by track.

    `units` are the names of dialogues of `gold`, `source` returns what is predicted for one, and
    `sign` the signature of each metric. Raises `DependencyError` for texts without jieba.
    """
    dialogues = gold.fold.dialogues
    predicted = {name: source(dialogues[name]) for name in units}
    rows: dict[str, dict[str, float]] = {name: {} for name in predicted}
    for of_track in scores:
        if isinstance(of_track, TextScores | EndToEndScores):
            for name, row in of_track.rows(dialogues, predicted).items():
                rows[name].update(row)
        else:
            for name, said in predicted.items():
                rows[name].update(of_track.row(dialogues[name], said))
    columns = tuple(column for of_track in scores for column in of_track.columns)
    table = Table.from_rows(columns, rows.items())
    sums = table.sums()
    measures: list[Measure] = []
    for of_track in scores:
        measures += of_track.measures(sign, sums)
    return ScoredTable(table, tuple(measures))
