"""A service over the embedded chains in this process, and a trader with a key of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
from eth_account import Account
from eth_account.signers.local import LocalAccount
from msgspec import Struct

from patience import PATIENCE
from sandbox.evm.evm_world import KEY, running, stranger
from sandbox.evm.evm_world import World as Chains
from service.http_calls import declined
from swapdesk.chain.calldata import erc20
from swapdesk.chain.rpc.evm import Call
from swapdesk.clock import SystemClock
from swapdesk.sandbox.evm_world import keeper
from swapdesk.sandbox.market import Market
from swapdesk.sandbox.node.evm.embedding import first_state
from swapdesk.sandbox.onchain import build_onchain
from swapdesk.sandbox.tables import chain_terms
from swapdesk.service.app import Onchain
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.venues.onchain.reader import FRESH_SECONDS, OnchainReader
from swapdesk.wire.tokens import Token
from world import World, open_world, sandbox_goods

SILENT = "no answer within"
"""What the error of a row says whose venue took too long."""


def told(answer: httpx2.Response) -> Any:
    """The body, amounts exact."""
    return json.loads(answer.text, parse_float=Decimal)


class AgeingClock(SystemClock):
    """The system's time; what was read can be made older than it is. Whoever waits for another look
    looks as often as blocks come here; deadlines are longer and stay."""

    _aged = 0.0

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds / 10 if seconds <= 0.5 else seconds)

    def age(self, seconds: float) -> None:
        self._aged += seconds

    def monotonic(self) -> float:
        return super().monotonic() + self._aged


class Floor(Struct):
    """A service, its chains, and a client of the first partner."""

    world: Chains
    service: World
    api: httpx2.AsyncClient
    onchain: Onchain
    """The venues of the chains, for another service beside this one."""

    @property
    def parts(self) -> ServiceParts:
        return self.service.service

    @property
    def readers(self) -> Mapping[str, OnchainReader]:
        return self.onchain.readers

    @property
    def clock(self) -> AgeingClock:
        return self.service.clock

    def token(self, chain: str, symbol: str) -> Token:
        return next(
            token
            for token in self.parts.catalog.tokens
            if token.chain_data.short_name == chain
            and token.symbol == symbol
            and token.enabled
            and not token.unverified
        )

    async def fund(self, address: str, coins: str, chain: str = "base", **tokens: str) -> None:
        """Coins of a chain and tokens by symbol, from the sandbox."""
        node = self.world.node
        sent = [await node.fund(chain, bytes.fromhex(address[2:]), int(Decimal(coins) * 10**18))]
        for symbol, amount in tokens.items():
            token = self.token(chain, symbol)
            units = int(Decimal(amount) * 10**token.decimals)
            sent.append(await keeper.give(node, chain, str(token.address), address, units))
        for each in sent:
            await node.confirmed(chain, each)

    async def holds(self, token: Token, owner: str) -> int:
        """Units of a token or coin, asked of the node over JSON-RPC."""
        client = self.readers[token.chain_data.short_name].client
        if token.address is None:
            return await client.balance(owner)
        output = await client.call(Call(token.address, erc20.BALANCE_OF.call(owner)))
        return int.from_bytes(output, "big")

    async def work(self) -> None:
        """What the worker does now, of the chain as it is now."""
        self.clock.age(FRESH_SECONDS)
        await self.parts.worker.step(self.clock.now())

    async def until(self, service_id: str, met: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The order, once it is as asked."""
        order: dict[str, Any] = {}
        async with asyncio.timeout(PATIENCE):
            while not order or not met(order):
                await self.work()
                order = told(await self.api.get(f"/orders/{service_id}"))
                await asyncio.sleep(0.02)  # between two looks
        return order

    async def ended(self, service_id: str, shown: str = "SWAP_COMPLETED") -> dict[str, Any]:
        """The order once it has ended, as it is to end."""
        ended = await self.until(service_id, lambda told: told["status"] >= 4)
        assert ended["displayStatus"] == shown
        return ended


class Caller(Struct):
    """What an account on a chain asks of the service; tokens are named by their symbols there."""

    floor: Floor

    @property
    def address(self) -> str:
        raise NotImplementedError

    async def row(
        self, venue: str, sell: str, buy: str, amount: str, **more: str
    ) -> dict[str, Any]:
        """What one venue pays for tokens of this chain."""
        sold, bought = (self.floor.token(self.chain, symbol) for symbol in (sell, buy))
        return (await self.quotes(sold, bought, amount, **more))[venue]

    async def fund(self, coins: str = "10", **tokens: str) -> None:
        """Coins of the chain, and tokens, from the sandbox."""
        await self.floor.fund(self.address, coins, self.chain, **tokens)

    async def holds(self, symbol: str, chain: str = "") -> int:
        """Units of a token, or the smallest of the coin."""
        return await self.floor.holds(self.floor.token(chain or self.chain, symbol), self.address)

    async def quotes(
        self, token_in: Token, token_out: Token, amount: str, **more: str
    ) -> dict[str, dict[str, Any]]:
        """DEX rows by provider code. A venue that did not answer in time is asked again: how quick
        the machine is decides nothing."""
        query = {"amount": amount, "from": token_in.id, "to": token_out.id, "types": "dex", **more}
        async with asyncio.timeout(PATIENCE):
            while True:
                answer = (await self.floor.api.get("/quotes", params=query)).raise_for_status()
                rows = {row["swap"]: row for row in told(answer)["quotes"]}
                if not any(SILENT in row.get("error", "") for row in rows.values()):
                    return rows

    async def ask(self, path: str, body: dict[str, Any], wrong: str = "") -> Any:
        """The answer; where something is ``wrong`` the refusal, with that code or for that input
        alone."""
        asking = self.floor.api.post(path, json=body)
        if not wrong:
            return told((await asking).raise_for_status())
        if wrong.isupper():
            return await declined(asking, wrong)
        return await declined(asking, field=wrong)

    async def missing(self, quote_id: str, **more: Any) -> dict[str, Any]:
        """What ``/dex/approve`` asks for."""
        body = {"quoteId": quote_id, "addressFrom": self.address, **more}
        return await self.ask("/dex/approve", body)

    async def allowed(self, quote_id: str) -> bool:
        body = {"quoteId": quote_id, "addressFrom": self.address}
        return bool(await self.ask("/dex/allowance", body))

    async def create(self, quote_id: str, wrong: str = "", **more: Any) -> dict[str, Any]:
        body = {
            "quoteId": quote_id,
            "addressTo": self.address,
            "addressFrom": self.address,
            **more,
        }
        return await self.ask("/exchanges", body, wrong)

    async def confirm(self, service_id: str, tx_hash: str | None = None, wrong: str = "") -> Any:
        body = {"id": service_id} if tx_hash is None else {"id": service_id, "txHash": tx_hash}
        return await self.ask("/dex/confirmTx", body, wrong)


class Trader(Caller):
    """An account on one EVM chain."""

    account: LocalAccount
    chain: str

    @property
    def address(self) -> str:
        return str(self.account.address)

    @property
    def reader(self) -> OnchainReader:
        return self.floor.readers[self.chain]

    async def send(self, to: str, data: str, value: int = 0, gas: int | None = None) -> str:
        """Sign and send a transaction; its hash."""
        client = self.reader.client
        fees = await client.fees()
        octets = bytes.fromhex(data[2:])
        if gas is None:
            gas = 2 * await client.estimate(Call(to, octets, self.address, value))
        signed = self.account.sign_transaction(
            {
                "type": 2,
                "chainId": self.reader.place.chain_id,
                "nonce": await client.nonce(self.address),
                "to": to,
                "data": octets,
                "value": value,
                "gas": gas,
                "maxFeePerGas": fees.most,
                "maxPriorityFeePerGas": fees.priority,
            }
        )
        return await client.send_raw(bytes(signed.raw_transaction))

    async def mined(self, sent: str) -> bool:
        """Wait for a transaction; whether it succeeded. What the service read before it is old."""
        node = self.floor.world.node
        receipt = await node.confirmed(self.chain, bytes.fromhex(sent[2:]))
        self.floor.clock.age(FRESH_SECONDS)
        return receipt["status"] == "0x1"

    async def give(self, symbol: str, units: int, to: str) -> None:
        """Send tokens to somebody, by a transfer of their contract."""
        token = str(self.floor.token(self.chain, symbol).address)
        data = "0x" + erc20.TRANSFER.call(to, units).hex()
        assert await self.mined(await self.send(token, data))

    async def ordered(
        self, venue: str, sell: str, buy: str, amount: str, **more: str
    ) -> dict[str, Any]:
        """An order of what one venue pays, with the approvals that it asks for."""
        row = await self.row(venue, sell, buy, amount, **more)
        await self.approve_all(row["quoteId"])
        return await self.create(row["quoteId"])

    async def execute(self, metadata: dict[str, Any]) -> str:
        """Send the transaction of an order."""
        return await self.send(
            metadata["to"], metadata["data"], int(metadata["value"]), int(metadata["gasLimit"])
        )

    async def sent(self, order: dict[str, Any]) -> str:
        """The hash of its transaction, which was mined and confirmed."""
        sent = await self.execute(order["metadata"])
        assert await self.mined(sent)
        assert await self.confirm(order["serviceId"], sent) is True
        return sent

    async def swapped(self, order: dict[str, Any]) -> dict[str, Any]:
        """The order once its transaction was seen."""
        await self.sent(order)
        return await self.floor.ended(order["serviceId"])

    async def approve_all(self, quote_id: str) -> int:
        """Send every approval that is asked for; how many there were."""
        approvals = (await self.missing(quote_id, usePermit=False))["approvals"]
        for each in approvals:
            assert each["from"] == self.address
            assert await self.mined(await self.send(each["to"], each["data"]))
        return len(approvals)

    def sign(self, document: dict[str, Any]) -> str:
        signed = Account.sign_typed_data(self.account.key, full_message=document)
        return "0x" + bytes(signed.signature).hex()


@asynccontextmanager
async def trading(directory: Path) -> AsyncIterator[Floor]:
    """The service over fast chains. The worker moves when it is told to."""
    clock = AgeingClock()
    terms = chain_terms()
    genesis = {name: first_state(terms[name], KEY) for name in ("ethereum", "base")}
    async with running(directory / "chains", genesis=genesis) as world:
        goods = sandbox_goods(clock.now())
        onchain = build_onchain(
            world.url("base"), KEY, goods["chains"], goods["tokens"], clock, Market(7)
        )
        async with open_world(directory, clock, onchain=onchain, **goods) as service:
            service.opened.push_async_callback(onchain.close)
            for name in genesis:
                await onchain.readers[name].view()

            async def read_anew(_: httpx2.Request) -> None:
                """What a request is told never depends on how long ago the last one was."""
                clock.age(FRESH_SECONDS)

            async with service.http(event_hooks={"request": [read_anew]}) as api:
                yield Floor(world, service, api, onchain)


async def trader(
    floor: Floor, number: int, chain: str = "base", coins: str = "", **tokens: str
) -> Trader:
    """With what they are given; who has tokens has coins as well."""
    someone = Trader(floor, stranger(number), chain)
    if coins or tokens:
        await someone.fund(coins or "10", **tokens)
    return someone
