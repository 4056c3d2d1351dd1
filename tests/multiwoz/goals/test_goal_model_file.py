"""The goal model is read as it is published, and nothing in the file is run."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mwzeval.errors import DataError
from mwzeval.multiwoz.goals.goal_model_file import PARTS, read_goal_model
from mwzeval.multiwoz.goals.goal_statistics import estimated_model
from tests.places import read_json, shared


def as_published(plain: dict[str, Any]) -> tuple[Any, ...]:
    """Return the parts as the public generator keeps them: tuples as keys, and counters."""
    orderings = {tuple(key.split("|")): share for key, share in plain["domain_orderings"].items()}
    combinations = {
        domain: {
            part: {tuple(filter(None, key.split("|"))): n for key, n in counts.items()}
            for part, counts in of.items()
        }
        for domain, of in plain["slot_combinations"].items()
    }
    values = {
        domain: {
            part: Counter(of[part])
            if part == "reqt"
            else {slot: Counter(counts) for slot, counts in of[part].items()}
            for part in of
        }
        for domain, of in plain["value_distribution"].items()
    }
    made = {
        "domain_orderings": Counter(orderings),
        "slot_combinations": combinations,
        "value_distribution": values,
    }
    return tuple(made.get(part, plain[part]) for part in PARTS)


@pytest.mark.integration
@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_the_pickle_is_read_as_the_json(protocol: int, tmp_path: Path) -> None:
    plain = read_json(shared("data", "live", "goal_model.json"))
    pickled = tmp_path / "new_goal_model.pkl"
    pickled.write_bytes(pickle.dumps(as_published(plain), protocol))
    model = read_goal_model(pickled)
    assert json.dumps(model) == json.dumps({part: plain[part] for part in PARTS})
    assert read_goal_model(shared("data", "live", "goal_model.json")) == plain


class Runs:
    """Unpickled as it is meant to be, it would write a file."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self._place,)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        *(("model.pkl", content) for content in (b"", b"not a pickle", pickle.dumps([1, 2]))),
        ("model.pkl", pickle.dumps(tuple({} for _ in range(7)))),
        ("domain_orderings", pickle.dumps(({}, {}, 3, {}, {}, {}))),
        *(("model.json", text) for text in (b"[]", b"{}", b'{"domain_orderings": []}', b"{")),
    ],
)
def test_what_is_no_goal_model_is_refused(file: str, content: bytes, tmp_path: Path) -> None:
    path = tmp_path / (file if "." in file else "model.pkl")
    path.write_bytes(content)
    with pytest.raises(DataError, match=file):
        read_goal_model(path)


def test_code_in_a_pickle_is_not_run(tmp_path: Path) -> None:
    path, touched = tmp_path / "model.pkl", tmp_path / "touched"
    path.write_bytes(pickle.dumps((Runs(touched), {}, {}, {}, {}, {})))
    with pytest.raises(DataError, match="touch"):
        read_goal_model(path)
    assert not touched.exists()


@pytest.mark.parametrize("weight", [10**400, "0.5", None, -1, [1]])
def test_a_weight_that_is_no_probability_is_named(weight: object, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    model = {part: {"hotel": {"info": {"area": 0.5}}} for part in PARTS}
    model["value_distribution"] = {"hotel": {"info": {"area": weight}}}  # type: ignore[dict-item]
    path.write_text(json.dumps(model))
    with pytest.raises(DataError, match="value_distribution, hotel, info, area"):
        read_goal_model(path)


def test_a_model_is_estimated_by_counting() -> None:
    north = {"info": {"area": "north"}, "reqt": ["phone"], "book": {"day": "monday"}}
    anywhere = {"info": {"area": "south", "stars": "4"}, "reqt": ["phone", "address"]}
    goals = [
        {"domain_ordering": ["hotel"], "hotel": north},
        {"domain_ordering": ["hotel", "police"], "hotel": anywhere, "police": {"info": {}}},
    ]
    model = estimated_model(goals)
    assert model["domain_orderings"] == {"hotel": 0.5, "hotel|police": 0.5}
    assert model["slot_combinations"]["hotel"]["info"] == {"area": 1, "area|stars": 1}
    assert model["slot_combinations"]["police"]["info"] == {"": 1}
    assert model["slot_probability"]["hotel"] == {
        "info": {"area": 1.0, "stars": 0.5},
        "reqt": {"phone": 1.0, "address": 0.5},
        "book": {"day": 0.5},
    }
    assert model["value_distribution"]["hotel"]["info"]["area"] == {"north": 1, "south": 1}
    assert model["book_probability"] == {"hotel": 0.5, "police": 0.0}
