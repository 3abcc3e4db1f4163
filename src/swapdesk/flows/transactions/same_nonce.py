"""Transactions on one nonce of the wallet: at most one of them is ever executed.

A payment that was given a higher fee is the same payment under another hash. Whoever follows it
goes on with whichever of its transactions the chain takes; what took its place to cancel it is
no payment.
"""

from __future__ import annotations

from collections.abc import Sequence

from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import Refused
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.protocol import RefusalCode
from swapdesk.wallet.transactions import EXECUTED, FINAL, SignedTransaction, TransactionState

State = TransactionState
_DECISIVE = (
    EXECUTED,
    frozenset({State.MINED}),
    frozenset({State.SENDING, State.SENT}),
)
"""The first of these that one is in tells how all of them stand."""


def same_nonce(
    one: SignedTransaction, signed: Sequence[SignedTransaction]
) -> tuple[SignedTransaction, ...]:
    """Those of ``signed`` that share the nonce of ``one``, itself among them, in that order; of
    Solana, which has no nonces, those of its hash."""
    if one.nonce is None:
        return tuple(each for each in signed if each.hash == one.hash)
    place = (one.chain, one.account, one.nonce)
    return tuple(each for each in signed if (each.chain, each.account, each.nonce) == place)


def same_payment(
    one: SignedTransaction, signed: Sequence[SignedTransaction]
) -> tuple[SignedTransaction, ...]:
    """Those of :func:`same_nonce` that do what ``one`` does: for one intent and purpose a nonce
    holds a single call, whatever its fee."""
    told = (one.intent_id, one.purpose)
    return tuple(each for each in same_nonce(one, signed) if (each.intent_id, each.purpose) == told)


def decisive(signed: Sequence[SignedTransaction]) -> SignedTransaction | None:
    """The one of several for the same payment that tells how it stands: executed, else in a
    block, else on its way, else the newest. A higher fee that was never sent says nothing about
    the payment that was."""
    for states in _DECISIVE:
        found = [one for one in signed if one.state in states]
        if found:
            return found[-1]
    return signed[-1] if signed else None


def under_way(signed: Sequence[SignedTransaction], *purposes: Purpose) -> SignedTransaction | None:
    """The one of these purposes that is not over and tells how it stands. A cancellation is signed
    under the intent of what it takes back, and does nothing of it."""
    return decisive([one for one in signed if one.purpose in purposes and one.state not in FINAL])


async def current(client: WalletClient, one: SignedTransaction) -> SignedTransaction:
    """The transaction that tells how the payment of ``one`` stands: itself, or one with a higher
    fee. Raises WalletError."""
    if one.nonce is None:
        return one
    return decisive(same_payment(one, await client.transactions(one.intent_id))) or one


async def looked_at(client: WalletClient, hash_: str) -> SignedTransaction:
    """A transaction of the wallet as its chain has it now. It is looked at only: sending it once
    more is not wanted where something shall take its place. Raises WalletError; Refused for one
    that was not signed here."""
    one = next((one for one in await client.transactions() if one.hash == hash_), None)
    if one is None:
        raise Refused(RefusalCode.NO_TRANSACTION, "this wallet signed no such transaction")
    if one.nonce is None or one.state in FINAL or one.state is State.SIGNED:
        return one
    return await client.resolve(hash_, resend=False)
