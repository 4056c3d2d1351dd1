"""Write the sample corpus and the example predictions: `python -m tools.multiwoz_sample`."""

from tools.dice import Dice
from tools.files import array_text, object_text, write
from tools.multiwoz_sample.database_files import database
from tools.multiwoz_sample.dialogues import FOLDS, make_dialogues
from tools.multiwoz_sample.public_formats import dialogue_21, dialogue_22, dialogue_acts_22
from tools.multiwoz_sample.systems import SYSTEMS, predict
from tools.multiwoz_sample.world import build_world

SEED = 411


def files() -> dict[str, str]:
    """Return the text of every file, by path below the root."""
    world = build_world(Dice(SEED))
    dialogues = make_dialogues(world, SEED)
    old, new = "data/sample/data/MultiWOZ_2.1", "data/sample/data/MultiWOZ_2.2"
    written: dict[str, str] = {}
    for domain, rows in database(world).items():
        written[f"data/sample/db/{domain}_db.json"] = array_text(rows)
    written[f"{old}/data.json"] = object_text(
        {f"{d.identity}.json": dialogue_21(d) for d in dialogues}
    )
    acts = {f"{d.identity}.json": dialogue_acts_22(d) for d in dialogues}
    written[f"{new}/dialog_acts.json"] = object_text(acts)
    for fold, _ in FOLDS:
        members = [d for d in dialogues if d.fold == fold]
        written[f"{new}/{fold}/dialogues_001.json"] = array_text(dialogue_22(d) for d in members)
        if fold != "train":
            list_file = {"test": "testListFile.txt", "dev": "valListFile.txt"}[fold]
            written[f"{old}/{list_file}"] = "".join(f"{d.identity}.json\n" for d in members)
    tested = [d for d in dialogues if d.fold == "test"]
    for number, system in enumerate(SYSTEMS, start=1):
        predictions = predict(system, tested, SEED + number)
        written[f"predictions/{system.name}.json"] = object_text(predictions)
    return written


if __name__ == "__main__":
    write(files(), __doc__)
