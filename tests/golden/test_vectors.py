"""Results for values, responses, queries and dialogues equal those of the public evaluator."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from mwzeval.multiwoz.database import Database
from mwzeval.multiwoz.normalization import estimate_active_domains, normalize_slot, normalize_value
from mwzeval.multiwoz.placeholders import normalize_response
from mwzeval.multiwoz.schema import DATABASE_DOMAINS
from tests.places import read_json, shared

pytestmark = pytest.mark.integration

Vector = dict[str, Any]


@cache
def database() -> Database:
    folder = shared("data", "multiwoz", "db")
    tables = {domain: read_json(folder / f"{domain}_db.json") for domain in DATABASE_DOMAINS}
    return Database(tables, "2021")


def state_value(vector: Vector) -> Vector:
    slot = normalize_slot(vector["slot"])
    return {"normal_slot": slot, "normal_value": normalize_value(slot, vector["value"], "2021")}


def response(vector: Vector) -> Vector:
    return {"normal": normalize_response(vector["response"])}


def venues(vector: Vector) -> Vector:
    return {"venues": [*database().find(vector["domain"], vector["constraints"])]}


def active_domains(vector: Vector) -> Vector:
    return {"active_domains": [list(t) for t in estimate_active_domains(vector["states"])]}


@pytest.mark.parametrize(
    ("file", "least", "work_out"),
    [
        ("state_values", 1500, state_value),
        ("responses", 1500, response),
        ("queries", 800, venues),
        ("active_domains", 200, active_domains),
    ],
)
def test_functions_agree_with_all_golden_vectors(
    file: str, least: int, work_out: Callable[[Vector], Vector]
) -> None:
    path = shared("golden", "multiwoz", "vectors", f"{file}.jsonl")
    vectors = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    assert len(vectors) >= least
    different = [
        (vector, found)
        for vector in vectors
        if (found := work_out(vector)) != {key: vector[key] for key in found}
    ]
    assert not different
