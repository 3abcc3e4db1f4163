"""Sends signed bytes to the chain and finds out their outcome.

The same bytes are sent each time and never new ones, so sending may be repeated without limit. A
node's receipt is compared with the node's other answers; if they contradict each other, the
transaction stays open.

On Solana sending is repeated until the blockhash expires. If the finalized chain does not have the
transaction by then, it can never be executed.
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
"""The states in which it is unknown whether a node has the bytes."""


class Delivery(ABC):
    """Sends and follows the transactions of one chain. ``hand_in`` is the function that sends
    signed bytes to the node. It may raise NodeError."""

    def __init__(self, records: Records, hand_in: Callable[[bytes], Awaitable[object]]) -> None:
        self._records = records
        self._hand_in = hand_in

    async def send(self, transaction: SignedTransaction) -> SignedTransaction:
        """Sends a transaction to the node, unless another one with the same nonce and a higher fee
        was sent. Raises Refused if the node may not have received the bytes."""
        if transaction.final or transaction.mined:
            return transaction
        if self._records.outbidding(transaction) is not None:
            # A node keeps that one and refuses others with the nonce.
            return await self.resolve(transaction)
        first = transaction.state is State.PREPARED
        # Committed before a byte leaves: after a crash here it may be on its way. What was given up
        # while this request waited for its turn stays where it is.
        if not self._records.move(transaction.hash, State.UNKNOWN, mined=False):
            return self._found(transaction)
        try:
            await self._hand_in(self._records.raw(transaction.hash))
        except NodeUnreachable as error:
            # There was no connection, so the bytes did not leave.
            self._note(transaction, str(error), State.PREPARED if first else State.UNKNOWN)
            raise Refused("chain_unreachable", f"{error}; it was not sent") from None
        except NodeUncertain as error:
            self._note(transaction, str(error))
            raise Refused(
                "chain_unreachable", f"{error}; it may be on its way: send it again"
            ) from None
        except NodeRefused as error:
            return await self._refused(transaction, error)
        self._records.move(transaction.hash, State.SENT, among=_SENDING)
        return self._found(transaction)

    async def resolve(
        self, transaction: SignedTransaction, *, resend: bool = True
    ) -> SignedTransaction:
        """Returns the updated record of a transaction. If the chain lacks a transaction that was
        sent, sends it again, unless ``resend`` is False. Raises Refused if the node does not
        answer."""
        if transaction.final or transaction.state is State.PREPARED:
            return transaction
        try:
            return await self._resolve(transaction, resend=resend)
        except NodeError as error:
            raise Refused("chain_unreachable", str(error)) from None

    async def _refused(
        self, transaction: SignedTransaction, error: NodeRefused
    ) -> SignedTransaction:
        self._note(transaction, error.words)
        raise Refused("chain_refused", f"the node refused it: {error.words}") from None

    @abstractmethod
    async def _resolve(self, transaction: SignedTransaction, *, resend: bool) -> SignedTransaction:
        """Records what the chain did with the transaction, and returns the updated record. With
        ``resend``, sends the transaction again if the chain lacks it. May raise NodeError."""

    def _note(
        self, transaction: SignedTransaction, problem: str, state: State = State.UNKNOWN
    ) -> None:
        self._records.move(transaction.hash, state, among=_SENDING, problem=problem)

    def _ended(
        self, transaction: SignedTransaction, *, succeeded: bool, confirmations: int = 0
    ) -> None:
        if succeeded:
            self._records.move(transaction.hash, State.DONE, confirmations=confirmations)
        else:
            self._records.move(
                transaction.hash, State.REFUSED, "FAILED", confirmations=confirmations
            )

    def _found(self, transaction: SignedTransaction) -> SignedTransaction:
        return self._records.find(transaction.hash) or transaction


class EvmDelivery(Delivery):
    """Delivery on one EVM chain. An outcome is final after ``confirmations`` blocks."""

    def __init__(self, client: EvmClient, records: Records, confirmations: int) -> None:
        super().__init__(records, client.send_raw)
        self._client = client
        self._confirmations = max(1, confirmations)

    async def _refused(
        self, transaction: SignedTransaction, error: NodeRefused
    ) -> SignedTransaction:
        try:
            on_chain = await self._client.transaction(transaction.hash)
        except NodeError:
            on_chain = None
        if (
            on_chain is not None
            and on_chain.sender == transaction.account
            and on_chain.nonce == transaction.nonce
        ):
            self._records.move(transaction.hash, State.SENT, among=_SENDING)
            return await self.resolve(self._found(transaction))
        if self._records.twins(transaction) and await self._nonce_used(transaction):
            # One of its twins was executed or will be: looking it up tells which.
            self._note(transaction, error.words)
            return self._found(transaction)
        return await super()._refused(transaction, error)

    async def _nonce_used(self, transaction: SignedTransaction) -> bool:
        try:
            used = await self._client.nonce(transaction.account, pending=False)
        except NodeError:
            return False
        return transaction.nonce is not None and used > transaction.nonce

    async def _resolve(self, transaction: SignedTransaction, *, resend: bool) -> SignedTransaction:
        receipt = await self._client.receipt(transaction.hash)
        if receipt is not None:
            return await self._executed(transaction, receipt)
        used = await self._client.nonce(transaction.account, pending=False)
        if transaction.nonce is not None and used > transaction.nonce:
            return await self._overtaken(transaction)
        if not resend:
            return self._found(transaction)
        # Not executed: a node that lost it, or whose chain was reorganised, is sent it again.
        kept = self._records.outbidding(transaction) or transaction
        self._records.move(kept.hash, State.UNKNOWN)
        await self.send(self._found(kept))
        return self._found(transaction)

    async def _executed(
        self, transaction: SignedTransaction, receipt: TransactionReceipt
    ) -> SignedTransaction:
        problem = await self._contradiction(transaction, receipt)
        confirmations = max(0, await self._client.height() - receipt.block + 1)
        if problem is not None:
            self._records.move(transaction.hash, State.SENT, problem=problem)
        elif confirmations < self._confirmations:
            self._records.move(transaction.hash, State.SENT, "MINED", confirmations=confirmations)
        else:
            self._ended(transaction, succeeded=receipt.succeeded, confirmations=confirmations)
            for twin in self._records.twins(transaction):
                self._records.move(twin.hash, State.REFUSED, "REPLACED")
        return self._found(transaction)

    async def _contradiction(
        self, transaction: SignedTransaction, receipt: TransactionReceipt
    ) -> str | None:
        on_chain = await self._client.transaction(transaction.hash)
        block = await self._client.ask("eth_getBlockByNumber", hex(receipt.block), False)
        hash_there = None if block is None else digest(fields(block).get("hash"))
        if on_chain is None or on_chain.block != receipt.block or hash_there != receipt.block_hash:
            return "the node tells a receipt for a block that does not hold it"
        if (
            receipt.sender != transaction.account
            or on_chain.sender != transaction.account
            or on_chain.nonce != transaction.nonce
        ):
            return "the node tells the receipt of another transaction"
        if not receipt.succeeded:
            if receipt.logs:
                return "the node tells a failure that left events, which no failure does"
            # A failed payment leaves no events that could contradict it, but money does.
            if (
                on_chain.value
                and await self._left(transaction.account, receipt.block) >= on_chain.value
            ):
                return "the node tells a failure although the money has left the account"
        elif on_chain.data and not receipt.logs:
            # A call that did something tells it by events, but for coins that a smart account
            # pays: they have left it in that block.
            coins = transaction.purpose is Purpose.WITHDRAW and on_chain.to is not None
            if not coins or await self._left(on_chain.to or "", receipt.block) <= 0:
                return "the node tells a success that left no events"
        return None

    async def _left(self, address: str, block: int) -> int:
        """Returns by how much an address's balance of the native coin fell in ``block``, in base
        units."""
        asked = [balance_of(address, hex(block - 1)), balance_of(address, hex(block))]
        before, after = [quantity(answer) for answer in await self._client.batch(asked)]
        return before - after

    async def _overtaken(self, transaction: SignedTransaction) -> SignedTransaction:
        for twin in self._records.twins(transaction):
            receipt = await self._client.receipt(twin.hash)
            if receipt is not None:
                await self._executed(twin, receipt)
                return self._found(transaction)
        head = await self._client.height()
        deep = hex(max(0, head - self._confirmations + 1))
        answers = await self._client.batch(
            [Request("eth_getTransactionCount", (transaction.account, deep))]
        )
        status = answers[0]
        if (
            transaction.nonce is not None
            and isinstance(status, str)
            and quantity(status) > transaction.nonce
        ):
            # It may itself have been executed after the node was asked for its receipt.
            receipt = await self._client.receipt(transaction.hash)
            if receipt is not None:
                return await self._executed(transaction, receipt)
            if await self._client.transaction(transaction.hash) is not None:
                return self._found(transaction)
            problem = "its nonce was used by a transaction from elsewhere"
            self._records.move(transaction.hash, State.REFUSED, "LOST", problem=problem)
        return self._found(transaction)


class SolanaDelivery(Delivery):
    def __init__(self, client: SolanaClient, records: Records) -> None:
        super().__init__(records, client.send)
        self._client = client

    async def _resolve(self, transaction: SignedTransaction, *, resend: bool) -> SignedTransaction:
        # In this order: what is executed between the two questions is not taken for lost.
        height = await self._client.ask("getBlockHeight", {"commitment": "finalized"})
        status = await self._client.status(transaction.hash)
        if status is not None:
            if status.level == "finalized":
                self._ended(transaction, succeeded=status.error is None)
            else:
                self._records.move(transaction.hash, State.SENT, "MINED")
            return self._found(transaction)
        expired = transaction.last_valid_height is not None and type(height) is int
        if expired and height > (transaction.last_valid_height or 0):
            problem = "it expired before it was executed"
            self._records.move(transaction.hash, State.REFUSED, "LOST", problem=problem)
            return self._found(transaction)
        if not resend:
            return self._found(transaction)
        self._records.move(transaction.hash, State.UNKNOWN)
        return await self.send(self._found(transaction))
