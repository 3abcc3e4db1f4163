"""A payment on Solana may be executed until its blockhash has expired: only then is it lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agent.gate_world import NOW
from agent.honest_solana import HONEST
from http_clients import node_transport
from swapdesk.agent.gate.case import PastSignature
from swapdesk.agent.process.payload_assessment import read_solana_facts
from swapdesk.agent.shapes.claim import Act
from swapdesk.agent.transactions.delivery import SolanaDelivery
from swapdesk.agent.transactions.file import RecordsFile
from swapdesk.agent.transactions.records import Records, TransactionDraft
from swapdesk.chain.rpc.solana import SolanaClient
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.transactions import SignedTransaction, TransactionState

State = TransactionState
LAST_VALID = 1_150


class Node:
    """Answers by method; the height of its chain by how certain it shall be."""

    def __init__(self, heights: dict[str, int], **results: Any) -> None:
        self._heights = heights
        self._results = results

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        asked = json.loads(request.content)
        if asked["method"] == "getBlockHeight":
            result: Any = self._heights[asked["params"][0]["commitment"]]
        else:
            result = self._results[asked["method"]]
        return httpx2.Response(200, json={"jsonrpc": "2.0", "id": asked["id"], "result": result})


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    made = Records(RecordsFile(tmp_path, writable=True))
    yield made
    made.close()


@pytest.fixture
def sent(records: Records) -> SignedTransaction:
    draft = TransactionDraft(
        hash="signature",
        intent_id="intent",
        purpose=Purpose.DEPOSIT,
        chain="solana",
        account="me",
        content=b"message",
        raw=b"bytes",
        last_valid=LAST_VALID,
    )
    given = PastSignature(draft.content, Act.PAY, None, None, "me", None, None, hash=draft.hash)
    records.write(draft, given, None, datetime(2026, 11, 22, tzinfo=UTC))
    assert records.move(draft.hash, State.SENT, among=frozenset({State.SIGNED}))
    found = records.find(draft.hash)
    return found


@pytest.mark.parametrize(
    ("height", "status", "state"),
    [
        (1_000, None, State.SENT),
        (LAST_VALID, None, State.SENT),
        (LAST_VALID + 1, None, State.LOST),
        (LAST_VALID + 1, {"slot": 9, "confirmationStatus": "confirmed", "err": None}, State.MINED),
        (1_000, {"slot": 9, "confirmationStatus": "finalized", "err": None}, State.SUCCEEDED),
        (1_000, {"slot": 9, "confirmationStatus": "finalized", "err": {}}, State.FAILED),
    ],
)
async def test_what_may_still_be_executed_is_not_lost(
    records: Records,
    sent: SignedTransaction,
    height: int,
    status: dict[str, Any] | None,
    state: State,
) -> None:
    node = Node({"finalized": height}, getSignatureStatuses={"value": [status]})
    transport = node_transport(node)
    async with SolanaClient("http://127.0.0.1/", transport=transport) as client:
        found = await SolanaDelivery(client, records).resolve(sent, resend=False)
    assert found.state is state


async def test_what_was_given_up_while_it_waited_to_be_sent_does_not_leave(
    records: Records, sent: SignedTransaction
) -> None:
    """The request to send it was read before it was given up, and had its turn afterwards."""
    assert records.move(sent.hash, State.ABANDONED, among=frozenset({State.SENT}))
    asked = []

    def hear(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        raise httpx2.ConnectError("nobody is there", request=request)

    transport = httpx2.MockTransport(hear)
    async with SolanaClient("http://127.0.0.1/", transport=transport) as client:
        found = await SolanaDelivery(client, records).send(sent)
    assert found.state is State.ABANDONED
    assert asked == []


async def test_a_payment_may_be_executed_until_the_newest_block_forgets_its_blockhash() -> None:
    """Its blockhash may be of a block that is not confirmed yet."""
    honest = next(iter(HONEST.values()))
    node = Node(
        {"confirmed": 1_000, "processed": 1_010},
        getGenesisHash="genesis",
        getBalance={"value": 1},
        getLatestBlockhash={"value": {"blockhash": "newest", "lastValidBlockHeight": LAST_VALID}},
        isBlockhashValid={"value": True},
        simulateTransaction={"value": {"err": None}},
    )
    async with SolanaClient("http://127.0.0.1/", transport=node_transport(node)) as client:
        read = await read_solana_facts(client, honest.payload, honest.promise, NOW)
    assert (read.last_valid, read.problem) == (1_010 + 150, None)
