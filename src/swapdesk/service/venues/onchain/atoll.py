"""A market maker on Solana, which signs its half of a swap before the user does. Both payments are
in one transaction.

Until the blockhash expires, the user may wait and send the transaction only if prices moved in the
user's favour, so this time is short.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from msgspec import Struct
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from swapdesk.chain.node_http import NodeRefused
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.chain.solana import (
    PACKET_BYTES,
    ComputeLimit,
    ComputePrice,
    CreateTokenAccount,
    Memo,
    Transfer,
    TransferChecked,
    packet_size,
    read_transaction,
    token_account,
)
from swapdesk.service.venues.adapter import LegReport, Unavailable
from swapdesk.service.venues.onchain.adapter import (
    Deal,
    DexPrice,
    DexQuestion,
    DexRefused,
    Permission,
    Plan,
    PreparedSwap,
    Progress,
    RouteExecution,
    SwapToPrepare,
)
from swapdesk.service.venues.onchain.hot_wallet import Unsigned
from swapdesk.wire.chains import SwapProvider
from swapdesk.wire.encoding.numbers import from_base_units
from swapdesk.wire.orders import LegStatus
from swapdesk.wire.tokens import Token

UNITS = 100_000
"""Compute units of one swap, including the opening of a token account."""
MICRO_LAMPORTS = 1_000
"""Price of a compute unit, in millionths of a lamport."""
SIGNATURES = 2
LAMPORTS_PER_SIGNATURE = 5_000
FEE = SIGNATURES * LAMPORTS_PER_SIGNATURE + UNITS * MICRO_LAMPORTS // 1_000_000
"""Network fee in lamports, which the user pays whether or not the transaction succeeds."""

MARGIN = Fraction(12, 10_000)
"""Share of every swap that the maker keeps."""
WIDEST = Fraction(30, 10_000)
"""Share that the maker keeps of the largest swap, besides MARGIN. Smaller swaps lose proportionally
less."""
MOST_USD = 250_000
"""Value in dollars of the largest swap that the maker takes."""

SLOT_SECONDS = Decimal("0.4")
"""Approximate seconds between blocks, for display only."""


def offered(
    amount: int, decimals_in: int, decimals_out: int, price_in: Decimal, price_out: Decimal
) -> tuple[int, Decimal] | None:
    """Returns the amount that the maker pays, in smallest units, and the share of value lost by the
    swap's size. Returns None if the amount is 0 or the swap exceeds MOST_USD. Prices are dollars
    per whole token."""
    worth = Fraction(amount, 10**decimals_in) * Fraction(price_in)
    if worth > MOST_USD:
        return None
    impact = WIDEST * worth / MOST_USD
    out = int(worth * (1 - MARGIN - impact) / Fraction(price_out) * 10**decimals_out)
    if out <= 0:
        return None
    shown = Decimal(impact.numerator) / Decimal(impact.denominator)
    return out, shown.quantize(Decimal("0.000001"))


PriceOfToken = Callable[[Token], Decimal | None]
"""A function that returns the present price of a token, in dollars per whole token; None if the
maker does not trade it."""

_MINUTES = Decimal("0.3")
_TOKEN_ACCOUNT_BYTES = 165
_FINAL_AFTER = 32
_LAST_HEIGHT = "lastValidBlockHeight"


class Atoll(Unsigned):
    """The market maker as an on-chain venue. Its tokens belong to the account whose signing key is
    made from ``seed``."""

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
        out, impact = offer
        if held < out:
            return Unavailable("the maker does not hold enough at present")
        # The maker signs exactly what it quoted, so no slippage is needed.
        plan = Plan(question.amount, out, out, Decimal(0), ())
        return DexPrice(plan, minutes=_MINUTES, impact=impact, gas=UNITS, gas_wei=FEE + rent)

    async def _rent(self, token: Token, owner: str | None) -> int:
        if token.address is None:
            return 0
        if owner is not None and await self._client.holdings(owner, token.address):
            return 0
        return await self._client.rent_exemption(_TOKEN_ACCOUNT_BYTES)

    async def _held(self, token: Token) -> int:

        maker = maker_address(self._seed)
        if token.address is None:
            return await self._client.balance(maker)
        return sum(holding.units for holding in await self._client.holdings(maker, token.address))

    async def permission(self, deal: Deal, owner: str, *, by_permit: bool) -> Permission:
        return Permission()

    async def allowed(self, deal: Deal, owner: str) -> bool:
        return True

    async def prepare(self, swap: SwapToPrepare) -> PreparedSwap:
        self.refuse(swap.signatures)
        newest, height = await asyncio.gather(
            self._client.latest_blockhash(), self._client.block_height()
        )
        raw = self._half(swap, newest.blockhash)
        await self._try(raw)
        seconds = float((newest.last_height - height) * SLOT_SECONDS)
        return PreparedSwap(
            {
                "from": swap.owner,
                "data": raw.hex(),
                _LAST_HEIGHT: str(newest.last_height),
                "deadline": str(int((swap.now + timedelta(seconds=seconds)).timestamp())),
                "slippage": "0",
            },
            notes={_LAST_HEIGHT: str(newest.last_height)},
        )

    def _half(self, swap: SwapToPrepare, blockhash: str) -> bytes:
        deal = swap.deal
        plan, token_in, token_out = deal.plan, deal.token_in, deal.token_out
        half = Half(
            swap.owner,
            swap.receiver,
            Paid(token_in.address, plan.amount, token_in.decimals),
            Paid(token_out.address, plan.out, token_out.decimals),
            memo=f"swap {deal.quote_id}",
        )
        try:
            return half_signed(half, blockhash, self._seed)
        except ValueError as error:
            raise DexRefused(str(error)) from None

    async def _try(self, raw: bytes) -> None:
        try:
            outcome = await self._client.simulate(raw, account_names(raw))
        except NodeRefused as refused:
            raise DexRefused("the swap would fail now: the node does not take it") from refused
        if outcome.error is not None:
            raise DexRefused(f"the swap would fail now: {_reason(outcome.error)}")

    async def progress(self, execution: RouteExecution) -> Progress:
        if execution.hash is None:
            return Progress(LegReport(LegStatus.WAITING))
        # In this order: what is executed between the two questions is not taken for expired.
        height = await self._client.ask("getBlockHeight", {"commitment": "finalized"})
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


def _swapped(execution: RouteExecution) -> LegReport:
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
    if error in ("InsufficientFundsForFee", "AccountNotFound"):
        return "the account has no SOL for the network's fee"
    if isinstance(error, dict) and set(error) == {"InsufficientFundsForRent"}:
        return "too little SOL would be left in an account"
    if isinstance(error, dict) and set(error) == {"InstructionError"}:
        return "the account does not hold what it sells, or the SOL for it"
    return "the programs refuse it"


class Paid(Struct, frozen=True):
    """A payment of ``units`` in a mint of the token program; ``mint`` is None for SOL."""

    mint: str | None
    units: int
    decimals: int


class Half(Struct, frozen=True):
    """The terms of a swap, which both parties sign. ``memo`` makes the message unique among
    swaps."""

    owner: str
    receiver: str
    sold: Paid
    bought: Paid
    memo: str


def half_signed(half: Half, blockhash: str, seed: bytes) -> bytes:
    """Returns the swap's transaction, signed only by the maker, whose signing key is made from
    ``seed``. Raises ValueError if the transaction is too large or the maker would swap with
    itself."""
    maker = Keypair.from_seed(seed)
    owner = Pubkey.from_string(half.owner)
    if owner == maker.pubkey():
        raise ValueError("the maker does not swap with itself")
    message = MessageV0.try_compile(
        owner, _instructions(half, owner, maker.pubkey()), [], Hash.from_string(blockhash)
    )
    if packet_size(message) > PACKET_BYTES:
        raise ValueError("the swap does not fit into one transaction")
    signed = to_bytes_versioned(message)
    signatures = [
        maker.sign_message(signed) if key == maker.pubkey() else Signature.default()
        for key in message.account_keys[: message.header.num_required_signatures]
    ]
    return bytes(VersionedTransaction.populate(message, signatures))


def maker_address(seed: bytes) -> str:
    return str(Keypair.from_seed(seed).pubkey())


def account_names(raw: bytes) -> list[str]:
    return [str(key) for key in read_transaction(raw).message.account_keys]


def signed_by_payer(raw: bytes, signature: str) -> bool:
    """Returns True if ``signature`` is the payer's signature of this transaction. ``raw`` is the
    encoded transaction."""
    message = read_transaction(raw).message
    try:
        given = Signature.from_string(signature)
    except ValueError:
        return False
    return given.verify(message.account_keys[0], to_bytes_versioned(message))


def _instructions(half: Half, owner: Pubkey, maker: Pubkey) -> list[Instruction]:
    receiver = Pubkey.from_string(half.receiver)
    made = [ComputeLimit(UNITS).build(), ComputePrice(MICRO_LAMPORTS).build()]
    if half.bought.mint is not None:
        mint = Pubkey.from_string(half.bought.mint)
        made.append(CreateTokenAccount(owner, receiver, mint).build())
    made += [
        _payment(half.bought, maker, receiver),
        _payment(half.sold, owner, maker),
        Memo(half.memo).build(),
    ]
    return made


def _payment(paid: Paid, source: Pubkey, destination: Pubkey) -> Instruction:
    if paid.mint is None:
        return Transfer(source, destination, paid.units).build()
    mint = Pubkey.from_string(paid.mint)
    return TransferChecked(
        token_account(source, mint),
        mint,
        token_account(destination, mint),
        source,
        paid.units,
        paid.decimals,
    ).build()
