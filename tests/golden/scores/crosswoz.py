"""Scores of every CrossWOZ track on the sample and of simulated dialogues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mwzeval.crosswoz import META
from mwzeval.crosswoz.checks import Options
from mwzeval.crosswoz.corpus.folds import Gold, load_gold
from mwzeval.crosswoz.protocols import as_acts
from mwzeval.crosswoz.scoring.baselines import rule_tracker_file, simulator_file
from mwzeval.crosswoz.scoring.evaluation import evaluate
from mwzeval.crosswoz.scoring.simulation import evaluate_simulation
from mwzeval.crosswoz.simulation import Setting, simulate
from mwzeval.crosswoz.speakers import nlu_named, system_named
from mwzeval.crosswoz.systems.sl_policy import delexicalized
from mwzeval.crosswoz.systems.templates import TemplateNlg, load_templates
from mwzeval.crosswoz.tracks import GOLD_ACTS, PREDICTED_HISTORY, TRACKS
from tests.golden.recorded import Cases, Groups, by_signature
from tests.places import ROOT, read_json

Exchange = dict[str, Any]
PREDICTIONS = ROOT / "predictions"
SYSTEMS = ("rule", "rule-paper")


def current() -> Cases:
    """Return all scores, including reference scores, and digests of simulated dialogues.

    System → signature → name → value.
    """
    gold = load_gold("sample")
    cases = {
        name: by_signature(evaluate(predictions, gold, options).report().scores)
        for name, predictions, options in _inputs(gold)
    }
    log = PREDICTIONS / "crosswoz-sample-simulation.jsonl"
    cases["simulation"] = by_signature(evaluate_simulation(log, gold).report().scores)
    return {**cases, **dict(_simulations(gold))}


def _inputs(gold: Gold) -> Iterator[tuple[str, Any, Options]]:
    plain = {track: read_json(PREDICTIONS / f"crosswoz-sample-{track}.json") for track in TRACKS}
    for track, predictions in plain.items():
        yield track, predictions, Options()
        yield f"{track}, damaged", _changed(predictions, _damaged), Options()
    for conditioning in (PREDICTED_HISTORY, GOLD_ACTS):
        yield f"dst, {conditioning}", plain["dst"], Options(conditioning=conditioning)
    yield "policy, without values", _changed(plain["policy"], _without_values), Options()
    yield "e2e, without acts", _changed(plain["e2e"], _without_acts), Options()
    yield "tracker of rules", rule_tracker_file(gold.fold), Options()
    yield "tracker of rules, no resets", rule_tracker_file(gold.fold, GOLD_ACTS), Options()
    yield "user of rules", simulator_file(gold.fold), Options()


def _changed(predictions: Mapping[str, Any], change: Any) -> dict[str, Any]:
    """Apply a change to each turn of predictions; `change` also gets a number."""
    return {
        name: content
        if name == META
        else [change(exchange, place + turn) for turn, exchange in enumerate(content)]
        for place, (name, content) in enumerate(predictions.items())
    }


def _without_values(exchange: Exchange, _: int) -> Exchange:
    acts = delexicalized(as_acts(exchange["system_acts"], "the system"))
    return {"turn": exchange["turn"], "system_acts_delex": list(acts)}


def _without_acts(exchange: Exchange, _: int) -> Exchange:
    return {key: value for key, value in exchange.items() if key != "system_acts"}


def _damaged(exchange: Exchange, number: int) -> Exchange:
    return {
        key: FAULTS[key](value, number % 6) if key in FAULTS else value
        for key, value in exchange.items()
    }


def _acts(acts: list[list[str]], fault: int) -> list[list[str]]:
    match fault:
        case 0:
            return acts[:-1]
        case 1:
            return [[*act[:3], f"{act[3]}号" if act[0] == "Inform" else act[3]] for act in acts]
        case 2:
            return [*acts, *acts[:1], ["General", "thank", "none", "none"]]
        case 3:
            return []
        case 4:
            return [[*act[:3], " ".join(act[3]) if act[0] == "Inform" else act[3]] for act in acts]
        case _:
            return acts


def _state(state: dict[str, dict[str, str]], fault: int) -> dict[str, dict[str, str]]:
    match fault:
        case 0:
            return dict(list(state.items())[1:])
        case 1:
            return {domain: dict(list(slots.items())[1:]) for domain, slots in state.items()}
        case 2:
            return {**state, "酒店": {**state.get("酒店", {}), "评分": "4.5分以上"}}
        case 3:
            return {d: {s: f"{v}号" for s, v in slots.items()} for d, slots in state.items()}
        case 4:
            return {
                d: {s: v.removesuffix("型") for s, v in slots.items()} for d, slots in state.items()
            }
        case _:
            return state


def _user_state(lines: list[list[Any]], fault: int) -> list[list[Any]]:
    if fault == 0:
        return [[*line[:4], not line[4]] for line in lines]
    if fault == 1:
        return [[*line[:3], [] if isinstance(line[3], list) else "号", line[4]] for line in lines]
    return lines


def _text(text: str, fault: int) -> str:
    return (text[: len(text) // 2], "", f"{text}{text}", text[::-1], text, text)[fault]


def _selected(selected: dict[str, list[str]], fault: int) -> dict[str, list[str]]:
    if fault == 0:
        return {}
    if fault == 1:
        return {domain: [*names, "没有这个地方"] for domain, names in selected.items()}
    return selected


FAULTS: Mapping[str, Any] = {
    **dict.fromkeys(("user_acts", "system_acts", "system_acts_nlu"), _acts),
    **dict.fromkeys(("response", "user_response"), _text),
    "state": _state,
    "user_state": _user_state,
    "selected": _selected,
}
"""Key of a turn → function that damages its value, depending on a number."""


def _simulations(gold: Gold) -> Iterator[tuple[str, Groups]]:
    """Yield the scores and a digest of the turns of each simulation."""
    templates = load_templates(None)
    in_words: dict[str, Any] = {
        "level": "text",
        "nlg": TemplateNlg(templates, "manual"),
        "nlu": nlu_named("templates", templates, gold.database),
    }
    with TemporaryDirectory() as folder:
        impatient = {"limit": 3}
        for level, more in {"acts": {}, "words": in_words, "three turns": impatient}.items():
            for system in SYSTEMS:
                log = Path(folder) / f"{level}-{system}.jsonl"
                make: Any = system_named(system)
                setting = Setting(gold.database, make_system=make, **more)
                about = {"system": system, "revision": "sample"}
                simulate(setting, per_type=2, output=log, about=about, progress=False)
                said = log.read_bytes().partition(b"\n")[2]
                yield (
                    f"simulated in {level}, {system}",
                    {
                        **by_signature(evaluate_simulation(log, gold).report().scores),
                        "dialogues": {"digest": sha256(said).hexdigest()[:16]},
                    },
                )
