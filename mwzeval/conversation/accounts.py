"""What the models of a run have used and cost: numbers of each dialogue, scores, tables, totals.

Tokens and cost of a dialogue are means over the dialogues of which all requests are counted, those
of a success are of the same dialogues; totals are of all requests that are counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mwzeval.conversation.completions import PREFIX
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.conversation.usage import AGENT, Price, Prices, Usage, usages_of
from mwzeval.errors import did_you_mean, shorten
from mwzeval.metrics.measure import Measure, Sign
from mwzeval.scores.findings import Findings
from mwzeval.scores.score import WHOLE, Score, Signature
from mwzeval.scores.sheets import Cell, Sheet, sheet
from mwzeval.statistics.bootstrap import Sums

DIALOGUES, SUCCESSES = "accounted", "succeeded"
"""Columns: 1 for every dialogue, and for one in which the user got what it wants."""
BOTH = "both"
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
        """How the side is called in labels of scores."""
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
        if not self.sides:
            return ()
        counts = ("requests", "counted", "tokens_in", "tokens_out", "usd")
        named = (*counts, "successes", "seconds", "timed")
        columns = [f"{account.side}_{name}" for account in self.sides for name in named]
        both = [f"{BOTH}_{name}" for name in ("counted", "usd", "successes")] * self.is_priced
        return (DIALOGUES, SUCCESSES, *columns, *both)

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
        for account in self.sides:
            side, label = account.side, account.label
            name, counted, timed = f"{side}_requests", f"{side}_counted", f"{side}_timed"
            if sums[DIALOGUES]:
                yield _ratio(name, f"{label}: requests", sign, name, DIALOGUES, unit="requests")
            for part in ("tokens_in", "tokens_out") if sums[counted] else ():
                name, shown = f"{side}_{part}", f"{label}: {LABELS[part]}"
                yield _ratio(name, shown, sign, name, counted, places=1, unit="tokens")
            if side == AGENT and sums[timed]:
                name, shown = f"{side}_seconds", f"{label}: seconds a turn"
                yield _ratio(name, shown, sign, name, timed, cases=DIALOGUES, unit="s")
            if account.price is not None:
                yield from self._cost(side, f"{label}: cost", sums, sign)
        if self.is_priced:
            yield from self._cost(BOTH, "Cost", sums, sign)

    def _cost(
        self, whose: str, label: str, sums: Mapping[str, float], sign: Sign
    ) -> Iterator[Measure]:
        usd, counted, successes = (f"{whose}_{name}" for name in ("usd", "counted", "successes"))
        if not sums[counted]:
            return
        places = _places(sums[usd] / sums[counted])

        def signed(name: str) -> Signature:
            return sign(name).extended({"prices": self.prices})

        yield _ratio(usd, f"{label}, USD", signed, usd, counted, places=places, unit="USD")
        if sums[successes]:
            name, shown = f"{usd}_per_success", f"{label} a success, USD"
            yield _ratio(name, shown, signed, usd, successes, counted, places=places, unit="USD")

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
        rows = [row for account in self.sides for row in _rows(account, known, sums)]
        if self.is_priced:
            rows.append(["Both: cost, USD", *_cost_cells(BOTH, self._usd, known)])
        models = (f"{account.side}: {account.model or 'unnamed'}" for account in self.sides)
        title = f"What it cost ({'; '.join(models)})"
        notes = [note for account in self.sides for note in _notes(account)]
        columns = ("", "a dialogue", "a success", "in all")
        used = sheet(title, columns, rows, tuple(notes))
        times: list[list[Cell | str]] = []
        for account in self.sides:
            if account.side == AGENT and account.total.turns:
                mean = _score_cell(known.get(f"{AGENT}_seconds"))
                cells = (_cell(seconds, 2) for seconds in _percentiles(account.total))
                times.append([f"{account.label}: seconds a turn", mean, *cells])
        return (used, sheet("", ("", *TIMES), times)) if times else (used,)

    def plain(self, scores: Sequence[Score], sums: Mapping[str, float]) -> dict[str, Any] | None:
        """Return the same numbers for a JSON report; None where nothing was used.

        Side → `model`, `requests` and so on in all, and those `a_dialogue` and `a_success`; None
        stands for what is not known. US dollars are `usd`.
        """
        if not self.sides:
            return None
        known = {score.name: score.value for score in scores if score.scope == WHOLE}
        plain: dict[str, Any] = {
            account.side: _plain_account(account, known, sums) for account in self.sides
        }
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


def _ratio(
    name: str,
    label: str,
    sign: Sign,
    part: str,
    whole: str,
    cases: str | None = None,
    *,
    places: int = 2,
    unit: str,
) -> Measure:
    """Return the ratio of two columns' sums as a description."""
    return Measure(
        name,
        label,
        sign(name),
        partial(_quotients, part, whole),
        places,
        cases=cases or whole,
        lower_is_better=True,
        unit=unit,
        is_description=True,
    )


def _quotients(part: str, whole: str, sums: Sums) -> NDArray[np.float64]:
    return np.asarray(sums[part] / sums[whole])


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


def _rows(
    account: Account, known: Mapping[str, Score], sums: Mapping[str, float]
) -> Iterator[list[Cell | str]]:
    side, label, total, dialogues = account.side, account.label, account.total, len(account.usages)
    for name, amount, a_success in _amounts(account, total, sums):
        mean = _score_cell(known.get(f"{side}_{name}"))
        yield [f"{label}: {LABELS[name]}", mean, _cell(a_success, 1), _cell(amount)]
        if name == "tokens_in" and total.cached:
            mean = _cell(total.cached / dialogues, 1)
            what = f"{label}: {LABELS[name]} from the server's cache"
            yield [what, mean, _cell(None), _cell(total.cached)]
    for what, count in (("retries", total.retries), ("messages cut off", total.cut_off)):
        ratios = (_quotient(count, dialogues), _quotient(count, sums[SUCCESSES]))
        yield [f"{label}: {what}", *(_cell(ratio, 2) for ratio in ratios), _cell(count)]
    if account.price is not None:
        yield [f"{label}: cost, USD", *_cost_cells(side, account.usd(total), known)]


def _amounts(
    account: Account, total: Usage, sums: Mapping[str, float]
) -> Iterator[tuple[str, int | None, float | None]]:
    """Yield (name, in all, a success) of requests and tokens; None for what is not known."""
    side = account.side
    in_all = total.requests, total.tokens_in, total.tokens_out
    for name, amount in zip(LABELS, in_all, strict=True):
        is_requests = name == "requests"
        successes = sums[SUCCESSES if is_requests else f"{side}_successes"]
        is_known = is_requests or total.is_known
        yield name, amount if is_known else None, _quotient(sums[f"{side}_{name}"], successes)


def _cost_cells(whose: str, total: float | None, known: Mapping[str, Score]) -> tuple[Cell, ...]:
    names = (f"{whose}_usd", f"{whose}_usd_per_success")
    return (*(_score_cell(known.get(name)) for name in names), _cell(total, 4))


def _notes(account: Account) -> Iterator[str]:
    total = account.total
    if total.uncounted:
        dialogues = sum(not usage.is_counted for usage in account.usages.values())
        yield (
            f"The {account.side}'s tokens are not counted for {total.uncounted:,} of "
            f"{total.requests:,} requests, which are in {dialogues:,} of "
            f"{len(account.usages):,} dialogues: tokens and cost a dialogue and a success are "
            "of the others, and those in all of the requests that are counted."
        )


def _plain_account(
    account: Account, known: Mapping[str, float], sums: Mapping[str, float]
) -> dict[str, Any]:
    side, total = account.side, account.total
    in_all: dict[str, float | None] = {}
    a_success: dict[str, float | None] = {}
    for name, amount, ratio in _amounts(account, total, sums):
        in_all[name], a_success[name] = amount, ratio
    usd = {}
    if account.price is not None:
        usd["usd"] = account.usd(total)
        a_success["usd"] = _quotient(sums[f"{side}_usd"], sums[f"{side}_successes"])
    plain: dict[str, Any] = {
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
        times = dict(zip(TIMES, (known.get(f"{side}_seconds"), *_percentiles(total)), strict=True))
        plain["seconds_a_turn"] = {"turns": len(total.turns), **times}
    return plain


def _cell(value: float | None, places: int = 0) -> Cell:
    return Cell(value, form=f",.{places}f")


def _score_cell(score: Score | None) -> Cell:
    if score is None:
        return Cell(None)
    form = f",.{score.places}f"
    return Cell(score.value, form=form, interval=score.interval, score=score.name)


def _quotient(part: float, whole: float) -> float | None:
    return part / whole if whole else None
