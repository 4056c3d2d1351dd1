"""The scorer: our judgement of a dialogue, and why it has failed."""

from __future__ import annotations

from math import nan

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from mwzeval.conversation.trajectory import Trajectory
from mwzeval.multiwoz.frameworks.inspect.dialogues import (
    GOAL,
    episodes_of,
    in_thread,
    kept,
    plain_messages,
)
from mwzeval.multiwoz.live.episodes import Outcome

VALUES = ("success", "inform", "booking")


@scorer(metrics={name: [mean(), stderr()] for name in VALUES})
def task_success() -> Scorer:
    """Return the scorer: `success` of the task, and of it `inform` and `booking`, each 1 or 0.

    `booking` is not scored (NaN) where the user wants nothing booked. The explanation says why a
    dialogue has failed; the metadata have `end`, `turns`, what became of each domain, and what is
    known of the user: whether it is `complete`, and its `user_faults`. Trials of a goal are
    averaged before anything else, so that standard errors are those of goals.
    """

    async def score(state: TaskState, target: Target) -> Score:
        return await in_thread(_score, state)

    return score


def _score(state: TaskState) -> Score:
    episodes = episodes_of(state.metadata)
    dialogue = kept(state.store) or _only_messages(state)
    outcome: Outcome = episodes.outcome(dialogue)
    return Score(
        value={name: _number(getattr(outcome, name)) for name in VALUES},
        answer=dialogue.end,
        explanation="\n".join(outcome.losses) or "The user has got all that it wanted.",
        metadata={
            "end": outcome.end,
            "turns": outcome.turns,
            "complete": outcome.complete,
            "user_faults": outcome.user_faults,
            "domains": dict(outcome.domains),
        },
    )


def _only_messages(state: TaskState) -> Trajectory:
    """Return the dialogue of a solver that is not ours, which is known by its messages alone."""
    return Trajectory(
        str(state.sample_id), state.metadata[GOAL], tuple(plain_messages(state.messages))
    )


def _number(reached: bool | None) -> float:
    return nan if reached is None else float(reached)
