"""On-chain rows of ``GET /quotes`` (contract 6.7, 6.8), and limits of on-chain routes (6.1).

Gas and fees are in the paying chain's coin. Pools state no limits, so the amounts that venues quote
are searched for, with a precision of about one percent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

from swapdesk.chain.node_http import NodeError, NodeUncertain
from swapdesk.service.quoting.asking import STEPS, Steps, gather
from swapdesk.service.quoting.routes import PRICE_IMPACT, in_usd, loses_too_much
from swapdesk.service.quoting.rows import QUOTE_VALID
from swapdesk.service.room import Room, Shared
from swapdesk.service.store.records import StoredQuote
from swapdesk.service.venues.adapter import Unavailable
from swapdesk.service.venues.onchain.adapter import DexPrice, DexQuestion, DexVenue
from swapdesk.wire.choices import RouteType
from swapdesk.wire.encoding.ids import new_object_id
from swapdesk.wire.encoding.numbers import ROUGH, from_base_units, quantize, short
from swapdesk.wire.quotes import FilteredReason, Limits, Quote
from swapdesk.wire.tokens import Token

PERMISSION_VALID = timedelta(seconds=600)
"""Time for which a quote that needs an approval first may be executed (contract 6.28)."""

_FIRST: Steps = ((15.0, 100),)
"""Timeouts, in the form of STEPS, of the first question to a chain, which loads an embedded
chain."""
_ASK_AGAIN = 0.5
"""Seconds until a chain that does not answer yet is asked again."""
_SILENT = Unavailable("the chain does not answer at present")
_LATE = Unavailable("the chain does not answer in time")

_USD_DECIMALS = 6

log = logging.getLogger(__name__)


DexOffer = tuple[Quote, StoredQuote | None]
"""A row of the answer with its stored quote; None instead of the quote if the row has no price."""


class DexQuoting(Room):
    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._coins = {
            token.chain_data.short_name: token.id for token in self._catalog.tokens if token.mainnet
        }
        self._known: set[str] = set()

    async def offers(
        self, question: DexQuestion, partner_id: str, swaps: tuple[str, ...] | None
    ) -> list[DexOffer]:
        """Asks the venues for quotes. Returns a row for each venue, with its stored quote (None if
        the row has no price), in the order of the venue codes. ``swaps`` are the allowed venue
        codes; None allows all."""
        if not (question.token_in.has_dex and question.token_out.has_dex):
            return []
        venues = [
            venue
            for venue in self._trading(question)
            if swaps is None or venue.provider.short_name in swaps
        ]
        steps = self._patience(question)
        ask = self._insist if steps is _FIRST else self._ask
        answers, waited = await gather(
            self._clock, [ask(venue, question) for venue in venues], steps=steps
        )
        offers = []
        for venue, answer in zip(venues, answers, strict=True):
            if isinstance(answer, DexPrice):
                offers.append(self._offer(venue, answer, question, partner_id))
            else:
                silent = f"no answer within {round(waited, 1):g} s"
                offers.append(_lost(venue, question, answer.reason if answer else silent))
        return offers

    def _patience(self, question: DexQuestion) -> Steps:
        chains = {token.chain_data.short_name for token in (question.token_in, question.token_out)}
        steps = STEPS if chains <= self._known else _FIRST
        self._known |= chains
        return steps

    async def pays(self, question: DexQuestion) -> int | None:
        """Returns the largest amount that a usable quote pays now, in the smallest unit of the
        token received; None if no quote is usable."""
        answers = await asyncio.gather(
            *(self._ask(venue, question) for venue in self._trading(question))
        )
        usd_in = _in_usd(question.token_in, question.amount)
        usable = [
            price.plan.out
            for price in answers
            if isinstance(price, DexPrice)
            and _filtered(price, question, usd_in, _in_usd(question.token_out, price.plan.out))
            is None
        ]
        return max(usable, default=None)

    def _trading(self, question: DexQuestion) -> list[DexVenue]:
        return [
            venue
            for venue in self._venues.onchain
            if venue.supports(question.token_in, question.token_out)
        ]

    async def _ask(self, venue: DexVenue, question: DexQuestion) -> DexPrice | Unavailable:
        try:
            return await venue.quote(question)
        except NodeError as error:
            log.info("%s: %s", venue.provider.short_name, error)
            return _LATE if isinstance(error, NodeUncertain) else _SILENT

    async def _insist(self, venue: DexVenue, question: DexQuestion) -> DexPrice | Unavailable:
        while (answer := await self._ask(venue, question)) is _LATE:
            await self._clock.sleep(_ASK_AGAIN)
        return answer

    def _offer(
        self, venue: DexVenue, price: DexPrice, question: DexQuestion, partner_id: str
    ) -> DexOffer:
        plan = price.plan
        token_in, token_out = question.token_in, question.token_out
        amount_in = short(from_base_units(plan.amount, token_in.decimals))
        amount_out = short(from_base_units(plan.out, token_out.decimals))
        usd_in, usd_out = in_usd(token_in, amount_in), in_usd(token_out, amount_out)
        now = self._clock.now()
        valid = PERMISSION_VALID if price.needs_permission else QUOTE_VALID
        reason = _filtered(price, question, usd_in, usd_out)
        fee_usd = self._usd(token_in, price.fee_wei)
        stored = StoredQuote(
            quote_id=new_object_id(self._rng),
            partner_id=partner_id,
            purpose="exchange",
            route="dex",
            created=now,
            expires=now + valid,
            token_in_id=token_in.id,
            token_out_id=token_out.id,
            amount_in=amount_in,
            amount_out=amount_out,
            amount_in_usd=usd_in,
            amount_out_usd=usd_out,
            minutes=price.minutes,
            legs=(venue.provider.short_name,),
            filtered=reason is not None,
            plan=plan.as_json(),
            fee_usd=_kept(fee_usd, _in_usd(token_in, plan.fee)),
        )
        provider = venue.provider
        row = Quote(
            quote_id=stored.quote_id,
            type=RouteType.DEX,
            swap=provider.short_name,
            swap_name=provider.name,
            logo_url=provider.logo_url,
            markup_supported=provider.markup_supported,
            slippage_supported=provider.slippage_supported,
            supports_signatures=price.by_signature,
            requires_approval=price.needs_permission,
            deposit_address_supported=False,
            requires_refund_address=False,
            rewards_available=False,
            fixed=False,
            duration=price.minutes,
            provider_eta=price.minutes,
            gas=Decimal(price.gas),
            gas_usd=self._usd(token_in, price.gas_wei),
            fee_usd=fee_usd,
            bridge_fee_usd=(
                self._usd(token_in, price.bridge_fee_wei) if price.bridge_fee_wei else None
            ),
            amount_in=amount_in,
            amount_out=amount_out,
            amount_out_usd=usd_out,
            net_amount_out=net_of(token_out, amount_out, fee_usd),
            filtered=stored.filtered,
            filtered_reason=reason,
            valid_until=stored.expires,
        )
        return row, stored

    def _usd(self, token_in: Token, units: int) -> Decimal | None:
        coin = self._catalog.token(self._coins.get(token_in.chain_data.short_name, ""))
        if coin is None or coin.price is None:
            return None
        exact = ROUGH.multiply(from_base_units(units, coin.decimals), coin.price)
        return short(quantize(exact, _USD_DECIMALS, up=True))


def _in_usd(token: Token, units: int) -> Decimal | None:
    return in_usd(token, short(from_base_units(units, token.decimals)))


def _kept(fee_usd: Decimal | None, of_the_token: Decimal | None) -> Decimal:
    return ROUGH.add(fee_usd or Decimal(0), of_the_token or Decimal(0))


def net_of(token_out: Token, amount_out: Decimal, fee_usd: Decimal | None) -> Decimal:
    """Returns the amount received minus the venue's fee, in ``token_out``, for comparing routes. If
    the fee or the token's price is unknown, nothing is subtracted (contract 6.8)."""
    if fee_usd is None or not token_out.price or token_out.price <= 0:
        return amount_out
    fee = ROUGH.divide(fee_usd, token_out.price)
    return short(quantize(ROUGH.subtract(amount_out, fee), token_out.decimals, up=False))


def _filtered(
    price: DexPrice, question: DexQuestion, usd_in: Decimal | None, usd_out: Decimal | None
) -> FilteredReason | None:
    """Returns the reason why a quote with this price must not be used (contract 6.21); None if it
    may be used. A dollar value is None if unknown."""
    sender, receiver = question.sender, question.receiver
    if (
        price.pays_sender_only
        and sender is not None
        and receiver is not None
        and sender.lower() != receiver.lower()
    ):
        return FilteredReason.DIFFERENT_RECIPIENT
    if price.impact > PRICE_IMPACT or loses_too_much(usd_in, usd_out):
        return FilteredReason.PRICE_IMPACT
    return None


def _lost(venue: DexVenue, question: DexQuestion, reason: str) -> DexOffer:
    provider = venue.provider
    row = Quote(
        type=RouteType.DEX,
        swap=provider.short_name,
        swap_name=provider.name,
        logo_url=provider.logo_url,
        amount_in=short(from_base_units(question.amount, question.token_in.decimals)),
        error=reason,
    )
    return row, None


USUAL_USD = Decimal(100)
"""Dollar value of the first amount that the search for limits tries; one whole token if there is no
price."""

_STARTS = ((1, 1), (1, 16), (16, 1), (1, 256), (256, 1))
_STEP = 4
_MOST_STEPS = 40
_HALVINGS = 6


class DexLimits:
    def __init__(self, quoting: DexQuoting, token_in: Token, token_out: Token) -> None:
        self._quoting = quoting
        self._in = token_in
        self._out = token_out
        self._paid: dict[int, int | None] = {}

    async def find(self) -> Limits | None:
        """Returns the least and the greatest amount that on-chain venues take now; None if they
        take no amount."""
        start = await self._start()
        if start is None:
            return None
        least = await self._end(start, lambda units: units // _STEP)
        most = await self._end(start, lambda units: units * _STEP)
        return Limits(
            min=self._amount(self._in, least),
            max=self._amount(self._in, most),
            min_out=self._amount(self._out, self._paid[least] or 0),
            max_out=self._amount(self._out, self._paid[most] or 0),
        )

    async def _start(self) -> int | None:
        price = self._in.price
        tokens = ROUGH.divide(USUAL_USD, price) if price is not None and price > 0 else Decimal(1)
        usual = int(tokens.scaleb(self._in.decimals, ROUGH))
        for times, parts in _STARTS:
            units = usual * times // parts
            if units > 0 and await self._pays(units):
                return units
        return None

    async def _end(self, start: int, outward: Callable[[int], int]) -> int:
        good, bad = start, outward(start)
        for _ in range(_MOST_STEPS):
            if not await self._pays(bad):
                break
            good, bad = bad, outward(bad)
        else:
            return good
        for _ in range(_HALVINGS):
            middle = (good + bad) // 2
            if middle in (good, bad):
                break
            if await self._pays(middle):
                good = middle
            else:
                bad = middle
        return good

    async def _pays(self, units: int) -> bool:
        if units <= 0:
            return False
        if units not in self._paid:
            question = DexQuestion(self._in, self._out, units)
            self._paid[units] = await self._quoting.pays(question)
        return bool(self._paid[units])

    @staticmethod
    def _amount(token: Token, units: int) -> Decimal:
        return short(from_base_units(units, token.decimals))
