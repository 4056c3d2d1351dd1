"""Write the CrossWOZ sample and its predictions: `python -m tools.crosswoz_sample`."""

from collections.abc import Mapping
from typing import Any

from mwzeval.conversation.trajectory import header as trajectory_header
from mwzeval.conversation.trajectory import json_line
from mwzeval.crosswoz import NAME
from mwzeval.crosswoz.command_simulate import RULE_PAPER, system_named
from mwzeval.crosswoz.corpus.database import Database
from mwzeval.crosswoz.corpus.dialogues import dialogue_from_json
from mwzeval.crosswoz.corpus.folds import TABLES
from mwzeval.crosswoz.simulation.dialogue import Setting
from mwzeval.crosswoz.simulation.goals import GoalGenerator
from mwzeval.crosswoz.simulation.log import trajectory_of
from mwzeval.crosswoz.simulation.run import GoalPlan, SimulationRun, simulated_dialogues
from mwzeval.crosswoz.systems.policy_vector import Vocabulary
from mwzeval.crosswoz.systems.template_reader import TemplateReader
from mwzeval.crosswoz.systems.templates import TemplateNlg, load_templates
from tools.crosswoz_sample import example_systems
from tools.crosswoz_sample.city import TAXI_ROW, build_city
from tools.crosswoz_sample.task_descriptions import task_description
from tools.crosswoz_sample.wizard import Studio, conversations
from tools.files import array_text, object_text, write

SEED = 620
FOLDS = {"test": (90_001, 8), "val": (91_001, 4)}
"""Fold → its first id, and how many dialogues of each goal type it has."""
SIMULATED = 4


def files() -> dict[str, str]:
    """Return the text of every file, by path below the root."""
    city = build_city(SEED)
    database = Database({domain: city[table] for domain, table in TABLES.items()})
    templates = load_templates()
    words = TemplateNlg(templates, "manual")
    studio = Studio(database, words, lambda goal: list(task_description(goal)))
    folds = {
        fold: conversations(studio, f"{SEED}/{fold}", first, per_type)
        for fold, (first, per_type) in FOLDS.items()
    }
    typed = {
        fold: [dialogue_from_json(name, plain) for name, plain in dialogues.items()]
        for fold, dialogues in folds.items()
    }
    vocabulary = Vocabulary.mined(
        dialogue for dialogues in typed.values() for dialogue in dialogues
    )
    sample = "data/crosswoz/sample"
    written = {f"{sample}/{fold}.json": object_text(plain) for fold, plain in folds.items()}
    written |= {
        f"{sample}/database/{table}_db.json": array_text(rows) for table, rows in city.items()
    }
    written[f"{sample}/database/taxi_db.json"] = array_text([TAXI_ROW])
    written[f"{sample}/usr_da_voc.json"] = array_text(vocabulary.user)
    written[f"{sample}/sys_da_voc.json"] = array_text(vocabulary.system)
    reader = TemplateReader(templates["user"].manual, templates["system"].manual, database)
    seed = f"{SEED}/examples"
    for track, about, predict in (
        ("nlu", {}, lambda d: example_systems.nlu(d, reader)),
        ("dst", {"conditioning": "gold_previous_state"}, example_systems.dst),
        ("policy", {}, lambda d: example_systems.policy(d, database)),
        ("nlg", {}, lambda d: example_systems.nlg(d, words, seed)),
        ("sim", {}, lambda d: example_systems.simulator(d, seed)),
        (
            "e2e",
            {"conditioning": "gold_acts"},
            lambda d: example_systems.end_to_end(d, database, words, seed),
        ),
    ):
        plain = _predictions(track, about, {d.name: predict(d) for d in typed["test"]})
        written[f"predictions/crosswoz-sample-{track}.json"] = plain
    written["predictions/crosswoz-sample-simulation.jsonl"] = _log(database)
    return written


def _predictions(track: str, about: Mapping[str, str], dialogues: Mapping[str, Any]) -> str:
    meta = {"dataset": "crosswoz", "revision": "sample", "split": "test", "track": track, **about}
    numbered = {
        name: [{"turn": number, **turn} for number, turn in enumerate(turns)]
        for name, turns in dialogues.items()
    }
    return object_text({"_meta": {**meta, "system": "rules and templates"}, **numbered})


def _log(database: Database) -> str:
    """Return what `mwzeval crosswoz simulate --system rule-paper` writes, but for checksums."""
    system = system_named(RULE_PAPER)
    setting = Setting(database, system.make)
    plan = GoalPlan(GoalGenerator(database).goal, SEED, SIMULATED)
    about = {"agent": {"spec": system.name}, "revision": "sample"}
    run = SimulationRun.of(setting, plan, about, trusts=True)
    header = trajectory_header(NAME, "sample", {**run.about, "seed": SEED, "trials": 1})
    dialogues = simulated_dialogues(setting, per_type=SIMULATED, seed=SEED)
    return json_line(header) + "".join(trajectory_of(each).line() for each in dialogues)


if __name__ == "__main__":
    write(files(), __doc__)
