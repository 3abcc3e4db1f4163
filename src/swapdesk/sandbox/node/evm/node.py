"""The embedded EVM node: every chain of the sandbox in one process.

A ``ChainAccount`` is an account of the sandbox on one chain and signs with its own key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from eth.vm.forks.prague.transactions import PragueTransactionBuilder
from eth_keys.datatypes import PrivateKey
from eth_typing import Address

from swapdesk.clock import Clock
from swapdesk.sandbox.chain_rows import ChainTerms
from swapdesk.sandbox.node.evm.chain import Beats, EvmChain
from swapdesk.sandbox.node.evm.faults import ChainFaults
from swapdesk.sandbox.node.evm.fees import usual_tip
from swapdesk.sandbox.node.evm.genesis import FAUCET, Genesis, SandboxKey, sandbox_key
from swapdesk.sandbox.node.evm.json_rpc import CallRequest, Problem
from swapdesk.sandbox.node.evm.live_chain import LiveChain
from swapdesk.sandbox.node.evm.serialize import Document
from swapdesk.sandbox.node.world_clock import WorldClock


def signed_transaction(
    chain: LiveChain, key: SandboxKey, nonce: int, to: bytes, **fields: Any
) -> bytes:
    """``fields``: gas, value, data, max_fee_per_gas, max_priority_fee_per_gas. Who must not pay
    twice writes the bytes down before ``submit`` and sends the same again after a crash."""
    unsigned = PragueTransactionBuilder.new_unsigned_dynamic_fee_transaction(
        chain_id=chain.terms.chain_id, nonce=nonce, to=Address(to), access_list=(), **fields
    )
    return unsigned.as_signed_transaction(PrivateKey(key.secret)).encode()


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
        to: bytes,
        *,
        value: int = 0,
        payload: bytes = b"",
        gas: int | None = None,
    ) -> bytes:
        """A transaction with the next nonce; ``gas`` is estimated unless given. Raises Problem,
        also when it would revert."""
        chain = self._chain
        if gas is None:
            request = CallRequest(sender=self.address, to=to, value=value, data=payload)
            gas = await chain.estimate(chain.head, request)
        tip = usual_tip(chain.chain)
        return signed_transaction(
            chain,
            self._key,
            self.next_nonce(),
            to,
            max_priority_fee_per_gas=tip,
            # Twice the fee bears six full blocks in a row.
            max_fee_per_gas=2 * chain.next_base_fee + tip,
            gas=gas,
            value=value,
            data=payload,
        )

    def next_nonce(self) -> int:
        """Counts what waits in the pool."""
        used = self._chain.nonce_of(self.address)
        return self._chain.pool.next_nonce(self.address, used)

    async def send(
        self,
        to: bytes,
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
            raw = await self.sign(to, value=value, payload=payload, gas=gas)
            return self._chain.submit(raw, awaited=awaited)


class EvmNode:
    """The chains by short name, once ``open`` has returned."""

    def __init__(
        self, key: bytes, reader: ThreadPoolExecutor, chains: Mapping[str, LiveChain]
    ) -> None:
        self._key = key
        self._reader = reader
        self.chains = chains
        self._accounts: dict[tuple[str, str], ChainAccount] = {}
        self._producing = [asyncio.create_task(chain.produce()) for chain in chains.values()]

    @classmethod
    def open(
        cls,
        directory: Path,
        key: bytes,
        *,
        terms: Mapping[str, ChainTerms],
        genesis: Mapping[str, Genesis],
        world: WorldClock,
        clock: Clock,
        faults: ChainFaults,
    ) -> EvmNode:
        """Open or begin the chains below ``directory``. Needs a running loop. Raises
        ChainFileMismatch, LogDamaged, OSError."""
        beats = {name: Beats(world, each.block_ms) for name, each in terms.items()}
        stored: dict[str, EvmChain] = {}
        try:
            for name, each in terms.items():
                stored[name] = EvmChain(directory, each, genesis[name], beats[name].now(), clock)
        except BaseException:
            for chain in stored.values():
                chain.close()
            raise
        reader = ThreadPoolExecutor(1, "evm-reader")
        live = {
            name: LiveChain(chain, beats[name], reader, faults, clock)
            for name, chain in stored.items()
        }
        return cls(key, reader, live)

    async def close(self) -> None:
        """Finish the blocks that are being made and close the files."""
        for task in self._producing:
            task.cancel()
        await asyncio.gather(*self._producing, return_exceptions=True)
        await asyncio.to_thread(self._reader.shutdown, cancel_futures=True)
        await asyncio.gather(*(chain.close() for chain in self.chains.values()))

    def account(self, chain: str, name: str) -> ChainAccount:
        """The sandbox's account ``name`` on a chain; always the same object, so that its
        transactions are sent one after the other. Raises KeyError for an unknown chain."""
        found = self._accounts.get((chain, name))
        if found is None:
            found = ChainAccount(self.chains[chain], sandbox_key(self._key, name))
            self._accounts[(chain, name)] = found
        return found

    async def fund(self, chain: str, address: bytes, wei: int) -> bytes:
        """Send coins from the faucet; returns the hash at once. Raises Problem, KeyError."""
        if wei <= 0:
            raise Problem("the amount must be above 0")
        return await self.account(chain, FAUCET).send(address, value=wei)

    async def confirmed(self, chain: str, transaction_hash: bytes) -> Document:
        """The receipt, once it is in a block. Raises Problem, KeyError."""
        return await self.chains[chain].confirmed(transaction_hash)
