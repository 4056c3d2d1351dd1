"""Let an agent answer the user turns of the corpus, and convert the answers to predictions.

The recorded user of the corpus does not react to the agent. Therefore, the agent gets one of two
contexts. In the context `gold`, the agent sees the previous turns of the corpus, to which the next
user utterance replies. In the context `own`, the agent sees its own earlier answers and calls, as
in a live dialogue. In both contexts `gold` and `own`, the calls of a turn are executed on the
database.

States, bookings and calls are read from the agent's messages as in `formats`. The
predictions contain no active domains. A turn without an answer has an empty response.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any, Literal

from mwzeval.conversation.agents import BOOKINGS
from mwzeval.conversation.protocols import (
    AGENT_ERROR,
    FAILURES,
    USER_STOP,
    Ending,
    InfrastructureError,
    LimitError,
    described,
    failed,
)
from mwzeval.conversation.trajectory import Planned, Record, Trajectory
from mwzeval.errors import UsageError
from mwzeval.multiwoz.choices import CORPUS_USER, Fold
from mwzeval.multiwoz.corpus import load_fold
from mwzeval.multiwoz.formats import Conversation
from mwzeval.multiwoz.functions import OUR_TOOLS
from mwzeval.multiwoz.goals import annotated_goals, chosen_names, parse_goal_source
from mwzeval.multiwoz.live.episodes import TextSetting
from mwzeval.multiwoz.live.options import HUMAN, ORACLE, WORDS, LiveOptions
from mwzeval.multiwoz.live.transcript import reported_bookings
from mwzeval.scores.findings import Findings

Context = Literal["gold", "own"]
GOLD: Context = "gold"
OWN: Context = "own"
CONTEXTS: tuple[Context, ...] = (GOLD, OWN)
NOT_SAID = ""
"""In the context `own`, the agent's message for a turn in which the agent failed."""


class CorpusSetting(TextSetting):
    """A text-level agent answers all user turns of some dialogues of a fold.

    `options.goals` selects the dialogues as in live runs: `corpus:FOLD[:NUMBER or IDS]`. If the
    agent fails in a turn, the turn has no answer, and the dialogue continues. `turns` maps each
    dialogue to its pairs of user and system utterances.
    """

    def __init__(self, options: LiveOptions, context: Context) -> None:
        if options.agent == ORACLE:
            raise UsageError(f"the agent {ORACLE} only answers in live dialogues: use mwzeval live")
        if options.agent == HUMAN:
            raise UsageError(
                "a person can only talk in live dialogues: use mwzeval play --as agent"
            )
        super().__init__(options)
        self._context = context
        source = parse_goal_source(options.goals)
        self.fold: Fold = source.fold
        gold = load_fold(options.corpus_name, source.fold, options.root)
        names = list(gold.dialogues)
        if source.number is not None:
            # The order is the same as in a live run, so that NUMBER selects the same dialogues.
            ordered = annotated_goals(options.corpus_name, source.fold, options.root)
            names = [name for name in ordered if name in gold.dialogues]
        self.turns: dict[str, list[tuple[str, str]]] = {}
        for name in chosen_names(source, names):
            dialogue = gold.dialogues[name]
            turns = zip(dialogue.user_utterances, dialogue.system_utterances, strict=False)
            self.turns[name] = list(turns)
        self.items = tuple((name, None) for name in self.turns)
        text = json.dumps(list(self.turns.items()), separators=(",", ":"))
        self.about = {
            "corpus": options.corpus_name,
            "agent": options.about_agent(),
            "user": {"spec": CORPUS_USER, "context": context},
            "goals": {"source": str(source), "sha": sha256(text.encode()).hexdigest()[:8]},
            "level": WORDS,
            "limits": {"tool_rounds": options.most_tool_rounds},
            "database": options.database_checksum,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return CorpusSetting, (self._options, self._context)

    def hold(self, planned: Planned, record: Record) -> Ending:
        """Let the agent answer each turn of a dialogue.

        The returned ending contains the first error of the agent, if an error occurred.
        Infrastructure errors and exceeded limits end the dialogue immediately.
        """
        record.note(Ending(AGENT_ERROR, 0))
        try:
            session = self._agent(planned, self._tools(planned, record), record)
        except FAILURES as error:
            return failed(AGENT_ERROR, 0, error)
        turns = self.turns[planned.item]
        problem = None
        for number, (said, answered) in enumerate(turns, 1):
            record.note(Ending(AGENT_ERROR, number, problem))
            remembered = None
            try:
                session.answer(said)
            except (InfrastructureError, LimitError) as error:
                return failed(AGENT_ERROR, number, error)
            except FAILURES as error:
                problem = problem or described(error)
                remembered = NOT_SAID
            if self._context == GOLD:
                remembered = answered
            if remembered is not None:
                session.remember(remembered)
        return Ending(AGENT_ERROR if problem else USER_STOP, len(turns), problem)

    def judge(self, trajectory: Trajectory) -> bool | None:
        """Return None: success is undefined, because corpus users do not react to the agent."""
        return None


def predicted_turns(
    trajectory: Trajectory, count: int, *, states: bool = True
) -> list[dict[str, Any]]:
    """Return the `count` system turns of a dialogue in the format of a predictions file.

    If `states` is false, turns have no state, so that the gold states are used for scoring, and
    empty lists of bookings are omitted. Unknown calls are omitted, because they had no effect
    except an error message to the agent. If an agent has its own tools, the turns of its bookings
    are not known, so all bookings are added to the last turn.
    """
    conversation = Conversation(trajectory.name, Findings(), OUR_TOOLS)
    turns = [turn for _, turn in conversation.read(trajectory.messages)]
    state = turns[-1]["state"] if turns else {}
    turns += [{"response": "", "state": state, "bookings": []} for _ in range(count - len(turns))]
    reported = trajectory.more.get(BOOKINGS)
    if turns and reported is not None:
        more = [
            {"domain": booking.domain, "slots": dict(booking.slots)}
            for booking in reported_bookings(reported)
        ]
        turns[-1]["bookings"] = [*turns[-1]["bookings"], *more]
    if not states:
        for turn in turns:
            del turn["state"]
            if reported is None and not turn["bookings"]:
                del turn["bookings"]
    return turns
