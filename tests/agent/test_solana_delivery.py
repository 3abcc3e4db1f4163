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
from swapdesk.agent.process.request import AgentRefusal
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


class Silent(SolanaClient):
    """A client of a node that nobody can reach."""

    def __init__(self) -> None:
        self.asked = 0
        super().__init__("http://127.0.0.1/", transport=httpx2.MockTransport(self._hear))

    def _hear(self, request: httpx2.Request) -> httpx2.Response:
        self.asked += 1
        raise httpx2.ConnectError("nobody is there", request=request)


@pytest.fixture
def records(tmp_path: Path) -> Iterator[Records]:
    made = Records(RecordsFile(tmp_path, writable=True))
    yield made
    made.close()


@pytest.fixture
def signed(records: Records) -> SignedTransaction:
    draft = TransactionDraft(
        hash="signature",
        intent_id="intent",
        purpose=Purpose.DEPOSIT,
        chain="solana",
        account="me",
        content=b"message",
        raw=b"\1" + bytes(100),
        last_valid=LAST_VALID,
    )
    given = PastSignature(draft.content, Act.PAY, None, None, "me", None, None, hash=draft.hash)
    return records.write(draft, given, None, datetime(2026, 11, 22, tzinfo=UTC))


@pytest.fixture
def sent(records: Records, signed: SignedTransaction) -> SignedTransaction:
    assert records.move(signed.hash, State.SENT, among=frozenset({State.SIGNED}))
    return records.find(signed.hash)


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
    async with Silent() as client:
        found = await SolanaDelivery(client, records).send(sent)
    assert (found.state, client.asked) == (State.ABANDONED, 0)


async def test_what_no_node_heard_of_is_where_it_was(
    records: Records, signed: SignedTransaction
) -> None:
    """No byte has left, so it may still be given up."""
    async with Silent() as client:
        with pytest.raises(AgentRefusal, match="it was not sent"):
            await SolanaDelivery(client, records).send(signed)
    assert (records.find(signed.hash).state, client.asked) == (State.SIGNED, 1)


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
