"""The door of the embedded chains: who is let in, batches, bounds, nodes that misbehave; what an
unmodified web3 client sees; and our own client, also against bad nodes.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from web3 import AsyncWeb3
from web3.exceptions import TransactionNotFound, Web3RPCError
from web3.middleware import SignAndSendRawMiddlewareBuilder

from client.rude_server import RudeServer, answer, reset
from patience import PATIENCE
from plain_http import PLAIN
from rows import each_row
from sandbox.evm.evm_world import KEY, World, bare_genesis, faucet, running, stranger
from swapdesk.chain.addresses.evm import keccak
from swapdesk.chain.calldata import erc20
from swapdesk.chain.node_http import NodeError, NodeUncertain, NodeUnreachable
from swapdesk.chain.rpc.evm import (
    Call,
    EvmClient,
    EvmRefused,
    Request,
    balance_of,
    calling,
    code_at,
    nonce_of,
    quantity,
    revert_words,
)
from swapdesk.sandbox.node.evm.embedding import first_state
from swapdesk.sandbox.node.evm.genesis import Allocation, Genesis
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.tables import chain_terms
from swapdesk.sandbox.world import find_token

pytestmark = pytest.mark.asyncio(loop_scope="module")

CLOCK, WORD = stranger(8).address, stranger(9).address
CODES = {CLOCK: "4260005260206000f3", WORD: "60005460005260206000f3"}
"""They return the time of the block, and the first word that they keep."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """Base with the contracts of the world, and two chains without."""
    contracts = {
        bytes.fromhex(address[2:]): Allocation(code=bytes.fromhex(code))
        for address, code in CODES.items()
    }
    genesis = {
        name: Genesis({**first.accounts, **contracts}, first.mark)
        for name, first in (
            ("base", first_state(chain_terms()["base"], KEY)),
            ("arbitrum", bare_genesis()),
            ("polygon", bare_genesis()),
        )
    }
    async with running(tmp_path_factory.mktemp("door"), genesis=genesis) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client(world: World) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{world.port}", verify=PLAIN) as made:
        yield made


def asked(method: str, *params: Any, number: Any = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": list(params)}


async def test_pages_of_other_sites_and_other_paths_get_nothing(
    client: httpx2.AsyncClient,
) -> None:
    body = asked("eth_chainId")
    assert (await client.post("/evm/base", json=body)).json()["result"] == hex(1_337_008_453)
    for headers, status in (
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://localhost:3000"}, 200),
    ):
        answer = await client.post("/evm/base", json=body, headers=headers)
        assert answer.status_code == status, headers
    assert (await client.post("/evm/bitcoin", json=body)).status_code == 404
    assert (await client.get("/evm/base")).status_code == 405


async def test_a_batch_is_answered_in_order_and_bounded(client: httpx2.AsyncClient) -> None:
    batch = [
        asked("eth_chainId", number="first"),
        asked("eth_nothing", number=2),
        {"jsonrpc": "2.0", "method": "eth_blockNumber"},
        asked("eth_getBalance", faucet().address, "latest", number=3),
        5,
    ]
    answers = (await client.post("/evm/base", json=batch)).json()
    assert [answer["id"] for answer in answers] == ["first", 2, 3, None]
    assert answers[1]["error"]["code"] == -32601
    assert int(answers[2]["result"], 16) > 10**26
    assert answers[3]["error"]["code"] == -32600
    many = (await client.post("/evm/base", json=[asked("eth_chainId")] * 101)).json()
    assert many["error"] == {"code": -32600, "message": "batch too large"}
    empty = (await client.post("/evm/base", json=[])).json()
    assert empty["error"]["code"] == -32600
    large = await client.post("/evm/base", content=b"[" + b" " * (1 << 20) + b"]")
    assert large.status_code == 413


async def test_what_a_batch_changes_is_seen_by_what_follows_in_it(
    client: httpx2.AsyncClient, world: World
) -> None:
    sender = faucet()
    signed = sender.sign_transaction(
        {
            "type": 2,
            "chainId": world.chain("base").terms.chain_id,
            "nonce": world.node.account("base", "faucet").next_nonce(),
            "to": stranger(7).address,
            "value": 1,
            "gas": 21_000,
            "maxFeePerGas": 10**12,
            "maxPriorityFeePerGas": 1,
        }
    )
    count = ("eth_getTransactionCount", sender.address, "pending")
    batch = [
        asked(*count, number=1),
        asked("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex(), number=2),
        asked(*count, number=3),
    ]
    answers = (await client.post("/evm/base", json=batch)).json()
    assert [one["id"] for one in answers] == [1, 2, 3]
    assert int(answers[2]["result"], 16) == int(answers[0]["result"], 16) + 1


async def test_a_call_sees_the_time_of_the_clock(client: httpx2.AsyncClient, world: World) -> None:
    async def called() -> int:
        body = asked("eth_call", {"to": CLOCK, "data": "0x"}, "latest")
        return int((await client.post("/evm/arbitrum", json=body)).json()["result"], 16)

    first = await called()
    # The clock goes on without a block.
    while await called() <= first:
        assert world.chain("arbitrum").head.number == 0


async def test_calls_with_another_state(web3: AsyncWeb3[Any]) -> None:
    async def word(of: str, state: Any = None) -> int:
        return int.from_bytes(await web3.eth.call({"to": of}, "latest", state), "big")

    kept = {"stateDiff": {"0x" + "00" * 32: f"0x{41:064x}"}}
    assert (await word(WORD), await word(WORD, {WORD: kept})) == (0, 41)
    copied = {"code": (await web3.eth.get_code(WORD)).to_0x_hex(), "nonce": "0x1", **kept}
    assert await word(stranger(4).address, {stranger(4).address: copied}) == 41
    call = {"from": stranger(5).address, "to": stranger(6).address, "value": 10**19}
    rich = {stranger(5).address: {"balance": hex(10**20)}}
    assert await web3.eth.call(call, "latest", rich) == b""
    with pytest.raises(Web3RPCError, match="insufficient funds"):
        await web3.eth.call(call)


async def test_what_is_no_json_is_refused(client: httpx2.AsyncClient) -> None:
    for body in (b"", b"{", b"\xff", b'{"id":NaN}', b"[" * 200_000, b"1" * 5_000):
        answer = (await client.post("/evm/base", content=body)).json()
        assert answer["error"]["code"] == -32700, body[:9]


HOSTILE: list[tuple[str, list[Any]]] = [
    ("eth_getBalance", []),
    ("eth_getBalance", ["0x12", "latest"]),
    ("eth_getBalance", [5, "latest"]),
    ("eth_getBalance", ["0x" + "00" * 20, "0x01"]),
    ("eth_getBalance", ["0x" + "00" * 20, "newest"]),
    ("eth_getBalance", ["0x" + "00" * 20, {"blockHash": "0x12"}]),
    ("eth_getBalance", ["0x" + "00" * 20, {"blockHash": "0x" + "00" * 32, "blockNumber": "0x1"}]),
    ("eth_getBalance", ["0x" + "00" * 20, []]),
    ("eth_getStorageAt", ["0x" + "00" * 20, "0x" + "1" * 65, "latest"]),
    ("eth_call", [None]),
    ("eth_call", [{"to": "0x12"}]),
    ("eth_call", [{"gas": -1}]),
    ("eth_call", [{"surprise": 1}]),
    ("eth_call", [{"data": "0x1"}]),
    ("eth_call", [{"accessList": {}}]),
    ("eth_call", [{}, "latest", []]),
    ("eth_call", [{}, "latest", {"0x12": {}}]),
    ("eth_call", [{}, "latest", {"0x" + "00" * 20: {"balance": "lots"}}]),
    ("eth_call", [{}, "latest", {"0x" + "00" * 20: {"stateDiff": {"0x0": "0xzz"}}}]),
    ("eth_call", [{}, "latest", {}, {"time": "late"}]),
    ("eth_estimateGas", [{"from": 1}]),
    ("eth_simulateV1", [{}]),
    ("eth_simulateV1", [{"blockStateCalls": [{"calls": [7]}]}]),
    ("eth_simulateV1", [{"blockStateCalls": [{"calls": 7}]}]),
    ("eth_sendRawTransaction", ["0xzz"]),
    ("eth_sendRawTransaction", [7]),
    ("eth_getTransactionByHash", ["0x12"]),
    ("eth_getTransactionReceipt", [None]),
    ("eth_getBlockByNumber", ["0x0", "yes"]),
    ("eth_getLogs", [{"address": "0x1"}]),
    ("eth_getLogs", [{"topics": "0x1"}]),
    ("eth_getLogs", [{"topics": [["0x1"]]}]),
    ("eth_getLogs", [{"blockHash": "0x" + "00" * 32, "fromBlock": "0x0"}]),
    ("eth_feeHistory", ["0x5", "latest", "all"]),
    ("eth_feeHistory", ["0x5", "latest", ["much"]]),
    ("eth_chainId", [1]),
]


async def test_parameters_that_mean_nothing_are_refused(client: httpx2.AsyncClient) -> None:
    for method, params in HOSTILE:
        answer = (await client.post("/evm/base", json=asked(method, *params))).json()
        assert answer["error"]["code"] == -32602, (method, params, answer)


async def test_logs_are_found_by_block_hash_and_never_without_end(
    world: World, client: httpx2.AsyncClient
) -> None:
    async def logs(**wanted: str) -> Any:
        return (await client.post("/evm/base", json=asked("eth_getLogs", wanted))).json()

    receipt = await _sent(world, value=1)
    assert (await logs(blockHash=receipt["blockHash"]))["result"] == []
    assert (await logs(blockHash="0x" + "12" * 32))["error"]["message"] == "unknown block"
    await _head(world, 6)
    backward = await logs(fromBlock="0x5", toBlock="0x1")
    assert backward["error"]["message"] == "invalid block range params"


async def test_a_node_that_is_down_says_nothing(world: World, client: httpx2.AsyncClient) -> None:
    world.faults.set("node_down", "chain", "base", times=2)
    for _ in range(2):
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.post("/evm/base", json=asked("eth_chainId"))
    assert (await client.post("/evm/polygon", json=asked("eth_chainId"))).status_code == 200
    assert (await client.post("/evm/base", json=asked("eth_chainId"))).status_code == 200


async def test_a_receipt_is_forged_once(world: World, client: httpx2.AsyncClient) -> None:
    receipt = await _sent(world, value=1)
    world.faults.set("forged_receipt", "chain", "base", times=1)
    unknown = asked("eth_getTransactionReceipt", "0x" + "34" * 32)
    assert (await client.post("/evm/base", json=unknown)).json()["result"] is None
    wanted = asked("eth_getTransactionReceipt", receipt["transactionHash"])
    forged = (await client.post("/evm/base", json=wanted)).json()["result"]
    assert (receipt["status"], forged["status"]) == ("0x1", "0x0")
    assert (await client.post("/evm/base", json=wanted)).json()["result"] == receipt


async def test_a_dropped_transaction_is_taken_and_forgotten(
    world: World, client: httpx2.AsyncClient
) -> None:
    chain = world.chain("base")
    account = world.node.account("base", "faucet")
    raw = await account.sign(bytes(20), value=1)
    sent = keccak(raw)
    world.faults.set("drop_transaction", "chain", "base", times=1)
    sending = asked("eth_sendRawTransaction", "0x" + raw.hex())
    told = (await client.post("/evm/base", json=sending)).json()["result"]
    assert told == "0x" + sent.hex()
    assert chain.pool.get(sent) is None
    with pytest.raises(Problem, match="gone from the pool"):
        await chain.confirmed(sent)
    # The same bytes again are taken, and mined.
    assert (await client.post("/evm/base", json=sending)).json()["result"] == told
    assert (await chain.confirmed(sent))["status"] == "0x1"


async def test_what_the_sandbox_does_for_itself_is_not_confirmed(world: World) -> None:
    chain = world.chain("polygon")
    account = world.node.account("polygon", "operator")
    sent = await account.send(bytes(20), value=1, awaited=False)
    receipt = await chain.confirmed(sent)
    assert int(receipt["blockNumber"], 16) == chain.head.number == 1
    assert chain.head.awaited == 0
    hashes = [await account.send(bytes(20), value=1) for _ in range(3)]
    receipts = [await world.node.confirmed("polygon", each) for each in hashes]
    assert {each["status"] for each in receipts} == {"0x1"}
    assert world.node.account("polygon", "operator") is account
    assert world.node.account("base", "operator").address == account.address


async def _sent(world: World, *, value: int) -> dict[str, Any]:
    receiver = bytes.fromhex(stranger(3).address[2:])
    sent = await world.node.fund("base", receiver, value)
    return await world.node.confirmed("base", sent)


async def _head(world: World, number: int) -> None:
    chain = world.chain("base")
    while chain.head.number < number:
        await chain.changed.wait()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def web3(world: World) -> AsyncIterator[AsyncWeb3[Any]]:
    """A client of Base that signs with the faucet's key itself, and fills in all the rest."""
    client = world.web3("base")
    signer = faucet()
    client.eth.default_account = signer.address
    client.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(signer), layer=0)
    yield client
    await client.provider.disconnect()


async def mined(web3: AsyncWeb3[Any], sent: Any) -> Any:
    return await web3.eth.wait_for_transaction_receipt(sent, timeout=PATIENCE, poll_latency=0.01)


async def test_fees_never_fall_below_the_floor(web3: AsyncWeb3[Any], world: World) -> None:
    floor = world.chain("base").terms.lowest_base_fee
    sent = None
    for _ in range(3):
        sent = await web3.eth.send_transaction({"to": stranger(7).address, "value": 1})
    receipt = await mined(web3, sent)
    history = await web3.eth.fee_history(1_000, "latest", [10, 50, 90])
    count = len(history["gasUsedRatio"])
    assert len(history["baseFeePerGas"]) == count + 1
    assert len(history["reward"]) == count
    assert min(history["baseFeePerGas"]) == floor
    place = receipt["blockNumber"] - history["oldestBlock"]
    tip = receipt["effectiveGasPrice"] - history["baseFeePerGas"][place]
    assert history["reward"][place] == [tip] * 3
    assert history["gasUsedRatio"][place] > 0
    assert await web3.eth.gas_price >= floor
    assert 0 < await web3.eth.max_priority_fee < floor
    short = await web3.eth.fee_history(1, "latest")
    assert "reward" not in short
    with pytest.raises(Web3RPCError, match="percentile"):
        await web3.eth.fee_history(1, "latest", [50, 10])


async def test_blocks_by_tag_number_and_hash(web3: AsyncWeb3[Any], world: World) -> None:
    receipt = await mined(
        web3, await web3.eth.send_transaction({"to": stranger(17).address, "value": 1})
    )
    number = receipt["blockNumber"]
    block = await web3.eth.get_block(number, full_transactions=True)
    assert [each["hash"] for each in block["transactions"]] == [receipt["transactionHash"]]
    assert block["transactions"][0]["blockHash"] == block["hash"] == receipt["blockHash"]
    assert (await web3.eth.get_block(block["hash"]))["number"] == number
    assert (await web3.eth.get_block("earliest"))["number"] == 0
    parent = await web3.eth.get_block(number - 1)
    assert block["parentHash"] == parent["hash"]
    assert block["timestamp"] >= parent["timestamp"]
    # Others may wait for confirmations: so many blocks follow, and not one more.
    deep = world.chain("base").terms.confirmations - 1
    while await web3.eth.block_number < number + deep:
        await world.chain("base").changed.wait()
    assert (await web3.eth.get_block("finalized"))["number"] == number
    assert number < (await web3.eth.get_block("safe"))["number"] < number + deep
    assert world.chain("base").head.awaited == 0
    assert await web3.eth.get_balance(stranger(17).address, number - 1) == 0
    assert await web3.eth.get_balance(stranger(17).address, number) == 1


async def test_what_is_not_there_is_said_honestly(web3: AsyncWeb3[Any]) -> None:
    for method in ("eth_getProof", "debug_traceTransaction", "eth_newFilter", "eth_sign"):
        answer = await web3.provider.make_request(method, [])  # type: ignore[arg-type]
        assert answer["error"]["code"] == -32601, method
    with pytest.raises(TransactionNotFound):
        await web3.eth.get_transaction_receipt("0x" + "12" * 32)
    with pytest.raises(Web3RPCError, match="header not found"):
        await web3.eth.get_balance(stranger(7).address, 1_000_000)


USDC = str(find_token("base", "USDC").address)
NOBODY, PAYEE = stranger(77).address, stranger(79).address


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def evm(world: World) -> AsyncIterator[EvmClient]:
    """Our client of Base."""
    async with EvmClient(world.url("base")) as made:
        yield made


async def signed(client: EvmClient, **changed: Any) -> bytes:
    fees = await client.fees()
    fields = {
        "chainId": quantity(await client.ask("eth_chainId")),
        "nonce": await client.nonce(faucet().address),
        "to": PAYEE,
        "value": 5,
        "gas": 21_000,
        "maxFeePerGas": fees.most,
        "maxPriorityFeePerGas": fees.priority,
        **changed,
    }
    return bytes(faucet().sign_transaction(fields).raw_transaction)


async def test_reading(evm: EvmClient) -> None:
    assert quantity(await evm.ask("eth_chainId")) == 1_337_008_453
    assert (await evm.fees()).base_fee > 0
    assert await evm.balance(NOBODY) == await evm.nonce(NOBODY) == 0
    output = await evm.call(Call(USDC, erc20.DECIMALS.call()))
    assert int.from_bytes(output, "big") == 6
    balance, nonce, code, decimals, refused = await evm.batch(
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
    many = await evm.batch([Request("eth_chainId")] * 130)
    assert many == [hex(1_337_008_453)] * 130


async def test_calls_that_are_pretended(evm: EvmClient) -> None:
    with pytest.raises(EvmRefused, match="insufficient funds") as poor:
        await evm.estimate(Call(NOBODY, b"", sender=stranger(78).address, value=5))
    assert not poor.value.reverted
    sending = Call(NOBODY, b"", sender=faucet().address, value=5)
    assert await evm.estimate(sending) == 21_000
    assert await evm.call(sending) == b""
    moved = Call(USDC, erc20.TRANSFER.call(NOBODY, 1), sender=stranger(78).address)
    with pytest.raises(EvmRefused) as reverted:
        await evm.call(moved)
    assert reverted.value.reverted
    assert reverted.value.words == "transfer amount exceeds balance"
    paid, refused = await evm.simulate([sending, moved])
    assert paid.succeeded
    assert paid.gas_used == 21_000
    (transfer,) = paid.logs
    assert int.from_bytes(transfer.data, "big") == 5
    assert not refused.succeeded
    assert refused.words == "transfer amount exceeds balance"


async def test_sending(evm: EvmClient, world: World) -> None:
    raw = await signed(evm)
    sent = await evm.send_raw(raw)
    assert sent == "0x" + keccak(raw).hex()
    await world.node.confirmed("base", bytes.fromhex(sent[2:]))
    receipt = await evm.receipt(sent)
    transaction = await evm.transaction(sent)
    assert (receipt.succeeded, receipt.gas_used) == (True, 21_000)
    assert receipt.sender == transaction.sender == faucet().address
    assert (transaction.to, transaction.value, transaction.data) == (PAYEE, 5, b"")
    assert transaction.block == receipt.block
    assert await evm.send_raw(raw) == sent, "known already is a success"
    assert await evm.balance(PAYEE) == 5
    assert await evm.receipt("0x" + "00" * 32) is None
    assert await evm.transaction("0x" + "00" * 32) is None
    with pytest.raises(EvmRefused, match="nonce too low"):
        await evm.send_raw(await signed(evm, nonce=0, value=6))
    with pytest.raises(EvmRefused, match="chain id"):
        await evm.send_raw(await signed(evm, chainId=8453))


@asynccontextmanager
async def node(body: bytes | None) -> AsyncIterator[EvmClient]:
    """A node that answers once; None breaks the connection."""
    async with (
        RudeServer(reset if body is None else answer(body=body)) as server,
        EvmClient(server.url) as client,
    ):
        yield client
    assert len(server.requests) == 1, "nothing is asked twice"


HASH = "0x" + "ab" * 32
RAW = b"\x02signed"


@each_row(
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
        with pytest.raises(NodeUncertain):
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
    async with RudeServer() as server:
        url = server.url
    async with EvmClient(url) as client:
        with pytest.raises(NodeUnreachable):
            await client.send_raw(RAW)


async def test_a_node_without_simulation_executes_one_call(world: World) -> None:
    """Without logs, which a gate must not take for none."""

    class Plain(EvmClient):
        async def ask(self, method: str, *params: Any) -> Any:
            if method == "eth_simulateV1":
                raise EvmRefused(-32601, "the method does not exist")
            return await super().ask(method, *params)

    async with Plain(world.url("base")) as client:
        call = Call(USDC, erc20.DECIMALS.call())
        (outcome,) = await client.simulate([call])
        assert outcome.succeeded
        assert outcome.logs is None
        failing = Call(USDC, erc20.TRANSFER.call(NOBODY, 1), sender=NOBODY)
        (outcome,) = await client.simulate([failing])
        assert (outcome.succeeded, outcome.words) == (False, "transfer amount exceeds balance")
        with pytest.raises(NodeError):
            await client.simulate([call, call])


@each_row(
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
async def test_words_of_reverts(data: str, words: str) -> None:
    assert revert_words(bytes.fromhex(data)) == words
