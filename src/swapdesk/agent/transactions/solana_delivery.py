"""Solana transactions to the chain, and what became of them.

The same bytes may be sent as often as wanted until their blockhash expires; only after that,
and when the chain does not know them for good, can nothing come of them any more.
"""

from __future__ import annotations

from swapdesk.agent.process.refusal import Refusal
from swapdesk.agent.transactions.records import Records
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.chain.rpc.solana_errors import (
    SolanaError,
    SolanaRefused,
    SolanaUncertain,
    SolanaUnreachable,
)
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.transactions import FINAL, SignedTransaction, TransactionState

State = TransactionState
_UNSENT = frozenset({State.SIGNED, State.SENDING, State.SENT})
_OPEN = frozenset(State) - FINAL


class SolanaDelivery:
    """One chain of Solana's kind."""

    def __init__(self, client: SolanaClient, records: Records) -> None:
        self._client = client
        self._records = records

    async def send(self, one: SignedTransaction) -> SignedTransaction:
        """Hand the bytes to the node. Raises Refusal when it is not known to have them."""
        if one.state not in _UNSENT:
            return one
        first = one.state is State.SIGNED
        sending = frozenset({State.SENDING})
        # Committed before a byte leaves: after a crash here it may be on its way.
        self._records.move(one.hash, State.SENDING, among=_UNSENT)
        try:
            await self._client.send(self._records.raw(one.hash))
        except SolanaUnreachable as error:
            back = State.SIGNED if first else State.SENDING
            self._records.move(one.hash, back, among=sending, problem=str(error))
            raise Refusal(Code.CHAIN_UNREACHABLE, f"{error}; it was not sent") from None
        except SolanaUncertain as error:
            self._records.move(one.hash, State.SENDING, among=sending, problem=str(error))
            raise Refusal(
                Code.CHAIN_UNREACHABLE, f"{error}; it may be on its way: send it again"
            ) from None
        except SolanaRefused as error:
            words = "".join(c if c.isascii() and c.isprintable() else "?" for c in str(error))[:200]
            self._records.move(one.hash, State.SENDING, among=sending, problem=words)
            raise Refusal(Code.CHAIN_REFUSED, f"the node refused it: {words}") from None
        self._records.move(one.hash, State.SENT, among=sending)
        return self._found(one)

    async def resolve(self, one: SignedTransaction, *, resend: bool = True) -> SignedTransaction:
        """Find out what became of it, and send it again while it can still be executed. Raises
        Refusal when the node does not answer."""
        if one.state in FINAL or one.state is State.SIGNED:
            return one
        try:
            # In this order: what is executed between the two questions is not taken for lost.
            height = await self._client.call("getBlockHeight", {"commitment": "finalized"})
            status = await self._client.status(one.hash)
        except SolanaError as error:
            raise Refusal(Code.CHAIN_UNREACHABLE, str(error)) from None
        if status is not None:
            end = State.SUCCEEDED if status.error is None else State.FAILED
            state = end if status.level == "finalized" else State.MINED
            self._records.move(one.hash, state, among=_OPEN)
            return self._found(one)
        expired = one.last_valid_height is not None and type(height) is int
        if expired and height > (one.last_valid_height or 0):
            self._records.move(
                one.hash, State.LOST, among=_OPEN, problem="it expired before it was executed"
            )
            return self._found(one)
        if not resend:
            return self._found(one)
        self._records.move(one.hash, State.SENDING, among=_OPEN)
        return await self.send(self._found(one))

    def _found(self, one: SignedTransaction) -> SignedTransaction:
        return self._records.find(one.hash) or one
