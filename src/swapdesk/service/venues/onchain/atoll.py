"""A maker on Solana: it quotes at the market, and signs its half of the swap before the user.

Both payments stand in one transaction, so that nothing is taken without the other. The half is
good as long as its blockhash; who signs last may choose until then, which is why it is short.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.chain.rpc.solana_errors import SolanaRefused
from swapdesk.service.venues.adapter import LegReport, Unavailable
from swapdesk.service.venues.onchain.adapter import (
    Deal,
    DexPrice,
    DexQuestion,
    DexRefused,
    Execution,
    Permission,
    Plan,
    Prepared,
    Progress,
)
from swapdesk.service.venues.onchain.atoll_terms import (
    FEE,
    MOST_USD,
    SLOT_SECONDS,
    UNITS,
    offered,
)
from swapdesk.service.venues.onchain.unsigned import Unsigned
from swapdesk.wire.dex import GivenSignature
from swapdesk.wire.encoding.numbers import from_base_units
from swapdesk.wire.orders import LegStatus
from swapdesk.wire.providers import SwapProvider
from swapdesk.wire.tokens import Token

PriceOfToken = Callable[[Token], Decimal | None]
"""Dollars for a unit of a token at this moment; None where the maker does not trade it."""

_MINUTES = Decimal("0.3")
_TOKEN_ACCOUNT_BYTES = 165
_FINAL_AFTER = 32
"""Blocks until a transaction is final."""
_LAST_HEIGHT = "lastValidBlockHeight"


class Atoll(Unsigned):
    """``seed`` is that of the maker's key, which holds both sides of what it trades."""

    def __init__(
        self,
        provider: SwapProvider,
        chain: str,
        client: SolanaClient,
        seed: bytes,
        price_of: PriceOfToken,
    ) -> None:
        self.provider = provider
        self._chain = chain
        self._client = client
        self._seed = seed
        self._price_of = price_of

    def __repr__(self) -> str:
        return f"Atoll({self._chain})"

    def supports(self, token_in: Token, token_out: Token) -> bool:
        return (
            self.provider.enabled
            and token_in.id != token_out.id
            and all(
                token.chain_data.short_name == self._chain and self._price_of(token) is not None
                for token in (token_in, token_out)
            )
        )

    async def quote(self, question: DexQuestion) -> DexPrice | Unavailable:
        token_in, token_out = question.token_in, question.token_out
        price_in, price_out = self._price_of(token_in), self._price_of(token_out)
        if price_in is None or price_out is None:
            return Unavailable("the maker does not trade this pair")
        offer = offered(question.amount, token_in.decimals, token_out.decimals, price_in, price_out)
        if offer is None:
            return Unavailable(f"the maker takes more than nothing and up to {MOST_USD:,} USD")
        rent, held = await asyncio.gather(
            self._rent(token_out, question.receiver or question.sender), self._held(token_out)
        )
        if held < offer.out:
            return Unavailable("the maker does not hold enough at present")
        # The maker signs exactly what it quoted, so no slippage is needed.
        plan = Plan(question.amount, offer.out, offer.out, Decimal(0), ())
        return DexPrice(plan, minutes=_MINUTES, impact=offer.impact, gas=UNITS, gas_wei=FEE + rent)

    async def _rent(self, token: Token, owner: str | None) -> int:
        """Lamports for the token account of an owner, where there may be none."""
        if token.address is None:
            return 0
        if owner is not None and await self._client.holdings(owner, token.address):
            return 0
        return await self._client.rent_exemption(_TOKEN_ACCOUNT_BYTES)

    async def _held(self, token: Token) -> int:
        """What the maker has of a token."""
        from swapdesk.service.venues.onchain.atoll_half import maker_address

        maker = maker_address(self._seed)
        if token.address is None:
            return await self._client.balance(maker)
        return sum(each.units for each in await self._client.holdings(maker, token.address))

    async def permission(self, deal: Deal, owner: str, *, by_permit: bool) -> Permission:
        return Permission()

    async def allowed(self, deal: Deal, owner: str) -> bool:
        return True

    async def prepare(
        self,
        deal: Deal,
        owner: str,
        receiver: str,
        signatures: Sequence[GivenSignature],
        now: datetime,
    ) -> Prepared:
        self.refuse(signatures)
        newest, height = await asyncio.gather(
            self._client.latest_blockhash(), self._client.block_height()
        )
        raw = self._half(deal, owner, receiver, newest.blockhash)
        await self._try(raw)
        seconds = float((newest.last_height - height) * SLOT_SECONDS)
        return Prepared(
            {
                "from": owner,
                "data": raw.hex(),
                _LAST_HEIGHT: str(newest.last_height),
                "deadline": str(int((now + timedelta(seconds=seconds)).timestamp())),
                "slippage": "0",
            },
            notes={_LAST_HEIGHT: str(newest.last_height)},
        )

    def _half(self, deal: Deal, owner: str, receiver: str, blockhash: str) -> bytes:
        from swapdesk.service.venues.onchain.atoll_half import Half, Paid, half_signed

        plan, token_in, token_out = deal.plan, deal.token_in, deal.token_out
        half = Half(
            owner,
            receiver,
            Paid(token_in.address, plan.amount, token_in.decimals),
            Paid(token_out.address, plan.out, token_out.decimals),
            memo=f"swap {deal.quote_id}",
        )
        try:
            return half_signed(half, blockhash, self._seed)
        except ValueError as error:
            raise DexRefused(str(error)) from None

    async def _try(self, raw: bytes) -> None:
        """Raises DexRefused when the programs would not execute it now."""
        from swapdesk.service.venues.onchain.atoll_half import account_names

        try:
            outcome = await self._client.simulate(raw, account_names(raw))
        except SolanaRefused as refused:
            raise DexRefused("the swap would fail now: the node does not take it") from refused
        if outcome.error is not None:
            raise DexRefused(f"the swap would fail now: {_reason(outcome.error)}")

    async def progress(self, execution: Execution) -> Progress:
        if execution.hash is None:
            return Progress(LegReport(LegStatus.WAITING))
        # In this order: what is executed between the two questions is not taken for expired.
        height = await self._client.call("getBlockHeight", {"commitment": "finalized"})
        status = await self._client.status(execution.hash)
        if status is None:
            last = execution.notes.get(_LAST_HEIGHT)
            expired = last is not None and type(height) is int and height > int(last)
            state = LegStatus.FAILED if expired else LegStatus.CONFIRMING
            return Progress(LegReport(state, deposit_hash=execution.hash))
        if status.level != "finalized":
            return Progress(
                LegReport(
                    LegStatus.CONFIRMING,
                    deposit_hash=execution.hash,
                    confirmations_needed=_FINAL_AFTER,
                )
            )
        if status.error is not None:
            return Progress(LegReport(LegStatus.FAILED, deposit_hash=execution.hash))
        return Progress(_swapped(execution))


def _swapped(execution: Execution) -> LegReport:
    """All of it happened: what both sides paid is what they signed."""
    deal = execution.deal
    return LegReport(
        LegStatus.FINISHED,
        amount_in=from_base_units(deal.plan.amount, deal.token_in.decimals),
        amount_out=from_base_units(deal.plan.out, deal.token_out.decimals),
        deposit_hash=execution.hash,
        payout_hash=execution.hash,
        confirmations=_FINAL_AFTER,
        confirmations_needed=_FINAL_AFTER,
        deposit_arrived=True,
    )


def _reason(error: Any) -> str:
    """In words for the reasons that are the user's to mend."""
    if error in ("InsufficientFundsForFee", "AccountNotFound"):
        return "the account has no SOL for the network's fee"
    if isinstance(error, dict) and set(error) == {"InsufficientFundsForRent"}:
        return "too little SOL would be left in an account"
    if isinstance(error, dict) and set(error) == {"InstructionError"}:
        return "the account does not hold what it sells, or the SOL for it"
    return "the programs refuse it"
