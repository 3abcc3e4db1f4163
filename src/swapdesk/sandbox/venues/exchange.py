"""A simulated centralized exchange behind the venue protocol.

Quotes are computed here, from seed, sandbox time, pair and amount alone. Deposits, payouts
and refunds live in the node and are reached over its JSON-RPC, as a real exchange would be.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from swapdesk.chain.rpc.ledger import (
    LedgerClient,
    LedgerError,
    LedgerRefused,
    LedgerUncertain,
    LedgerUnreachable,
)
from swapdesk.chain.rpc.methods import Method
from swapdesk.clock import Clock
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.venue_rows import VenueRow
from swapdesk.sandbox.venues.pricing import amount_out, limits_of, minutes_of
from swapdesk.sandbox.world import WorldToken, provider_of, trades, world_tokens
from swapdesk.service.venues.adapter import (
    FLOATING,
    Ambiguous,
    DepositInstruction,
    LegOrder,
    LegReport,
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
    ROUGH,
    from_base_units,
    plain,
    quantize,
    to_base_units,
)
from swapdesk.wire.orders import LegStatus
from swapdesk.wire.providers import SwapProvider
from swapdesk.wire.tokens import Token

_FASTEST_POLL, _SLOWEST_POLL, _POLL = 0.2, 10.0, 30.0


class SimulatedExchange:
    """One exchange. ``speed`` tells how fast the world runs now."""

    def __init__(
        self,
        row: VenueRow,
        market: Market,
        clock: Clock,
        ledger: LedgerClient,
        speed: Callable[[], Decimal],
    ) -> None:
        self._row = row
        self._market = market
        self._clock = clock
        self._ledger = ledger
        self._speed = speed
        self._provider = provider_of(row)

    @property
    def provider(self) -> SwapProvider:
        return self._provider

    @property
    def traits(self) -> VenueTraits:
        return VenueTraits()

    @property
    def poll_seconds(self) -> float:
        return min(max(_POLL / float(self._speed()), _FASTEST_POLL), _SLOWEST_POLL)

    def supports(self, token_in: Token, token_out: Token) -> bool:
        return token_in.id != token_out.id and all(
            world is not None and trades(self._row, world)
            for world in (_world(token_in), _world(token_out))
        )

    def limits(self, token_in: Token, token_out: Token) -> VenueLimits | None:
        world_in = _world(token_in)
        if world_in is None or not self.supports(token_in, token_out):
            return None
        return limits_of(self._row, world_in)

    async def quote(
        self, token_in: Token, token_out: Token, amount: Decimal, terms: Terms = FLOATING
    ) -> VenueQuote | Unavailable:
        await self._clock.sleep(self._row.latency)
        world_in, world_out = _world(token_in), _world(token_out)
        if world_in is None or world_out is None or not self.supports(token_in, token_out):
            return Unavailable("this exchange does not trade the pair")
        if terms != FLOATING:
            return Unavailable("this exchange prices floating swaps by amount sent only")
        limits = limits_of(self._row, world_in)
        if amount < limits.minimum:
            least = plain(limits.minimum.normalize())
            return Unavailable(
                f"below minimum: this route takes {least} {token_in.symbol} or more", limits
            )
        if amount > limits.maximum:
            most = plain(limits.maximum.normalize())
            return Unavailable(
                f"above maximum: this route takes {most} {token_in.symbol} at most", limits
            )
        paid = _payable(amount, world_in)
        bought = self._bought(world_in, world_out, paid)
        if bought <= 0:
            return Unavailable("the amount is too small to be paid out", limits)
        return VenueQuote(paid, bought, minutes_of(self._row, world_in, world_out), limits)

    async def open(self, leg: LegOrder) -> DepositInstruction:
        world_in, world_out = _world(leg.token_in), _world(leg.token_out)
        if world_in is None or world_out is None or not self.supports(leg.token_in, leg.token_out):
            raise Rejected("this exchange does not trade the pair")
        limits = limits_of(self._row, world_in)
        if not limits.minimum <= leg.amount_in <= limits.maximum:
            raise Rejected("the amount is out of bounds")
        paid = _payable(leg.amount_in, world_in)
        bought = self._bought(world_in, world_out, paid)
        answer = await self._call(
            Method.VENUE_OPEN,
            venue=self._row.code,
            key=leg.key,
            tokenIn=world_in.token_id,
            tokenOut=world_out.token_id,
            unitsIn=_units(paid, world_in),
            unitsOut=_units(bought, world_out),
            minimum=_units(limits.minimum, world_in),
            payoutAddress=leg.payout_address,
            payoutTag=leg.payout_tag,
            refundAddress=leg.refund_address,
            refundTag=leg.refund_tag,
            expires=leg.expires,
            exchangeSeconds=self._row.exchange_seconds,
        )
        return _instruction(answer)

    async def find(self, key: str) -> DepositInstruction | None:
        answer = await self._call(Method.VENUE_FIND, venue=self._row.code, key=key)
        return None if answer is None else _instruction(answer)

    async def report(self, key: str) -> LegReport | None:
        answer = await self._call(Method.VENUE_REPORT, venue=self._row.code, key=key)
        return None if answer is None else _report(answer)

    def _bought(self, world_in: WorldToken, world_out: WorldToken, paid: Decimal) -> Decimal:
        now = self._clock.now()
        return amount_out(self._market, self._row, world_in, world_out, paid, now)

    async def _call(self, method: Method, **params: object) -> Any:
        try:
            return await self._ledger.call(method, **params)
        except LedgerUnreachable as error:
            raise Transient(str(error)) from error
        except LedgerRefused as error:
            raise Rejected(str(error)) from error
        except LedgerUncertain as error:
            # Only opening changes something; the other calls may simply be asked again.
            kind: type[VenueFailure] = Ambiguous if method is Method.VENUE_OPEN else Transient
            raise kind(str(error)) from error
        except LedgerError as error:
            raise Transient(str(error)) from error


def _world(token: Token) -> WorldToken | None:
    return world_tokens().get(token.id)


def _payable(amount: Decimal, token: WorldToken) -> Decimal:
    """The amount itself, or restated upwards when the token has fewer decimals."""
    rounded = quantize(amount, token.row.decimals, up=True)
    return amount if rounded == amount else rounded


def _units(amount: Decimal, token: WorldToken) -> str:
    return str(to_base_units(amount, token.row.decimals))


def _amount(units: object, token_id: str) -> Decimal | None:
    """Base units as an amount without trailing zeros."""
    if units is None:
        return None
    exact = from_base_units(int(str(units)), world_tokens()[token_id].row.decimals)
    short = exact.normalize(ROUGH)
    return short.quantize(Decimal(1), context=ROUGH) if short == short.to_integral() else short


def _instruction(answer: dict[str, Any]) -> DepositInstruction:
    amount_in = _amount(answer["unitsIn"], str(answer["tokenIn"]))
    bought = _amount(answer["unitsOut"], str(answer["tokenOut"]))
    if amount_in is None or bought is None:
        raise Transient("the node answered without amounts")
    return DepositInstruction(str(answer["address"]), answer["tag"], amount_in, bought)


def _report(answer: dict[str, Any]) -> LegReport:
    token_in, token_out = str(answer["tokenIn"]), str(answer["tokenOut"])
    confirmations = answer["confirmations"]
    return LegReport(
        status=LegStatus(int(answer["status"])),
        amount_in=_amount(answer["unitsIn"], token_in),
        amount_out=_amount(answer["unitsOut"], token_out),
        deposit_hash=answer["depositHash"],
        payout_hash=answer["payoutHash"],
        refund_hash=answer["refundHash"],
        refund_amount=_amount(answer["refundUnits"], token_in),
        refund_chain=answer["refundChain"],
        confirmations=None if confirmations is None else int(confirmations),
        confirmations_needed=int(answer["confirmationsNeeded"]),
        deposit_arrived=bool(answer["depositArrived"]),
    )
