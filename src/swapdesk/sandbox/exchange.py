"""A simulated centralized exchange behind the service's venue protocol.

Quotes depend only on seed, sandbox time, pair, amount and terms, so that every process computes the
same. The node keeps deposits and payouts. Fixed rates are not stored: their names contain time and
digest (contract 6.28).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

from swapdesk.chain.node_http import NodeRefused, NodeUncertain, NodeUnreachable
from swapdesk.chain.rpc.ledger import LedgerClient, LedgerMethod, RpcCode
from swapdesk.clock import Clock
from swapdesk.sandbox.faults import ActiveFaults
from swapdesk.sandbox.market import (
    Market,
    OrderBook,
    book_of,
    limits_of,
    minutes_of,
    noise,
    poll_seconds,
)
from swapdesk.sandbox.tables import PAYOUT_WALLETS, VenueRow
from swapdesk.sandbox.world import WorldToken, provider_of, traded_by, world_tokens
from swapdesk.service.venues.adapter import (
    FLOATING,
    Ambiguous,
    DepositAddressesInUse,
    DepositInstruction,
    LegOrder,
    LegReport,
    RateExpired,
    Rejected,
    Terms,
    Transient,
    Unavailable,
    VenueFailure,
    VenueLimits,
    VenueQuote,
    VenueTraits,
)
from swapdesk.wire.encoding.numbers import (
    from_base_units,
    plain,
    quantize,
    short,
    to_base_units,
)
from swapdesk.wire.orders import LegStatus
from swapdesk.wire.tokens import Token

FIXED_VALID = timedelta(seconds=600)
"""Time for which a fixed rate can be used, long enough to type a refund address."""

_FORM = re.compile(r"[a-z]{1,8}-([0-9a-f]{1,14})-[0-9a-f]{20}")
_MILLISECOND = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rate_name(
    seed: int,
    venue: str,
    pair: tuple[str, str],
    amounts: tuple[Decimal, Decimal],
    terms: Terms,
    at: datetime,
) -> str:
    """Returns the name of a fixed rate that an exchange gives at the time ``at`` for swapping
    ``amounts`` (in, out) of a pair."""
    moment = (at - _EPOCH) // _MILLISECOND
    figures = (*(format(short(amount), "f") for amount in (*amounts, terms.markup)),)
    facts = (seed, venue, *pair, *figures, terms.receive, moment)
    digest = hashlib.sha256("\0".join(map(str, facts)).encode()).hexdigest()[:20]
    return f"{venue}-{moment:x}-{digest}"


def given_at(rate: str) -> datetime | None:
    """Returns the time at which a fixed rate was given, read from the rate's name. Returns None if
    ``rate`` is not such a name."""
    form = _FORM.fullmatch(rate)
    return None if form is None else _EPOCH + int(form[1], 16) * _MILLISECOND


SLOW_SECONDS = 30
"""Length in seconds of the periods after which a slow exchange may change its speed. It is slow in
about one of three."""

_SLOW_BELOW = Decimal("-0.34")
_MINUTE = 60
_STEADY = Decimal("0.25")


def closed(venue: VenueRow, at: datetime) -> bool:
    """Returns True if the exchange is closed at that time, so that it accepts neither quote
    requests nor orders."""
    outage = venue.outage
    if outage is None:
        return False
    minutes, every, first = outage
    return (int(at.timestamp()) // _MINUTE - first) % every < minutes


def latency_of(seed: int, venue: VenueRow, at: datetime) -> float:
    """Returns how many seconds the exchange takes to answer a quote request that is made at
    ``at``."""
    moment = int(at.timestamp()) // SLOW_SECONDS
    swing = noise(seed, venue.code, "latency", moment)
    if venue.slow is not None and noise(seed, venue.code, "slow", moment) < _SLOW_BELOW:
        shortest, longest = venue.slow
        return shortest + (longest - shortest) * float((swing + 1) / 2)
    return venue.latency * float(1 + swing * _STEADY)


def base_units(amount: Decimal, token: WorldToken) -> str:
    return str(to_base_units(amount, token.row.decimals))


def _amount(units: object, token_id: object) -> Decimal:
    return short(from_base_units(int(str(units)), world_tokens()[str(token_id)].row.decimals))


def instruction_of(answer: dict[str, Any]) -> DepositInstruction:
    return DepositInstruction(
        str(answer["address"]),
        answer["tag"],
        _amount(answer["unitsIn"], answer["tokenIn"]),
        _amount(answer["unitsOut"], answer["tokenOut"]),
    )


def report_of(answer: dict[str, Any]) -> LegReport:
    token_in, arrived, refunded = answer["tokenIn"], answer["unitsIn"], answer["refundUnits"]
    confirmations = answer["confirmations"]
    return LegReport(
        status=LegStatus(int(answer["status"])),
        amount_in=None if arrived is None else _amount(arrived, token_in),
        amount_out=_amount(answer["unitsOut"], answer["tokenOut"]),
        deposit_hash=answer["depositHash"],
        payout_hash=answer["payoutHash"],
        refund_hash=answer["refundHash"],
        refund_amount=None if refunded is None else _amount(refunded, token_in),
        refund_chain=answer["refundChain"],
        confirmations=None if confirmations is None else int(confirmations),
        confirmations_needed=int(answer["confirmationsNeeded"]),
        deposit_arrived=bool(answer["depositArrived"]),
        declined=bool(answer["declined"]),
        held=bool(answer["held"]),
    )


Pair = tuple[WorldToken, WorldToken]

_Amounts = tuple[Decimal, Decimal]

DOWN, SLOW = "venue_down", "venue_slow"
_CLOSED = "the exchange is closed for the moment"


class SimulatedExchange:
    """A simulated exchange. ``speed`` is a function; it returns how many times faster world time
    runs than sandbox time."""

    def __init__(
        self,
        row: VenueRow,
        market: Market,
        clock: Clock,
        ledger: LedgerClient,
        speed: Callable[[], Decimal],
        faults: ActiveFaults | None = None,
    ) -> None:
        self._row = row
        self._market = market
        self._clock = clock
        self._ledger = ledger
        self._speed = speed
        self._faults = faults or ActiveFaults()
        self.provider = provider_of(row)
        self.traits = VenueTraits(
            fixed=row.fixed_spread is not None,
            static_deposits=row.static_deposits,
            requires_refund_address=row.requires_refund_address,
            payout_wallets=PAYOUT_WALLETS,
            fee=row.spread.scaleb(-2),
            fixed_fee=(row.fixed_spread or Decimal(0)).scaleb(-2),
        )

    @property
    def poll_seconds(self) -> float:
        return poll_seconds(self._speed())

    def supports(self, token_in: Token, token_out: Token) -> bool:
        first, second = token_in.id, token_out.id
        return first != second and first in self._traded and second in self._traded

    @cached_property
    def _traded(self) -> frozenset[str]:
        return traded_by(self._row)

    def limits(self, token_in: Token, token_out: Token) -> VenueLimits | None:
        pair = self._pair(token_in, token_out)
        return None if pair is None else limits_of(self._row, pair[0])

    async def quote(
        self, token_in: Token, token_out: Token, amount: Decimal, terms: Terms = FLOATING
    ) -> VenueQuote | Unavailable:
        """Returns a quote at current prices. An amount to receive requires a fixed rate (contract
        6.10)."""
        await self._meet()
        await self._clock.sleep(latency_of(self._market.seed, self._row, self._clock.now()))
        # As the name of a rate tells it.
        now = _EPOCH + (self._clock.now() - _EPOCH) // _MILLISECOND * _MILLISECOND
        if closed(self._row, now):
            raise Transient(_CLOSED)
        pair = self._tradable(token_in, token_out, terms)
        if isinstance(pair, str):
            return Unavailable(pair)
        limits = limits_of(self._row, pair[0])
        book = book_of(self._market, self._row, *pair, now, terms)
        amounts = _amounts(book, pair, amount, terms)
        if amounts is None:
            return Unavailable("above maximum: this exchange does not hold as much", limits)
        out_of_bounds = _bounded(amounts[0], limits, token_in.symbol)
        if out_of_bounds is not None:
            return out_of_bounds
        if amounts[1] <= 0:
            return Unavailable("the amount is too small to be paid out", limits)
        minutes = minutes_of(self._row, *pair, self._speed())
        if not terms.fixed:
            return VenueQuote(*amounts, minutes, limits)
        rate = self._rate(pair, amounts, terms, now)
        return VenueQuote(*amounts, minutes, limits, rate, now + FIXED_VALID)

    async def open(self, leg: LegOrder) -> DepositInstruction:
        """Opens a leg. If the leg's key was used before, returns the deposit instruction of that
        earlier leg instead."""
        await self._meet()
        try:
            params = self._opening(leg)
        except VenueFailure as refusal:
            try:
                opened = await self._find(leg.key)
            except VenueFailure as error:
                raise Ambiguous(f"{refusal}; {error}") from error
            if opened is None:
                raise
            return opened
        return instruction_of(await self._call("venue_open", **params))

    def _opening(self, leg: LegOrder) -> dict[str, object]:
        now = self._clock.now()
        if closed(self._row, now):
            raise Transient(_CLOSED)
        pair = self._tradable(leg.token_in, leg.token_out, leg.terms)
        if isinstance(pair, str):
            raise Rejected(pair)
        if self._row.requires_refund_address and leg.refund_address is None:
            raise Rejected("this exchange needs a refund address")
        limits = limits_of(self._row, pair[0])
        if not limits.minimum <= leg.amount_in <= limits.maximum:
            raise Rejected("the amount is out of bounds")
        if leg.terms.fixed:
            paid, bought = self._promised(leg, pair, now)
        else:
            paid = _payable(leg.amount_in, pair[0])
            bought = book_of(self._market, self._row, *pair, now, leg.terms).bought(paid)
        return {
            "venue": self._row.code,
            "key": leg.key,
            "tokenIn": pair[0].token_id,
            "tokenOut": pair[1].token_id,
            "unitsIn": base_units(paid, pair[0]),
            "unitsOut": base_units(bought, pair[1]),
            "minimum": base_units(limits.minimum, pair[0]),
            "payoutAddress": leg.payout_address,
            "payoutTag": leg.payout_tag,
            "refundAddress": leg.refund_address,
            "refundTag": leg.refund_tag,
            "expires": leg.expires,
            "exchangeSeconds": self._row.exchange_seconds,
            "fixed": leg.terms.fixed,
            "payoutWallet": leg.payout_wallet,
        }

    def _promised(self, leg: LegOrder, pair: Pair, now: datetime) -> _Amounts:
        given = given_at(leg.rate or "")
        if leg.rate is None or given is None or given > now:
            raise Rejected("there is no such fixed rate")
        if now > given + FIXED_VALID:
            raise RateExpired("the fixed rate has expired")
        book = book_of(self._market, self._row, *pair, given, leg.terms)
        asked = leg.amount_out if leg.terms.receive else leg.amount_in
        amounts = _amounts(book, pair, asked, leg.terms)
        if amounts is None or amounts != (leg.amount_in, leg.amount_out):
            raise Rejected("the fixed rate was given for other amounts")
        if self._rate(pair, amounts, leg.terms, given) != leg.rate:
            raise Rejected("there is no such fixed rate")
        return amounts

    def _rate(self, pair: Pair, amounts: _Amounts, terms: Terms, at: datetime) -> str:
        ids = (pair[0].token_id, pair[1].token_id)
        return rate_name(self._market.seed, self._row.code, ids, amounts, terms, at)

    def _tradable(self, token_in: Token, token_out: Token, terms: Terms) -> Pair | str:
        pair = self._pair(token_in, token_out)
        if pair is None:
            return "this exchange does not trade the pair"
        if terms.fixed and self._row.fixed_spread is None:
            return "this exchange has no fixed rates"
        if terms.receive and not terms.fixed:
            return "an amount to receive needs a fixed rate"
        if terms.markup and not self._row.markup:
            return "this exchange takes no partner markup"
        return pair

    def _pair(self, token_in: Token, token_out: Token) -> Pair | None:
        world_in, world_out = (world_tokens().get(token.id) for token in (token_in, token_out))
        if world_in is None or world_out is None or not self.supports(token_in, token_out):
            return None
        return world_in, world_out

    async def find(self, key: str) -> DepositInstruction | None:
        await self._meet()
        return await self._find(key)

    async def _find(self, key: str) -> DepositInstruction | None:
        answer = await self._call("venue_find", venue=self._row.code, key=key)
        return None if answer is None else instruction_of(answer)

    async def report(self, key: str) -> LegReport | None:
        await self._meet()
        answer = await self._call("venue_report", venue=self._row.code, key=key)
        return None if answer is None else report_of(answer)

    async def send_on(self, key: str, address: str, tag: str | None) -> None:
        await self._meet()
        code = self._row.code
        await self._call("venue_send_on", venue=code, key=key, address=address, tag=tag)

    async def _meet(self) -> None:
        for fault in self._faults.waiting((DOWN, SLOW), {("venue", self._row.code)}):
            self._faults.spend(fault)
            if fault.name == DOWN:
                raise Transient("the exchange cannot be reached")
            await self._clock.sleep(fault.seconds)

    async def _call(self, method: LedgerMethod, **params: object) -> Any:
        try:
            return await self._ledger.call(method, **params)
        except NodeUnreachable as error:
            raise Transient(str(error)) from error
        except NodeRefused as error:
            if error.code == RpcCode.NO_ADDRESS:
                raise DepositAddressesInUse(str(error)) from error
            raise Rejected(str(error)) from error
        except NodeUncertain as error:
            # Only opening changes something; the other calls may simply be asked again.
            kind: type[VenueFailure] = Ambiguous if method == "venue_open" else Transient
            raise kind(str(error)) from error


def _amounts(book: OrderBook, pair: Pair, amount: Decimal, terms: Terms) -> _Amounts | None:
    """Returns the amounts (in, out) of a quote; None if the exchange cannot pay out that much. If
    ``amount`` is the amount to receive, it is rounded up."""
    if terms.receive:
        wanted = quantize(amount, pair[1].row.decimals, up=True)
        bought = amount if wanted == amount else wanted
        paid = book.needed(bought)
        return None if paid is None else (paid, bought)
    paid = _payable(amount, pair[0])
    return paid, book.bought(paid)


def _bounded(paid: Decimal, limits: VenueLimits, symbol: str) -> Unavailable | None:
    if paid < limits.minimum:
        least = plain(short(limits.minimum))
        return Unavailable(f"below minimum: this route takes {least} {symbol} or more", limits)
    if paid > limits.maximum:
        most = plain(short(limits.maximum))
        return Unavailable(f"above maximum: this route takes {most} {symbol} at most", limits)
    return None


def _payable(amount: Decimal, token: WorldToken) -> Decimal:
    rounded = quantize(amount, token.row.decimals, up=True)
    return amount if rounded == amount else rounded
