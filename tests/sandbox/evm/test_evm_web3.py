"""The embedded chains as an unmodified web3 client sees them, over loopback HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from eth_account.signers.local import LocalAccount
from web3 import AsyncWeb3
from web3.exceptions import (
    TransactionNotFound,
    Web3RPCError,
)
from web3.middleware import SignAndSendRawMiddlewareBuilder

from patience import PATIENCE
from sandbox.evm.evm_world import World, faucet, running, stranger

pytestmark = pytest.mark.asyncio(loop_scope="module")

GWEI = 10**9


@lru_cache
def counter() -> dict[str, Any]:
    import vyper

    source = (Path(__file__).parent / "counter.vy").read_text()
    compiled: dict[str, Any] = vyper.compile_code(source, output_formats=["abi", "bytecode"])
    refused = {"type": "error", "name": "Refused", "inputs": [{"name": "code", "type": "uint256"}]}
    return {**compiled, "abi": [*compiled["abi"], refused]}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with running(tmp_path_factory.mktemp("clients")) as made:
        yield made


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


async def transfer(web3: AsyncWeb3[Any], signer: LocalAccount, nonce: int, **changed: Any) -> bytes:
    fields = {
        "chainId": await web3.eth.chain_id,
        "nonce": nonce,
        "to": stranger(7).address,
        "value": 1,
        "gas": 21_000,
        "maxFeePerGas": GWEI,
        "maxPriorityFeePerGas": GWEI // 10,
        **changed,
    }
    return bytes(signer.sign_transaction(fields).raw_transaction)


async def deployed(web3: AsyncWeb3[Any]) -> Any:
    made = counter()
    kind = web3.eth.contract(abi=made["abi"], bytecode=made["bytecode"])
    receipt = await mined(web3, await kind.constructor().transact())
    return web3.eth.contract(address=receipt["contractAddress"], abi=made["abi"])


async def test_a_contract_is_deployed_called_and_heard(web3: AsyncWeb3[Any]) -> None:
    contract = await deployed(web3)
    first = await mined(web3, await contract.functions.bump(2).transact())
    second = await mined(web3, await contract.functions.bump(3).transact())
    assert await contract.functions.count().call() == 5
    assert await contract.functions.count().call(block_identifier=first["blockNumber"]) == 2
    # The same call sees what a block has changed since.
    await mined(web3, await contract.functions.bump(4).transact())
    assert await contract.functions.count().call() == 9
    events = await contract.events.Bumped.get_logs(from_block=0)
    assert [event["args"]["count"] for event in events] == [2, 5, 9]
    assert [event["transactionHash"] for event in events[:2]] == [
        first["transactionHash"],
        second["transactionHash"],
    ]
    assert contract.events.Bumped().process_receipt(second)[0]["args"]["count"] == 5
    nobody = await contract.events.Bumped.get_logs(
        from_block=0, argument_filters={"who": stranger(1).address}
    )
    assert not nobody
    code = await web3.eth.get_code(contract.address)
    assert len(code) > 100
    assert int.from_bytes(await web3.eth.get_storage_at(contract.address, 0), "big") == 9


async def test_calls_with_another_state(web3: AsyncWeb3[Any]) -> None:
    contract = await deployed(web3)
    changed = {contract.address: {"stateDiff": {"0x" + "00" * 32: f"0x{41:064x}"}}}
    assert await contract.functions.count().call(state_override=changed) == 41
    rich = {stranger(5).address: {"balance": hex(10**20)}}
    call = {"from": stranger(5).address, "to": stranger(6).address, "value": 10**19}
    assert await web3.eth.call(call, "latest", rich) == b""
    with pytest.raises(Web3RPCError, match="insufficient funds"):
        await web3.eth.call(call)
    code = await web3.eth.get_code(contract.address)
    elsewhere = {stranger(4).address: {"code": code.to_0x_hex(), "nonce": "0x1"}}
    copied = web3.eth.contract(address=stranger(4).address, abi=counter()["abi"])
    assert await copied.functions.count().call(state_override=elsewhere) == 0
    assert await contract.functions.count().call() == 0


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
