"""A second, slow implementation of the rules of MultiWOZ evaluation as an oracle for tests.

This module does not import the code under test. It follows the published rules step by step, for
single rows, values and turns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import Levenshtein  # noqa: F401 - fuzzywuzzy computes other ratios without it
from fuzzywuzzy import fuzz
from sacremoses import MosesDetokenizer, MosesTokenizer

State = dict[str, dict[str, str]]
ratio: Callable[[str, str], int] = lru_cache(maxsize=2**17)(fuzz.partial_ratio)

# Responses

PLACEHOLDER_TABLE = """
ADDRESS | address, {attraction,hospital,hotel,police,restaurant,value}_address
AREA | area, {value,attraction,restaurant,hotel}_area
TIME | booktime, value_time, time, duration, value_duration, train_duration, arriveby
TIME | taxi_arriveby, value_arrive, arrive by, train_arriveby, leaveat, value_leave, leave at
TIME | train_leaveat, train_leave, train_arrive, taxi_leaveat
DAY | day, value_day, bookday, train_day
PLACE | destination, value_destination, departure, value_departure, value_place
PLACE | train_departure, train_destination, taxi_destination, taxi_departure
FOOD | food, value_food, restaurant_food
NAME | name, {attraction,hospital,hotel,police,restaurant,value}_name
PHONE | phone, {attraction,hospital,hotel,police,restaurant,taxi,value}_phone
POST | postcode, {attraction,hospital,hotel,restaurant,value,police}_postcode
PRICE | price, value_price, entrancefee, entrance fee, train_price, attraction_entrancefee
PRICE | pricerange, value_pricerange, price range, {restaurant,hotel,attraction}_pricerange
PRICE | attraction_price
REFERENCE | ref, reference, {attraction,hotel,restaurant,train,value}_reference
COUNT | stars, value_stars, hotel_stars, bookstay, value_stay, stay, bookpeople, value_people
COUNT | people, choice, value_choice, value_count, {attraction,hotel,restaurant,train}_choice
TYPE | type, taxi_type, taxi_car, value_type, value_car, car, {restaurant,hotel,attraction}_type
TRAINID | trainid, train_id, value_id, id, train, train_trainid
INTERNET | internet, hotel_internet
PARKING | parking, hotel_parking
ID | hospital_id, attraction_id, restaurant_id
DEPARTMENT | value_department, department, hospital_department
OPEN | openhours
"""


def _placeholder_names() -> dict[str, str]:
    names = {}
    for line in PLACEHOLDER_TABLE.strip().splitlines():
        canonical, listed = line.split(" | ")
        for item in re.split(r", (?![^{]*})", listed):
            group = re.fullmatch(r"\{(.*)\}(.*)", item)
            alternatives = [f"{d}{group[2]}" for d in group[1].split(",")] if group else [item]
            names.update(dict.fromkeys(alternatives, canonical))
    return names


PLACEHOLDERS = _placeholder_names()


def canonical_response(response: str) -> str:
    """Apply steps 1 to 3: lower case, canonical placeholders, no `-s` and `-ly`."""
    text = response.lower()
    result = ""
    while text:
        inside, closing, _ = text[1:].partition("]")
        named = closing and inside and all(c.isalnum() or c == "_" or c.isspace() for c in inside)
        if text[0] == "[" and named:
            result += PLACEHOLDERS.get(inside, "")
            text = text[len(inside) + 2 :]
            ending = next((e for e in ("es", "s", "-s", "-es") if text.startswith(e)), "")
            text = text[len(ending) :]
        else:
            result, text = result + text[0], text[1:]
    return result.replace("-s", "").replace("-ly", "")


def normal_response(response: str) -> str:
    """Apply all four steps; step 4 tokenizes and detokenizes with sacremoses for English."""
    tokens = MosesTokenizer(lang="en").tokenize(canonical_response(response))
    return str(MosesDetokenizer(lang="en").detokenize(tokens))


# States

NAMES = """
hotel du vin bistro > hotel du vin and bistro
the river bar and grill > the river bar steakhouse and grill
nando's > nandos
city center b and b > city center north b and b
acorn house > acorn guest house
caffee uno; cafe uno > caffe uno
rosa's > rosas bed and breakfast
restaurant called two two; restaurant 2 two > restaurant two two
restaurant two 2; restaurant 2 2 > restaurant two two
restaurant 1 7; restaurant 17 > restaurant one seven
lime house > limehouse
cityrooms > cityroomz
whale of time > whale of a time
huntingdon hotel > huntingdon marriott hotel
holiday inn exlpress, cambridge > express by holiday inn cambridge
university hotel > university arms hotel
arbury guesthouse and lodge; arbury guesthouse > arbury lodge guesthouse
bridge house > bridge guest house
nandos in the city centre > nandos city centre
broughton gallery > broughton house gallery
scudamores punt co > scudamores punting co
cambridge botanic gardens > cambridge university botanic gardens
the botanical gardens at cambridge university > cambridge university botanic gardens
the junction > junction theatre
trinity street college > trinity college
christ college; christs > christ's college
history of science museum > whipple museum of the history of science
parkside pools > parkside swimming pool
cafe jello museum > cafe jello gallery
"""
NAMES_2023 = """
a and b guest house > a and b guesthouse
acorn guesthouse > acorn guest house
"""
TYPES = """
swimming pool > swimmingpool
mutliple sports > multiple sports
night club > nightclub
guest house > guesthouse
"""
FOODS = """
eriterean > mediterranean
brazilian > portuguese
sea food > seafood
portugese > portuguese
modern american; americas > north american
intalian; italain > italian
asian or oriental > asian
english; brutish; bristish > british
australasian > australian
gastropod > gastropub
europeon > european
"""
TIMES = """
afternoon > 13:00
lunch; noon; mid-day; around lunch time > 12:00
morning > 08:00
seven o'clock tomorrow evening > 07:00
three forty five p.m > 15:45
one thirty p.m. > 13:30
six fourty five > 06:45
eight thirty > 08:30
"""


def aliases(table: str) -> dict[str, str]:
    """Parse lines such as `alias; alias > value`."""
    lines = [line.split(" > ") for line in table.strip().splitlines()]
    return {alias: to for listed, to in lines for alias in listed.split("; ")}


def normal_slot(slot: str) -> str:
    slot = slot.lower().replace(" ", "")
    return {"arriveby": "arrive", "leaveat": "leave"}.get(slot, slot)


def normal_value(slot: str, value: str, rules: str) -> str:
    match slot:
        case "name" | "destination" | "departure":
            for old, new in ((" & ", " and "), ("&", " and "), (" '", "'")):
                value = (value.strip().lower() if old == " & " else value).replace(old, new)
            names = NAMES
            if rules == "2023":
                value = value.replace("bed and breakfast", "b and b")
                names += NAMES_2023.lstrip()
            return aliases(names).get(value, value)
        case "type":
            return aliases(TYPES).get(value, value)
        case "food":
            return aliases(FOODS).get(value.strip().lower(), value.strip().lower())
        case "arrive" | "leave" | "arriveby" | "leaveat" | "time":
            return normal_time(value.strip().lower())
        case "parking" | "internet" if value == "free":
            return "yes"
    return value


def normal_time(time: str) -> str:
    if time in aliases(TIMES):
        return aliases(TIMES)[time]
    for beginning, clock in (("one o'clock p.m", "13:00"), ("ten o'clock a.m", "10:00")):
        if time.startswith(beginning):
            return clock
    if time.startswith("by"):
        time = time[3:]
    for beginning in ("after", "afer"):
        if time.startswith(beginning):
            time = time.removeprefix(beginning).strip()
    for ending in ("am", "a.m."):
        if time.endswith(ending):
            time = time.removesuffix(ending).strip()
    if time.endswith(("pm", "p.m.")):
        time = time[: -2 if time.endswith("pm") else -4].strip()
        hour, colon, minute = time.partition(":")
        if re.fullmatch(r" *[0-9]+ *", hour) and colon and ":" not in minute:
            time = f"{int(hour) + 12}:{minute}"
        elif re.fullmatch(r"[0-9]+", time):
            time = f"{int(time) + 12}:00"
    if time == "":
        return "00:00"
    if time[-1] in ".,?":
        time = time[:-1]
    if re.fullmatch(r"[0-9]{4}", time):
        return time[:2] + ":" + time[2:]
    if re.fullmatch(r"[0-9]+", time):
        return time.rjust(2, "0") + ":00"
    if ":" in time:
        time = time.replace(" ", "")
        if len(time) == 4 and time[1] == ":":
            time = "0" + time
    return time


def normal_state(state: State, rules: str) -> State:
    return {
        domain: {normal_slot(s): normal_value(normal_slot(s), v, rules) for s, v in slots.items()}
        for domain, slots in state.items()
    }


# Annotation


def annotated_turns(folder: Path, fold: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the dialogues of 2.2-format files with delexicalized gold responses and states."""
    acts = json.loads((folder / "dialog_acts.json").read_text(encoding="utf-8"))
    for path in sorted((folder / fold).glob("dialogues_*.json")):
        for dialogue in json.loads(path.read_text(encoding="utf-8")):
            turns = []
            for user, system in zip(dialogue["turns"][::2], dialogue["turns"][1::2], strict=True):
                assert (user["speaker"], system["speaker"]) == ("USER", "SYSTEM")
                annotated = acts[dialogue["dialogue_id"]].get(system["turn_id"], {})
                chosen: list[tuple[int, int, str]] = []
                for _, slot, value, start, end in sorted(
                    annotated.get("span_info", ()), key=lambda span: int(span[3])
                ):
                    if value != "dontcare" and (not chosen or start >= chosen[-1][1]):
                        chosen.append((start, end, slot))
                text = system["utterance"]
                for start, end, slot in reversed(chosen):
                    text = f"{text[:start]}[{slot}]{text[end:]}"
                state: State = {}
                for frame in user["frames"]:
                    for key, values in frame["state"]["slot_values"].items():
                        if "dontcare" not in values:
                            domain, name = key.split("-", 1)
                            state.setdefault(domain, {})[name] = values[0]
                turns.append({"response": text, "state": state})
            yield dialogue["dialogue_id"].split(".")[0].lower(), turns


# Active domains


def active_domains(states: list[State]) -> list[list[str]]:
    current = None
    before: State = {}
    changed_before: list[str] = []
    active: list[list[str]] = []
    for state in states:
        changed = [
            domain
            for domain, slots in state.items()
            if any(before.get(domain, {}).get(slot) != value for slot, value in slots.items())
        ]
        if not changed:
            left = [d for d in changed_before if d in state and d != current]
            if current is not None and len(changed_before) > 1 and left:
                current = left[0]
        elif current not in changed:
            most = max(len(state[domain]) for domain in changed)
            current = next(domain for domain in changed if len(state[domain]) == most)
        if current is not None:
            before, changed_before = state, changed
        active.append([] if current is None else [current])
    return active


# Database

IGNORED = {
    "attraction": ["location", "openhours"],
    "hotel": ["location", "price", "takesbookings"],
    "restaurant": ["location", "introduction", "signature"],
    "train": [],
}
FUZZY = {
    "attraction": ["name"],
    "hotel": ["name"],
    "restaurant": ["name", "food"],
    "train": ["departure", "destination"],
}
SKIPPED = ["dontcare", "not mentioned", "don't care", "dont care", "do n't care", "do not care"]


def minutes(time: str) -> int:
    found = re.match("([0-9][0-9]):([0-9][0-9])", time)
    return 60 * int(found.group(1)) + int(found.group(2)) if found else 0


def venues(
    tables: dict[str, list[dict[str, Any]]], domain: str, constraints: dict[str, str], rules: str
) -> list[str]:
    """Find the venues that match constraints by a scan of the domain's table."""
    if domain not in FUZZY:
        return []
    rows = tables[domain]
    columns = {normal_slot(c): c for c in rows[0] if normal_slot(c) not in IGNORED[domain]}
    asked = {}
    for raw, value in constraints.items():
        slot = normal_slot(raw)
        if slot in columns and value not in SKIPPED:
            asked[slot] = normal_value(slot, value, rules)
    found = []
    for row in rows:
        for slot, value in asked.items():
            there = str(row.get(columns[slot], "?"))
            if there == "?" or value in SKIPPED:
                continue
            if slot == "arrive":
                holds = minutes(there) <= minutes(value)
            elif slot == "leave":
                holds = minutes(there) >= minutes(value)
            elif slot in FUZZY[domain]:
                holds = ratio(there, value) >= 90
            else:
                holds = there == value
            if not holds:
                break
        else:
            found.append(str(row["trainID" if domain == "train" else "id"]))
    return found


# Inform and Success


def dialogue_outcome(
    goal: dict[str, dict[str, Any]],
    turns: list[tuple[str, State, list[str]]],
    booked: list[set[str]],
    query: Callable[[str, dict[str, str]], list[str]],
) -> tuple[dict[str, bool], dict[str, bool]]:
    """Return Inform and Success by domain and `total`; Success is empty if Inform failed.

    A turn is its normalised response, its state and its active domains.
    """
    offered: dict[str, list[str]] = {domain: [] for domain in goal}
    provided: dict[str, list[str]] = {domain: [] for domain in goal}
    for (response, state, active), booked_now in zip(turns, booked, strict=True):
        for domain in goal:
            if domain not in active:
                continue
            offers = (domain in ("restaurant", "hotel", "attraction") and "NAME" in response) or (
                domain == "train" and "TRAINID" in response
            )
            if offers:
                result = query(domain, state[domain]) if domain in state else []
                if not offered[domain] or any(v not in result for v in offered[domain]):
                    offered[domain] = result
            for slot in ("PHONE", "ADDRESS", "POST", "REFERENCE", "TRAINID"):
                if slot in response and (slot != "REFERENCE" or domain in booked_now):
                    provided[domain].append(slot)
    inform = {}
    for domain, wanted in goal.items():
        fits = query(domain, wanted["informable"])
        inform[domain] = (
            "name" in wanted["informable"]
            or domain in ("taxi", "police", "hospital")
            or (
                domain == "train" and not offered[domain] and "TRAINID" not in wanted["requestable"]
            )
            or (bool(offered[domain]) and all(venue in fits for venue in offered[domain]))
        )
    inform["total"] = all(inform.values())
    success = {}
    if inform["total"]:
        for domain, wanted in goal.items():
            success[domain] = all(slot in provided[domain] for slot in wanted["requestable"])
        success["total"] = all(success.values())
    return inform, success


# State tracking


def state_tracking(turns: list[tuple[State, State]]) -> dict[str, float]:
    """Score pairs of normalised predicted and gold states."""
    epsilon = 1e-10
    joint = tp = fp = fn = 0
    for predicted, gold in turns:
        ours = {(d, s): v for d, slots in predicted.items() for s, v in slots.items()}
        theirs = {(d, s): v for d, slots in gold.items() for s, v in slots.items()}
        right = [key for key in ours if key in theirs and ratio(ours[key], theirs[key]) > 95]
        joint += set(ours) == set(theirs) and len(right) == len(ours)
        tp += len(right)
        fp += len(ours) - len(right)
        fn += len(theirs) - len(right)
    precision, recall = tp / (tp + fp + epsilon), tp / (tp + fn + epsilon)
    return {
        "joint_accuracy": 100 * joint / (len(turns) + epsilon),
        "slot_f1": 100 * 2 * precision * recall / (precision + recall + epsilon),
        "slot_precision": precision,
        "slot_recall": recall,
    }
