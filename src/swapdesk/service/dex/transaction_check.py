"""Checks that a transaction a client names pays its order, as the order's chain has it.

A hash counts only if the chain knows the transaction and it is the order's to the last byte:
from its owner, with its call or its message (contract 10.12).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Protocol, TypeVar

from swapdesk.chain.addresses.evm import keccak
from swapdesk.chain.rpc.evm_answers import Transaction
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.service.dex.dex_mapping import OWNER, metadata_of
from swapdesk.service.errors import ServiceError, invalid
from swapdesk.service.store.records import StoredOrder
from swapdesk.service.venues.onchain.adapter import CHAIN_ERRORS, DexRefused
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.service.venues.onchain.reader import OnchainReader


_TRANSFER = "0x" + keccak(b"Transfer(address,address,uint256)").hex()
_EVM_HASH = re.compile(r"0x[0-9a-f]{64}")
_SOLANA_SIGNATURE = re.compile(r"[1-9A-HJ-NP-Za-km-z]{64,88}")


class Foreign(Exception):
    """The chain may know it, but it is not the order's transaction."""


class Sightings(Protocol):
    """One chain, as orders on it are confirmed."""

    def spelled(self, text: str) -> str | None:
        """A transaction's hash in its one spelling; None for what is none of this chain."""
        ...

    async def knows(self, order: StoredOrder, sent: str) -> bool:
        """Whether the chain knows it yet. Raises Foreign, and one of CHAIN_ERRORS."""
        ...

    async def sought(self, order: StoredOrder, sold: Token, bought: Token) -> list[str]:
        """Transactions that may be the order's, oldest first, of a client that told nobody: empty
        where the chain has no list to look in. Raises one of CHAIN_ERRORS."""
        ...

    async def warm(self) -> None:
        """Ask the chain once. Raises one of CHAIN_ERRORS."""
        ...

    async def close(self) -> None: ...


class EvmSightings:
    """By what the node tells of the transaction."""

    def __init__(self, reader: OnchainReader) -> None:
        self._reader = reader

    def spelled(self, text: str) -> str | None:
        return text.lower() if _EVM_HASH.fullmatch(text.lower()) else None

    async def knows(self, order: StoredOrder, sent: str) -> bool:
        transaction = await self._reader.client.transaction(sent)
        if transaction is None:
            return False
        if not _is_of(transaction, order):
            raise Foreign
        return True

    async def sought(self, order: StoredOrder, sold: Token, bought: Token) -> list[str]:
        """By the events of the token that left the owner, or that reached the receiver."""
        topics: list[str | None]
        if sold.address is not None:
            token, topics = sold.address, [_TRANSFER, _topic(str(order.detail[OWNER]))]
        elif bought.address is not None:
            token, topics = bought.address, [_TRANSFER, None, _topic(order.receiver_address)]
        else:
            return []
        logs = await self._reader.client.logs(token, topics)
        return list(dict.fromkeys(one.transaction for one in logs if one.transaction is not None))

    async def warm(self) -> None:
        await self._reader.view()

    async def close(self) -> None:
        await self._reader.close()


class SolanaSightings:
    """By the name of the transaction itself: its payer's signature over the order's message."""

    def __init__(self, client: SolanaClient) -> None:
        self._client = client

    def spelled(self, text: str) -> str | None:
        return text if _SOLANA_SIGNATURE.fullmatch(text) else None

    async def knows(self, order: StoredOrder, sent: str) -> bool:
        from swapdesk.service.venues.onchain.atoll import signed_by_payer

        if not signed_by_payer(bytes.fromhex(str(metadata_of(order)["data"])), sent):
            raise Foreign
        return await self._client.status(sent) is not None

    async def sought(self, order: StoredOrder, sold: Token, bought: Token) -> list[str]:
        """By the payer, whose signature names the transaction: the order's is told apart by it."""
        from swapdesk.service.venues.onchain.atoll import signed_by_payer

        message = bytes.fromhex(str(metadata_of(order)["data"]))
        found = await self._client.signatures(str(order.detail[OWNER]))
        return [one for one in reversed(found) if signed_by_payer(message, one)]

    async def warm(self) -> None:
        await self._client.block_height()

    async def close(self) -> None:
        await self._client.close()


def _topic(address: str) -> str:
    return "0x" + address[2:].lower().rjust(64, "0")


def _is_of(transaction: Transaction, order: StoredOrder) -> bool:
    """Whether it is the order's transaction to the last byte."""
    metadata = metadata_of(order)
    return (
        transaction.to == metadata["to"]
        and transaction.sender == order.detail[OWNER]
        and transaction.data == bytes.fromhex(str(metadata["data"])[2:])
        and transaction.value == int(str(metadata["value"]))
    )


T = TypeVar("T")

log = logging.getLogger(__name__)


async def asked(answer: Awaitable[T]) -> T:
    """The answer. Raises ServiceError: VALIDATION_ERROR or INVALID_SWAP where it is a refusal,
    SERVICE_UNAVAILABLE where there is none."""
    try:
        return await answer
    except DexRefused as refused:
        if refused.field is not None:
            raise invalid(refused.field, refused.reason) from refused
        reason = refused.reason[0].upper() + refused.reason[1:]
        raise ServiceError(ErrorCode.INVALID_SWAP, f"{reason}.") from refused
    except CHAIN_ERRORS as error:
        log.warning("a chain does not answer: %s", error)
        raise ServiceError(
            ErrorCode.SERVICE_UNAVAILABLE, "The chain does not answer at present. Try again."
        ) from error
