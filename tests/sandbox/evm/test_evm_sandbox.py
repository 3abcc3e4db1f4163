"""The embedded chains inside the sandbox: its node, its control, its ready line."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from patience import PATIENCE
from plain_http import PLAIN
from sandbox.evm.evm_world import stranger
from sandbox.running import Running, until
from sandbox.test_node_process import NodeProcess
from swapdesk.chain.rpc.ledger import LedgerClient, LedgerMethod, LedgerRefused
from swapdesk.sandbox.run_file import read_run_file

RECEIVER = stranger(21).address
NO_ANSWER = (httpx2.RemoteProtocolError, httpx2.ReadError)
"""What a client makes of a connection that ends; which one depends on what arrives first."""


@pytest.fixture
def process(tmp_path: Path) -> Iterator[NodeProcess]:
    node = NodeProcess(tmp_path)
    node.start()
    yield node
    node.kill()
    node.listener.close()


@pytest_asyncio.fixture
async def ledger(process: NodeProcess) -> AsyncIterator[LedgerClient]:
    async with LedgerClient(process.url, "secret", deadline=30) as client:
        yield client


def ask(url: str, method: str, *params: Any) -> Any:
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
    return httpx2.post(url, json=asked, timeout=PATIENCE, verify=PLAIN).json()


async def test_the_node_pays_coins_and_its_chains_survive_it(
    process: NodeProcess, ledger: LedgerClient
) -> None:
    url = process.url + "evm/polygon"
    paid = await ledger.call(
        LedgerMethod.EVM_FUND, chain="polygon", address=RECEIVER, units="12345"
    )

    def mined() -> Any:
        return ask(url, "eth_getTransactionReceipt", paid["hash"])["result"]

    receipt = until(mined, what="the transfer")
    assert ask(url, "eth_getBalance", RECEIVER, "latest")["result"] == hex(12345)
    process.kill()
    process.start()
    assert ask(url, "eth_getTransactionReceipt", paid["hash"])["result"] == receipt
    for wrong in (
        {"chain": "bitcoin", "address": RECEIVER, "units": "1"},
        {"chain": "polygon", "address": RECEIVER, "units": "0"},
        {"chain": "polygon", "address": "0x12", "units": "1"},
    ):
        with pytest.raises(LedgerRefused):
            await ledger.call(LedgerMethod.EVM_FUND, **wrong)


async def test_faults_of_a_chain_reach_it_through_the_node(
    process: NodeProcess, ledger: LedgerClient
) -> None:
    url = process.url + "evm/base"
    for wrong in (
        {"fault": "forged_receipt", "chain": "monero"},
        {"fault": "drop_transaction", "venue": "halyard"},
    ):
        with pytest.raises(LedgerRefused):
            await ledger.call(LedgerMethod.FAULT_ADD, **wrong)
    await ledger.call(LedgerMethod.FAULT_ADD, fault="drop_transaction", chain="base")
    await ledger.call(LedgerMethod.FAULT_ADD, fault="node_down", chain="base", times=1)
    waiting = await ledger.call(LedgerMethod.FAULT_LIST)
    assert [each["fault"] for each in waiting] == ["drop_transaction", "node_down"]
    with pytest.raises(NO_ANSWER):
        ask(url, "eth_blockNumber")
    dropped = await ledger.call(LedgerMethod.EVM_FUND, chain="base", address=RECEIVER, units="1")
    assert ask(url, "eth_getTransactionByHash", dropped["hash"])["result"] is None
    assert await ledger.call(LedgerMethod.FAULT_LIST) == []
    kept = await ledger.call(LedgerMethod.EVM_FUND, chain="base", address=RECEIVER, units="2")

    def found() -> Any:
        return ask(url, "eth_getTransactionReceipt", kept["hash"])["result"]

    until(found, what="the transfer")
    await ledger.call(LedgerMethod.FAULT_ADD, fault="node_down", chain="base")
    with pytest.raises(NO_ANSWER):
        ask(url, "eth_blockNumber")
    await ledger.call(LedgerMethod.FAULT_CLEAR)
    assert "result" in ask(url, "eth_blockNumber")


def test_the_ready_line_names_the_chains(tmp_path: Path) -> None:
    with Running(tmp_path / "sandbox") as sandbox:
        chains = sandbox.ready.chains
        run_file = read_run_file(sandbox.data)
        assert run_file.chains == chains
        assert [(each["shortName"], each["kind"]) for each in chains] == [
            *((name, "evm") for name in ("ethereum", "base", "arbitrum", "polygon", "bsc")),
            ("solana", "sol"),
        ]
        assert ask(chains[-1]["rpc"], "getHealth")["result"] == "ok"
        for each in chains[:-1]:
            assert ask(each["rpc"], "eth_chainId")["result"] == hex(each["chainId"])
        assert ask(chains[0]["rpc"], "eth_getBlockByNumber", "latest", False)["result"]
