"""The embedded chains with everything that stands on them, a wallet with money there, and what it
may sign."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sandbox.evm.evm_world import World
from swapdesk.chain.deployments import PERMIT2, SANDBOX_VENUES
from swapdesk.sandbox.evm_world.keeper import give
from swapdesk.wallet.accounts import ChainLink, Kind, WalletPlace
from swapdesk.wallet.answers import SignedTransaction
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import (
    Asset,
    ChainStep,
    DepositPromise,
    Promise,
    Purpose,
    TransactionPayload,
    TypedDataPayload,
)
from swapdesk.wire.encoding.codec import decode_json
from wallet.agents import CHEAP, PASSPHRASE

CHAIN, CHAIN_ID = "base", 1_337_008_453
USDC = Asset("USDC", 6, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913")
WETH = Asset("WETH", 18, "0x4200000000000000000000000000000000000006")
ETH = Asset("ETH", 18, None)
ROUTER = {venue.provider: venue.address for venue in SANDBOX_VENUES}
DEPOSIT = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
DOLLARS = 1_000 * 10**6


class Trader(Struct):
    """One key with coins and dollars, and the place its agents are started on."""

    world: World
    place: WalletPlace
    address: str

    @asynccontextmanager
    async def agent(self) -> AsyncIterator[WalletClient]:
        client = await WalletClient.start(self.place, program=CHEAP)
        try:
            await client.unlock(PASSPHRASE)
            yield client
        finally:
            await client.close()

    def promise(self, intent: str, **changed: Any) -> Promise:
        """A swap of 100 USDC into ETH, confirmed just now."""
        made = Promise(
            intent_id=intent,
            account=self.address,
            chain=CHAIN,
            chain_id=CHAIN_ID,
            sell=USDC,
            sell_units=100 * 10**6,
            buy=ETH,
            chain_out=CHAIN,
            least_units=1,
            quoted_units=10**16,
            recipient=self.address,
            venue="fa",
            quote_id="quote-1",
            valid_until=datetime.now(UTC) + timedelta(minutes=10),
            gas_units=10**16,
        )
        return replace(made, **changed)

    def deposit(self, intent: str, units: int = 10**15, **changed: Any) -> Promise:
        """An order that waits for ETH at its deposit address."""
        order = DepositPromise(
            f"order-{intent}", DEPOSIT, None, units, datetime.now(UTC) + timedelta(minutes=10)
        )
        return self.promise(
            intent,
            **{"sell": ETH, "sell_units": units, "venue": None, "deposit": order, **changed},
        )

    def permit(self, nonce: int = 0, **message: Any) -> TypedDataPayload:
        """A permit of the dollar for Fathom's router, read off the wire."""
        document = {
            "types": {
                "EIP712Domain": [
                    {"name": "name", "type": "string"},
                    {"name": "version", "type": "string"},
                    {"name": "chainId", "type": "uint256"},
                    {"name": "verifyingContract", "type": "address"},
                ],
                "Permit": [
                    {"name": "owner", "type": "address"},
                    {"name": "spender", "type": "address"},
                    {"name": "value", "type": "uint256"},
                    {"name": "nonce", "type": "uint256"},
                    {"name": "deadline", "type": "uint256"},
                ],
            },
            "primaryType": "Permit",
            "domain": {
                "name": "USD Coin",
                "version": "2",
                "chainId": CHAIN_ID,
                "verifyingContract": USDC.contract,
            },
            "message": {
                "owner": self.address,
                "spender": ROUTER["fa"],
                "value": str(100 * 10**6),
                "nonce": nonce,
                "deadline": int((datetime.now(UTC) + timedelta(minutes=9)).timestamp()),
                **message,
            },
        }
        read = decode_json(json.dumps(document).encode())
        step = ChainStep(key="permit", step=0, total=1, complete=True, chained=False)
        return TypedDataPayload(Purpose.APPROVE, read, step)

    def transfer_by_permit2(
        self, nonce: int, key: str = "", units: int = 100 * 10**6, step: ChainStep | None = None
    ) -> TypedDataPayload:
        """A document of Permit2 by which Fathom's router takes dollars once."""
        types = {
            "EIP712Domain": "name:string chainId:uint256 verifyingContract:address",
            "PermitTransferFrom": "permitted:TokenPermissions spender:address nonce:uint256"
            " deadline:uint256",
            "TokenPermissions": "token:address amount:uint256",
        }
        document = {
            "types": {
                name: [dict(zip(("name", "type"), one.split(":"), strict=True)) for one in fields]
                for name, fields in ((name, text.split()) for name, text in types.items())
            },
            "primaryType": "PermitTransferFrom",
            "domain": {"name": "Permit2", "chainId": CHAIN_ID, "verifyingContract": PERMIT2},
            "message": {
                "permitted": {"token": USDC.contract, "amount": str(units)},
                "spender": ROUTER["fa"],
                "nonce": str(nonce),
                "deadline": str(int((datetime.now(UTC) + timedelta(minutes=9)).timestamp())),
            },
        }
        read = decode_json(json.dumps(document).encode())
        alone = ChainStep(key or f"key {nonce}", 0, 1, complete=True, chained=False)
        return TypedDataPayload(Purpose.APPROVE, read, step or alone)

    @staticmethod
    def payment(units: int = 10**15, to: str = DEPOSIT) -> TransactionPayload:
        return TransactionPayload(Purpose.DEPOSIT, to, "0x", units)

    @staticmethod
    async def signed(
        agent: WalletClient, payload: TransactionPayload, promise: Promise
    ) -> SignedTransaction:
        """Raises Refused."""
        made = await agent.sign(await agent.review(payload, promise))
        return made

    async def settled(self, agent: WalletClient, one: SignedTransaction) -> SignedTransaction:
        """What was sent, once it is in a block and as many follow as count."""
        await self.world.node.confirmed(CHAIN, bytes.fromhex(one.hash[2:]))
        while (told := await agent.resolve(one.hash)).word != "succeeded":
            assert told.word in ("sent", "mined")
        return told

    async def paid(self) -> int:
        """Wei that arrived at the deposit address so far."""
        return self.world.chain(CHAIN).accounts.get_balance(bytes.fromhex(DEPOSIT[2:]))


async def trader(world: World, keys: Path, *, confirmations: int = 2) -> Trader:
    """A new wallet whose key holds 10 coins and 1,000 dollars."""
    link = ChainLink(CHAIN, Kind.EVM, CHAIN_ID, world.url(CHAIN), confirmations)
    place = WalletPlace(str(keys), "sandbox", (link,))
    client = await WalletClient.start(place, program=CHEAP)
    address = (await client.create(Kind.EVM, "", PASSPHRASE)).address
    await client.close()
    octets = bytes.fromhex(address[2:])
    coins = await world.node.fund(CHAIN, octets, 10 * 10**18)
    dollars = await give(world.node, CHAIN, USDC.contract, address, DOLLARS)
    await asyncio.gather(*(world.node.confirmed(CHAIN, one) for one in (coins, dollars)))
    return Trader(world, place, address)
