"""The CrossWOZ sample: simulated dialogues about a fictional city, and rule-based predictions."""

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from mwzeval.conversation import trajectory
from mwzeval.crosswoz import META, NAME
from mwzeval.crosswoz.corpus import names
from mwzeval.crosswoz.corpus.acts import INFORM, RECOMMEND, SERVICE_PREFIX, Acts
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import (
    Dialogue,
    Goal,
    State,
    dialogue_from_json,
    goal_to_json,
)
from mwzeval.crosswoz.corpus.folds import TABLES, Fold
from mwzeval.crosswoz.goals import GoalGenerator, goal_type
from mwzeval.crosswoz.protocols import CONTEXT, SYSTEM, USER, Nlg, Rng
from mwzeval.crosswoz.scoring import baselines
from mwzeval.crosswoz.simulation import Setting, SimulationRun, planned_goals
from mwzeval.crosswoz.systems.rules import RuleSystem, RuleTracker
from mwzeval.crosswoz.systems.sl_policy import Vocabulary
from mwzeval.crosswoz.systems.templates import TemplateNlg, TemplateReader, load_templates
from mwzeval.crosswoz.user import RuleSimulator
from tools.samples.common import ROOT, array_text, object_text, read_lists

WORDS = read_lists(Path(__file__).with_name("crosswoz_words.tsv"))
SAMPLE = "data/crosswoz/sample"
SEED = 620
FOLDS = {"test": (90_001, 8), "val": (91_001, 4)}
"""Fold → its first id, and the number of dialogues of each goal type."""
SIMULATED = 4
NAME_KEPT = 0.15
"""Probability that a wizard writes the name of the current venue into the state."""
SERVICES_SWAPPED = 0.2
"""Probability that a wizard writes services in another order than the user."""
WORKERS = 12


def files() -> dict[str, str]:
    """Return the text of every file, by path below the root."""
    tables = {
        domain: json.loads((ROOT / SAMPLE / f"database/{table}_db.json").read_text("utf-8"))
        for domain, table in TABLES.items()
    }
    database, nlg = Database(tables), TemplateNlg(load_templates(), "manual")
    written, dialogues = dict[str, str](), dict[str, dict[str, Dialogue]]()
    for fold in FOLDS:
        plain = conversations(database, nlg, fold)
        written[f"{SAMPLE}/{fold}.json"] = object_text(plain)
        dialogues[fold] = {name: dialogue_from_json(name, raw) for name, raw in plain.items()}
    vocabulary = Vocabulary.mined(d for fold in dialogues.values() for d in fold.values())
    written[f"{SAMPLE}/usr_da_voc.json"] = array_text(vocabulary.user)
    written[f"{SAMPLE}/sys_da_voc.json"] = array_text(vocabulary.system)
    test = Fold("sample", "test", "", dialogues["test"], {})
    for predictions in _predictions(test, database, nlg):
        meta = {**predictions[META], "system": "rules and templates"}
        meta.pop("seed", None)
        text = object_text({**predictions, META: meta})
        written[f"predictions/crosswoz-sample-{meta['track']}.json"] = text
    written["predictions/crosswoz-sample-simulation.jsonl"] = _log(database)
    return written


def conversations(database: Database, nlg: Nlg, fold: str) -> dict[str, Any]:
    """Return the same number of dialogues per goal type, in the format of the public files."""
    first_id, per_type = FOLDS[fold]
    lacking = dict.fromkeys(names.GOAL_TYPES, per_type)
    generator, found, number = GoalGenerator(database), dict[str, Any](), 0
    while any(lacking.values()):
        rng = Rng(f"{SEED}/{fold}/{number}")
        number += 1
        goal = generator.goal(rng)
        kind = goal_type(goal)
        if not lacking[kind]:
            continue
        user = RuleSimulator(goal, rng)
        messages = list(_messages(user, database, nlg, rng))
        lacking[kind] -= 1
        found[str(first_id + len(found))] = {
            "sys-usr": [rng.choose(range(WORKERS)), rng.choose(range(WORKERS, 2 * WORKERS))],
            "goal": goal_to_json(goal),
            "messages": messages,
            "final_goal": goal_to_json(tuple(user.state)),
            "task description": task_description(goal),
            "type": names.GOAL_TYPES[kind],
        }
    return found


def _messages(user: RuleSimulator, database: Database, nlg: Nlg, rng: Rng) -> Iterator[Any]:
    """Yield the turns of a user and of a wizard who answers from the database."""
    wizard, answer = RuleSystem(database), Acts()
    acts = user.begin()
    while True:
        yield {
            "content": nlg.say(acts, USER, rng),
            "role": "usr",
            "dialog_act": [list(act) for act in acts],
            "user_state": goal_to_json(tuple(user.state)),
        }
        # The state of the first query has all constraints.
        tracker = RuleTracker(source_in_turn=True, state=copy.deepcopy(wizard.state))
        first = tracker.update(acts, answer)
        answer = wizard.answer(acts)
        last = copy.deepcopy(wizard.state)
        _vary(first, last, wizard.selected, acts, rng)
        offered: dict[str, list[str]] = {}
        for act in answer:
            if act.intent in (INFORM, RECOMMEND) and act.slot == names.NAME:
                offered.setdefault(act.domain, []).append(act.value)
        yield {
            "content": nlg.say(answer, SYSTEM, rng),
            "role": "sys",
            "dialog_act": [list(act) for act in answer],
            "sys_state": _with_results(last, database, wizard.selected),
            "sys_state_init": _with_results(first, database, offered),
        }
        if user.terminated:
            return
        acts = user.answer(answer)


def _vary(
    first: State, last: State, selected: Mapping[str, Sequence[str]], acts: Acts, rng: Rng
) -> None:
    """Change states like human wizards, in ways that acts do not determine."""
    hotel, services = names.HOTEL, names.SERVICES
    if len(first[hotel][services].split()) > 1 and rng.happens(SERVICES_SWAPPED):
        for state in (first, last):
            state[hotel][services] = " ".join(reversed(state[hotel][services].split()))
    domains = {act.domain for act in acts}
    for domain in names.VENUE_DOMAINS:
        if domain in domains and domain in selected and rng.happens(NAME_KEPT):
            first[domain][names.NAME] = last[domain][names.NAME] = selected[domain][0]


def _with_results(
    state: State, database: Database, selected: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, Any]]:
    results = {domain: list(selected.get(domain, ())) for domain in names.STATE_SLOTS}
    for domain in names.TRAFFIC_DOMAINS:
        results[domain] = [entity.name for entity in database.query(domain, state[domain])]
    return {d: {**state[d], "selectedResults": results[d]} for d in names.STATE_SLOTS}


def task_description(goal: Goal) -> list[str]:
    """Return the description of a goal for its user, with a text per sub-goal.

    Zhu et al., TACL 2020, section 3.2; the sentences are our own.
    """
    texts = []
    for number, group in groupby(goal, key=lambda line: line.subgoal):
        lines = [(line.domain, line.slot, line.value) for line in group]
        parts = [WORDS["opening", lines[0][0]][0].format(number=number)]
        parts += [_constraint(slot, value) for _, slot, value in lines if value]
        text = "，".join(parts) + "。"
        if requests := [_request(slot) for _, slot, value in lines if not value]:
            text += f"需要问清：{'、'.join(requests)}。"
        texts.append(text)
    return texts


def _constraint(slot: str, value: str | Sequence[str]) -> str:
    if slot.startswith(SERVICE_PREFIX):
        return f"必须提供{slot.removeprefix(SERVICE_PREFIX)}"
    kind, text = "constraint", value if isinstance(value, str) else "和".join(value)
    if reference := re.search(r"id=([0-9]+)", text):
        kind, text = "reference", f"第{reference[1]}步选定的地方"
    return WORDS[kind, slot][0].format(value=text)


def _request(slot: str) -> str:
    if slot.startswith(SERVICE_PREFIX):
        return f"是否提供{slot.removeprefix(SERVICE_PREFIX)}"
    return f"有哪些{slot}" if slot in names.NEARBY.values() else f"它的{slot}"


def _predictions(fold: Fold, database: Database, nlg: TemplateNlg) -> Iterator[dict[str, Any]]:
    """Yield the predictions file of each track, by rules and templates."""
    templates = load_templates()
    reader = TemplateReader(templates["user"].manual, templates["system"].manual, database)

    def understood(dialogue: Dialogue) -> Iterator[dict[str, Any]]:
        """Read utterances by templates; in each seventh turn the previous user utterance."""
        context: list[str] = []
        for number, exchange in enumerate(dialogue.exchanges):
            if number % 7 != 6:
                heard = exchange.user.utterance
            answer = exchange.system.utterance
            user = reader.understand(heard, context[-CONTEXT:], USER)
            system = reader.understand(answer, [*context, heard][-CONTEXT:], SYSTEM)
            yield {"user_acts": user, "system_acts_nlu": system}
            context += [exchange.user.utterance, answer]

    def answered(dialogue: Dialogue) -> Iterator[dict[str, Any]]:
        """Answer with rules and the paper's RuleDST, which ignores "near"."""
        rng = Rng(f"{SEED}/examples/e2e/{dialogue.name}")
        system = RuleSystem(database, paper_compatible=True)
        for exchange in dialogue.exchanges:
            acts = system.answer(exchange.user.acts)
            yield {
                "state": baselines.sparse(system.state),
                "selected": system.selected,
                "system_acts": acts,
                "response": nlg.say(acts, SYSTEM, rng),
            }

    def acts_alone(dialogue: Dialogue) -> Iterator[dict[str, Any]]:
        return ({"system_acts": turn["system_acts"]} for turn in answered(dialogue))

    yield baselines.predictions_file(fold, "nlu", understood)
    yield baselines.rule_tracker_file(fold)
    yield baselines.predictions_file(fold, "policy", acts_alone)
    yield baselines.generated_file(fold, nlg, "", f"{SEED}/examples/nlg")
    yield baselines.simulator_file(fold, f"{SEED}/examples/sim")
    yield baselines.predictions_file(fold, "e2e", answered, conditioning="gold_acts")


def _log(database: Database) -> str:
    """Return the log of `mwzeval crosswoz simulate --system rule-paper`, without checksums."""
    setting = Setting(database, partial(RuleSystem, paper_compatible=True))
    goals = list(planned_goals(GoalGenerator(database).goal, SEED, SIMULATED))
    about = {"agent": {"spec": "rule-paper"}, "revision": "sample"}
    run = SimulationRun.of(setting, goals, SIMULATED, about)
    header = trajectory.header(NAME, "sample", {**run.about, "seed": SEED, "trials": 1})
    dialogues = (setting.simulate(goal, number, SEED) for number, goal in goals)
    return trajectory.json_line(header) + "".join(dialogue.line() for dialogue in dialogues)
