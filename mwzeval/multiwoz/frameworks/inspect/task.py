"""The task `mwzeval/multiwoz`, and its data set."""

from __future__ import annotations

from inspect_ai import Task, task
from inspect_ai.dataset import Dataset, MemoryDataset, Sample

from mwzeval.conversation.loop import USER_TURNS
from mwzeval.conversation.tool_session import TOOL_ROUNDS
from mwzeval.multiwoz.choices import AUTO
from mwzeval.multiwoz.frameworks.inspect.dialogues import GOAL, KEY
from mwzeval.multiwoz.frameworks.inspect.scorer import task_success
from mwzeval.multiwoz.frameworks.inspect.user import multiwoz_user
from mwzeval.multiwoz.frameworks.options import load
from mwzeval.multiwoz.goals.words import goal_sentences
from mwzeval.multiwoz.live.settings.options import AGENDA, GOALS


def multiwoz_dataset(
    goals: str = GOALS,
    corpus: str = AUTO,
    user: str = AGENDA,
    user_turns: int = USER_TURNS,
    tool_rounds: int = TOOL_ROUNDS,
    seed: int = 0,
    data: str | None = None,
) -> Dataset:
    """Return the goals as samples; the metadata of each say how its dialogue is held.

    The arguments are the options of `mwzeval live`. Raises `UsageError` for unknown names,
    `DataError` for missing files.
    """
    options = {
        "goals": goals,
        "corpus": corpus,
        "user": user,
        "user_turns": user_turns,
        "tool_rounds": tool_rounds,
        "seed": seed,
        "data": data,
    }
    samples = [
        Sample(id=name, input="\n".join(goal_sentences(goal)), metadata={GOAL: goal, KEY: options})
        for name, goal in load(options).goals.items()
    ]
    return MemoryDataset(samples, name=f"multiwoz {goals}")


@task
def multiwoz(
    goals: str = GOALS,
    corpus: str = AUTO,
    user: str = AGENDA,
    trials: int = 1,
    user_turns: int = USER_TURNS,
    tool_rounds: int = TOOL_ROUNDS,
    prompt: str | None = None,
    seed: int = 0,
    data: str | None = None,
) -> Task:
    """Return the task: the model gets a user what it wants, with functions on the database.

    `trials` are epochs: so many dialogues about each goal. `prompt` is a file with another system
    message. The other arguments are the options of `mwzeval live`. Raises `UsageError` for unknown
    names, `DataError` for missing files.
    """
    return Task(
        dataset=multiwoz_dataset(goals, corpus, user, user_turns, tool_rounds, seed, data),
        solver=multiwoz_user(prompt=prompt),
        scorer=task_success(),
        epochs=trials,
        metadata={"benchmark": "multiwoz"},
    )
