"""Bytes to the chain, and what became of them.

Broadcasting repeats identical bytes and never makes new ones, so it may be repeated as often as
wanted. What a node says of a receipt is held against what else it says; a contradiction ends
nothing.

On Solana this goes on until the blockhash expires. Only after that, and when the chain does not
know them for good, can nothing come of the bytes any more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

from swapdesk.acts import State
from swapdesk.agent.transactions.records import Records
from swapdesk.chain.node_http import NodeError, NodeRefused, NodeUncertain, NodeUnreachable
from swapdesk.chain.rpc.evm import (
    EvmClient,
    Request,
    TransactionReceipt,
    balance_of,
    digest,
    fields,
    quantity,
)
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.wallet.answers import SignedTransaction
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.protocol import Refused

_SENDING = (State.UNKNOWN,)
"""Nothing decided meanwhile what became of the bytes that were handed in."""


class Delivery(ABC):
    """Of one chain; ``hand_in`` gives bytes to its node and raises NodeError."""

    def __init__(self, records: Records, hand_in: Callable[[bytes], Awaitable[object]]) -> None:
        self._records = records
        self._hand_in = hand_in

    async def send(self, one: SignedTransaction) -> SignedTransaction:
        """Hand the bytes to the node; those of the twin that pays more for gas, where there is
        one on its way. Raises Refused when it is not known to have them."""
        if one.final or one.mined:
            return one
        if self._records.outbidding(one) is not None:
            # A node keeps that one and takes no other of the nonce.
            return await self.resolve(one)
        first = one.state is State.PREPARED
        # Committed before a byte leaves: after a crash here it may be on its way. What was given up
        # while this request waited for its turn stays where it is.
        if not self._records.move(one.hash, State.UNKNOWN, mined=False):
            return self._found(one)
        try:
            await self._hand_in(self._records.raw(one.hash))
        except NodeUnreachable as error:
            # No connection came about, so the bytes are where they were.
            self._note(one, str(error), State.PREPARED if first else State.UNKNOWN)
            raise Refused("chain_unreachable", f"{error}; it was not sent") from None
        except NodeUncertain as error:
            self._note(one, str(error))
            raise Refused(
                "chain_unreachable", f"{error}; it may be on its way: send it again"
            ) from None
        except NodeRefused as error:
            return await self._refused(one, error)
        self._records.move(one.hash, State.SENT, among=_SENDING)
        return self._found(one)

    async def resolve(self, one: SignedTransaction, *, resend: bool = True) -> SignedTransaction:
        """Find out what became of it, and send it again where the chain does not have it and may
        still execute it, unless it shall only be looked at.

        One that was never sent stays as it is: sending it is the trader's decision. Raises
        Refused when the node does not answer.
        """
        if one.final or one.state is State.PREPARED:
            return one
        try:
            return await self._resolve(one, resend=resend)
        except NodeError as error:
            raise Refused("chain_unreachable", str(error)) from None

    async def _refused(self, one: SignedTransaction, error: NodeRefused) -> SignedTransaction:
        """What a refusal of the bytes means. Raises Refused."""
        self._note(one, error.words)
        raise Refused("chain_refused", f"the node refused it: {error.words}") from None

    @abstractmethod
    async def _resolve(self, one: SignedTransaction, *, resend: bool) -> SignedTransaction:
        """Raises NodeError."""

    def _note(self, one: SignedTransaction, problem: str, state: State = State.UNKNOWN) -> None:
        self._records.move(one.hash, state, among=_SENDING, problem=problem)

    def _ended(self, one: SignedTransaction, *, succeeded: bool, confirmations: int = 0) -> None:
        if succeeded:
            self._records.move(one.hash, State.DONE, confirmations=confirmations)
        else:
            self._records.move(one.hash, State.REFUSED, "FAILED", confirmations=confirmations)

    def _found(self, one: SignedTransaction) -> SignedTransaction:
        return self._records.find(one.hash) or one


class EvmDelivery(Delivery):
    """One EVM chain; after ``confirmations`` blocks an outcome is final."""

    def __init__(self, client: EvmClient, records: Records, confirmations: int) -> None:
        super().__init__(records, client.send_raw)
        self._client = client
        self._confirmations = max(1, confirmations)

    async def _refused(self, one: SignedTransaction, error: NodeRefused) -> SignedTransaction:
        """A node refuses what it has executed already; then it is a success."""
        try:
            known = await self._client.transaction(one.hash)
        except NodeError:
            known = None
        if known is not None and known.sender == one.account and known.nonce == one.nonce:
            self._records.move(one.hash, State.SENT, among=_SENDING)
            return await self.resolve(self._found(one))
        if self._records.twins(one) and await self._nonce_used(one):
            # One of its twins was executed, or is about to count: looking tells which.
            self._note(one, error.words)
            return self._found(one)
        return await super()._refused(one, error)

    async def _nonce_used(self, one: SignedTransaction) -> bool:
        try:
            used = await self._client.nonce(one.account, pending=False)
        except NodeError:
            return False
        return one.nonce is not None and used > one.nonce

    async def _resolve(self, one: SignedTransaction, *, resend: bool) -> SignedTransaction:
        receipt = await self._client.receipt(one.hash)
        if receipt is not None:
            return await self._executed(one, receipt)
        used = await self._client.nonce(one.account, pending=False)
        if one.nonce is not None and used > one.nonce:
            return await self._overtaken(one)
        if not resend:
            return self._found(one)
        # Not executed: a node that lost it, or whose chain was reorganised, gets it again.
        kept = self._records.outbidding(one) or one
        self._records.move(kept.hash, State.UNKNOWN)
        await self.send(self._found(kept))
        return self._found(one)

    async def _executed(
        self, one: SignedTransaction, receipt: TransactionReceipt
    ) -> SignedTransaction:
        problem = await self._contradiction(one, receipt)
        confirmations = max(0, await self._client.height() - receipt.block + 1)
        if problem is not None:
            self._records.move(one.hash, State.SENT, problem=problem)
        elif confirmations < self._confirmations:
            self._records.move(one.hash, State.SENT, "MINED", confirmations=confirmations)
        else:
            self._ended(one, succeeded=receipt.succeeded, confirmations=confirmations)
            for twin in self._records.twins(one):
                self._records.move(twin.hash, State.REFUSED, "REPLACED")
        return self._found(one)

    async def _contradiction(
        self, one: SignedTransaction, receipt: TransactionReceipt
    ) -> str | None:
        """What the node says against its own receipt; None when all of it agrees."""
        known = await self._client.transaction(one.hash)
        told = await self._client.ask("eth_getBlockByNumber", hex(receipt.block), False)
        hash_there = None if told is None else digest(fields(told).get("hash"))
        if known is None or known.block != receipt.block or hash_there != receipt.block_hash:
            return "the node tells a receipt for a block that does not hold it"
        if receipt.sender != one.account or known.sender != one.account or known.nonce != one.nonce:
            return "the node tells the receipt of another transaction"
        if not receipt.succeeded:
            if receipt.logs:
                return "the node tells a failure that left events, which no failure does"
            # A failed payment leaves no events that could contradict it, but money does.
            if known.value and await self._left(one.account, receipt.block) >= known.value:
                return "the node tells a failure although the money has left the account"
        elif known.data and not receipt.logs:
            # A call that did something tells it by events, but for coins that a smart account
            # pays: they have left it in that block.
            coins = one.purpose is Purpose.WITHDRAW and known.to is not None
            if not coins or await self._left(known.to or "", receipt.block) <= 0:
                return "the node tells a success that left no events"
        return None

    async def _left(self, address: str, block: int) -> int:
        """By how much the coins of an address are fewer after a block than before it."""
        asked = [balance_of(address, hex(block - 1)), balance_of(address, hex(block))]
        before, after = [quantity(one) for one in await self._client.batch(asked)]
        return before - after

    async def _overtaken(self, one: SignedTransaction) -> SignedTransaction:
        """Its nonce is used, and not by it: by a twin of higher fee, or from elsewhere."""
        for twin in self._records.twins(one):
            receipt = await self._client.receipt(twin.hash)
            if receipt is not None:
                await self._executed(twin, receipt)
                return self._found(one)
        head = await self._client.height()
        deep = hex(max(0, head - self._confirmations + 1))
        answers = await self._client.batch(
            [Request("eth_getTransactionCount", (one.account, deep))]
        )
        told = answers[0]
        if one.nonce is not None and isinstance(told, str) and quantity(told) > one.nonce:
            # It may itself have been executed after the node was asked for its receipt.
            receipt = await self._client.receipt(one.hash)
            if receipt is not None:
                return await self._executed(one, receipt)
            if await self._client.transaction(one.hash) is not None:
                return self._found(one)
            problem = "its nonce was used by a transaction from elsewhere"
            self._records.move(one.hash, State.REFUSED, "LOST", problem=problem)
        return self._found(one)


class SolanaDelivery(Delivery):
    """One chain of Solana's kind."""

    def __init__(self, client: SolanaClient, records: Records) -> None:
        super().__init__(records, client.send)
        self._client = client

    async def _resolve(self, one: SignedTransaction, *, resend: bool) -> SignedTransaction:
        # In this order: what is executed between the two questions is not taken for lost.
        height = await self._client.ask("getBlockHeight", {"commitment": "finalized"})
        status = await self._client.status(one.hash)
        if status is not None:
            if status.level == "finalized":
                self._ended(one, succeeded=status.error is None)
            else:
                self._records.move(one.hash, State.SENT, "MINED")
            return self._found(one)
        expired = one.last_valid_height is not None and type(height) is int
        if expired and height > (one.last_valid_height or 0):
            problem = "it expired before it was executed"
            self._records.move(one.hash, State.REFUSED, "LOST", problem=problem)
            return self._found(one)
        if not resend:
            return self._found(one)
        self._records.move(one.hash, State.UNKNOWN)
        return await self.send(self._found(one))
