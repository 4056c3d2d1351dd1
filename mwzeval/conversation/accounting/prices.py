"""What tokens cost: a file of prices, in US dollars per million tokens.

`{"MODEL": {"in": 0.15, "out": 0.6, "cached_in": 0.075}}`; without `cached_in`, tokens that the
server had in its cache cost as much as others.
"""

from __future__ import annotations

import json
from argparse import _ActionsContainer
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from mwzeval.arguments import InputFile
from mwzeval.conversation.accounting.usage import Usage
from mwzeval.errors import did_you_mean, shorten
from mwzeval.files.json_files import RepeatedKeys, read_json
from mwzeval.scores.findings import Findings, found, repeated

IN, OUT, CACHED = "in", "out", "cached_in"
KEYS = (IN, OUT, CACHED)
EXPECTED = '{"MODEL": {"in": USD per million tokens, "out": …, "cached_in": …}}'
_MILLION = 1e6


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens; `cached` is of tokens read from the server's cache."""

    tokens_in: float
    tokens_out: float
    cached: float

    def of(self, usage: Usage) -> float:
        """Return US dollars for the tokens that are counted."""
        fresh = usage.tokens_in - usage.cached
        dollars = fresh * self.tokens_in + usage.cached * self.cached
        return (dollars + usage.tokens_out * self.tokens_out) / _MILLION


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of models by name, and the checksum of all of them, of eight digits."""

    models: Mapping[str, Price] = field(default_factory=dict)
    sha: str = ""


def add_prices(parser: _ActionsContainer) -> None:
    """Add the option that names a file of prices."""
    parser.add_argument(
        "--prices",
        type=InputFile,
        metavar="FILE",
        help='JSON: what the models of live dialogues cost, {"MODEL": {"in": USD per million '
        'tokens, "out": …, "cached_in": …}}',
    )


def read_prices(path: str | Path) -> Prices:
    """Return the prices of a JSON file. Raises `InputError` with every problem."""
    raw = read_json(path)
    findings = Findings(str(path))
    models: dict[str, Price | None] = {}
    if not isinstance(raw, dict):
        findings.error("shape", f"expected {EXPECTED}, {found(raw)}")
    else:
        if isinstance(raw, RepeatedKeys):
            findings.error("repeated-key", repeated(raw))
        if not raw:
            findings.error("empty", f"there is no model in it: expected {EXPECTED}")
        models = {name: _price(name, each, findings) for name, each in raw.items()}
    findings.check()
    text = json.dumps(raw, sort_keys=True).encode()
    known = {name: price for name, price in models.items() if price is not None}
    return Prices(known, sha256(text).hexdigest()[:8])


def _price(model: str, raw: Any, findings: Findings) -> Price | None:
    if not isinstance(raw, dict):
        message = 'expected {"in": USD per million tokens, "out": …}'
        findings.error("shape", f"{message}, {found(raw)}", key=model)
        return None
    if isinstance(raw, RepeatedKeys):
        findings.error("repeated-key", repeated(raw), key=model)
    for key in raw:
        if key not in KEYS:
            known = did_you_mean(key, KEYS) or f" (known: {', '.join(KEYS)})"
            findings.error("unknown-key", f'unknown key "{shorten(key)}"{known}', key=model)
    for key in (IN, OUT):
        if key not in raw:
            findings.error("no-price", f'"{key}" is missing', key=model)
    for key in KEYS:
        if key in raw and not (type(raw[key]) in (int, float) and 0 <= raw[key] <= _MILLION):
            message = f"a price is a number from 0 to {_MILLION:,.0f} US dollars per million tokens"
            shown = shorten(json.dumps(raw[key]))
            findings.error("price", f"{message}, not {shown}", key=f"{model}.{key}")
    if findings.errors:
        return None
    return Price(raw[IN], raw[OUT], raw[CACHED if CACHED in raw else IN])
