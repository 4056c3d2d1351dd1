"""MultiWOZ's live dialogues for a harness of one's own: goals, users, functions, judgement.

What `mwzeval live` does with an agent, without the agent: whoever asks it drives each dialogue.
The frameworks of `mwzeval.multiwoz.frameworks` do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mwzeval.conversation.endpoint.prompts import read_prompt
from mwzeval.conversation.episode import Episode
from mwzeval.conversation.loop import USER_TURNS
from mwzeval.conversation.protocols import End
from mwzeval.conversation.record import Planned
from mwzeval.conversation.tool_session import TOOL_ROUNDS
from mwzeval.conversation.trajectory import Trajectory, header, json_line
from mwzeval.errors import UsageError, did_you_mean, shorten
from mwzeval.files.writing import written_atomically
from mwzeval.multiwoz import NAME
from mwzeval.multiwoz.choices import AUTO
from mwzeval.multiwoz.formats.functions import tools_schema
from mwzeval.multiwoz.goals.goal import Goal
from mwzeval.multiwoz.live.judge import Judgement, end_reasons
from mwzeval.multiwoz.live.modalities import user_faults, user_report
from mwzeval.multiwoz.live.settings.options import (
    AGENDA,
    AGENT_PROMPT,
    GOALS,
    LiveOptions,
)
from mwzeval.multiwoz.live.settings.words import WordSetting
from mwzeval.version import __version__


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a dialogue was worth: whether the task succeeded, all venues and bookings were right.

    `booking` is None where the user wants nothing booked, `complete` (whether the user believes
    that it has everything) where the user does not say. `domains` has the success of each;
    `user_faults` counts the faults of the user. `losses` say why the task failed, a sentence each.
    """

    success: bool
    inform: bool
    booking: bool | None
    end: End
    turns: int
    complete: bool | None
    user_faults: int
    domains: Mapping[str, bool]
    losses: tuple[str, ...]


class Episodes:
    """Goals and the users who have them; an `episode` is a dialogue about one of them.

    Arguments are those of `mwzeval live`: which `goals` of which `corpus`, whose files are in
    `data` (the corpus `sample` needs none), the `user`, limits, and the `seed` of everything
    random. Loading takes about a second. Raises `UsageError` for unknown names, `DataError` for
    missing files.

    >>> episodes = Episodes(goals="corpus:test:3", corpus="sample")
    >>> episode = episodes.episode("smp0021")
    >>> messages = [{"role": "system", "content": episodes.prompt}, *episode.begin()]
    >>> while not episode.is_over:  # ask a model for `answer`, with `messages` and `episode.tools`
    ...     answer = {"role": "assistant", "content": "I am sorry, I cannot help you."}
    ...     messages += [answer, *episode.answer(answer)]
    >>> episodes.outcome(episode.trajectory()).success
    False
    """

    tools: Sequence[Mapping[str, Any]] = tools_schema()
    """The functions that agents may call, in the form of OpenAI's chat completions."""

    def __init__(
        self,
        goals: str = GOALS,
        *,
        corpus: str = AUTO,
        user: str = AGENDA,
        data: str | None = None,
        offline: bool | None = None,
        seed: int = 0,
        fail_book: bool = False,
        user_turns: int = USER_TURNS,
        tool_rounds: int = TOOL_ROUNDS,
    ) -> None:
        if user_turns < 1:
            raise UsageError(f"user_turns is at least 1, not {user_turns}")
        if tool_rounds < 0:
            raise UsageError(f"tool_rounds is at least 0, not {tool_rounds}")
        options = LiveOptions(
            agent="",
            goals=goals,
            corpus=corpus,
            user=user,
            data=data,
            offline=offline,
            seed=seed,
            fail_book=fail_book,
            user_turns=user_turns,
            tool_rounds=tool_rounds,
        )
        self._setting = WordSetting(options, is_driven=True)
        self._setting.begin()
        self._seed = seed
        self.goals: Mapping[str, Goal] = dict(self._setting.items)
        """What users want, by id, in the order of the corpus."""
        self.prompt: str = read_prompt(AGENT_PROMPT).text
        """The system message for models that `mwzeval live` has; a harness may have another."""

    def episode(self, goal: str, trial: int = 1, *, trials: int = 1) -> Episode:
        """Return a dialogue about a goal: the `trial` of so many (numbered where there are more).

        Raises `UsageError` for an unknown goal.
        """
        if goal not in self.goals:
            hint = did_you_mean(goal, self.goals)
            raise UsageError(f'there is no goal "{shorten(goal)}"{hint}')
        numbered = trials > 1 or trial > 1
        return self._setting.episode(Planned(goal, self.goals[goal], trial, numbered, self._seed))

    def judgement(self, dialogue: Trajectory) -> Judgement:
        """Return what became of a dialogue: `success`, and each domain of the goal."""
        return self._setting.judgement(dialogue)

    def outcome(self, dialogue: Trajectory) -> Outcome:
        """Return what a dialogue was worth, in a few numbers, and why it has failed."""
        judgement = self.judgement(dialogue)
        domains = judgement.domains.values()
        bookings = [domain.booking for domain in domains if domain.booking is not None]
        complete = user_report(dialogue).get("complete")
        reasons = (*end_reasons(dialogue, dialogue.turns), *judgement.reasons)
        losses = () if judgement.success else tuple(reason.text for reason in reasons)
        return Outcome(
            success=judgement.success,
            inform=judgement.inform,
            booking=all(bookings) if bookings else None,
            end=dialogue.end,
            turns=dialogue.turns,
            complete=complete if isinstance(complete, bool) else None,
            user_faults=len(user_faults(dialogue)),
            domains={name: domain.done for name, domain in judgement.domains.items()},
            losses=tuple(dict.fromkeys(losses)),
        )

    def write(
        self, path: str | Path, dialogues: Iterable[Trajectory], *, agent: str, trials: int = 1
    ) -> None:
        """Write dialogues as the file of a run, which all verbs read; in one step.

        `agent` is what the header calls the agent.
        """
        about = {
            **self._setting.about,
            "agent": {"spec": agent},
            "seed": self._seed,
            "trials": trials,
        }
        with written_atomically(path) as stream:
            stream.write(json_line(header(NAME, __version__, about)).encode())
            for dialogue in dialogues:
                stream.write(dialogue.line().encode("utf-8", "backslashreplace"))
