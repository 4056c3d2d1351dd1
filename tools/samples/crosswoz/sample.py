"""The files of the sample, and predictions of rules and templates for every track."""

from collections.abc import Callable, Iterator
from typing import Any

from mwzeval.conversation.trajectory import header as trajectory_header
from mwzeval.conversation.trajectory import json_line
from mwzeval.crosswoz import NAME
from mwzeval.crosswoz.command_simulate import RULE_PAPER, system_named
from mwzeval.crosswoz.corpus.acts import Acts
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import Dialogue, State, dialogue_from_json, goal_to_json
from mwzeval.crosswoz.corpus.folds import TABLES
from mwzeval.crosswoz.simulation.dialogue import Setting
from mwzeval.crosswoz.simulation.goals import GoalGenerator
from mwzeval.crosswoz.simulation.log import trajectory_of
from mwzeval.crosswoz.simulation.protocols import SYSTEM, USER, SeededRng
from mwzeval.crosswoz.simulation.run import GoalPlan, SimulationRun, simulated_dialogues
from mwzeval.crosswoz.simulation.user import RuleSimulator
from mwzeval.crosswoz.systems.policy_vector import Vocabulary
from mwzeval.crosswoz.systems.rule_policy import RuleSystem
from mwzeval.crosswoz.systems.rule_tracker import RuleTracker
from mwzeval.crosswoz.systems.template_reader import TemplateReader
from mwzeval.crosswoz.systems.templates import TemplateNlg, load_templates
from tools.samples.crosswoz.city import TAXI_ROW, build_city
from tools.samples.crosswoz.conversations import conversations
from tools.samples.text import array_text, object_text

Turns = list[dict[str, Any]]
SEED = 620
FOLDS = {"test": (90_001, 8), "val": (91_001, 4)}
"""Fold → its first id, and the number of dialogues of each goal type."""
SIMULATED = 4
CONTEXT = 3


def files() -> dict[str, str]:
    """Return the text of every file, by path below the root."""
    city = build_city(SEED)
    database = Database({domain: city[table] for domain, table in TABLES.items()})
    nlg = TemplateNlg(load_templates(), "manual")
    folds = {
        fold: conversations(database, nlg, f"{SEED}/{fold}", first, per_type)
        for fold, (first, per_type) in FOLDS.items()
    }
    dialogues = {
        fold: [dialogue_from_json(*item) for item in plain.items()] for fold, plain in folds.items()
    }
    vocabulary = Vocabulary.mined(dialogue for fold in dialogues.values() for dialogue in fold)
    sample = "data/crosswoz/sample"
    tables: dict[str, list[Any]] = {**city, "taxi": [TAXI_ROW]}
    written = {f"{sample}/{fold}.json": object_text(plain) for fold, plain in folds.items()}
    written |= {f"{sample}/database/{t}_db.json": array_text(rows) for t, rows in tables.items()}
    written[f"{sample}/usr_da_voc.json"] = array_text(vocabulary.user)
    written[f"{sample}/sys_da_voc.json"] = array_text(vocabulary.system)
    systems = ExampleSystems(database, nlg)
    conditions = {
        "dst": {"conditioning": "gold_previous_state"},
        "e2e": {"conditioning": "gold_acts"},
    }
    tracks: dict[str, Callable[[Dialogue], Turns]] = {
        "nlu": systems.nlu,
        "dst": systems.dst,
        "policy": systems.policy,
        "nlg": systems.nlg,
        "sim": systems.user,
        "e2e": systems.end_to_end,
    }
    for track, predict in tracks.items():
        meta = {"dataset": "crosswoz", "revision": "sample", "split": "test", "track": track}
        meta |= {**conditions.get(track, {}), "system": "rules and templates"}
        predictions = {
            d.name: [{"turn": number, **turn} for number, turn in enumerate(predict(d))]
            for d in dialogues["test"]
        }
        text = object_text({"_meta": meta, **predictions})
        written[f"predictions/crosswoz-sample-{track}.json"] = text
    written["predictions/crosswoz-sample-simulation.jsonl"] = _log(database)
    return written


def _log(database: Database) -> str:
    """Return the log of `mwzeval crosswoz simulate --system rule-paper`, without checksums."""
    system = system_named(RULE_PAPER)
    setting = Setting(database, system.make)
    plan = GoalPlan(GoalGenerator(database).goal, SEED, SIMULATED)
    about = {"agent": {"spec": system.name}, "revision": "sample"}
    run = SimulationRun.of(setting, plan, about, trusts=True)
    header = trajectory_header(NAME, "sample", {**run.about, "seed": SEED, "trials": 1})
    dialogues = simulated_dialogues(setting, per_type=SIMULATED, seed=SEED)
    return json_line(header) + "".join(trajectory_of(each).line() for each in dialogues)


class ExampleSystems:
    """Predictions of rules and templates."""

    def __init__(self, database: Database, nlg: TemplateNlg) -> None:
        self._database, self._nlg = database, nlg
        templates = load_templates()
        self._reader = TemplateReader(
            templates["user"].manual, templates["system"].manual, database
        )

    def nlu(self, dialogue: Dialogue) -> Turns:
        """Read utterances by templates; in each seventh turn the previous user utterance."""
        turns: Turns = []
        context: list[str] = []
        for number, exchange in enumerate(dialogue.exchanges):
            if number % 7 != 6:
                heard = exchange.user.utterance
            answer = exchange.system.utterance
            user = self._reader.understand(heard, context[-CONTEXT:], USER)
            before = [*context[-CONTEXT:], heard][-CONTEXT:]
            system = self._reader.understand(answer, before, SYSTEM)
            turns.append({"user_acts": list(user), "system_acts_nlu": list(system)})
            context += [exchange.user.utterance, answer]
        return turns

    def dst(self, dialogue: Dialogue) -> Turns:
        """Track with the paper's RuleDST from the previous gold state."""
        turns: Turns = []
        tracker = RuleTracker()
        for exchange in dialogue.exchanges:
            turns.append({"state": _sparse(tracker.update(exchange.user.acts))})
            tracker.state = {d: dict(slots) for d, slots in exchange.system.last_query.items()}
        return turns

    def policy(self, dialogue: Dialogue) -> Turns:
        """Answer by rules with the paper's RuleDST, which does not understand "near"."""
        return [{"system_acts": list(acts)} for acts, _, _ in self._answers(dialogue)]

    def nlg(self, dialogue: Dialogue) -> Turns:
        """Choose templates again."""
        rng = SeededRng(f"{SEED}/examples/nlg/{dialogue.name}")
        return [
            {
                "user_response": self._nlg.say(exchange.user.acts, USER, rng),
                "response": self._nlg.say(exchange.system.acts, SYSTEM, rng),
            }
            for exchange in dialogue.exchanges
        ]

    def user(self, dialogue: Dialogue) -> Turns:
        """Simulate each user turn from the previous gold state."""
        rng = SeededRng(f"{SEED}/examples/sim/{dialogue.name}")
        turns: Turns = []
        for before in (None, *dialogue.exchanges[:-1]):
            user = RuleSimulator(dialogue.goal, rng)
            if before is None:
                acts = user.begin()
            else:
                user.state = list(before.user.state)
                acts = user.answer(before.system.acts)
            turns.append({"user_acts": list(acts), "user_state": goal_to_json(tuple(user.state))})
        return turns

    def end_to_end(self, dialogue: Dialogue) -> Turns:
        """Answer by the same rules with templates."""
        rng = SeededRng(f"{SEED}/examples/e2e/{dialogue.name}")
        return [
            {
                "state": _sparse(state),
                "selected": selected,
                "system_acts": list(acts),
                "response": self._nlg.say(acts, SYSTEM, rng),
            }
            for acts, state, selected in self._answers(dialogue)
        ]

    def _answers(self, dialogue: Dialogue) -> Iterator[tuple[Acts, State, dict[str, list[str]]]]:
        system = RuleSystem(self._database, paper_compatible=True)
        for exchange in dialogue.exchanges:
            acts = system.answer(exchange.user.acts)
            yield acts, system.state, {d: list(names) for d, names in system.selected.items()}


def _sparse(state: State) -> State:
    filled = {d: {s: v for s, v in slots.items() if v} for d, slots in state.items()}
    return {domain: slots for domain, slots in filled.items() if slots}
