"""Our client of EVM nodes, against the embedded node over loopback and against bad ones."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sandbox.evm.evm_world import KEY, World, faucet, running, stranger
from swapdesk.chain.addresses.evm import keccak
from swapdesk.chain.calldata import erc20
from swapdesk.chain.rpc.evm import (
    Call,
    EvmClient,
    EvmError,
    EvmRefused,
    EvmUncertain,
    EvmUnreachable,
    Request,
    balance_of,
    calling,
    code_at,
    nonce_of,
    quantity,
    revert_words,
)
from swapdesk.sandbox.node.evm.embedding import first_state
from swapdesk.sandbox.tables import chain_terms
from swapdesk.sandbox.world import find_token

USDC = str(find_token("base", "USDC").address)
NOBODY = stranger(77).address


@asynccontextmanager
async def base(directory: Path) -> AsyncIterator[tuple[World, EvmClient]]:
    genesis = {"base": first_state(chain_terms()["base"], KEY)}
    async with running(directory, genesis=genesis) as world, EvmClient(world.url("base")) as client:
        yield world, client


async def signed(client: EvmClient, **changed: Any) -> bytes:
    fees = await client.fees()
    fields = {
        "chainId": quantity(await client.ask("eth_chainId")),
        "nonce": await client.nonce(faucet().address),
        "to": NOBODY,
        "value": 5,
        "gas": 21_000,
        "maxFeePerGas": fees.most,
        "maxPriorityFeePerGas": fees.priority,
        **changed,
    }
    return bytes(faucet().sign_transaction(fields).raw_transaction)


async def test_reading(tmp_path: Path) -> None:
    async with base(tmp_path) as (_, client):
        assert quantity(await client.ask("eth_chainId")) == 1_337_008_453
        assert await client.height() == 0
        assert (await client.fees()).base_fee > 0
        assert await client.balance(NOBODY) == await client.nonce(NOBODY) == 0
        output = await client.call(Call(USDC, erc20.DECIMALS.call()))
        assert int.from_bytes(output, "big") == 6
        balance, nonce, code, decimals, refused = await client.batch(
            [
                balance_of(faucet().address),
                nonce_of(NOBODY),
                code_at(USDC),
                calling(Call(USDC, erc20.DECIMALS.call())),
                calling(Call(USDC, erc20.TRANSFER.call(NOBODY, 1), sender=NOBODY)),
            ]
        )
        assert quantity(balance) > 10**18
        assert (quantity(nonce), quantity(decimals)) == (0, 6)
        assert len(code) > 200
        assert isinstance(refused, EvmRefused)
        assert refused.words == "transfer amount exceeds balance"
        many = await client.batch([Request("eth_blockNumber")] * 130)
        assert many == ["0x0"] * 130


async def test_calls_that_are_pretended(tmp_path: Path) -> None:
    async with base(tmp_path) as (_, client):
        with pytest.raises(EvmRefused, match="insufficient funds") as poor:
            await client.estimate(Call(NOBODY, b"", sender=stranger(78).address, value=5))
        assert not poor.value.reverted
        sending = Call(NOBODY, b"", sender=faucet().address, value=5)
        assert await client.estimate(sending) == 21_000
        assert await client.call(sending) == b""
        moved = Call(USDC, erc20.TRANSFER.call(NOBODY, 1), sender=stranger(78).address)
        with pytest.raises(EvmRefused) as reverted:
            await client.call(moved)
        assert reverted.value.reverted
        assert reverted.value.words == "transfer amount exceeds balance"
        paid, refused = await client.simulate([sending, moved])
        assert paid.succeeded
        assert paid.gas_used == 21_000
        (transfer,) = paid.logs
        assert int.from_bytes(transfer.data, "big") == 5
        assert not refused.succeeded
        assert refused.words == "transfer amount exceeds balance"


async def test_sending(tmp_path: Path) -> None:
    async with base(tmp_path) as (world, client):
        raw = await signed(client)
        sent = await client.send_raw(raw)
        assert sent == "0x" + keccak(raw).hex()
        await world.node.confirmed("base", bytes.fromhex(sent[2:]))
        receipt = await client.receipt(sent)
        transaction = await client.transaction(sent)
        assert (receipt.succeeded, receipt.gas_used) == (True, 21_000)
        assert receipt.sender == transaction.sender == faucet().address
        assert (transaction.to, transaction.value, transaction.data) == (NOBODY, 5, b"")
        assert transaction.block == receipt.block
        assert await client.send_raw(raw) == sent, "known already is a success"
        assert await client.balance(NOBODY) == 5
        assert await client.receipt("0x" + "00" * 32) is None
        assert await client.transaction("0x" + "00" * 32) is None
        with pytest.raises(EvmRefused, match="nonce too low"):
            await client.send_raw(await signed(client, nonce=0, value=6))
        with pytest.raises(EvmRefused, match="chain id"):
            await client.send_raw(await signed(client, chainId=8453))


@asynccontextmanager
async def node(body: bytes | None) -> AsyncIterator[EvmClient]:
    """A node that answers once; None breaks the connection."""
    asked = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        await reader.readexactly(length)
        asked += 1
        if body is not None:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
            writer.write(b"connection: close\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, EvmClient(f"http://127.0.0.1:{port}/", deadline=2.0) as client:
        yield client
    assert asked == 1, "nothing is asked twice"


HASH = "0x" + "ab" * 32
RAW = b"\x02signed"


@pytest.mark.parametrize(
    "body",
    [
        None,
        b"",
        b"<html>",
        b"[]",
        b"{}",
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","id":1,"result":null}',
        b'{"jsonrpc":"2.0","id":1,"result":"0x12"}',
        b'{"jsonrpc":"2.0","id":1,"result":"' + HASH.encode() + b'"}',
        b'{"jsonrpc":"2.0","id":1,"error":"no"}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"no"}}',
    ],
)
async def test_no_usable_answer_leaves_a_transaction_uncertain(body: bytes | None) -> None:
    async with node(body) as client:
        with pytest.raises(EvmUncertain):
            await client.send_raw(RAW)


async def test_a_refusal_says_that_nothing_happened() -> None:
    told = {"code": -32000, "message": "replacement \x1b[31munderpriced" + "x" * 500}
    async with node(json.dumps({"id": 1, "error": told}).encode()) as client:
        with pytest.raises(EvmRefused) as refused:
            await client.send_raw(RAW)
    assert refused.value.code == -32000
    assert refused.value.words.startswith("replacement ?[31munderpriced")
    assert len(refused.value.words) == 200


async def test_nobody_there() -> None:
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    async with EvmClient(f"http://127.0.0.1:{port}/") as client:
        with pytest.raises(EvmUnreachable):
            await client.send_raw(RAW)


async def test_a_node_without_simulation_executes_one_call(tmp_path: Path) -> None:
    """Without logs, which a gate must not take for none."""

    class Plain(EvmClient):
        async def ask(self, method: str, *params: Any) -> Any:
            if method == "eth_simulateV1":
                raise EvmRefused(-32601, "the method does not exist")
            return await super().ask(method, *params)

    async with base(tmp_path) as (world, _), Plain(world.url("base")) as client:
        call = Call(USDC, erc20.DECIMALS.call())
        (outcome,) = await client.simulate([call])
        assert outcome.succeeded
        assert outcome.logs is None
        failing = Call(USDC, erc20.TRANSFER.call(NOBODY, 1), sender=NOBODY)
        (outcome,) = await client.simulate([failing])
        assert (outcome.succeeded, outcome.words) == (False, "transfer amount exceeds balance")
        with pytest.raises(EvmError):
            await client.simulate([call, call])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("", ""),
        ("220266b6" + "00" * 64, "error 0x220266b6 of the contract"),
        ("4e487b71" + f"{0x11:064x}", "a number left its range"),
        ("4e487b71" + f"{0x77:064x}", "panic 0x77"),
        ("4e487b71" + "ff" * 32, "panic"),
        ("08c379a0" + f"{32:064x}{2:064x}" + "6e6f".ljust(64, "0"), "no"),
        ("08c379a0" + f"{32:064x}{3:064x}" + "1b5b6d".ljust(64, "0"), "?[m"),
        ("08c379a0" + f"{32:064x}{2**255:064x}", "reverted without a readable reason"),
        ("08c379a0", "reverted without a readable reason"),
        ("08", "error 0x08 of the contract"),
    ],
)
def test_words_of_reverts(data: str, words: str) -> None:
    assert revert_words(bytes.fromhex(data)) == words
