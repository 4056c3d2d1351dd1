"""Write the sample corpus and the example predictions: `python data/generate_sample`."""

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from database_files import database
from dialogues import FOLDS, make_dialogues
from dice import Dice
from public_formats import dialogue_21, dialogue_22, dialogue_acts_22
from systems import SYSTEMS, predict
from world import build_world

SEED = 411
ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Write everything below the root that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--output",
        type=Path,
        default=ROOT,
        metavar="DIR",
        help="where data/sample and predictions are written (default: this repository)",
    )
    output: Path = parser.parse_args().output
    for path, text in sorted(files().items()):
        target = output / path
        target.parent.mkdir(parents=True, exist_ok=True)
        # Bytes, because writing text would change the line ends on Windows.
        target.write_bytes(text.encode("utf-8"))


def files() -> dict[str, str]:
    """Return the text of every file, by path below the root."""
    world = build_world(Dice(SEED))
    dialogues = make_dialogues(world, SEED)
    old, new = "data/sample/data/MultiWOZ_2.1", "data/sample/data/MultiWOZ_2.2"
    written: dict[str, str] = {}
    for domain, rows in database(world).items():
        written[f"data/sample/db/{domain}_db.json"] = _array(rows)
    written[f"{old}/data.json"] = _object({f"{d.identity}.json": dialogue_21(d) for d in dialogues})
    acts = {f"{d.identity}.json": dialogue_acts_22(d) for d in dialogues}
    written[f"{new}/dialog_acts.json"] = _object(acts)
    for fold, _ in FOLDS:
        members = [d for d in dialogues if d.fold == fold]
        written[f"{new}/{fold}/dialogues_001.json"] = _array(dialogue_22(d) for d in members)
        if fold != "train":
            list_file = {"test": "testListFile.txt", "dev": "valListFile.txt"}[fold]
            written[f"{old}/{list_file}"] = "".join(f"{d.identity}.json\n" for d in members)
    tested = [d for d in dialogues if d.fold == "test"]
    for number, system in enumerate(SYSTEMS, start=1):
        predictions = predict(system, tested, SEED + number)
        written[f"predictions/{system.name}.json"] = _object(predictions)
    return written


def _array(items: Iterable[Any]) -> str:
    return "[\n" + ",\n".join(_line(item) for item in items) + "\n]\n"


def _object(members: Mapping[str, Any]) -> str:
    lines = (f"{_line(key)}:{_line(value)}" for key, value in members.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main()
