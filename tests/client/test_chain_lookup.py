"""What a node tells of transactions, blocks and receipts; one that tells nonsense has a reason, and
no error."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from http_clients import node_transport
from rows import each_row
from sampling import examples
from swapdesk.chain.node_http import NodeError
from swapdesk.client.chain_lookup import (
    MOST_PAYMENTS,
    ChainTransaction,
    EvmBlocks,
    NodeReader,
    Payment,
)

HASH = "0x" + "8f2c" * 16
TO, TOKEN = "0x" + "1a" * 20, "0x" + "2b" * 20
AT = 1_795_182_131
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


def log(units: int, to: str = TO, contract: str = TOKEN) -> dict[str, Any]:
    padded = "0x" + "0" * 24 + to[2:]
    return {"address": contract, "topics": [TRANSFER, padded, padded], "data": f"0x{units:064x}"}


MINED: dict[str, Any] = {
    "eth_getTransactionByHash": {"value": "0xde0b6b3a7640000", "to": TO, "gasPrice": "0x10"},
    "eth_getTransactionReceipt": {"status": "0x1", "blockNumber": "0x64", "logs": []},
    "eth_blockNumber": "0x6d",
    "eth_call": "0x6",
    "eth_getBlockByNumber": {"timestamp": hex(AT), "baseFeePerGas": "0x9"},
}
WAITS = {**MINED, "eth_getTransactionReceipt": None}

SIGNATURE = "5" * 88
SOLANA: dict[str, Any] = {
    "getTransaction": {
        "slot": 90,
        "blockTime": AT,
        "meta": {
            "err": None,
            "preBalances": [50, 5, 9, 1],
            "postBalances": [20, 30, 10, 1],
            "loadedAddresses": {"writable": ["W"], "readonly": ["R"]},
            "preTokenBalances": [{"accountIndex": 1, "uiTokenAmount": {"amount": "7"}}],
            "postTokenBalances": [
                {
                    "accountIndex": 1,
                    "mint": "M",
                    "owner": "O",
                    "uiTokenAmount": {"amount": "19", "decimals": 6},
                },
                {"accountIndex": 2, "mint": "M", "owner": "N", "uiTokenAmount": {"amount": "0"}},
            ],
        },
        "transaction": {"message": {"accountKeys": ["A", "B"]}},
    },
    "getSlot": 99,
}


def node(
    answers: dict[str, Any], asked: list[str] | None = None
) -> Callable[[httpx2.Request], httpx2.Response]:
    def answer(request: httpx2.Request) -> httpx2.Response:
        call = json.loads(request.content)
        method = call["method"]
        if asked is not None:
            asked.append(method)
        return httpx2.Response(
            200, json={"jsonrpc": "2.0", "id": call["id"], "result": answers[method]}
        )

    return answer


async def look(
    answer: Callable[[httpx2.Request], httpx2.Response], text: str = HASH
) -> ChainTransaction | None:
    reader = NodeReader("base", "http://127.0.0.1:9", transport=node_transport(answer))
    return await reader.transaction(text, solana=text == SIGNATURE)


def mined(sent: dict[str, Any] | None = None, **receipt: Any) -> dict[str, Any]:
    """What a node says of a transaction in a block, with other members of it and its receipt."""
    return {
        **MINED,
        "eth_getTransactionByHash": {**MINED["eth_getTransactionByHash"], **(sent or {})},
        "eth_getTransactionReceipt": {**MINED["eth_getTransactionReceipt"], **receipt},
    }


OTHER = "0x" + "3c" * 20
LOGS = [
    {"address": TOKEN, "topics": ["0x" + "00" * 32], "data": "0x"},
    log(12_000_000),
    log(5, contract=OTHER),
    {**log(7), "data": "0x07"},
]
IN_TOKENS = (Payment(TO, 12_000_000, TOKEN, decimals=6), Payment(TO, 5, OTHER, decimals=6))
MANY = tuple(Payment(TO, at + 1, TOKEN, decimals=6) for at in range(MOST_PAYMENTS))


@each_row(
    ("answers", "payments", "failed"),
    [
        pytest.param(mined(), (Payment(TO, 10**18),), False, id="coins"),
        pytest.param(
            mined({"value": "0x0", "to": TOKEN}, logs=LOGS), IN_TOKENS, False, id="events of tokens"
        ),
        pytest.param(mined(status="0x0", logs=[log(1)]), (), True, id="failed"),
        pytest.param(mined({"to": None}), (), False, id="no receiver"),
        pytest.param(
            mined({"value": "0x0"}, logs=[log(at + 1) for at in range(5_000)]),
            MANY,
            False,
            id="very many",
        ),
    ],
)
async def test_what_a_transaction_in_a_block_paid(
    answers: dict[str, Any], payments: tuple[Payment, ...], failed: bool
) -> None:
    at = datetime.fromtimestamp(AT, UTC)
    assert await look(node(answers)) == ChainTransaction("base", HASH, payments, 10, at, failed)


@each_row("told", ["0x", "0x" + "f" * 64, None, "six", {}])
async def test_a_token_that_states_no_decimals_has_none(told: object) -> None:
    found = await look(node({**mined(logs=[log(5)]), "eth_call": told}))
    assert [one.decimals for one in found.payments] == [None, None]


@each_row(
    ("fees", "below"),
    [
        ({"gasPrice": "0x8"}, True),
        ({"gasPrice": "0x9"}, False),
        ({"gasPrice": "0x8", "maxFeePerGas": "0xa"}, False),
        ({"gasPrice": "0xf", "maxFeePerGas": "0x8"}, True),
    ],
)
async def test_one_that_waits_says_whether_it_offers_too_little(
    fees: dict[str, str], below: bool
) -> None:
    sent = {"value": "0x1", "to": TO, **fees}
    found = await look(node({**WAITS, "eth_getTransactionByHash": sent}))
    assert (found.confirmations, found.at, found.underpriced) == (None, None, below)
    assert found.payments == (Payment(TO, 1),)


async def test_one_that_nobody_knows_takes_one_question() -> None:
    asked: list[str] = []
    assert await look(node({"eth_getTransactionByHash": None}, asked)) is None
    assert await look(node({"getTransaction": None}, asked), SIGNATURE) is None
    assert asked == ["eth_getTransactionByHash", "getTransaction"]


async def test_a_transaction_of_solana_by_what_its_accounts_gained() -> None:
    found = await look(node(SOLANA), SIGNATURE)
    assert found == ChainTransaction(
        "base",
        SIGNATURE,
        (Payment("B", 25), Payment("W", 1), Payment("O", 12, "M", decimals=6)),
        10,
        datetime.fromtimestamp(AT, UTC),
    )
    in_vain = json.loads(json.dumps(SOLANA))
    in_vain["getTransaction"]["meta"]["err"] = {"InstructionError": [0, "Custom"]}
    failed = await look(node(in_vain), SIGNATURE)
    assert (failed.failed, failed.payments) == (True, ())


def says(content: bytes, status: int = 200) -> Callable[[httpx2.Request], httpx2.Response]:
    return lambda request: httpx2.Response(status, content=content)


def raises(error: Exception) -> Callable[[httpx2.Request], httpx2.Response]:
    def answer(request: httpx2.Request) -> httpx2.Response:
        raise error

    return answer


@each_row(
    ("answer", "why"),
    [
        (raises(httpx2.ConnectError("refused")), "cannot be reached"),
        (raises(httpx2.ReadTimeout("slow")), "gave no answer"),
        (raises(OSError("gone")), "gave no answer"),
        (says(b""), "no JSON"),
        (says(b"<html>502</html>", 502), "status 502"),
        (says(b"[]"), "another shape"),
        (says(b'{"id": 1, "error": {"code": -32601, "message": "\\u202e"}}'), "refused"),
        (says(b'{"id": 1, "result": 7}'), "another shape"),
        (says(b'{"id": 1, "result": {"value": "seven", "to": "x"}}'), "another shape"),
        (says(b'{"id": 1, "result": {"value": "0x1", "to": "\\u202e0x"}}'), "another shape"),
        (
            says(b'{"id": 1, "result": {"value": "0x1", "to": "' + b"a" * 999 + b'"}}'),
            "another shape",
        ),
    ],
)
async def test_a_node_that_tells_nonsense_has_told_nothing(
    answer: Callable[[httpx2.Request], httpx2.Response], why: str
) -> None:
    for text in (HASH, SIGNATURE):
        with pytest.raises(NodeError, match=why):
            await look(answer, text)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["value", "to", "logs", "status", "meta", "slot", "topics", "data"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=examples(200))
@given(st.sampled_from(sorted(MINED) + sorted(SOLANA)), st.lists(st.text(max_size=20)), ANYTHING)
async def test_whatever_a_node_answers_is_a_transaction_or_a_reason(
    method: str, path: list[str], wrong: Any
) -> None:
    answers = json.loads(json.dumps({**MINED, **SOLANA}))
    place = answers[method]
    if isinstance(place, dict) and path:
        place[sorted(place)[len(path) % len(place)]] = wrong
    else:
        answers[method] = wrong
    for text in (HASH, SIGNATURE):
        try:
            found = await look(node(answers), text)
        except NodeError:
            continue
        for payment in found.payments if found is not None else ():
            assert payment.to.isprintable()
            assert isinstance(payment.units, int)


@each_row(
    ("chain", "told", "used"),
    [
        ("0x2105", f"0x{1:064x}", True),
        ("0x2105", f"0x{0:064x}", False),
        ("0x1", f"0x{1:064x}", None),
        ("0x2105", f"0x{2:064x}", None),
        ("0x2105", "0x", None),
        ("0x2105", True, None),
        ("0x2105", ["0x"], None),
        (None, f"0x{0:064x}", None),
    ],
)
async def test_whether_a_payment_was_taken_is_the_tokens_word_on_its_own_chain(
    chain: Any, told: Any, used: bool | None
) -> None:
    asked: list[str] = []
    answer = node({"eth_chainId": chain, "eth_call": told}, asked)
    reader = NodeReader("base", "http://127.0.0.1:9", transport=node_transport(answer))
    nonce = "0x" + "3c" * 32
    if used is None:
        with pytest.raises(NodeError):
            await reader.authorization_used(8453, TOKEN, TO, nonce)
    else:
        assert await reader.authorization_used(8453, TOKEN, TO, nonce) is used


def blocks(result: Any) -> EvmBlocks:
    """A node that answers every question with this."""

    def answer(request: httpx2.Request) -> httpx2.Response:
        calls = json.loads(request.content)
        return httpx2.Response(200, json=[{"id": each["id"], "result": result} for each in calls])

    return EvmBlocks("base", "http://127.0.0.1:9", transport=node_transport(answer))


async def test_receipt_tells_what_a_transaction_cost() -> None:
    told = {"gasUsed": "0x5208", "effectiveGasPrice": "0xa"}
    assert await blocks(told).fee(HASH) == 210_000
    assert await blocks(None).fee(HASH) is None


@each_row("told", ["0x", "", "42", "0x" + "1" * 65, 42, None, {}, "0xzz"])
async def test_what_is_no_number_is_no_answer(told: Any) -> None:
    with pytest.raises(NodeError):
        await blocks({"gasUsed": told, "effectiveGasPrice": "0xa"}).fee(HASH)
