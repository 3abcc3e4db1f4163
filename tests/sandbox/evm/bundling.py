"""Smart accounts on the embedded chains, their operations and the bundler that takes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from msgspec import Struct

from sandbox.evm.evm_world import World, embedded
from swapdesk.chain.deployments import ENTRY_POINT
from swapdesk.chain.rpc.evm import EvmClient
from swapdesk.chain.smart_account import UserOperation, operation_json
from swapdesk.clock import SystemClock
from swapdesk.sandbox.evm_world.keeper import give
from swapdesk.service.bundling import Build, Landed, NodeBundler, OperationPayment
from swapdesk.service.venues.onchain.reader import ChainPlace, OnchainReader
from wallet.signing import CHAIN, CHAIN_ID, USDC

DOLLAR = str(USDC.contract)


def owner(number: int) -> LocalAccount:
    account: LocalAccount = Account.from_key((55_000 + number).to_bytes(32, "big"))
    return account


def deposit_address(number: int) -> str:
    """Where some order waits for its deposit."""
    return str(Account.from_key((66_000 + number).to_bytes(32, "big")).address)


def signed(operation: UserOperation, hash_: bytes, by: LocalAccount) -> UserOperation:
    """By another hand than ours: eth_account's personal message."""
    return operation.signed(bytes(by.sign_message(encode_defunct(hash_)).signature))


class Bundling(Struct):
    world: World
    client: EvmClient
    bundler: NodeBundler

    async def fund(self, address: str, *, wei: int = 0, dollars: int = 0) -> None:
        node = self.world.node
        if wei:
            sent = await node.fund(CHAIN, bytes.fromhex(address[2:]), wei)
            await node.confirmed(CHAIN, sent)
        if dollars:
            await node.confirmed(CHAIN, await give(node, CHAIN, DOLLAR, address, dollars))

    async def build(
        self, by: LocalAccount, payments: Sequence[OperationPayment], multi_id: str = "group"
    ) -> Build:
        return await self.bundler.build(CHAIN, multi_id, by.address, payments)

    async def funded(
        self, by: LocalAccount, payments: Sequence[OperationPayment], multi_id: str = "group"
    ) -> Build:
        """Built, and its account holds what it pays: as a trader does it, by what was told."""
        built = await self.build(by, payments, multi_id)
        tokens = sum(one.token_amount or 0 for one in built.operations)
        await self.fund(built.account, wei=built.deposit_needed, dollars=tokens)
        return built

    async def landed(self, hash_: bytes | str) -> Landed:
        """What became of an operation, once it is in a block."""
        wanted = hash_ if isinstance(hash_, str) else "0x" + hash_.hex()
        while True:
            changed = self.world.chain(CHAIN).changed
            found = await self.bundler.landed(CHAIN, wanted)
            if found is not None:
                return found
            await changed.wait()

    async def send(self, operation: UserOperation) -> Any:
        return await self.client.ask(
            "eth_sendUserOperation", operation_json(operation), ENTRY_POINT
        )

    async def coins(self, address: str) -> int:
        return await self.client.balance(address)


@asynccontextmanager
async def bundling(directory: Path) -> AsyncIterator[Bundling]:
    async with embedded(directory) as world:
        made = over(world)
        try:
            yield made
        finally:
            await made.client.close()


def over(world: World) -> Bundling:
    client = EvmClient(world.url(CHAIN), deadline=30)
    place = ChainPlace(CHAIN, CHAIN_ID, world.url(CHAIN), DOLLAR, 2)
    reader = OnchainReader(place, client, SystemClock())
    return Bundling(world, client, NodeBundler({CHAIN: reader}))
