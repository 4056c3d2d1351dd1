"""One simulated dialogue: a user with a goal talks to a system, in acts or in words.

Source: Zhu et al., TACL 2020, section 5.6 ("task finish rate"): the user begins; a dialogue is
finished when the user terminates within 15 turns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from mwzeval.conversation.loop import converse
from mwzeval.conversation.protocols import Ending
from mwzeval.crosswoz.corpus.acts import Acts
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Goal
from mwzeval.crosswoz.simulation.log import (
    LIMIT,
    OUTCOME_OF,
    SimulatedDialogue,
    SimulatedExchange,
)
from mwzeval.crosswoz.simulation.protocols import (
    SYSTEM,
    USER,
    MakeSystem,
    MakeTextSystem,
    MakeUser,
    Nlg,
    Nlu,
    Rng,
    SeededRng,
    System,
    TextSystem,
    UserSimulator,
    as_acts,
    as_text,
    selected_of,
    state_of,
)
from mwzeval.crosswoz.simulation.user import RuleSimulator
from mwzeval.errors import UsageError, unknown

CONTEXT = 3
"""How many utterances before one an NLU is given."""


@dataclass(slots=True)
class ActSession:
    """The user's acts reach the system as they are, and its acts the user."""

    system: System

    def exchange(self, user_acts: Acts) -> tuple[Acts, SimulatedExchange]:
        """Return what the user hears, and what is kept of the exchange."""
        said = as_acts(self.system.answer(user_acts), "the system")
        kept = SimulatedExchange(
            user_acts, said, state=state_of(self.system), selected=selected_of(self.system)
        )
        return said, kept


@dataclass(slots=True)
class Pipeline:
    """A system of words made of an NLU, a system of acts and an NLG.

    `understood` and `said` are the acts that it heard and said last.
    """

    system: System
    nlu: Nlu
    nlg: Nlg
    rng: Rng
    understood: Acts = ()
    said: Acts = ()
    _before: list[str] = field(default_factory=list)

    @property
    def state(self) -> Any:
        """The state of the system of acts."""
        return getattr(self.system, "state", None)

    @property
    def selected(self) -> Any:
        """What the system of acts has selected."""
        return getattr(self.system, "selected", None)

    def respond(self, utterance: str) -> str:
        """Return what the system says."""
        understood = self.nlu.understand(utterance, self._before[-CONTEXT:], USER)
        self.understood = as_acts(understood, "the NLU")
        self.said = as_acts(self.system.answer(self.understood), "the system")
        text = self.nlg.say(self.said, SYSTEM, self.rng) or ""
        self._before += [utterance, text]
        return text


@dataclass(slots=True)
class TextSession:
    """The user speaks in words, and understands those of the system as well as its NLU does."""

    system: TextSystem
    nlu: Nlu
    nlg: Nlg
    rng: Rng
    _before: list[str] = field(default_factory=list)

    def exchange(self, user_acts: Acts) -> tuple[Acts, SimulatedExchange]:
        """Return what the user hears, and what is kept of the exchange."""
        utterance = self.nlg.say(user_acts, USER, self.rng) or ""
        reply = as_text(self.system.respond(utterance), "the system")
        self._before.append(utterance)
        understood = self.nlu.understand(reply, self._before[-CONTEXT:], SYSTEM) if reply else ()
        heard = as_acts(understood, "the NLU")
        self._before.append(reply)
        meant = getattr(self.system, "said", None)
        kept = SimulatedExchange(
            user_acts,
            heard if meant is None else as_acts(meant, "the system"),
            utterance,
            reply,
            heard,
            state_of(self.system),
            selected_of(self.system),
        )
        return heard, kept


Level = Literal["act", "text"]
LEVELS: tuple[Level, ...] = ("act", "text")
MOST_EXCHANGES = 15
"""After so many turns of the user a dialogue is given up."""
Note = Callable[[SimulatedDialogue], object]


@dataclass(frozen=True, slots=True)
class Setting:
    """Who talks to whom, and how.

    `make_system` makes a system of acts (`System`), `make_text_system` one of words (`TextSystem`):
    one of the two is given. In words (level `text`), `nlu` and `nlg` serve the user, and a system
    of acts too. Raises `UsageError` for what does not go together.
    """

    database: Database
    make_system: MakeSystem | None = None
    make_text_system: MakeTextSystem | None = None
    make_user: MakeUser = RuleSimulator
    level: Level = "act"
    nlu: Nlu | None = None
    nlg: Nlg | None = None
    limit: int = MOST_EXCHANGES

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise UsageError(unknown("level", self.level, LEVELS))
        if (self.make_system is None) == (self.make_text_system is None):
            raise UsageError("a simulation has one system: of acts, or of words")
        if self.level == "act" and self.make_system is None:
            raise UsageError("a system of words cannot talk in acts: choose the level text")
        if self.level == "text" and (self.nlu is None or self.nlg is None):
            raise UsageError("a user that speaks in words needs an NLU and an NLG")
        if self.limit < 1:
            raise UsageError(f"the limit is at least one exchange, not {self.limit}")

    def simulate(
        self, goal: Goal, number: int, seed: int | str, *, note: Note | None = None
    ) -> SimulatedDialogue:
        """Return the dialogue about a `goal`; `seed` and `number` decide all random choices.

        Nothing that a user or system does is an error here: a dialogue in which one of them raises,
        or says what is no act, ends with that and says so. `note` is told before each call of one
        of them what the dialogue comes to if that call fails.
        """
        rng = SeededRng(f"{seed}/dialogue/{number}")
        users: list[UserSimulator] = []
        exchanges: list[SimulatedExchange] = []

        def make_user() -> _CheckedUser:
            users.append(self.make_user(goal, rng))
            return _CheckedUser(users[0])

        def ended(ending: Ending) -> SimulatedDialogue:
            final = getattr(users[0], "state", None) if users else None
            outcome = OUTCOME_OF[ending.end]
            return SimulatedDialogue(
                number=number,
                goal=goal,
                final_goal=goal if final is None else tuple(final),
                exchanges=tuple(exchanges),
                outcome=outcome,
                user_turns=ending.user_turns,
                silent=sum(not (one.system_acts or one.system_utterance) for one in exchanges),
                problem=None if outcome == LIMIT else ending.problem,
            )

        return ended(
            converse(
                make_user,
                lambda: _LoggedSession(self._session(rng), exchanges),
                user_turns=self.limit,
                note=None if note is None else lambda ending: note(ended(ending)),
            )
        )

    def _session(self, rng: Rng) -> ActSession | TextSession:
        if self.level == "act" and self.make_system is not None:
            return ActSession(self.make_system(self.database))
        assert self.nlu is not None  # as was checked
        assert self.nlg is not None
        if self.make_system is None:
            assert self.make_text_system is not None
            return TextSession(self.make_text_system(self.database), self.nlu, self.nlg, rng)
        pipeline = Pipeline(self.make_system(self.database), self.nlu, self.nlg, rng)
        return TextSession(pipeline, self.nlu, self.nlg, rng)


class _CheckedUser:
    """A user whose turns are checked to be acts."""

    def __init__(self, user: UserSimulator) -> None:
        self._user = user

    def begin(self) -> Acts:
        return as_acts(self._user.begin(), "the user")

    def answer(self, heard: Acts, /) -> Acts:
        return as_acts(self._user.answer(heard), "the user")

    @property
    def is_done(self) -> bool:
        return self._user.terminated


class _LoggedSession:
    """A session whose exchanges are kept in `exchanges`."""

    def __init__(
        self, session: ActSession | TextSession, exchanges: list[SimulatedExchange]
    ) -> None:
        self._session = session
        self._exchanges = exchanges

    def answer(self, said: Acts, /) -> Acts:
        heard, exchange = self._session.exchange(said)
        self._exchanges.append(exchange)
        return heard
