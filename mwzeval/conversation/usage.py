"""What the models of a run have used and cost, dialogue by dialogue: scores, tables, totals.

Messages of the role assistant are of the agent's model, those of the user of the user's model. A
message with `usage` is a request that was answered: `{"in", "out", "ms", "cached"?, "retries"?}`,
or with the names that servers use, `prompt_tokens` and `completion_tokens`, or `input_tokens` and
`output_tokens`. What a server does not count is unknown, and never 0.

Prices are US dollars per million tokens: `{"MODEL": {"in": 0.15, "out": 0.6, "cached_in": 0.075}}`;
without `cached_in`, tokens that the server had in its cache cost as much as others.

Tokens and cost of a dialogue are means over the dialogues of which all requests are counted, those
of a success are of the same dialogues; totals are of all requests that are counted.
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
from numpy.typing import NDArray

from mwzeval.conversation.completions import CUT_OFF, PREFIX
from mwzeval.conversation.messages import ASSISTANT_ROLE, Message, is_user_message
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.errors import did_you_mean, shorten
from mwzeval.files.reading import RepeatedKeys, read_json
from mwzeval.metrics.measure import Measure, Sign
from mwzeval.scores.findings import Findings, found, repeated
from mwzeval.scores.score import WHOLE, Score
from mwzeval.scores.sheets import Cell, Sheet, sheet
from mwzeval.statistics.bootstrap import Sums

AGENT, USER, BOTH = "agent", "user", "both"
SIDES = (AGENT, USER)
USAGE = "usage"
_TOKENS_IN = ("in", "prompt_tokens", "input_tokens")
_TOKENS_OUT = ("out", "completion_tokens", "output_tokens")
_REQUESTS = ("requests", "calls")
_MOST = 1e12
"""More of anything in a dialogue is no number that was counted."""


class Usage(NamedTuple):
    """What a model has used; of several dialogues it is the sum.

    `tokens_in`, `tokens_out` and those `cached` (they are among `tokens_in`) are of the requests
    that are not `uncounted`. `retries` are requests that were made again, not among `requests`;
    `cut_off` are messages that were longer than they may be. `turns` has the milliseconds of each
    turn where they are known.
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
        """Whether the tokens of any request are known, or there was none."""
        return self.uncounted < self.requests or not self.requests

    @staticmethod
    def total(parts: Iterable[Usage]) -> Usage:
        """Return the sum of all parts."""
        counts: list[Any] = list(zip(Usage(), *parts, strict=True))
        turns = tuple(chain.from_iterable(counts.pop()))
        return Usage._make([*map(sum, counts), turns])


def usages_of(dialogues: Mapping[str, Trajectory]) -> dict[str, dict[str, Usage]]:
    """Return side → name of the dialogue → usage, of the sides that have used anything.

    Where a side has usage in some dialogues, its messages in others are requests not counted.
    """
    used = {name: usage_of(dialogue) for name, dialogue in dialogues.items()}
    usages: dict[str, dict[str, Usage]] = {}
    for side in SIDES:
        if any(side in sides for sides in used.values()):
            usages[side] = {}
            for name, sides in used.items():
                count = 0 if side in sides else len(_messages_of(dialogues[name].messages, side))
                usages[side][name] = sides.get(side, Usage(count, uncounted=count))
    return usages


def usage_of(dialogue: Trajectory) -> dict[str, Usage]:
    """Return the usage of each side of a dialogue that has any.

    That is of its messages, or of the line (`usage`, of the agent where it names no side).
    """
    usages: dict[str, Usage] = {}
    for side in SIDES:
        messages = _messages_of(dialogue.messages, side)
        cut_off = sum(message.get("finish_reason") == CUT_OFF for message in messages)
        requests = [message for message in messages if isinstance(message.get(USAGE), Mapping)]
        if requests:
            turns = _milliseconds(dialogue.messages, requests)
            parts = (_of_tokens(message[USAGE], 1) for message in requests)
            usages[side] = Usage.total((*parts, Usage(cut_off=cut_off, turns=turns)))
            continue
        line = dialogue.more.get(USAGE)
        if isinstance(line, Mapping) and any(isinstance(line.get(key), Mapping) for key in SIDES):
            line = line.get(side)
        elif side != AGENT:
            continue
        if isinstance(line, Mapping) and None not in (
            _first(line, names) for names in (_TOKENS_IN, _TOKENS_OUT)
        ):
            count = _first(line, _REQUESTS)
            used = _of_tokens(line, len(messages) if count is None else count)
            usages[side] = used._replace(cut_off=cut_off)
    return usages


def _messages_of(messages: Iterable[Message], side: str) -> list[Message]:
    if side == USER:
        return [message for message in messages if is_user_message(message)]
    return [message for message in messages if message.get("role") == ASSISTANT_ROLE]


def _of_tokens(raw: Mapping[str, Any], requests: int) -> Usage:
    tokens_in, tokens_out = _first(raw, _TOKENS_IN), _first(raw, _TOKENS_OUT)
    retries = _count(raw.get("retries")) or 0
    if tokens_in is None or tokens_out is None:
        return Usage(requests, uncounted=requests, retries=retries)
    details = raw.get("prompt_tokens_details")
    cached = _count(raw.get("cached"))
    if cached is None and isinstance(details, Mapping):
        cached = _count(details.get("cached_tokens"))
    return Usage(requests, 0, tokens_in, tokens_out, min(cached or 0, tokens_in), retries)


def _milliseconds(messages: Sequence[Message], requests: Sequence[Message]) -> tuple[float, ...]:
    """Return the time of each turn in which all requests say it."""
    asked = {id(message) for message in requests}
    turns: list[list[float]] = [[]]
    for message in messages:
        if is_user_message(message):
            turns.append([])
        if id(message) in asked:
            ms = message[USAGE].get("ms", message.get("ms"))
            is_known = type(ms) in (int, float) and 0 <= ms <= _MOST
            turns[-1].append(ms if is_known else math.nan)
    sums = (math.fsum(turn) for turn in turns if turn)
    return tuple(ms for ms in sums if not math.isnan(ms))


def _first(raw: Mapping[str, Any], names: Iterable[str]) -> int | None:
    return next((count for name in names if (count := _count(raw.get(name))) is not None), None)


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= _MOST else None


KEYS = IN, OUT, CACHED = "in", "out", "cached_in"
EXPECTED = '{"MODEL": {"in": USD per million tokens, "out": …, "cached_in": …}}'
_MILLION = 1e6


class Price(NamedTuple):
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


def read_prices(path: str | Path) -> Prices:
    """Return the prices of a JSON file. Raises `InputError` with every problem."""
    raw = read_json(path)
    findings = Findings(str(path))
    if not isinstance(raw, dict) or not raw:
        findings.error("shape", f"expected {EXPECTED}, {found(raw)}")
        findings.check()
    if isinstance(raw, RepeatedKeys):
        findings.error("repeated-key", repeated(raw))
    for model, price in raw.items():
        _check_price(model, price, findings)
    findings.check()
    models = {
        model: Price(price[IN], price[OUT], price.get(CACHED, price[IN]))
        for model, price in raw.items()
    }
    text = json.dumps(raw, sort_keys=True).encode()
    return Prices(models, sha256(text).hexdigest()[:8])


def _check_price(model: str, raw: Any, findings: Findings) -> None:
    if not isinstance(raw, dict) or not {IN, OUT} <= raw.keys():
        expected = 'expected {"in": USD per million tokens, "out": …}'
        findings.error("shape", f"{expected}, found {shorten(json.dumps(raw))}", key=model)
        return
    if isinstance(raw, RepeatedKeys):
        findings.error("repeated-key", repeated(raw), key=model)
    for key, value in raw.items():
        if key not in KEYS:
            known = did_you_mean(key, KEYS) or f" (known: {', '.join(KEYS)})"
            findings.error("unknown-key", f'unknown key "{shorten(key)}"{known}', key=model)
        elif not (type(value) in (int, float) and 0 <= value <= _MILLION):
            message = f"a price is a number from 0 to {_MILLION:,.0f} US dollars per million tokens"
            shown = shorten(json.dumps(value))
            findings.error("price", f"{message}, not {shown}", key=f"{model}.{key}")


DIALOGUES, SUCCESSES = "accounted", "succeeded"
"""Columns: 1 for every dialogue, and for one in which the user reached its goal."""
LABELS = {"requests": "requests", "tokens_in": "tokens in", "tokens_out": "tokens out"}
TIMES = ("mean", "p50", "p95")


@dataclass(frozen=True, slots=True)
class Account:
    """What the model of one side has used, by dialogue; `price` is None where none is known."""

    side: str
    usages: Mapping[str, Usage]
    model: str | None = None
    price: Price | None = None

    @property
    def label(self) -> str:
        """The name of the side in labels of scores."""
        return self.side.capitalize()

    @property
    def total(self) -> Usage:
        """What was used in all dialogues."""
        return Usage.total(self.usages.values())

    def usd(self, usage: Usage) -> float | None:
        """Return what the tokens that are counted cost; None without a price, or without any."""
        return None if self.price is None or not usage.is_known else self.price.of(usage)


@dataclass(frozen=True, slots=True)
class Accounts:
    """The accounts of all sides that have used something; `prices` is the checksum of prices."""

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
        """Return the accounts of dialogues; what has no price is noted, once a side."""
        used = usages_of(dialogues)
        if prices is not None and not used:
            message = "no message has a usage with tokens: there is nothing that prices could be of"
            findings.warning("no-usage", message)
        sides = tuple(
            Account(side, usages, *_model(side, header, prices, findings))
            for side, usages in used.items()
        )
        return cls(sides, "" if prices is None else prices.sha)

    @property
    def is_priced(self) -> bool:
        """Whether the cost of all sides together is known, and there are several."""
        return len(self.sides) > 1 and all(account.price is not None for account in self.sides)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the numbers of a row; none where nothing was used."""
        counts = ("requests", "counted", "tokens_in", "tokens_out", "usd")
        named = (*counts, "successes", "seconds", "timed")
        columns = [f"{account.side}_{name}" for account in self.sides for name in named]
        both = [f"{BOTH}_{name}" for name in ("counted", "usd", "successes")] * self.is_priced
        return (DIALOGUES, SUCCESSES, *columns, *both) if columns else ()

    def row(self, dialogue: str, success: float) -> dict[str, float]:
        """Return the additive numbers of a dialogue; `success` is 1 if it was one."""
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
        """Yield the scores that have a value for these sums of columns; less is always better."""

        def ratio(
            name: str, label: str, part: str, whole: str, unit: str, places: int, cases: str = ""
        ) -> Measure:
            signature = sign(name)
            if unit == "USD":
                signature = signature.extended({"prices": self.prices})
            return Measure(
                name,
                label,
                signature,
                partial(_quotients, part, whole),
                places,
                cases=cases or whole,
                lower_is_better=True,
                unit=unit,
                is_description=True,
            )

        def cost(whose: str, label: str) -> Iterator[Measure]:
            usd, counted, successes = f"{whose}_usd", f"{whose}_counted", f"{whose}_successes"
            if not sums[counted]:
                return
            places = _places(sums[usd] / sums[counted])
            yield ratio(usd, f"{label}, USD", usd, counted, "USD", places)
            if sums[successes]:
                name, shown = f"{usd}_per_success", f"{label} a success, USD"
                yield ratio(name, shown, usd, successes, "USD", places, counted)

        for account in self.sides:
            side, label = account.side, account.label
            requests, counted, timed = f"{side}_requests", f"{side}_counted", f"{side}_timed"
            if sums[DIALOGUES]:
                yield ratio(requests, f"{label}: requests", requests, DIALOGUES, "requests", 2)
            for part in ("tokens_in", "tokens_out") if sums[counted] else ():
                name = f"{side}_{part}"
                yield ratio(name, f"{label}: {LABELS[part]}", name, counted, "tokens", 1)
            if side == AGENT and sums[timed]:
                name = f"{side}_seconds"
                yield ratio(name, f"{label}: seconds a turn", name, timed, "s", 2, DIALOGUES)
            if account.price is not None:
                yield from cost(side, f"{label}: cost")
        if self.is_priced:
            yield from cost(BOTH, "Cost")

    def told(self, dialogue: str) -> Iterator[tuple[str, str]]:
        """Yield what each side has used in a dialogue: a label, and a line of text."""
        for account in self.sides:
            usage = account.usages[dialogue]
            yield f"{account.side} used", usage_text(usage, account.usd(usage))

    def figures(self, scores: Sequence[Score], sums: Mapping[str, float]) -> tuple[Sheet, ...]:
        """Return tables of what was used; none where nothing was.

        `scores` are those of the accounts' measures, `sums` the sums of their columns.
        """
        if not self.sides:
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

        def add(label: str, mean: Cell, success: Cell, amount: float | None, places: int) -> None:
            rows.append((label, mean, success, _cell(amount, places)))

        for account in self.sides:
            side, label, total = account.side, account.label, account.total
            count = len(account.usages)
            for name, amount, a_success in _amounts(account, sums):
                shown = f"{label}: {LABELS[name]}"
                add(shown, scored(f"{side}_{name}"), _cell(a_success, 1), amount, 0)
                if name == "tokens_in" and total.cached:
                    mean = _cell(total.cached / count, 1)
                    add(f"{shown} from the server's cache", mean, Cell(None), total.cached, 0)
            for what, amount in (("retries", total.retries), ("messages cut off", total.cut_off)):
                mean, success = (
                    _cell(_quotient(amount, whole), 2) for whole in (count, sums[SUCCESSES])
                )
                add(f"{label}: {what}", mean, success, amount, 0)
            if account.price is not None:
                cells = scored(f"{side}_usd"), scored(f"{side}_usd_per_success")
                add(f"{label}: cost, USD", *cells, account.usd(total), 4)
            if side == AGENT and total.turns:
                percentiles = scored(f"{side}_seconds"), *(_cell(s, 2) for s in _percentiles(total))
                times.append((f"{label}: seconds a turn", *percentiles))
            if total.uncounted:
                dialogues = sum(not usage.is_counted for usage in account.usages.values())
                notes.append(
                    f"The {side}'s tokens are not counted for {total.uncounted:,} of "
                    f"{total.requests:,} requests, which are in {dialogues:,} of {count:,} "
                    "dialogues: tokens and cost a dialogue and a success are of the others, and "
                    "those in all of the requests that are counted."
                )
        if self.is_priced:
            cells = scored(f"{BOTH}_usd"), scored(f"{BOTH}_usd_per_success")
            add("Both: cost, USD", *cells, self._usd, 4)
        models = (f"{account.side}: {account.model or 'unnamed'}" for account in self.sides)
        title = f"What it cost ({'; '.join(models)})"
        used = sheet(title, ("", "a dialogue", "a success", "in all"), rows, notes)
        return (used, sheet("", ("", *TIMES), times)) if times else (used,)

    def plain(self, scores: Sequence[Score], sums: Mapping[str, float]) -> dict[str, Any] | None:
        """Return the same numbers for a JSON report; None where nothing was used.

        Side → `model`, `requests` and so on in all, and those `a_dialogue` and `a_success`; None
        stands for what is not known. US dollars are `usd`.
        """
        if not self.sides:
            return None
        known = {score.name: score.value for score in scores if score.scope == WHOLE}
        plain: dict[str, Any] = {}
        for account in self.sides:
            side, total = account.side, account.total
            amounts = list(_amounts(account, sums))
            in_all = {name: amount for name, amount, _ in amounts}
            a_success = {name: ratio for name, _, ratio in amounts}
            usd = {}
            if account.price is not None:
                usd["usd"] = account.usd(total)
                a_success["usd"] = _quotient(sums[f"{side}_usd"], sums[f"{side}_successes"])
            plain[side] = {
                "model": account.model,
                "dialogues": len(account.usages),
                "requests": total.requests,
                "not_counted": total.uncounted,
                "tokens_in": in_all["tokens_in"],
                "tokens_out": in_all["tokens_out"],
                "cached": total.cached if total.is_known else None,
                "retries": total.retries,
                "cut_off": total.cut_off,
                **usd,
                "a_dialogue": {name: known.get(f"{side}_{name}") for name in a_success},
                "a_success": a_success,
            }
            if side == AGENT and total.turns:
                times = known.get(f"{side}_seconds"), *_percentiles(total)
                counted = {"turns": len(total.turns), **dict(zip(TIMES, times, strict=True))}
                plain[side]["seconds_a_turn"] = counted
        if self.is_priced:
            plain[BOTH] = {
                "usd": self._usd,
                "a_dialogue": {"usd": known.get(f"{BOTH}_usd")},
                "a_success": {"usd": known.get(f"{BOTH}_usd_per_success")},
            }
        return plain | ({"prices": self.prices} if self.prices else {})

    @property
    def _usd(self) -> float | None:
        """What all sides cost together; None where one of them is not known."""
        costs = [account.usd(account.total) for account in self.sides]
        return None if None in costs else sum(usd for usd in costs if usd is not None)


def _model(
    side: str, header: Mapping[str, Any], prices: Prices | None, findings: Findings
) -> tuple[str | None, Price | None]:
    """Return the name of the model of a side as the header has it, and its price."""
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
    findings.warning("no-price", f"{what}: its cost is not told")
    return model, None


def _quotients(part: str, whole: str, sums: Sums) -> NDArray[np.float64]:
    return np.asarray(sums[part] / sums[whole])


def _quotient(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _places(usd: float) -> int:
    """Return so many decimals that three digits of an amount are seen; four are usual."""
    return 4 if usd <= 0 else min(8, max(4, 2 - math.floor(math.log10(usd))))


def usage_text(usage: Usage, usd: float | None = None) -> str:
    """Return what was used, with its cost where that is known."""
    parts = [f"{usage.requests:,} request" + "s" * (usage.requests != 1)]
    if usage.is_known:
        parts += [f"{usage.tokens_in:,} tokens in", f"{usage.tokens_out:,} out"]
    if usage.uncounted:
        parts.append(f"not counted for {usage.uncounted:,}")
    if usage.retries:
        parts.append(f"{usage.retries:,} made again")
    if usage.cut_off:
        parts.append(f"{usage.cut_off:,} cut off")
    if usage.turns:
        parts.append(f"{math.fsum(usage.turns) / 1000:.2f} s of waiting")
    if usd is not None:
        parts.append(f"{usd:.{_places(usd)}f} USD")
    return ", ".join(parts)


def _percentiles(usage: Usage) -> list[float]:
    """Return the median and the 95th percentile of the seconds of turns."""
    seconds: list[float] = (np.percentile(usage.turns, (50, 95)) / 1000).tolist()
    return seconds


def _amounts(
    account: Account, sums: Mapping[str, float]
) -> Iterator[tuple[str, int | None, float | None]]:
    """Yield (name, in all, a success) of requests and tokens; None for what is not known."""
    side, total = account.side, account.total
    yield "requests", total.requests, _quotient(sums[f"{side}_requests"], sums[SUCCESSES])
    for name, amount in (("tokens_in", total.tokens_in), ("tokens_out", total.tokens_out)):
        a_success = _quotient(sums[f"{side}_{name}"], sums[f"{side}_successes"])
        yield name, amount if total.is_known else None, a_success


def _cell(value: float | None, places: int = 0) -> Cell:
    return Cell(value, form=f",.{places}f")
