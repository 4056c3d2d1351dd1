"""Gold data and predictions of SGD: files, checks, and pairs of frames."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from mwzeval.errors import did_you_mean
from mwzeval.files.cache import checksums_of
from mwzeval.files.downloads import DataRoot, locate
from mwzeval.files.reading import expecting, read_data, table_rows
from mwzeval.scores.findings import Findings, Place, items_of
from mwzeval_sgd import CHOICES

HERE = Path(__file__).parent
SCHEMA, TRAIN, DIALOGUES = "{}/schema.json", "train/schema.json", "{}/dialogues_*.json*"
PATTERNS = {f: (SCHEMA.format(f), TRAIN, DIALOGUES.format(f)) for f in CHOICES["fold"][0]}
STATE = {"active_intent": str, "requested_slots": [str], "slot_values": {str: (str | float,)}}
SPAN = {"slot": str, "start": int, "exclusive_end": int}
USER_TURN = {"utterance": str, "frames": [{"service": str, "state": STATE, "slots?": [SPAN]}]}
SPEAKERS = frozenset(("USER", "SYSTEM"))
TURN = {"speaker": SPEAKERS, ...: lambda turn: USER_TURN if turn["speaker"] == "USER" else {}}
DIALOGUE = {"services": [str], "turns": [TURN]}
MEANINGS = dict(table_rows(HERE / "reasons.tsv", 2))
THEN = {"error": "", "empty": " It is scored as an empty state.", "skip": " It is not scored."}


class Service(NamedTuple):
    """A service of a schema. `slots` maps each slot to its values, None for a free-form slot."""

    name: str
    slots: Mapping[str, frozenset[str] | None]
    intents: frozenset[str]
    is_seen: bool


class Frame(NamedTuple):
    """The state of a service in a user turn. `tags` counts (slot, text); None without spans."""

    intent: str = "NONE"
    requested: Sequence[str] = ()
    values: Mapping[str, Sequence[Any]] = MappingProxyType({})
    tags: Mapping[tuple[str, str], int] | None = MappingProxyType({})


class Turn(NamedTuple):
    """A user turn: its number among all turns, its text, the response, and frames by service."""

    number: int
    utterance: str
    response: str
    frames: Mapping[str, Frame]


class Gold(NamedTuple):
    """A fold; `schemas` has checksums of its and train's schemas, `different` unpublished files."""

    dialogues: Mapping[str, Sequence[Turn]]
    services_of: Mapping[str, frozenset[str]]
    services: Mapping[str, Service]
    schemas: Mapping[str, str]
    different: Sequence[str]


class Scored(NamedTuple):
    """The gold and predicted frame of a user turn; `missing` states why a prediction is missing."""

    turn: int
    service: Service
    gold: Frame
    predicted: Frame
    missing: str


def root_of(data: str | None) -> DataRoot:
    """Return the folder of the public files."""
    return locate(data, table=HERE / "public_files.tsv", name="sgd", sample="--corpus sample")


@cache
def load_gold(data: str | None, corpus: str, fold: str) -> Gold:
    """Return the gold data of a fold. Raises `DataError`."""
    root = DataRoot(HERE / "sample", "embedded") if corpus == "sample" else root_of(data)
    paths = [root.require(SCHEMA.format(fold)), root.require(TRAIN)]
    files = root.matching(DIALOGUES.format(fold))
    services, dialogues, services_of = {}, {}, {}
    with expecting("an array of services", str(paths[0])):
        trained = {service["service_name"] for service in read_data(paths[1])}
        for item in read_data(paths[0]):
            name = item["service_name"]
            slots = {
                slot["name"]: frozenset(slot["possible_values"]) if slot["is_categorical"] else None
                for slot in item["slots"]
            }
            intents = frozenset(intent["name"] for intent in item["intents"])
            services[name] = Service(name, slots, intents, name in trained)
    for path in files:
        with expecting("an array of dialogues", str(path)):
            for item in read_data(path):
                texts = [*(turn["utterance"] for turn in item["turns"]), ""]
                services_of[item["dialogue_id"]] = frozenset(item["services"])
                dialogues[item["dialogue_id"]] = [
                    Turn(number, texts[number], texts[number + 1], frames_of(turn, services))
                    for number, turn in enumerate(item["turns"])
                    if turn["speaker"] == "USER"
                ]
    sums = (str(checksums_of(path).sha256)[:8] for path in paths)
    schemas = dict(zip(("schema", "train"), sums, strict=True))
    different = root.other_than_published([*paths, *files])
    return Gold(dialogues, services_of, services, schemas, different)


def frames_of(turn: Any, services: Mapping[str, Service]) -> dict[str, Frame]:
    """Return the frames of a user turn; spans of slots that are not free-form are ignored."""
    frames = {}
    for raw in turn["frames"]:
        state, tags, name = raw["state"], None, raw["service"]
        if "slots" in raw and name in services:
            tags = Counter(
                (span["slot"], turn["utterance"][span["start"] : span["exclusive_end"]])
                for span in raw["slots"]
                if services[name].slots.get(span["slot"], ()) is None
            )
        frames[name] = Frame._make([*(state[key] for key in STATE), tags])
    return frames


def read_predictions(
    file: str, gold: Gold, missing: str, findings: Findings
) -> tuple[dict[str, list[Scored]], dict[str, dict[str, int]]]:
    """Return the frames to score of each dialogue, and the coverage by unit."""
    items = items_of(file, "dialogue_id", DIALOGUE, gold.dialogues, findings)
    predicted = {item["dialogue_id"]: _turns_of(item, gold, place) for item, place in items}
    note = findings.error if missing == "error" else findings.warning
    counts = {
        "dialogues": [name in predicted for name in gold.dialogues],
        "turns": [],
        "frames": [],
    }
    found: dict[str, list[Scored]] = {}
    for name, turns in gold.dialogues.items():
        of_turns = predicted.get(name, []) or [None] * len(turns)
        counts["dialogues"].append(name in predicted)
        counts["turns"] += [frames is not None for frames in of_turns]
        for place, (turn, frames) in enumerate(zip(turns, of_turns, strict=True)):
            for service, frame in turn.frames.items():
                lack = "no-turn" if name in predicted else "not-predicted"
                if frames is not None:
                    lack = "" if service in frames else "no-frame"
                counts["frames"].append(not lack)
                if lack:
                    note(lack, MEANINGS[lack] + THEN[missing], dialogue=name, turn=turn.number)
                if not lack or missing == "empty":
                    pair = gold.services[service], frame, (frames or {}).get(service, Frame())
                    found.setdefault(name, []).append(Scored(place, *pair, lack))
    return found, {what: {"scored": sum(has), "of": len(has)} for what, has in counts.items()}


def _turns_of(raw: Any, gold: Gold, place: Place) -> list[Mapping[str, Frame] | None]:
    """Return the predicted frames of each gold turn, None if the turn is missing.

    Turns are paired by position if their numbers are equal, otherwise by utterance.
    """
    turns, services = gold.dialogues[raw["dialogue_id"]], gold.services_of[raw["dialogue_id"]]
    if {*raw["services"]} != services:
        place.error("other-services", f"{raw['services']}, in the gold data {sorted(services)}")
    users = [(n, turn) for n, turn in enumerate(raw["turns"]) if turn["speaker"] == "USER"]
    paired: list[Mapping[str, Frame] | None] = []
    is_same = [number for number, _ in users] == [turn.number for turn in turns]
    left = users
    for turn in turns:
        texts = [user["utterance"] for _, user in left]
        index = 0 if is_same else texts.index(turn.utterance) if turn.utterance in texts else None
        if index is None:
            paired.append(None)
            continue
        (number, user), left = left[index], left[index + 1 :]
        frames = frames_of(user, gold.services)
        for kind, message in _oddities(turn, user, frames, gold.services):
            place._replace(turn=number).warning(kind, message)
        paired.append(frames)
    if len(users) > len(paired) - paired.count(None):
        place.warning("extra-turns", "turns that the gold data lack are not scored")
    return paired


def _oddities(
    gold: Turn, raw: Any, frames: Mapping[str, Frame], services: Mapping[str, Service]
) -> Iterator[tuple[str, str]]:
    """Yield the kind and text of a warning for each value that may not be as intended."""
    if raw["utterance"] != gold.utterance:
        yield "other-utterance", f'it is "{raw["utterance"]}", in the gold data "{gold.utterance}"'
    if len(frames) < len(raw["frames"]):
        yield "repeated-frame", "only the last frame of a service is scored"
    if frames.keys() - gold.frames.keys():
        yield "extra-frames", "frames that the gold data lack are not scored"
    for name in gold.frames.keys() & frames.keys():
        frame, service = frames[name], services[name]
        if frame.intent not in (intents := [*service.intents, "NONE"]):
            advice = did_you_mean(frame.intent, intents)
            yield "unknown-intent", f'{name} has no intent "{frame.intent}"{advice}'
        for slot, (value, *others) in frame.values.items():
            possible = service.slots.get(slot)
            if slot not in service.slots:
                advice = did_you_mean(slot, service.slots)
                yield "unknown-slot", f'{name} has no slot "{slot}"{advice}; it is ignored'
            elif not isinstance(value, str):
                yield "not-a-text", f"{name}, {slot}: {value!r} is not a text"
            elif possible is not None and value not in {*possible, "dontcare"}:
                advice = did_you_mean(value, possible)
                yield "not-a-value", f'{name}, {slot}: "{value}" is not a possible value{advice}'
            if others:
                yield "several-values", "only the first value of a slot is scored"
