"""The client of a Solana node: what is known after each kind of failure, and answers that lie."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from http_clients import node_transport
from rows import each_row
from swapdesk.chain.node_http import NodeRefused, NodeUncertain
from swapdesk.chain.rpc.solana import SolanaClient, first_signature

RAW = b"\1" + bytes(range(64)) + b"the message"
SIGNATURE = first_signature(RAW)
KEYS = ["payer", "other"]


class Node:
    """Answers every call with the same result, error or bytes, and keeps what was asked."""

    def __init__(self, answer: Callable[[dict[str, Any]], httpx2.Response]) -> None:
        self.asked: list[dict[str, Any]] = []
        self._answer = answer

    def client(self) -> SolanaClient:
        return SolanaClient("http://node.example", transport=node_transport(self._respond))

    def _respond(self, request: httpx2.Request) -> httpx2.Response:
        asked = json.loads(request.content)
        self.asked.append(asked)
        return self._answer(asked)


def result(value: Any) -> Node:
    return Node(
        lambda asked: httpx2.Response(
            200, json={"jsonrpc": "2.0", "id": asked["id"], "result": value}
        )
    )


def error(code: int, message: str, data: Any = None) -> Node:
    told = {"code": code, "message": message, "data": data}
    return Node(
        lambda asked: httpx2.Response(
            200, json={"jsonrpc": "2.0", "id": asked["id"], "error": told}
        )
    )


def value(of: Any) -> Node:
    return result({"context": {"slot": 1}, "value": of})


async def test_a_transaction_is_sent_once_and_only_its_own_signature_is_believed() -> None:
    node = result(SIGNATURE)
    async with node.client() as client:
        assert await client.send(RAW) == SIGNATURE
    (asked,) = node.asked
    assert asked["params"][1]["maxRetries"] == 0
    async with result("another").client() as client:
        with pytest.raises(NodeUncertain, match="another signature"):
            await client.send(RAW)


async def test_a_repeat_counts_as_sent_and_other_refusals_do_not() -> None:
    failed = "Transaction simulation failed"
    async with error(-32002, failed, {"err": "AlreadyProcessed", "logs": []}).client() as client:
        assert await client.send(RAW) == SIGNATURE
    async with error(
        -32002, failed, {"err": "BlockhashNotFound", "logs": ["a"]}
    ).client() as client:
        with pytest.raises(NodeRefused) as refused:
            await client.send(RAW)
    assert (refused.value.code, refused.value.reason) == (-32002, "BlockhashNotFound")
    for odd in ("AlreadyProcessed", ["AlreadyProcessed"], None):
        async with error(-32002, failed, odd).client() as client:
            with pytest.raises(NodeRefused):
                await client.send(RAW)


@each_row("told", [{}, {"error": "no"}, {"error": {"code": "1"}}])
async def test_an_answer_that_says_nothing_is_uncertain(told: dict[str, Any]) -> None:
    node = Node(lambda asked: httpx2.Response(200, json={"id": asked["id"], **told}))
    async with node.client() as client:
        with pytest.raises(NodeUncertain):
            await client.send(RAW)
    assert len(node.asked) == 1


@each_row("lie", [None, "5", 5.0, -1, 1 << 64, True, {}, []])
async def test_amounts_are_whole_numbers(lie: Any) -> None:
    async with value(lie).client() as client:
        with pytest.raises(NodeUncertain):
            await client.balance("payer")
    async with result(lie).client() as client:
        with pytest.raises(NodeUncertain):
            await client.block_height()


def simulation(**changes: Any) -> dict[str, Any]:
    token = {"accountIndex": 1, "owner": "o", "mint": "m", "uiTokenAmount": {"amount": "7"}}
    return {
        "err": None,
        "logs": ["done"],
        "unitsConsumed": 450,
        "fee": 5000,
        "preBalances": [10_000, 1],
        "postBalances": [4_999, 2],
        "preTokenBalances": [],
        "postTokenBalances": [token],
        **changes,
    }


async def test_what_a_simulation_moves_is_read() -> None:
    async with value(simulation()).client() as client:
        found = await client.simulate(RAW, KEYS)
    assert found.moves.lamports == {"payer": (10_000, 4_999), "other": (1, 2)}
    (moved,) = found.moves.tokens
    assert (moved.account, moved.owner, moved.mint, moved.before, moved.after) == (
        "other",
        "o",
        "m",
        0,
        7,
    )
    async with value({"err": None, "logs": None}).client() as client:
        assert (await client.simulate(RAW, KEYS)).moves is None


@each_row(
    "changes",
    [
        {"preBalances": [1]},
        {"postBalances": [1, 2, 3]},
        {"postBalances": ["1", "2"]},
        {"postTokenBalances": [{"accountIndex": 2}]},
        {"postTokenBalances": [{"accountIndex": 0, "owner": "o", "mint": "m"}]},
        {"postTokenBalances": [{"accountIndex": 0, "owner": None, "mint": "m"}]},
        {
            "postTokenBalances": [
                {"accountIndex": 0, "owner": "o", "mint": "m", "uiTokenAmount": {"amount": "-1"}}
            ]
        },
        {"unitsConsumed": -1},
    ],
)
async def test_moves_of_another_shape_are_no_answer(changes: dict[str, Any]) -> None:
    async with value(simulation(**changes)).client() as client:
        with pytest.raises(NodeUncertain):
            await client.simulate(RAW, KEYS)


@each_row(
    "lie",
    [
        [],
        [None, None],
        [{"slot": 1}],
        [{"slot": 1, "confirmationStatus": "sure"}],
        [{"slot": "1", "confirmationStatus": "finalized"}],
        {"slot": 1},
        ["finalized"],
    ],
)
async def test_a_status_of_another_shape_is_no_answer(lie: Any) -> None:
    async with value(lie).client() as client:
        with pytest.raises(NodeUncertain):
            await client.status(SIGNATURE)


async def test_an_unknown_transaction_is_none() -> None:
    async with value([None]).client() as client:
        assert await client.status(SIGNATURE) is None


@each_row("raw", [b"", b"\1" + bytes(63), b"\0" + bytes(200), b"\x80" + bytes(200)])
def test_only_a_signed_transaction_has_a_name(raw: bytes) -> None:
    with pytest.raises(ValueError, match="no transaction"):
        first_signature(raw)
