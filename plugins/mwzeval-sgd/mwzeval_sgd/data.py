"""Gold data and predictions of SGD: files, checks, and pairs of frames."""

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple
from zlib import crc32

from mwzeval.errors import DataError, did_you_mean
from mwzeval.files.downloads import DataRoot
from mwzeval.files.reading import expecting, read_data, table_rows
from mwzeval.scores.findings import Coverage, Findings, Place, items_of
from mwzeval_sgd import CHOICES, HERE

SCHEMA, TRAIN, DIALOGUES = "{}/schema.json", "train/schema.json", "{}/dialogues_*.json"
PATTERNS = {f: (SCHEMA.format(f), TRAIN, DIALOGUES.format(f)) for f in CHOICES["fold"][0]}
NOT_READ = frozenset(("dialogues_and_metrics.json",))  # the official scorer's output
STATE = {"active_intent": str, "requested_slots": [str], "slot_values": {str: (str | float,)}}
SPAN = {"slot": str, "start": int, "exclusive_end": int}
USER_TURN = {"utterance": str, "frames": [{"service": str, "state": STATE, "slots?": [SPAN]}]}
SPEAKERS = frozenset(("USER", "SYSTEM"))
TURN = {"speaker": SPEAKERS, ...: lambda turn: USER_TURN if turn["speaker"] == "USER" else {}}
DIALOGUE = {"services": [str], "turns": [TURN]}
LACKS = ("", "", "not-predicted", "no-turn", "no-frame")
MEANINGS = dict(table_rows(HERE / "reasons.tsv", 2))
THEN = {"error": " See --missing.", "empty": " It counts as empty.", "skip": " It is not scored."}


class Service(NamedTuple):
    """A service of a schema. `slots` maps each slot to its values, None for a free-form slot."""

    name: str
    slots: Mapping[str, frozenset[str] | None]
    intents: frozenset[str]
    is_seen: bool


class Frame(NamedTuple):
    """The state of a service in a user turn. `tags` are (slot, text); None without spans."""

    intent: str = "NONE"
    requested: Sequence[str] = ()
    values: Mapping[str, Sequence[Any]] = MappingProxyType({})
    tags: Sequence[tuple[str, str]] | None = ()


class Turn(NamedTuple):
    """A user turn: its number among all turns, its text, the response, and frames by service."""

    number: int
    utterance: str
    response: str
    frames: Mapping[str, Frame]


class Gold(NamedTuple):
    """A fold, the checksums of its and train's `schemas`, and `different` (unpublished) files."""

    dialogues: Mapping[str, Sequence[Turn]]
    services_of: Mapping[str, frozenset[str]]
    services: Mapping[str, Service]
    schemas: Mapping[str, str]
    different: Sequence[str]
    edition: str  # the checksum of these files


class Scored(NamedTuple):
    """The gold and predicted frame of a user turn; `missing` states why a prediction is missing."""

    turn: int
    service: Service
    gold: Frame
    predicted: Frame
    missing: str


def root_of(data: str | None) -> DataRoot:
    """Return the folder of the public files."""
    table, sample = HERE / "public_files.tsv", "--corpus sample"
    return DataRoot.locate(data, table, "sgd", sample=sample, corpora=PATTERNS)


@cache
def load_gold(data: str | None, corpus: str, fold: str) -> Gold:
    """Return the gold data of a fold. Raises `DataError`."""
    root = DataRoot(HERE / "sample", "embedded") if corpus == "sample" else root_of(data)
    paths = {"schema": root.require(SCHEMA.format(fold)), "train": root.require(TRAIN)}
    files = root.matching(DIALOGUES.format(fold))
    services, dialogues, services_of = {}, {}, {}
    with expecting("an array of services", str(paths["schema"])):
        trained = {service["service_name"] for service in read_data(paths["train"])}
        for item in read_data(paths["schema"]):
            name = item["service_name"]
            slots = {
                slot["name"]: frozenset(slot["possible_values"]) if slot["is_categorical"] else None
                for slot in item["slots"]
            }
            intents = frozenset(intent["name"] for intent in item["intents"])
            services[name] = Service(name, slots, intents, name in trained)
    for path in files:
        with expecting("an array of dialogues about services of the schema", str(path)):
            for item in read_data(path):
                texts = [*(turn["utterance"] for turn in item["turns"]), ""]
                if (name := item["dialogue_id"]) in dialogues:
                    raise DataError(f"{path}: the gold data already have a dialogue {name}")
                services_of[name] = frozenset(services[own].name for own in item["services"])
                dialogues[name] = [
                    Turn(number, texts[number], texts[number + 1], frames_of(turn, services))
                    for number, turn in enumerate(item["turns"])
                    if turn["speaker"] == "USER"
                ]
    schemas = {name: root.checksum(path) for name, path in paths.items()}
    different = root.other_than_published([*paths.values(), *files])
    edition = root.checksum(*(root.path / place for place in different))
    return Gold(dialogues, services_of, services, schemas, different, edition)


def frames_of(turn: Any, services: Mapping[str, Service]) -> dict[str, Frame]:
    """Return the frames of a user turn; spans of slots that are not free-form are ignored."""
    frames = {}
    for raw in turn["frames"]:
        state, tags, name = raw["state"], None, raw["service"]
        if "slots" in raw and name in services:
            tags = [
                (span["slot"], turn["utterance"][span["start"] : span["exclusive_end"]])
                for span in raw["slots"]
                if services[name].slots.get(span["slot"], ()) is None
            ]
        frames[name] = Frame._make([*(state[key] for key in STATE), tags])
    return frames


def read_predictions(
    files: Sequence[str], gold: Gold, missing: str, findings: Findings
) -> tuple[dict[str, list[Scored]], Coverage, str]:
    """Return the scored frames, the coverage, and the checksum of frames skipped in dialogues."""
    items = items_of(files, "dialogue_id", DIALOGUE, gold.dialogues, findings, but=NOT_READ)
    predicted = {item["dialogue_id"]: _turns_of(item, gold, place) for item, place in items}
    wrong = {problem.dialogue for problem in findings.errors}
    found: dict[str, list[Scored]] = {}
    coverage, left = Coverage(), list[tuple[Any, ...]]()
    for name, turns in gold.dialogues.items():
        coverage.count("dialogues", name in predicted)
        of_turns = predicted.get(name, [None] * len(turns))
        for place, (turn, frames) in enumerate(zip(turns, of_turns, strict=True)):
            coverage.count("turns", frames is not None)
            for service, frame in turn.frames.items():
                lack = "no-turn" if name in predicted else "not-predicted"
                if frames is not None:
                    lack = "" if service in frames else "no-frame"
                coverage.count("frames", not lack)
                if lack and predicted and name not in wrong:
                    left.append((lack, name, turn.number, service))
                if not lack or missing == "empty":
                    pair = gold.services[service], frame, (frames or {}).get(service, Frame())
                    found.setdefault(name, []).append(Scored(place, *pair, lack))
    findings.lenient = missing != "error"
    for lack, *where in sorted(dict.fromkeys(at[: LACKS.index(at[0])] for at in left), key=len):
        named: dict[str, Any] = dict(zip(("dialogue", "turn", "key"), where, strict=False))
        findings.doubt(lack, MEANINGS[lack] + THEN[missing], **named)
    skipped = [at for at in left if missing == "skip" and at[0] != "not-predicted"]
    return found, coverage, f"{crc32(repr(skipped).encode()):08x}" if skipped else ""


def _turns_of(raw: Any, gold: Gold, place: Place) -> list[Mapping[str, Frame] | None]:
    """Return the predicted frames of each gold turn, None if the turn is missing."""
    turns, services = gold.dialogues[raw["dialogue_id"]], gold.services_of[raw["dialogue_id"]]
    if {*raw["services"]} != services:
        place.error("other-services", f"{raw['services']}, in the gold data {sorted(services)}")
    left = users = [(n, turn) for n, turn in enumerate(raw["turns"]) if turn["speaker"] == "USER"]
    paired: list[Mapping[str, Frame] | None] = []
    # Turns are paired by position if their numbers are equal, otherwise by utterance.
    is_same = [number for number, _ in users] == [turn.number for turn in turns]
    for turn in turns:
        texts = [user["utterance"] for _, user in left]
        index = 0 if is_same else texts.index(turn.utterance) if turn.utterance in texts else None
        if index is None:
            paired.append(None)
            continue
        (number, user), left = left[index], left[index + 1 :]
        paired.append(frames_of(user, gold.services))
        _warn(turn, user, paired[-1], gold.services, place._replace(turn=number))
    if extra := len(users) - len(paired) + paired.count(None):
        place.warning("extra-turns", "turns that the gold data lack are not scored", count=extra)
    return paired


def _warn(gold: Turn, raw: Any, frames: Any, services: Mapping[str, Service], place: Place) -> None:
    """Note each value that is scored, but perhaps not as intended."""
    if raw["utterance"] != gold.utterance:
        place.warning("other-utterance", f'it is "{raw["utterance"]}", gold is "{gold.utterance}"')
    if len(frames) < len(raw["frames"]):
        place.warning("repeated-frame", "only the last frame of a service is scored")
    if extra := len(frames.keys() - gold.frames.keys()):
        place.warning("extra-frames", "frames that the gold data lack are not scored", count=extra)
    for name in filter(frames.__contains__, gold.frames):
        frame, service = frames[name], services[name]
        if frame.intent not in (intents := [*service.intents, "NONE"]):
            advice = did_you_mean(frame.intent, intents)
            place.warning("unknown-intent", f'{name} has no intent "{frame.intent}"{advice}')
        for slot, (value, *others) in frame.values.items():
            possible = service.slots.get(slot)
            if slot not in service.slots:
                advice = did_you_mean(slot, service.slots)
                place.warning("unknown-slot", f'{name} has no slot "{slot}"{advice}; it is ignored')
            elif not isinstance(value, str):
                place.warning("not-a-text", f"{name}, {slot}: {value!r} is not a text")
            elif possible is not None and value not in {*possible, "dontcare"}:
                advice = did_you_mean(value, possible)
                place.warning("not-a-value", f'{name}, {slot} has no value "{value}"{advice}')
            if others:
                place.warning("several-values", "only the first value of a slot is scored")
