"""What the models of a run have used and cost: numbers of each dialogue, scores, and totals.

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

from mwzeval.conversation.accounting.prices import Price, Prices
from mwzeval.conversation.accounting.usage import AGENT, SIDES, Usage, usages_of
from mwzeval.conversation.endpoint.address import PREFIX
from mwzeval.conversation.trajectory import Trajectory
from mwzeval.errors import did_you_mean, shorten
from mwzeval.metrics.measure import Measure, Sign
from mwzeval.scores.findings import Findings
from mwzeval.scores.score import Signature
from mwzeval.statistics.bootstrap import Sums

DIALOGUES, SUCCESSES = "accounted", "succeeded"
"""Columns: 1 for every dialogue, and for one in which the user got what it wants."""
BOTH = "both"
COUNTED = ("tokens_in", "tokens_out", "usd")
LABELS = {"tokens_in": "tokens in", "tokens_out": "tokens out", "usd": "cost, USD"}
PERCENTILES = (50, 95)


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
        found = usages_of(dialogues)
        if prices is not None and not found:
            message = "no message has a usage with tokens: there is nothing that prices could be of"
            findings.warning("no-usage", message)
        sides = tuple(
            Account(side, found[side], *_model(side, header, prices, findings))
            for side in SIDES
            if side in found
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
        named = ("requests", "counted", *COUNTED, "successes", "seconds", "timed")
        columns = [f"{account.side}_{name}" for account in self.sides for name in named]
        both = [f"{BOTH}_{name}" for name in ("counted", "usd", "successes")] * self.is_priced
        return (DIALOGUES, SUCCESSES, *columns, *both)

    def row(self, dialogue: str, success: float) -> dict[str, float]:
        """Return the additive numbers of a dialogue; `success` is 1 if it was one."""
        if not self.sides:
            return {}
        row: dict[str, float] = {DIALOGUES: 1, SUCCESSES: success}
        for account in self.sides:
            row |= _row_of(account, account.usages[dialogue], success)
        if self.is_priced and all(f"{each.side}_counted" in row for each in self.sides):
            usd = math.fsum(row[f"{each.side}_usd"] for each in self.sides)
            row |= {f"{BOTH}_counted": 1, f"{BOTH}_usd": usd, f"{BOTH}_successes": success}
        return row

    def measures(self, sums: Mapping[str, float], sign: Sign) -> Iterator[Measure]:
        """Yield the scores that have a value for these sums of columns; less is always better."""
        for account in self.sides:
            yield from self._of_side(account, sums, sign)
        if self.is_priced:
            yield from self._of_cost(BOTH, "Cost", sums, sign)

    def _of_side(
        self, account: Account, sums: Mapping[str, float], sign: Sign
    ) -> Iterator[Measure]:
        side, label = account.side, account.label
        if sums[DIALOGUES]:
            yield _mean(f"{side}_requests", f"{label}: requests", DIALOGUES, sign, unit="requests")
        if sums[f"{side}_counted"]:
            for name in ("tokens_in", "tokens_out"):
                shown = f"{label}: {LABELS[name]}"
                yield _mean(
                    f"{side}_{name}", shown, f"{side}_counted", sign, places=1, unit="tokens"
                )
        if side == AGENT and sums[f"{side}_timed"]:
            of = partial(_ratio, f"{side}_seconds", f"{side}_timed")
            name, shown = f"{side}_seconds", f"{label}: seconds a turn"
            yield Measure(
                *(name, shown, sign(name), of),
                cases=DIALOGUES,
                lower_is_better=True,
                unit="s",
                is_description=True,
            )
        if account.price is not None:
            yield from self._of_cost(side, f"{label}: cost", sums, sign)

    def _of_cost(
        self, whose: str, label: str, sums: Mapping[str, float], sign: Sign
    ) -> Iterator[Measure]:
        usd, counted, successes = (f"{whose}_{name}" for name in ("usd", "counted", "successes"))
        if not sums[counted]:
            return
        places = _places(sums[usd] / sums[counted])

        def signed(name: str) -> Signature:
            return sign(name).extended({"prices": self.prices})

        yield _mean(usd, f"{label}, USD", counted, signed, places=places, unit="USD")
        if sums[successes]:
            name, of = f"{usd}_per_success", partial(_ratio, usd, successes)
            yield Measure(
                *(name, f"{label} a success, USD", signed(name), of, places),
                cases=counted,
                lower_is_better=True,
                unit="USD",
                is_description=True,
            )

    def told(self, dialogue: str) -> Iterator[tuple[str, str]]:
        """Yield what each side has used in a dialogue: a label, and a line of text."""
        for account in self.sides:
            usage = account.usages[dialogue]
            yield f"{account.side} used", ", ".join(told_usage(usage, account.usd(usage)))


def _model(
    side: str, header: Mapping[str, Any], prices: Prices | None, findings: Findings
) -> tuple[str | None, Price | None]:
    """Return the name of the model of a side as the header has it, and its price."""
    about = header.get(side)
    said = about if isinstance(about, Mapping) else {"spec": about}
    names = [name for key in ("model", "spec") if isinstance(name := said.get(key), str)]
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


def _row_of(account: Account, usage: Usage, success: float) -> dict[str, float]:
    side = account.side
    row: dict[str, float] = {
        f"{side}_requests": usage.requests,
        f"{side}_seconds": math.fsum(usage.turns) / 1000,
        f"{side}_timed": len(usage.turns),
    }
    if usage.is_counted:
        row |= {
            f"{side}_counted": 1,
            f"{side}_tokens_in": usage.tokens_in,
            f"{side}_tokens_out": usage.tokens_out,
            f"{side}_usd": account.usd(usage) or 0,
            f"{side}_successes": success,
        }
    return row


def _mean(
    column: str, label: str, cases: str, sign: Sign, places: int = 2, *, unit: str
) -> Measure:
    of = partial(_ratio, column, cases)
    return Measure(
        *(column, label, sign(column), of, places),
        cases=cases,
        lower_is_better=True,
        unit=unit,
        is_description=True,
    )


def _ratio(part: str, whole: str, sums: Sums) -> NDArray[np.float64]:
    return np.asarray(sums[part] / sums[whole])


def _places(usd: float) -> int:
    """Return so many decimals that three digits of an amount are seen; four are usual."""
    return 4 if usd <= 0 else min(8, max(4, 2 - math.floor(math.log10(usd))))


def told_usage(usage: Usage, usd: float | None = None) -> Iterator[str]:
    """Yield what was used, in words, with its cost where that is known."""
    yield f"{usage.requests:,} request" + "s" * (usage.requests != 1)
    if usage.is_known:
        yield f"{usage.tokens_in:,} tokens in"
        yield f"{usage.tokens_out:,} out"
    if usage.uncounted:
        yield f"not counted for {usage.uncounted:,}"
    if usage.retries:
        yield f"{usage.retries:,} made again"
    if usage.cut_off:
        yield f"{usage.cut_off:,} cut off"
    if usage.turns:
        yield f"{math.fsum(usage.turns) / 1000:.2f} s of waiting"
    if usd is not None:
        yield f"{usd:.{_places(usd)}f} USD"


def percentiles(turns: Sequence[float]) -> tuple[float | None, ...]:
    """Return `PERCENTILES` of milliseconds, in seconds; None of nothing."""
    if not turns:
        return tuple(None for _ in PERCENTILES)
    return tuple((np.percentile(turns, PERCENTILES) / 1000).tolist())
