"""The wallets of the solver and the relayer. Contracts carry out an order only once, so a lost
transaction can be sent again, and nothing is stored here."""

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
    """A wallet with one 32-byte secret key for all chains. It sends one transaction at a time,
    because transactions with equal nonces replace each other. With a ``store``, all processes that
    use that store take turns."""

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
        """Sends a call in a transaction and returns its hash; ``note`` is called with the hash
        before sending. Raises NodeError (EvmRefused if it would revert) and StoreUnavailable, which
        means that nothing was sent."""
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
    """The contract of a venue that takes the token sold. This token is the first in the path of the
    deal's plan. Methods raise NodeError."""

    address: str

    async def may_take(self, reader: OnchainReader, deal: Deal, owner: str) -> bool:
        allowed = await reader.allowance(deal.plan.path[0], owner, self.address)
        return allowed >= deal.plan.amount

    async def approvals(self, reader: OnchainReader, deal: Deal, owner: str) -> list[Call]:
        """Returns the approvals to send, in sequence, for exactly the deal's amount; empty if the
        allowance is large enough. For some tokens, the first approval sets the allowance to
        zero."""
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
    """A transaction that the service sent. ``receipt`` is None until a block contains the
    transaction. The transaction is final once ``deep``, the number of its confirmations, reaches
    ``needed``."""

    receipt: TransactionReceipt | None
    deep: int
    needed: int

    @property
    def final(self) -> TransactionReceipt | None:
        return self.receipt if self.deep >= self.needed else None


async def looked_up(reader: OnchainReader, transaction: str) -> OwnTransaction | None:
    """Returns the state of a sent transaction. Returns None if it failed or the chain does not know
    it; another transaction must then be sent. Raises NodeError."""
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
        """Raises DexRefused: swaps at this venue need no signatures."""
        raise DexRefused(_REASON, "signatureKey")

    def refuse(self, signatures: Sequence[GivenSignature]) -> None:
        """Raises DexRefused if there are signatures, which swaps at this venue do not need."""
        if signatures:
            raise DexRefused(_REASON, "signatures")
