"""Accounts of the service that send transactions: the solver's, the relayer's.

A contract carries out an order once, however often it is sent; so a lost transaction is sent again,
and nothing is written down here. Callers who need the outcome note the hash.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct

from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata import erc20
from swapdesk.chain.rpc.evm import Call, EvmRefused, TransactionReceipt
from swapdesk.service.store.database import Still, nobody_else
from swapdesk.service.store.store import Store
from swapdesk.service.venues.onchain.adapter import Deal, DexRefused
from swapdesk.service.venues.onchain.reader import OnchainReader
from swapdesk.wire.dex import GivenSignature, SignatureRequirement

_GAS_SHARE = 4


class HotWallet:
    """One secret key of 32 bytes, on every chain.

    Its transactions take their nonces in turn, across all processes over ``store``; without one, of
    this process. Two with the same nonce would replace each other at the node.
    """

    def __init__(self, secret: bytes, address: str, store: Store | None = None) -> None:
        self._secret = secret
        self._store = store
        self.address = checksummed(address)
        self._sending: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def __repr__(self) -> str:
        return f"HotWallet({self.address})"

    async def send(
        self,
        reader: OnchainReader,
        to: str,
        data: bytes,
        note: Callable[[str], Awaitable[None]] | None = None,
    ) -> str:
        """Sends a call; returns its hash, which ``note`` gets before the chain does.

        Raises NodeError: EvmRefused when it would revert; and StoreUnavailable, before anything was
        sent.
        """
        from eth_account import Account

        async with self._sending[reader.place.name], self._turn(reader) as still:
            gas = await reader.client.estimate(Call(to, data, sender=self.address))
            fees = await reader.client.fees()
            signed = Account.sign_transaction(
                {
                    "type": 2,
                    "chainId": reader.place.chain_id,
                    "nonce": await reader.client.nonce(self.address),
                    "to": to,
                    "data": data,
                    "value": 0,
                    "gas": gas + gas // _GAS_SHARE,
                    "maxFeePerGas": fees.most,
                    "maxPriorityFeePerGas": fees.priority,
                },
                self._secret,
            )
            if note is not None:
                await note("0x" + bytes(signed.hash).hex())
            await still()
            return await reader.client.send_raw(bytes(signed.raw_transaction))

    @asynccontextmanager
    async def _turn(self, reader: OnchainReader) -> AsyncIterator[Still]:
        if self._store is None:
            yield nobody_else
            return
        name = f"wallet {reader.place.chain_id} {self.address}"
        async with self._store.database.exclusive(name) as still:
            yield still


class Spender(Struct, frozen=True):
    """The contract of a venue that takes what its deals sell, the first token of their path.

    Every method raises NodeError.
    """

    address: str

    async def may_take(self, reader: OnchainReader, deal: Deal, owner: str) -> bool:
        allowed = await reader.allowance(deal.plan.path[0], owner, self.address)
        return allowed >= deal.plan.amount

    async def approvals(self, reader: OnchainReader, deal: Deal, owner: str) -> list[Call]:
        """Returns approvals of exactly the amount, to be mined in this order; empty when enough is
        allowed.

        A token that refuses to change one allowance into another is set to zero first. Which ones
        do is found out by trying, so that no list of them can be out of date.
        """
        token, amount = deal.plan.path[0], deal.plan.amount
        allowed = await reader.allowance(token, owner, self.address)
        if allowed >= amount:
            return []
        wanted = Call(token, erc20.APPROVE.call(self.address, amount))
        if allowed == 0:
            return [wanted]
        try:
            await reader.client.call(Call(token, wanted.data, sender=owner))
        except EvmRefused as refused:
            if not refused.reverted:
                raise
            return [Call(token, erc20.APPROVE.call(self.address, 0)), wanted]
        return [wanted]


class OwnTransaction(Struct, frozen=True):
    """``receipt`` is None while it waits; ``deep`` counts blocks from its own, of ``needed``."""

    receipt: TransactionReceipt | None
    deep: int
    needed: int

    @property
    def final(self) -> TransactionReceipt | None:
        return self.receipt if self.deep >= self.needed else None


async def looked_up(reader: OnchainReader, transaction: str) -> OwnTransaction | None:
    """Returns None when the chain does not know it, or it failed: then it is sent again.

    Raises NodeError.
    """
    needed = reader.place.confirmations
    receipt = await reader.client.receipt(transaction)
    if receipt is None:
        transaction_seen = await reader.client.transaction(transaction)
        return None if transaction_seen is None else OwnTransaction(None, 0, needed)
    if not receipt.succeeded:
        return None
    return OwnTransaction(receipt, await reader.client.height() - receipt.block + 1, needed)


_REASON = "this route asks for no signatures"


class Unsigned:
    async def next_signature(
        self, deal: Deal, owner: str, given: GivenSignature, step: int
    ) -> list[SignatureRequirement]:
        """Raises DexRefused."""
        raise DexRefused(_REASON, "signatureKey")

    def refuse(self, signatures: Sequence[GivenSignature]) -> None:
        """Raises DexRefused where a create has signatures all the same."""
        if signatures:
            raise DexRefused(_REASON, "signatures")
