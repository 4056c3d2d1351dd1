"""The sample of CrossWOZ: an invented city, simulated conversations, and predictions of rules."""

import copy
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from math import dist
from pathlib import Path
from typing import Any, NamedTuple

from mwzeval.conversation.trajectory import header as trajectory_header
from mwzeval.conversation.trajectory import json_line
from mwzeval.crosswoz import META, NAME
from mwzeval.crosswoz.corpus import names
from mwzeval.crosswoz.corpus.acts import INFORM, RECOMMEND, SERVICE_PREFIX, Acts
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import (
    Dialogue,
    Goal,
    SemanticTuple,
    State,
    dialogue_from_json,
    goal_to_json,
)
from mwzeval.crosswoz.corpus.folds import TABLES, Fold
from mwzeval.crosswoz.scoring.baselines import (
    predictions_file,
    rule_tracker_file,
    simulator_file,
    sparse,
    spoken_file,
)
from mwzeval.crosswoz.simulation.dialogue import CONTEXT, Setting
from mwzeval.crosswoz.simulation.goals import GoalGenerator, goal_type
from mwzeval.crosswoz.simulation.log import trajectory_of
from mwzeval.crosswoz.simulation.protocols import SYSTEM, USER, Nlg, Rng, SeededRng
from mwzeval.crosswoz.simulation.run import GoalPlan, SimulationRun, simulated_dialogues
from mwzeval.crosswoz.simulation.user import RuleSimulator
from mwzeval.crosswoz.systems.policy_vector import Vocabulary
from mwzeval.crosswoz.systems.rule_policy import RuleSystem
from mwzeval.crosswoz.systems.rule_tracker import RuleTracker
from mwzeval.crosswoz.systems.template_reader import TemplateReader
from mwzeval.crosswoz.systems.templates import TemplateNlg, load_templates
from tools.samples.text import array_text, object_text, read_lists

WORDS = read_lists(Path(__file__).with_name("crosswoz_words.tsv"))
SEED = 620
FOLDS = {"test": (90_001, 8), "val": (91_001, 4)}
"""Fold → its first id, and the number of dialogues of each goal type."""
SIMULATED = 4
SIZES = {names.ATTRACTION: 42, names.RESTAURANT: 46, names.HOTEL: 42}
NEAR = 0.17
"""Venues closer than this are near each other; the city is a square of side 1."""
UNKNOWN = 0.08
"""Share of the ratings, tickets, prices and stations that the database does not have."""
TICKETS = (10, 15, 30, 40, 60, 80, 120, 160, 220)
DOMAIN_FIELD = "领域"
TAXI_ROW = ["出租 ($出发地 - $目的地)", {DOMAIN_FIELD: "出租", "车型": "#CX", "车牌": "#CP"}]
MOST_EXCHANGES = 12
"""Longer conversations are not used."""
NAME_KEPT = 0.15
"""Probability that a wizard writes the name of the current venue into the state."""
SERVICES_SWAPPED = 0.2
"""Probability that a wizard writes services in another order than the user."""
WORKERS = 12
Row = tuple[str, dict[str, Any]]


def files() -> dict[str, str]:
    """Return the text of every file, by path below the root."""
    city = build_city()
    database = Database({domain: city[table] for domain, table in TABLES.items()})
    nlg = TemplateNlg(load_templates(), "manual")
    sample, dialogues = "data/crosswoz/sample", dict[str, dict[str, Dialogue]]()
    tables: dict[str, list[Any]] = {**city, "taxi": [TAXI_ROW]}
    written = {f"{sample}/database/{t}_db.json": array_text(rows) for t, rows in tables.items()}
    for fold, (first, per_type) in FOLDS.items():
        plain = conversations(database, nlg, fold, first, per_type)
        written[f"{sample}/{fold}.json"] = object_text(plain)
        dialogues[fold] = {name: dialogue_from_json(name, raw) for name, raw in plain.items()}
    vocabulary = Vocabulary.mined(d for fold in dialogues.values() for d in fold.values())
    written[f"{sample}/usr_da_voc.json"] = array_text(vocabulary.user)
    written[f"{sample}/sys_da_voc.json"] = array_text(vocabulary.system)
    test = Fold("sample", "test", "", dialogues["test"], {})
    for predictions in _predictions(test, database, nlg):
        meta = {**predictions[META], "system": "rules and templates"}
        meta.pop("seed", None)
        text = object_text({**predictions, META: meta})
        written[f"predictions/crosswoz-sample-{meta['track']}.json"] = text
    written["predictions/crosswoz-sample-simulation.jsonl"] = _log(database)
    return written


class Site(NamedTuple):
    """A venue and its place."""

    domain: str
    name: str
    place: tuple[float, float]


def build_city() -> dict[str, list[Row]]:
    """Return the rows of each database table, by the English name of its file."""
    dice = random.Random(f"{SEED}/city")
    sites = [
        Site(domain, name, (dice.random(), dice.random()))
        for domain, size in SIZES.items()
        for name in dice.sample(
            [place + kind for place in WORDS["place", ""] for kind in WORDS["kind", domain]], size
        )
    ]
    stations = {name: (dice.random(), dice.random()) for name in WORDS["station", ""]}
    tables: dict[str, list[Row]] = {TABLES[d]: [] for d in (*SIZES, names.METRO)}
    for site in sites:
        nearest = min(stations, key=lambda name: dist(stations[name], site.place))
        known = dice.random() >= UNKNOWN
        station = f"{nearest}地铁站{dice.choice('ABCD')}口" if known else None
        record = {DOMAIN_FIELD: site.domain, names.NAME: site.name}
        facts = _facts(site.domain, station, dice)
        tables[TABLES[site.domain]].append((site.name, record | facts | _nearby(site, sites)))
        metro = {DOMAIN_FIELD: names.METRO, names.NAME: site.name, names.STATION: station}
        tables[TABLES[names.METRO]].append((site.name, metro))
    return tables


def _nearby(site: Site, sites: list[Site]) -> dict[str, list[str]]:
    """Return the venues nearby, the nearest first; as in the public file hotels list no hotels."""

    def distance(other: Site) -> float:
        return dist(other.place, site.place)

    near = sorted((s for s in sites if s != site and distance(s) < NEAR), key=distance)
    nearby = {slot: [s.name for s in near if s.domain == d] for d, slot in names.NEARBY.items()}
    return nearby | ({names.NEARBY[names.HOTEL]: []} if site.domain == names.HOTEL else {})


def _facts(domain: str, station: str | None, dice: random.Random) -> dict[str, Any]:
    def known(value: object) -> object:
        return None if dice.random() < UNKNOWN else value

    def word(kind: str) -> str:
        return dice.choice(WORDS[kind, ""])

    rating = known(round(dice.triangular(3.4, 5.0, 4.7), 1))
    facts: dict[str, Any] = {
        names.ADDRESS: f"{word('district')}{word('street')}{dice.randint(1, 299)}号",
        names.STATION: station,
        names.PHONE: f"0999-{dice.randint(1_000_000, 9_999_999)}",
    }
    if domain == names.ATTRACTION:
        ticket = 0 if dice.random() < 0.4 else dice.choice(TICKETS)
        facts |= {names.TICKET: known(ticket), names.DURATION: word("duration")}
    elif domain == names.RESTAURANT:
        dishes = dice.sample(WORDS["dish", ""], dice.randint(3, 6))
        if dice.random() < 0.3:
            dishes.insert(0, word("dish tag"))
        facts |= {names.OPEN_HOURS: f"周一至周日 {word('hours')}", names.DISHES: dishes}
        facts[names.COST] = round(dice.lognormvariate(4.5, 0.6))
    else:
        level = dice.choices(range(4), (3, 4, 3, 2))[0]
        services = [s for s in WORDS["service", ""] if dice.random() < 0.25 + 0.15 * level]
        facts |= {names.HOTEL_TYPE: WORDS["hotel type", ""][level], names.SERVICES: services}
        facts[names.PRICE] = known(round(dice.uniform(130, 320) * (1 + level * 0.8)))
    return facts | {names.RATING: rating}


def conversations(
    database: Database, nlg: Nlg, fold: str, first_id: int, per_type: int
) -> dict[str, Any]:
    """Return as many dialogues of each goal type, in the format of the public files."""
    lacking = dict.fromkeys(names.GOAL_TYPES, per_type)
    generator, found, number = GoalGenerator(database), dict[str, Any](), 0
    while any(lacking.values()):
        rng = SeededRng(f"{SEED}/{fold}/{number}")
        number += 1
        goal = generator.goal(rng)
        kind = goal_type(goal)
        if not lacking[kind]:
            continue
        user = RuleSimulator(goal, rng)
        messages = list(_messages(user, database, nlg, rng))
        if user.terminated:
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


def _messages(
    user: RuleSimulator, database: Database, nlg: Nlg, rng: Rng
) -> Iterator[dict[str, Any]]:
    """Yield the turns of a user and of a wizard who answers from the database."""
    wizard, answer = RuleSystem(database), Acts()
    for number in range(MOST_EXCHANGES):
        acts = user.answer(answer) if number else user.begin()
        yield {
            "content": nlg.say(acts, USER, rng),
            "role": "usr",
            "dialog_act": [list(act) for act in acts],
            "user_state": goal_to_json(tuple(user.state)),
        }
        # The state of the first query: no constraint is given up yet.
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


def _vary(
    first: State, last: State, selected: Mapping[str, Sequence[str]], acts: Acts, rng: Rng
) -> None:
    """Change states as people do, in ways that do not follow from the acts."""
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
        lines = list(group)
        parts = [WORDS["opening", lines[0].domain][0].format(number=number)]
        text = "，".join([*parts, *(_constraint(line) for line in lines if line.value)]) + "。"
        if requests := [_request(line.slot) for line in lines if not line.value]:
            text += f"需要问清：{'、'.join(requests)}。"
        texts.append(text)
    return texts


def _constraint(line: SemanticTuple) -> str:
    if line.slot.startswith(SERVICE_PREFIX):
        return f"必须提供{line.slot.removeprefix(SERVICE_PREFIX)}"
    value = line.value if isinstance(line.value, str) else "和".join(line.value)
    reference = re.search(r"id=([0-9]+)", value) if line.refers else None
    if reference:
        value = f"第{reference[1]}步选定的地方"
        if line.slot == names.NAME:
            return f"要在{value}附近"
    wording = WORDS.get(("constraint", line.slot), (f"{line.slot}是{{value}}",))
    return wording[0].format(value=value)


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
        """Answer by rules with the paper's RuleDST, which does not understand "near"."""
        rng = SeededRng(f"{SEED}/examples/e2e/{dialogue.name}")
        system = RuleSystem(database, paper_compatible=True)
        for exchange in dialogue.exchanges:
            acts = system.answer(exchange.user.acts)
            yield {
                "state": sparse(system.state),
                "selected": system.selected,
                "system_acts": acts,
                "response": nlg.say(acts, SYSTEM, rng),
            }

    def acts_alone(dialogue: Dialogue) -> Iterator[dict[str, Any]]:
        return ({"system_acts": turn["system_acts"]} for turn in answered(dialogue))

    yield predictions_file(fold, "nlu", understood)
    yield rule_tracker_file(fold)
    yield predictions_file(fold, "policy", acts_alone)
    yield spoken_file(fold, nlg, "", f"{SEED}/examples/nlg")
    yield simulator_file(fold, f"{SEED}/examples/sim")
    yield predictions_file(fold, "e2e", answered, conditioning="gold_acts")


def _log(database: Database) -> str:
    """Return the log of `mwzeval crosswoz simulate --system rule-paper`, without checksums."""
    setting = Setting(database, partial(RuleSystem, paper_compatible=True))
    plan = GoalPlan(GoalGenerator(database).goal, SEED, SIMULATED)
    about = {"agent": {"spec": "rule-paper"}, "revision": "sample"}
    run = SimulationRun.of(setting, plan, about, trusts=True)
    header = trajectory_header(NAME, "sample", {**run.about, "seed": SEED, "trials": 1})
    dialogues = simulated_dialogues(setting, per_type=SIMULATED, seed=SEED)
    return json_line(header) + "".join(trajectory_of(each).line() for each in dialogues)
