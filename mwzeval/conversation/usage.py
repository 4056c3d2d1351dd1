"""Token usage and cost of the models in a run, per dialogue: scores, tables and totals.

Assistant messages come from the agent's model, and user messages come from the user's model. A
message with the key `usage`, whose value is `{"in", "out", "ms", "cached"?, "retries"?}`, counts as
an answered request. The key names of servers are also accepted: `prompt_tokens` and
`completion_tokens`, or `input_tokens` and `output_tokens`. Tokens that a server does not count are
unknown, never 0.

Prices are US dollars per million tokens: A file of prices contains `{"MODEL": {"in": 0.15, "out":
0.6, "cached_in": 0.075}}`. Without `cached_in`, tokens from the server's cache have the normal
price.

Tokens and cost per dialogue are means over the dialogues in which the tokens of all requests are
known. Values per success are computed from the same dialogues. Totals include all requests with
known tokens.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mwzeval.conversation.completions import CUT_OFF, PREFIX
from mwzeval.conversation.messages import ASSISTANT_ROLE, ChatMessage
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.errors import did_you_mean, shorten
from mwzeval.files.reading import RepeatedKeys, read_json
from mwzeval.metrics.measure import Measure, Rate, Sign
from mwzeval.scores.findings import Findings, found, repeated
from mwzeval.scores.score import WHOLE, Score
from mwzeval.scores.sheets import Cell, Sheet, sheet

AGENT, USER, BOTH = "agent", "user", "both"
SIDES = (AGENT, USER)
USAGE = "usage"
TOKENS_IN = ("in", "prompt_tokens", "input_tokens")
TOKENS_OUT = ("out", "completion_tokens", "output_tokens")
_MOST = 1e12
"""The maximum of any number in a dialogue; larger numbers are invalid."""


class Usage(NamedTuple):
    """The usage of a model in a dialogue, or the sum over several dialogues.

    The `uncounted` requests are excluded from `tokens_in`, `tokens_out` and `cached` (a part of
    `tokens_in`). `retries` are repeated requests, which `requests` does not include. `cut_off` is
    the number of messages that reached the length limit. `turns` has the known durations of turns,
    in milliseconds.
    """

    requests: int = 0
    uncounted: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0
    retries: int = 0
    cut_off: int = 0
    turns: tuple[float, ...] = ()

    @property
    def is_counted(self) -> bool:
        """Whether the tokens of all requests are known."""
        return not self.uncounted

    @property
    def is_known(self) -> bool:
        """Whether the tokens of at least one request are known, or the model had no requests."""
        return self.uncounted < self.requests or not self.requests

    @staticmethod
    def total(parts: Iterable[Usage]) -> Usage:
        """Return the sum of several usages."""
        counts: list[Any] = list(zip(Usage(), *parts, strict=True))
        turns = tuple(chain.from_iterable(counts.pop()))
        return Usage._make([*map(sum, counts), turns])


def usages_of(dialogues: Mapping[str, Trajectory]) -> dict[str, dict[str, Usage]]:
    """Return the usage by side and dialogue name, for the sides that have any usage.

    If a side has usage in only some dialogues, its messages in the other dialogues count as
    requests with unknown tokens.
    """

    def uncounted(dialogue: Trajectory, side: str) -> Usage:
        count = len(_messages_of(dialogue, side))
        return Usage(count, uncounted=count)

    used = {name: usage_of(dialogue) for name, dialogue in dialogues.items()}
    return {
        side: {n: sides.get(side) or uncounted(dialogues[n], side) for n, sides in used.items()}
        for side in SIDES
        if any(side in sides for sides in used.values())
    }


def usage_of(dialogue: Trajectory) -> dict[str, Usage]:
    """Return the usage of each side in one dialogue, for the sides that have any usage.

    Usage is read from the messages or, if no message has usage, from the key `usage` of the line.
    The value of this key is the agent's usage, or maps sides to usage.
    """
    usages: dict[str, Usage] = {}
    for side in SIDES:
        messages = _messages_of(dialogue, side)
        cut_off = sum(message.raw.get("finish_reason") == CUT_OFF for message in messages)
        requests = [used for message in messages if isinstance(used := _used(message), Mapping)]
        if requests:
            turns = _milliseconds(dialogue, side)
            parts = (_of_tokens(used, 1) for used in requests)
            usages[side] = Usage.total((*parts, Usage(cut_off=cut_off, turns=turns)))
            continue
        line = dialogue.more.get(USAGE)
        if isinstance(line, Mapping) and any(isinstance(line.get(key), Mapping) for key in SIDES):
            line = line.get(side)
        elif side != AGENT:
            continue
        if isinstance(line, Mapping):
            count = _count(line, "requests", "calls")
            used = _of_tokens(line, len(messages) if count is None else count)
            if None not in (_count(line, *TOKENS_IN), _count(line, *TOKENS_OUT)):
                usages[side] = used._replace(cut_off=cut_off)
    return usages


def _used(message: ChatMessage) -> Any:
    return message.raw.get(USAGE)


def _is_of(side: str, message: ChatMessage) -> bool:
    return message.is_user if side == USER else message.role == ASSISTANT_ROLE


def _messages_of(dialogue: Trajectory, side: str) -> list[ChatMessage]:
    return [message for message in dialogue.talk if _is_of(side, message)]


def _of_tokens(raw: Mapping[str, Any], requests: int) -> Usage:
    tokens_in, tokens_out = _count(raw, *TOKENS_IN), _count(raw, *TOKENS_OUT)
    retries = _count(raw, "retries") or 0
    if tokens_in is None or tokens_out is None:
        return Usage(requests, uncounted=requests, retries=retries)
    details = raw.get("prompt_tokens_details")
    cached = _count(raw, "cached")
    if cached is None and isinstance(details, Mapping):
        cached = _count(details, "cached_tokens")
    return Usage(requests, 0, tokens_in, tokens_out, min(cached or 0, tokens_in), retries)


def _count(raw: Mapping[str, Any], *names: str) -> int | None:
    values = (raw.get(name) for name in names)
    return next((n for n in values if type(n) is int and 0 <= n <= _MOST), None)


def _milliseconds(dialogue: Trajectory, side: str) -> tuple[float, ...]:
    """Return the time of each turn; turns in which a request has no time are left out."""
    turns: list[list[float]] = [[]]
    for message in dialogue.talk:
        if message.is_user:
            turns.append([])
        used = _used(message)
        if _is_of(side, message) and isinstance(used, Mapping):
            ms = used.get("ms", message.raw.get("ms"))
            is_known = type(ms) in (int, float) and 0 <= ms <= _MOST
            turns[-1].append(ms if is_known else math.nan)
    sums = (math.fsum(turn) for turn in turns if turn)
    return tuple(ms for ms in sums if not math.isnan(ms))


KEYS = IN, OUT, CACHED = "in", "out", "cached_in"
EXPECTED = '{"MODEL": {"in": USD per million tokens, "out": …, "cached_in": …}}'
_MILLION = 1e6


class Price(NamedTuple):
    """US dollars per million tokens; `cached` applies to tokens from the server's cache."""

    tokens_in: float
    tokens_out: float
    cached: float

    def of(self, usage: Usage) -> float:
        """Return the cost of the counted tokens in US dollars."""
        fresh = usage.tokens_in - usage.cached
        dollars = fresh * self.tokens_in + usage.cached * self.cached
        return (dollars + usage.tokens_out * self.tokens_out) / _MILLION


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of models by name, and a checksum of all prices (eight digits)."""

    models: Mapping[str, Price] = field(default_factory=dict)
    sha: str = ""


def read_prices(path: str | Path) -> Prices:
    """Read prices from a JSON file. Raises `InputError` with all problems."""
    raw = read_json(path)
    findings = Findings(str(path))
    if not isinstance(raw, dict) or not raw:
        findings.error("shape", f"expected {EXPECTED}, {found(raw)}")
        findings.check()
    if isinstance(raw, RepeatedKeys):
        findings.error("repeated-key", repeated(raw))
    for model, price in raw.items():
        if not isinstance(price, dict) or not {IN, OUT} <= price.keys():
            expected = 'expected {"in": USD per million tokens, "out": …}'
            findings.error("shape", f"{expected}, found {shorten(json.dumps(price))}", key=model)
            continue
        if isinstance(price, RepeatedKeys):
            findings.error("repeated-key", repeated(price), key=model)
        for key, value in price.items():
            if key not in KEYS:
                known = did_you_mean(key, KEYS) or f" (known: {', '.join(KEYS)})"
                findings.error("unknown-key", f'unknown key "{shorten(key)}"{known}', key=model)
            elif not (type(value) in (int, float) and 0 <= value <= _MILLION):
                most = f"{_MILLION:,.0f} US dollars per million tokens"
                message = (
                    f"a price must be a number from 0 to {most}, not {shorten(json.dumps(value))}"
                )
                findings.error("price", message, key=f"{model}.{key}")
    findings.check()
    models = {
        model: Price(price[IN], price[OUT], price.get(CACHED, price[IN]))
        for model, price in raw.items()
    }
    text = json.dumps(raw, sort_keys=True).encode()
    return Prices(models, sha256(text).hexdigest()[:8])


DIALOGUES, SUCCESSES = "accounted", "succeeded"
"""Two columns: the number of dialogues (always 1), and the number of dialogues in which the goal
was reached (0 or 1)."""
LABELS = {"requests": "requests", "tokens_in": "tokens in", "tokens_out": "tokens out"}
TIMES = ("mean", "p50", "p95")


@dataclass(frozen=True, slots=True)
class Account:
    """The token usage of one side's model in each dialogue; `price` is None if unknown."""

    side: str
    usages: Mapping[str, Usage]
    model: str | None = None
    price: Price | None = None

    @property
    def label(self) -> str:
        """The name of the side (agent or user) in the labels of scores."""
        return self.side.capitalize()

    @property
    def total(self) -> Usage:
        """The total usage in all dialogues."""
        return Usage.total(self.usages.values())

    def usd(self, usage: Usage) -> float | None:
        """Return the cost of the counted tokens; None without a price or without counted tokens."""
        return None if self.price is None or not usage.is_known else self.price.of(usage)


@dataclass(frozen=True, slots=True)
class Accounts:
    """The token usage of the models on all sides; `prices` is the checksum of the prices."""

    sides: tuple[Account, ...] = ()
    prices: str = ""

    @classmethod
    def of(
        cls,
        dialogues: Mapping[str, Trajectory],
        header: Mapping[str, Any],
        prices: Prices | None,
        findings: Findings,
    ) -> Accounts:
        """Return the token usage in dialogues; a missing price is reported once per side."""
        used = usages_of(dialogues)
        if prices is not None and not used:
            message = "no message reports its number of tokens, so costs cannot be computed"
            findings.warning("no-usage", message)
        sides = tuple(
            Account(side, usages, *_model(side, header, prices, findings))
            for side, usages in used.items()
        )
        return cls(sides, "" if prices is None else prices.sha)

    @property
    def is_priced(self) -> bool:
        """Whether several sides have usage and the price of each side's model is known."""
        return len(self.sides) > 1 and all(account.price is not None for account in self.sides)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column names of a row; empty without usage."""
        counts = ("requests", "counted", "tokens_in", "tokens_out", "usd")
        named = (*counts, "successes", "seconds", "timed")
        columns = [f"{account.side}_{name}" for account in self.sides for name in named]
        both = [f"{BOTH}_{name}" for name in ("counted", "usd", "successes")] * self.is_priced
        return (DIALOGUES, SUCCESSES, *columns, *both) if columns else ()

    def row(self, dialogue: str, success: float) -> dict[str, float]:
        """Return the additive numbers of a dialogue; `success` is 1 (success) or 0 (failure)."""
        if not self.sides:
            return {}
        row: dict[str, float] = {DIALOGUES: 1, SUCCESSES: success}
        for account in self.sides:
            side, usage = account.side, account.usages[dialogue]
            row[f"{side}_requests"] = usage.requests
            row[f"{side}_seconds"] = math.fsum(usage.turns) / 1000
            row[f"{side}_timed"] = len(usage.turns)
            if usage.is_counted:
                row[f"{side}_counted"] = 1
                row[f"{side}_tokens_in"] = usage.tokens_in
                row[f"{side}_tokens_out"] = usage.tokens_out
                row[f"{side}_usd"] = account.usd(usage) or 0
                row[f"{side}_successes"] = success
        if self.is_priced and all(f"{account.side}_counted" in row for account in self.sides):
            usd = math.fsum(row[f"{account.side}_usd"] for account in self.sides)
            row |= {f"{BOTH}_counted": 1, f"{BOTH}_usd": usd, f"{BOTH}_successes": success}
        return row

    def measures(self, sums: Mapping[str, float], sign: Sign) -> Iterator[Measure]:
        """Yield the measures that are defined for these column sums; lower values are better."""
        for rate in self._rates(sums):
            signature = sign(rate.name)
            if rate.unit == "USD":
                signature = signature.extended({"prices": self.prices})
            yield from rate.measures(sums, signature)

    def _rates(self, sums: Mapping[str, float]) -> Iterator[Rate]:
        described = partial(Rate, lower_is_better=True, is_description=True)

        def cost(whose: str, label: str) -> Iterator[Rate]:
            usd, counted = f"{whose}_usd", f"{whose}_counted"
            places = _places(sums[usd] / sums[counted]) if sums[counted] else 0
            of_usd = partial(described, part=usd, cases=counted, places=places, unit="USD")
            yield of_usd(usd, f"{label}, USD", whole=counted)
            name, whole = f"{usd}_per_success", f"{whose}_successes"
            yield of_usd(name, f"{label} per success, USD", whole=whole)

        for account in self.sides:
            side, label = account.side, account.label
            counted, timed = f"{side}_counted", f"{side}_timed"
            name = f"{side}_requests"
            yield described(name, f"{label}: requests", name, DIALOGUES, places=2, unit="requests")
            for part in ("tokens_in", "tokens_out"):
                name, shown = f"{side}_{part}", f"{label}: {LABELS[part]}"
                yield described(name, shown, name, counted, unit="tokens")
            if side == AGENT:
                name, shown = f"{side}_seconds", f"{label}: seconds per turn"
                yield described(name, shown, name, timed, cases=DIALOGUES, places=2, unit="s")
            if account.price is not None:
                yield from cost(side, f"{label}: cost")
        if self.is_priced:
            yield from cost(BOTH, "Cost")

    def used_in(self, dialogue: str) -> Iterator[tuple[str, str]]:
        """Yield the usage of each side in a dialogue as (label, line of text)."""
        for account in self.sides:
            usage = account.usages[dialogue]
            yield f"{account.side} used", usage_text(usage, account.usd(usage))

    def figures(self, scores: Sequence[Score], sums: Mapping[str, float]) -> tuple[Sheet, ...]:
        """Return tables of the token usage, or no tables if there is no usage.

        `scores` are the token usage scores, and `sums` are the sums of the columns.
        """
        plain = self.plain(scores, sums)
        if plain is None:
            return ()
        known = {score.name: score for score in scores if score.scope == WHOLE}
        rows: list[Sequence[Cell | str]] = []
        times: list[Sequence[Cell | str]] = []
        notes: list[str] = []

        def scored(name: str) -> Cell:
            if name not in known:
                return Cell(None)
            score = known[name]
            form = f",.{score.places}f"
            return Cell(score.value, form=form, interval=score.interval, score=name)

        def cost(label: str, whose: str, usd: float | None) -> None:
            name, a_success = f"{whose}_usd", f"{whose}_usd_per_success"
            rows.append((f"{label}: cost, USD", scored(name), scored(a_success), _cell(usd, 4)))

        for account in self.sides:
            side, label, used = account.side, account.label, plain[account.side]
            count = used["dialogues"]
            for name, what in LABELS.items():
                cells = scored(f"{side}_{name}"), _cell(used["a_success"][name], 1)
                rows.append((f"{label}: {what}", *cells, _cell(used[name])))
                if name == "tokens_in" and (cached := used["cached"]):
                    shown = f"{label}: {what} from the server's cache"
                    rows.append((shown, _cell(cached / count, 1), Cell(None), _cell(cached)))
            for name, what in (("retries", "retries"), ("cut_off", "messages cut off")):
                means = (_cell(_quotient(used[name], n), 2) for n in (count, sums[SUCCESSES]))
                rows.append((f"{label}: {what}", *means, _cell(used[name])))
            if account.price is not None:
                cost(label, side, used["usd"])
            if seconds := used.get("seconds_a_turn"):
                percentiles = (_cell(seconds[name], 2) for name in TIMES[1:])
                times.append(
                    (f"{label}: seconds per turn", scored(f"{side}_seconds"), *percentiles)
                )
            if used["not_counted"]:
                dialogues = sum(not usage.is_counted for usage in account.usages.values())
                notes.append(
                    f"{used['not_counted']:,} of {used['requests']:,} requests of the {side}, in "
                    f"{dialogues:,} of {count:,} dialogues, report no tokens. Tokens and cost per "
                    "dialogue and per success leave out these dialogues; totals include every "
                    "request that reports tokens."
                )
        if self.is_priced:
            cost("Both", BOTH, plain[BOTH]["usd"])
        models = (f"{account.side}: {account.model or 'unnamed'}" for account in self.sides)
        title = f"Usage and cost ({'; '.join(models)})"
        costs = sheet(title, ("", "per dialogue", "per success", "total"), rows, notes)
        return (costs, sheet("", ("", *TIMES), times)) if times else (costs,)

    def plain(self, scores: Sequence[Score], sums: Mapping[str, float]) -> dict[str, Any] | None:
        """Return the numbers of the usage tables for a JSON report; None if there is no usage.

        The result maps each side to its `model`, to totals such as `requests`, and to the values
        per dialogue (`a_dialogue`) and per success (`a_success`). Unknown values are None. `usd` is
        in US dollars.
        """
        if not self.sides:
            return None
        known = {score.name: score.value for score in scores if score.scope == WHOLE}
        plain: dict[str, Any] = {}
        for account in self.sides:
            side, total = account.side, account.total
            a_success = {
                name: _quotient(sums[f"{side}_{name}"], sums[whole])
                for name, whole in (
                    ("requests", SUCCESSES),
                    ("tokens_in", f"{side}_successes"),
                    ("tokens_out", f"{side}_successes"),
                )
            }
            usd = {}
            if account.price is not None:
                usd["usd"] = account.usd(total)
                a_success["usd"] = _quotient(sums[f"{side}_usd"], sums[f"{side}_successes"])
            plain[side] = {
                "model": account.model,
                "dialogues": len(account.usages),
                "requests": total.requests,
                "not_counted": total.uncounted,
                "tokens_in": total.tokens_in if total.is_known else None,
                "tokens_out": total.tokens_out if total.is_known else None,
                "cached": total.cached if total.is_known else None,
                "retries": total.retries,
                "cut_off": total.cut_off,
                **usd,
                "a_dialogue": {name: known.get(f"{side}_{name}") for name in a_success},
                "a_success": a_success,
            }
            if side == AGENT and total.turns:
                percentiles = (np.percentile(total.turns, (50, 95)) / 1000).tolist()
                times = zip(TIMES, (known.get(f"{side}_seconds"), *percentiles), strict=True)
                plain[side]["seconds_a_turn"] = {"turns": len(total.turns), **dict(times)}
        if self.is_priced:
            costs = [account.usd(account.total) for account in self.sides]
            plain[BOTH] = {
                "usd": None if None in costs else sum(usd for usd in costs if usd is not None),
                "a_dialogue": {"usd": known.get(f"{BOTH}_usd")},
                "a_success": {"usd": known.get(f"{BOTH}_usd_per_success")},
            }
        return plain | ({"prices": self.prices} if self.prices else {})


def _model(
    side: str, header: Mapping[str, Any], prices: Prices | None, findings: Findings
) -> tuple[str | None, Price | None]:
    """Return the model name of a side from the header, and its price."""
    about = header.get(side)
    named = about if isinstance(about, Mapping) else {"spec": about}
    names = [name for key in ("model", "spec") if isinstance(name := named.get(key), str)]
    model = names[0].removeprefix(PREFIX) if names else None
    if prices is None:
        return model, None
    for name in (model, *names):
        if name is not None and name in prices.models:
            return model, prices.models[name]
    if model is None:
        what = f'the header does not say which model the {side} is ("{side}": {{"model": …}})'
    else:
        hint = did_you_mean(model, prices.models)
        what = f'there is no price for "{shorten(model)}", the model of the {side}{hint}'
    findings.warning("no-price", f"{what}: the cost is unknown")
    return model, None


def _quotient(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _places(usd: float) -> int:
    """Return the number of decimals that shows three significant digits; usually four."""
    return 4 if usd <= 0 else min(8, max(4, 2 - math.floor(math.log10(usd))))


def usage_text(usage: Usage, usd: float | None = None) -> str:
    """Return the usage as text, with the cost if it is known."""
    parts = [f"{usage.requests:,} request" + "s" * (usage.requests != 1)]
    if usage.is_known:
        parts += [f"{usage.tokens_in:,} tokens in", f"{usage.tokens_out:,} out"]
    if usage.uncounted:
        parts.append(f"not counted for {usage.uncounted:,}")
    if usage.retries:
        parts.append(f"{usage.retries:,} retried")
    if usage.cut_off:
        parts.append(f"{usage.cut_off:,} cut off")
    if usage.turns:
        parts.append(f"{math.fsum(usage.turns) / 1000:.2f} s of waiting")
    if usd is not None:
        parts.append(f"{usd:.{_places(usd)}f} USD")
    return ", ".join(parts)


def _cell(value: float | None, places: int = 0) -> Cell:
    return Cell(value, form=f",.{places}f")
