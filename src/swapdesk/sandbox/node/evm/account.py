"""An account of the sandbox on one chain: signs real transactions with its own key."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from eth.constants import CREATE_CONTRACT_ADDRESS
from eth.vm.forks.prague.transactions import PragueTransactionBuilder
from eth_keys.datatypes import PrivateKey
from eth_typing import Address

from swapdesk.sandbox.node.evm.call_request import CallRequest
from swapdesk.sandbox.node.evm.candidate import read_candidate
from swapdesk.sandbox.node.evm.live_chain import LiveChain
from swapdesk.sandbox.node.evm.problem import Problem
from swapdesk.sandbox.node.evm.sandbox_keys import SandboxKey

TRANSFER_GAS = 21_000


@dataclass(frozen=True)
class Signed:
    """A signed transaction. Who must not pay twice writes ``raw`` down before ``submit`` and
    sends the same bytes again after a crash."""

    raw: bytes
    hash: bytes
    nonce: int


class ChainAccount:
    """Signs and sends for one key on one chain; one at a time, so that nonces follow."""

    def __init__(self, chain: LiveChain, key: SandboxKey) -> None:
        self._chain = chain
        self._key = key
        self._turn = asyncio.Lock()

    @property
    def address(self) -> bytes:
        return self._key.address

    async def sign(
        self,
        to: bytes | None,
        *,
        value: int = 0,
        payload: bytes = b"",
        gas: int | None = None,
        nonce: int | None = None,
    ) -> Signed:
        """Sign a transaction; ``to`` None creates a contract. ``gas`` is estimated and
        ``nonce`` the next one unless given. Raises Problem, also when it would revert."""
        chain = self._chain
        if gas is None:
            request = CallRequest(sender=self.address, to=to or b"", value=value, data=payload)
            gas = await chain.reading.estimate(chain.head.header, True, request, None, None)
        tip = await chain.reading.tip(chain.head.header)
        unsigned = PragueTransactionBuilder.new_unsigned_dynamic_fee_transaction(
            chain_id=chain.terms.chain_id,
            nonce=self.next_nonce() if nonce is None else nonce,
            max_priority_fee_per_gas=tip,
            # Twice the fee bears six full blocks in a row.
            max_fee_per_gas=2 * chain.next_base_fee + tip,
            gas=gas,
            to=Address(to) if to else CREATE_CONTRACT_ADDRESS,
            value=value,
            data=payload,
            access_list=(),
        )
        raw = unsigned.as_signed_transaction(PrivateKey(self._key.secret)).encode()
        return Signed(raw, read_candidate(raw, chain.terms).hash, unsigned.nonce)

    def next_nonce(self) -> int:
        """Counts what waits in the pool."""
        used = self._chain.nonce_of(self.address)
        return self._chain.pool.next_nonce(self.address, used)

    async def send(
        self,
        to: bytes | None,
        *,
        value: int = 0,
        payload: bytes = b"",
        gas: int | None = None,
        awaited: bool = True,
    ) -> bytes:
        """Sign and submit; returns the hash at once. Raises Problem, and then nothing is sent.

        ``awaited`` False is for what nobody counts confirmations of (LiveChain.submit).
        """
        async with self._turn:
            signed = await self.sign(to, value=value, payload=payload, gas=gas)
            return self._chain.submit(signed.raw, awaited=awaited)


async def mined_receipt(chain: LiveChain, transaction_hash: bytes) -> dict[str, Any]:
    """Wait until a transaction is in a published block; its receipt. Raises Problem when it is
    neither in the chain nor in the pool any more, and will not come."""
    while True:
        changed = chain.changed
        found = chain.index.receipt(transaction_hash)
        if found is not None and found[0] <= chain.head.number:
            receipt: dict[str, Any] = json.loads(found[1])
            return receipt
        if chain.pool.get(transaction_hash) is None:
            raise Problem(f"transaction 0x{transaction_hash.hex()} is gone from the pool")
        await changed.wait()
