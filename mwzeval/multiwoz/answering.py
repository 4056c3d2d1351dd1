"""The command `predict`, by which an agent answers the user turns of the corpus.

The recorded user of the corpus does not react to the agent. Therefore, the agent gets one of two
contexts. In the context `gold`, the agent sees the previous turns of the corpus, to which the next
user utterance replies. In the context `own`, the agent sees its own earlier answers and calls, as
in a live dialogue. In both contexts `gold` and `own`, the calls of a turn are executed on the
database.

States, bookings and calls are read from the agent's messages as in `formats`. The
predictions contain no active domains. A turn without an answer has an empty response.
"""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from mwzeval.arguments import add_data
from mwzeval.conversation.agents import BOOKINGS
from mwzeval.conversation.models import add_model_options, add_request_options
from mwzeval.conversation.pool import add_pool_options
from mwzeval.conversation.protocols import (
    AGENT_ERROR,
    FAILURES,
    INFRASTRUCTURE,
    USER_STOP,
    Ending,
    InfrastructureError,
    LimitError,
    described,
    failed,
)
from mwzeval.conversation.trajectory import (
    LiveFile,
    Planned,
    Record,
    Trajectory,
    check_live,
    live_text,
)
from mwzeval.errors import UsageError, shorten
from mwzeval.multiwoz import AUTO, CORPUS_USER, FOLDS, LEXICALIZED, SAMPLE, Fold, known_name
from mwzeval.multiwoz.corpus import load_fold
from mwzeval.multiwoz.formats import Conversation
from mwzeval.multiwoz.functions import OUR_TOOLS
from mwzeval.multiwoz.goals import CORPUS, annotated_goals, chosen_names, parse_goal_source
from mwzeval.multiwoz.live.episodes import TextSetting
from mwzeval.multiwoz.live.options import HUMAN, ORACLE, WORDS, LiveOptions, add_agent_options
from mwzeval.multiwoz.live.transcript import reported_bookings
from mwzeval.multiwoz.plugin import add_options
from mwzeval.output import notify, warnings_behind
from mwzeval.scores.findings import Findings

Context = Literal["gold", "own"]
GOLD: Context = "gold"
OWN: Context = "own"
CONTEXTS: tuple[Context, ...] = (GOLD, OWN)
RUN_ENDING = ".run.jsonl"
"""Suffix of the file with the messages, which is in the same folder as the predictions."""
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


class Predict:
    """Let an agent answer the user turns of the corpus, and write a file of predictions.

    The agent is one of `mwzeval live`: rule, rule-convlab, silent, openai:MODEL,
    package.module:Name or file.py:Name. The messages and calls of the agent are saved in
    OUTPUT.run.jsonl at the end of each dialogue. To resume an interrupted run, repeat the same
    command; see docs/formats.md.
    """

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        """Add the arguments of this command."""
        parser.add_argument(
            "--agent",
            required=True,
            metavar="NAME",
            help="agent that answers; the choices are those of `mwzeval live`",
        )
        parser.add_argument(
            "-o",
            "--output",
            required=True,
            metavar="FILE",
            help="output file: .json or .jsonl",
        )
        parser.add_argument(
            "--context",
            choices=CONTEXTS,
            default=GOLD,
            help="system turns in the agent's history: gold (default) uses the responses of the "
            "corpus, own uses the agent's earlier responses and calls",
        )
        parser.add_argument(
            "--fold", default=FOLDS[0], metavar="FOLD", help=f"{', '.join(FOLDS)} (default: test)"
        )
        parser.add_argument(
            "--dialogues",
            metavar="NUMBER or IDS",
            help="number of dialogues (the same dialogues as those of live --goals "
            "corpus:FOLD:NUMBER), or ids separated by commas (default: all)",
        )
        parser.add_argument(
            "--no-states",
            action="store_true",
            help="do not write the states that are derived from the agent's calls; for agents that "
            "call no functions, so that their scores use the gold states",
        )
        parser.add_argument(
            "--seed", type=int, default=0, metavar="N", help="random seed (default: 0)"
        )
        add_pool_options(parser)
        add_agent_options(parser)
        add_data(parser)
        add_model_options(parser)
        add_request_options(parser)
        add_options(parser, "--prices")
        parser.add_argument(
            "-q", "--quiet", action="store_true", help="no progress bar; print only problems"
        )

    @staticmethod
    def run(arguments: argparse.Namespace) -> int:
        """Write the predictions of an agent; return 1 if dialogues are missing, else 0.

        Dialogues that infrastructure errors ended are missing. Raises `UsageError` if an option is
        invalid, and `DataError` if the corpus is missing.
        """
        from mwzeval.conversation.runs import run_as_asked
        from mwzeval.conversation.usage import AGENT, Accounts, read_prices, usage_text
        from mwzeval.files.reading import read_bytes
        from mwzeval.files.writing import write_atomically
        from mwzeval.multiwoz.predictions import check_name, predictions_text

        output = arguments.output
        check_name(output)
        if Path(output).suffix not in (".json", ".jsonl"):
            raise UsageError(f"{shorten(output, 300)}: the output must be a .json or .jsonl file")
        file = str(Path(output).with_suffix("")) + RUN_ENDING
        prices = None if arguments.prices is None else read_prices(arguments.prices)
        fold = known_name("fold", arguments.fold, FOLDS)
        chosen = () if arguments.dialogues is None else (arguments.dialogues,)
        options = LiveOptions.of(arguments, goals=":".join((CORPUS, fold, *chosen)))
        setting = CorpusSetting(options, arguments.context)
        arguments.interrupted = f"repeat the same command to resume {file}"
        summary = run_as_asked(arguments, setting, file)
        arguments.interrupted = f"repeat the same command to write {output} from {file}"
        held = LiveFile()
        if summary.scored:
            findings = Findings(file)
            held = check_live(live_text(read_bytes(file), file), findings)
            findings.check()
        predictions = {
            name: predicted_turns(
                dialogue, len(setting.turns[name]), states=not arguments.no_states
            )
            for name, dialogue in held.dialogues.items()
            if dialogue.end != INFRASTRUCTURE
        }
        if predictions:
            write_atomically(output, predictions_text(predictions, output))
        responses = [turn["response"] for turns in predictions.values() for turn in turns]
        empty = responses.count("")
        missing = len(setting.items) - len(predictions)
        if empty or missing or not arguments.quiet:
            for line in str(summary).splitlines():
                notify(line)
        if empty:
            notify(
                f"{empty:,} of {len(responses):,} turns have no answer, so their responses are "
                "empty"
            )
        if not arguments.quiet:
            usage = Findings()
            sides = Accounts.of(held.dialogues, held.header, prices, usage).sides
            with warnings_behind(usage.warnings, can_be_validated=False):
                for account in sides:
                    if account.side == AGENT:
                        notify(
                            f"the model: {usage_text(account.total, account.usd(account.total))}"
                        )
            if predictions:
                notify(f"wrote {output}: {len(predictions):,} dialogues, {len(responses):,} turns")
                notify(f"next: {_next(arguments, fold, responses)}")
        if missing:
            what = f"{missing:,} of {len(setting.items):,} dialogues are missing in the predictions"
            why = f": {summary.problem}" if summary.is_stopped else ""
            notify(f"failed: {what}; repeat the command to retry only these ({file}){why}")
            return 1
        return 0


def _next(arguments: argparse.Namespace, fold: str, responses: Sequence[str]) -> str:
    """Return the command that scores the predictions."""
    from mwzeval.multiwoz.census import Wording

    words = ["mwzeval", "evaluate", arguments.output]
    if arguments.corpus not in (AUTO, SAMPLE):
        words += ["--corpus", arguments.corpus]
    if fold != FOLDS[0]:
        words += ["--fold", fold]
    if arguments.data is not None:
        words += ["--data", arguments.data]
    wording = Wording.of(responses)
    if wording.identifier_in_words and wording.lexicalized:
        words += ["--responses", LEXICALIZED]
    return shlex.join(words)
