"""Every client that asks a node: whatever a node answers costs little, and is believed only where
it is a plain answer to the question that was asked."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

import pytest

from client.rude_server import Request, RudeServer, answer, drip
from corpus import Case, load
from patience import PATIENCE
from rows import each_row
from swapdesk.chain.node_http import NodeUncertain, NodeUnreachable
from swapdesk.chain.rpc.evm import EvmClient, balance_of
from swapdesk.chain.rpc.ledger import LedgerClient
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.client.chain_lookup import EvmBlocks, NodeReader


async def _evm(url: str, deadline: float) -> object:
    async with EvmClient(url, deadline=deadline) as client:
        return await client.ask("eth_chainId")


async def _evm_batch(url: str, deadline: float) -> object:
    async with EvmClient(url, deadline=deadline) as client:
        return await client.batch([balance_of("0x" + "11" * 20)])


async def _solana(url: str, deadline: float) -> object:
    async with SolanaClient(url, deadline=deadline) as client:
        return await client.genesis_hash()


async def _ledger(url: str, deadline: float) -> object:
    async with LedgerClient(url, "token", deadline=deadline) as client:
        return await client.call("chain_heights")


async def _lookup(url: str, deadline: float) -> object:
    return await NodeReader("base", url).chain_id()


async def _blocks(url: str, deadline: float) -> object:
    reader = EvmBlocks("base", url)
    try:
        return await reader.begin()
    finally:
        await reader.close()


Asks = Callable[[str, float], Awaitable[object]]
CLIENTS: dict[str, Asks] = {
    "evm": _evm,
    "evm-batch": _evm_batch,
    "solana": _solana,
    "ledger": _ledger,
    "lookup": _lookup,
    "blocks": _blocks,
}
ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda body: gzip.compress(body, 1),
    "deflate": zlib.compress,
}


@cache
def answer_of(case_id: str, number: int, *, batch: bool) -> tuple[bytes, bytes]:
    """Head and body of a line of the corpus, which answers the one request of this number."""
    (case,) = [case for case in load(name="nodes") if case.id == case_id]
    said = case.input
    body = Case(case.id, case.category, said["body"], case.expect).text
    body = body.replace("ID0", str(number + 1)).replace("ID", str(number))
    if batch:
        # "list-for-one" is one for a list there.
        body = body[1:-1] if body.startswith("[") else f"[{body}]"
    content = body.encode(said.get("charset", "utf-8"))
    lines = {"content-type": "application/json", **said.get("headers", {})}
    if encoding := said.get("encoding"):
        content = ENCODERS[encoding](content)
        lines["content-encoding"] = encoding
    if said.get("ends", True):
        lines["content-length"] = str(len(content))
    head = f"HTTP/1.1 {said.get('status', 200)} Said\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return head.encode() + b"\r\n", content


def answering(case: Case) -> Callable[[Request, asyncio.StreamWriter], Awaitable[None]]:
    async def behave(request: Request, writer: asyncio.StreamWriter) -> None:
        asked = json.loads(request.body)
        batch = isinstance(asked, list)
        head, content = answer_of(case.id, (asked[0] if batch else asked)["id"], batch=batch)
        writer.write(head + content)
        await writer.drain()
        while not case.input.get("ends", True):
            writer.write(content * (1 << 16))
            await writer.drain()

    return behave


@pytest.mark.parametrize("ask", CLIENTS.values(), ids=CLIENTS)
@each_row("case", load(name="nodes"), ids=lambda case: case.id)
async def test_no_answer_costs_much_or_is_taken_for_another(case: Case, ask: Asks) -> None:
    async with RudeServer(answering(case)) as server:
        if case.expect["known"]:
            await ask(server.url, PATIENCE)
        else:
            with pytest.raises(NodeUncertain):
                await ask(server.url, PATIENCE)
    assert len(server.requests) == 1, "nothing is asked twice, and nowhere else"
    assert server.requests[0].headers["accept-encoding"] == "identity"


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("ask", CLIENTS.values(), ids=CLIENTS)
async def test_a_node_that_wants_to_wait_hears_nothing_meanwhile(ask: Asks, status: int) -> None:
    async with RudeServer(answer(status, headers={"Retry-After": "61.5"})) as server:
        with pytest.raises(NodeUncertain, match=rf"{status}"):
            await ask(server.url, PATIENCE)
        with pytest.raises(NodeUnreachable, match=r"left alone for 6[12] s more"):
            await ask(server.url, PATIENCE)
    assert len(server.requests) == 1


@each_row("ask", [_evm, _evm_batch, _solana, _ledger])
async def test_the_deadline_holds_for_the_whole_answer(ask: Asks) -> None:
    async with RudeServer(drip) as server:
        with pytest.raises(NodeUncertain, match="TimeoutError"):
            await ask(server.url, 0.2)


@each_row(
    "answers",
    [
        [{"id": 2, "result": "0x2"}, {"id": 2, "result": "0x2"}],
        [{"id": 1, "result": "0x1"}],
        [{"id": True, "result": "0x1"}, {"id": 2, "result": "0x2"}],
        [{"id": 1, "result": "0x1"}, {"id": [2], "result": "0x2"}],
        [{"id": 1, "result": "0x1"}, "0x2"],
        [{"id": 1, "result": "0x1"}, {"id": 2}],
        [{"id": 1, "result": "0x1"}, {"id": 2, "error": {"message": "no"}}],
        {"id": 1, "result": ["0x1", "0x2"]},
    ],
)
async def test_every_read_of_a_batch_is_answered_for_itself(answers: Any) -> None:
    asked = [balance_of("0x" + "11" * 20), balance_of("0x" + "22" * 20)]

    async def behave(_: Request, writer: asyncio.StreamWriter) -> None:
        body = json.dumps(answers).encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()

    async with RudeServer(behave) as server, EvmClient(server.url) as client:
        with pytest.raises(NodeUncertain):
            await client.batch(asked)


async def test_answers_of_a_batch_come_in_any_order() -> None:
    async def behave(request: Request, writer: asyncio.StreamWriter) -> None:
        told = [
            {"id": each["id"], "result": each["params"][0]} for each in json.loads(request.body)
        ]
        body = json.dumps(told[::-1]).encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()

    async with RudeServer(behave) as server, EvmClient(server.url) as client:
        assert await client.batch([balance_of("0xa"), balance_of("0xb")]) == ["0xa", "0xb"]
