"""Finds out what a swap on chains needs: the service's plan of its steps, the promise to the
wallet, and the transactions to sign.

The plan is asked for before the swap is confirmed (contract 10.3). Asking changes nothing, and the
answer is only shown. The promise tells the wallet agent what was confirmed, so that the agent can
refuse to sign anything else. A transaction from the service is compared with the promise; its
nonce, gas and type are chosen by the agent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from msgspec import Struct, convert

from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import OutcomeUnknown
from swapdesk.flows.intents.intent import COIN_DECIMALS, Intent, TokenFacts, least_units
from swapdesk.flows.journal.ledger import Operation
from swapdesk.flows.orders.told_transaction import OTHER_KINDS, NotThisSwap, whole
from swapdesk.wallet.promise import Asset, Promise, Purpose, TransactionPayload
from swapdesk.wire.dex import Approval, ApproveAnswer, ApproveRequest
from swapdesk.wire.encoding.numbers import to_base_units
from swapdesk.wire.encoding.time_range import LATEST, within_range

PERMIT, ORDER = "permit", "order"
"""The kinds of documents that a swap may ask to sign. A permit only allows a token to be taken. An
order is executed by the venue, which sends the transaction itself."""
_WITH_ORDER = frozenset({"PermitWitnessTransferFrom", "PermitBatchWitnessTransferFrom"})
"""Types of the contract Permit2 whose names begin like a permit's but that contain an order as
well, so they count as orders."""


def signature_kind(document: Mapping[str, Any]) -> str:
    """Returns :data:`PERMIT` or :data:`ORDER`, depending on the primary type of an EIP-712
    document."""
    name = str(document.get("primaryType") or "")
    return PERMIT if name.startswith("Permit") and name not in _WITH_ORDER else ORDER


MOST_APPROVALS = 4
"""The most approval transactions in one swap: a reset and an approval for the token, and the same
two for an intermediate contract."""
MOST_STEPS = 8
"""The most signatures in one chain of signatures (documents signed one after another), and the most
such chains in one swap."""


RESET_FIRST = ("1/2 reset", "2/2 approve")
"""The names of the two approval steps of a token whose allowance must be set to zero before it can
be set to a new amount."""


class SwapPlan(Struct, frozen=True):
    """The steps that a swap needs: the number of ``approvals``, and the kinds of the documents to
    sign in ``signatures``, empty if unknown. ``allows`` is False on Solana, where no allowance is
    needed."""

    approvals: int = 0
    signatures: tuple[str, ...] = ()
    allows: bool = True

    @property
    def settles(self) -> bool:
        """True if the provider should send the swap's transaction: the last document to sign is an
        order."""
        return bool(self.signatures) and self.signatures[-1] != PERMIT

    @property
    def words(self) -> tuple[str, ...]:
        """The steps in words, such as ``allowance ok``, ``sign 1/2 permit``, ``settle``,
        ``confirm``."""
        total = len(self.signatures)
        allowance: tuple[str, ...] = ("approve",) if self.approvals else ("allowance ok",)
        if self.approvals > 1:
            allowance = RESET_FIRST
        signs = (
            f"sign {at}/{total} {kind}".rstrip() for at, kind in enumerate(self.signatures, start=1)
        )
        first = allowance if self.allows else ()
        return (*first, *signs, "settle" if self.settles else "send", "confirm")


AT_ONCE = SwapPlan(allows=False)
"""The plan of a swap that consists of a single transaction, without permissions or documents (on
Solana)."""


async def ask_plan(api: PartnerApi, quote_id: str, account: str) -> SwapPlan:
    """Asks the service which steps the swap of a quote needs if ``account`` (an address) pays.
    Raises ClientError."""
    request = ApproveRequest(quote_id=quote_id, address_from=account)
    return plan_of(await missing_permission(api, request))


async def missing_permission(api: PartnerApi, request: ApproveRequest) -> ApproveAnswer:
    """Asks the service which approvals and signatures a swap still needs. Raises ClientError, but
    not OutcomeUnknown, because the request changes nothing."""
    try:
        return await api.dex_approve(request)
    except OutcomeUnknown as lost:
        raise lost.reason from None


def plan_of(missing: ApproveAnswer) -> SwapPlan:
    kinds: list[str] = []
    for first in missing.signatures[:MOST_STEPS]:
        later = min(max(first.total_steps - 1, 0), MOST_STEPS)
        # Later documents of a chain are not known; the last one is what the chain is for.
        kinds += [signature_kind(first.data), *[""] * (later - 1), *([ORDER] if later else [])]
    return SwapPlan(min(len(missing.approvals), MOST_APPROVALS), tuple(kinds))


def journaled_plan(acts: Sequence[Operation]) -> SwapPlan | None:
    """Returns the steps of a swap as recorded with its create request, the first of ``acts``.
    Returns None if no steps were recorded."""
    plan = acts[0].result.get("plan") if acts else None
    return convert(plan, SwapPlan) if isinstance(plan, dict) else None


class NoDexSwap(ValueError):
    """Raised if the intent is not an on-chain swap, or if the wallet cannot sign for its chain."""


def promise_of(intent: Intent) -> Promise:
    """Returns the limits for the wallet agent: the most that a swap may pay and the least that it
    must bring. Raises NoDexSwap, and NumberError if an amount has too many decimals."""
    agreed = intent.dex
    if intent.route != "dex" or agreed is None:
        raise NoDexSwap("this was not confirmed as an on-chain swap")
    chain_id = intent.token_in.chain_id if intent.token_in.kind == "evm" else None
    if intent.token_in.kind not in COIN_DECIMALS or (
        intent.token_in.kind == "evm" and chain_id is None
    ):
        raise NoDexSwap(f"swaps on {intent.token_in.chain_name} cannot be signed here")
    quoted = int(Fraction(intent.amount_out) * 10**intent.token_out.decimals)
    return Promise(
        intent_id=intent.id,
        account=agreed.sender,
        chain=intent.token_in.chain,
        chain_id=chain_id,
        sell=_asset(intent.token_in),
        sell_units=to_base_units(intent.amount_in, intent.token_in.decimals),
        buy=_asset(intent.token_out),
        chain_out=intent.token_out.chain,
        chain_out_id=intent.token_out.chain_id,
        least_units=least_units(quoted, agreed.slippage),
        quoted_units=quoted,
        recipient=intent.recipient,
        venue=intent.provider,
        quote_id=intent.quote_id,
        valid_until=intent.valid_until,
        gas_units=agreed.gas_units,
        fee_units=agreed.fee_units,
    )


def _asset(token: TokenFacts) -> Asset:
    return Asset(token.symbol, token.decimals, token.contract)


_PLAIN_KINDS = frozenset({0, 1, 2})
"""The transaction types that the desk accepts: legacy, access list and EIP-1559. In all three, the
payee is in the same fields."""


def transaction_of(told: Mapping[str, Any], promise: Promise) -> TransactionPayload:
    """Returns the transaction to sign, from ``told``, the order's metadata. Raises NotThisSwap if
    it cannot be read or differs from what the user confirmed."""
    to, data = told.get("to"), told.get("data")
    if not isinstance(to, str) or not isinstance(data, str):
        raise NotThisSwap("NOTHING_TO_SEND", "the order does not say what to send")
    _on_chain(told.get("chainId"), promise)
    _from_account(told.get("from"), promise)
    for name in OTHER_KINDS:
        if told.get(name):
            raise NotThisSwap(
                "TRANSACTION_KIND", f"the order asks for {name}, which no swap here needs"
            )
    if told.get("type") is not None and whole(told["type"]) not in _PLAIN_KINDS:
        raise NotThisSwap("TRANSACTION_KIND", "the order asks for another kind of transaction")
    sent_along = told.get("value")
    value = 0 if sent_along is None else whole(sent_along)
    if value is None:
        raise NotThisSwap("VALUE_UNREADABLE", "the order does not say how much to send along")
    return TransactionPayload(Purpose.SWAP, to, data, value)


def approval_of(approval: Approval, promise: Promise) -> TransactionPayload:
    """Returns the transaction to sign for a requested approval. Raises NotThisSwap if it differs
    from what the user confirmed."""
    chain = approval.from_chain
    if chain.chain_id is not None:
        _on_chain(chain.chain_id, promise)
    elif chain.short_name.casefold() != promise.chain.casefold():
        raise NotThisSwap("CHAIN_ID_DIFFERS", f"the approval is for {chain.short_name}")
    _from_account(approval.from_, promise)
    value = approval.value or 0
    if value != int(value):
        raise NotThisSwap("VALUE_UNREADABLE", "the approval sends a part of a unit along")
    return TransactionPayload(Purpose.APPROVE, approval.to, approval.data, int(value))


def deadline_of(told: Mapping[str, Any]) -> datetime:
    """Returns the time until which the order's transaction can be executed, from ``told``, the
    order's metadata. If no time is stated, returns the latest possible one."""
    seconds = whole(told.get("deadline"))
    try:
        if seconds is not None:
            return within_range(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        pass
    return LATEST


def _on_chain(told: object, promise: Promise) -> None:
    number = whole(told)
    if told is None or (number is not None and number == promise.chain_id):
        return
    where = "a chain without a readable id" if number is None else f"the chain with id {number}"
    raise NotThisSwap(
        "CHAIN_ID_DIFFERS", f"it is to be sent on {where}; you confirmed {promise.chain_id}"
    )


def _from_account(told: object, promise: Promise) -> None:
    if told is not None and str(told).casefold() != promise.account.casefold():
        raise NotThisSwap("OWNER_DIFFERS", "it is to be sent by another account than yours")
