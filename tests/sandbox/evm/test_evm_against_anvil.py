"""The same requests to our node and to anvil: receipts, revert data, refusals.

anvil comes from npm (``@foundry-rs/anvil`` 1.7.1, whose binary works where install scripts are
off); ``SWAPDESK_ANVIL`` names it, else it is looked for on the path.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from web3 import Web3

from patience import PATIENCE
from sandbox.evm.evm_world import faucet, running
from sandbox.evm.test_evm_against_eth_tester import cases, signed
from swapdesk.sandbox.processes import listen

CHAIN_ID = 1_337_008_453
ANVIL = os.environ.get("SWAPDESK_ANVIL") or shutil.which("anvil")

pytestmark = pytest.mark.skipif(ANVIL is None, reason="anvil (npm @foundry-rs/anvil) is not here")


@pytest.fixture
def anvil() -> Iterator[str]:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
    arguments = ["--port", str(port), "--chain-id", str(CHAIN_ID), "--hardfork", "prague"]
    process = subprocess.Popen([str(ANVIL), *arguments, "--silent"])
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                httpx2.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "eth_chainId"})
                break
            except httpx2.TransportError:
                assert time.monotonic() < until, "anvil did not start"
                time.sleep(0.02)  # between two looks
        yield url
    finally:
        process.terminate()
        process.wait(PATIENCE)


class Client:
    def __init__(self, http: httpx2.AsyncClient, url: str) -> None:
        self._http = http
        self._url = url

    async def __call__(self, method: str, *params: Any) -> Any:
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        answer = (await self._http.post(self._url, json=asked)).json()
        return answer["result"] if "result" in answer else answer["error"]

    async def receipt(self, transaction_hash: str) -> Any:
        while True:
            found = await self("eth_getTransactionReceipt", transaction_hash)
            if found is not None:
                return found


async def test_receipts_reverts_and_refusals_are_equal(tmp_path: Path, anvil: str) -> None:
    import vyper

    source = (Path(__file__).parent / "counter.vy").read_text()
    compiled = vyper.compile_code(source, output_formats=["abi", "bytecode"])
    signer = faucet()
    async with running(tmp_path) as world, httpx2.AsyncClient(timeout=PATIENCE) as http:
        ours, theirs = Client(http, world.url("base")), Client(http, anvil)
        await theirs("anvil_setBalance", signer.address, hex(10**27))
        await theirs("anvil_setNonce", signer.address, "0x0")
        created = ""
        calls: list[dict[str, Any]] = [{"data": compiled["bytecode"], "gas": 1_000_000}]
        nonce = 0
        while calls:
            case = calls.pop(0)
            raw = "0x" + signed(signer, CHAIN_ID, nonce, case).hex()
            told = [await each("eth_sendRawTransaction", raw) for each in (ours, theirs)]
            assert told[0] == told[1]
            mine, other = [await each.receipt(told[0]) for each in (ours, theirs)]
            for name in ("status", "gasUsed", "type", "transactionHash", "logsBloom", "from", "to"):
                assert _lower(mine[name]) == _lower(other[name]), (name, case)
            assert _lower(mine["contractAddress"]) == _lower(other["contractAddress"])
            assert [(log["topics"], log["data"]) for log in mine["logs"]] == [
                (log["topics"], log["data"]) for log in other["logs"]
            ]
            if not created:
                created = mine["contractAddress"]
                calls = cases(signer, created, compiled["abi"])
            nonce += 1

        contract = Web3().eth.contract(abi=compiled["abi"], address=created)
        asked = {"from": signer.address, "to": created}
        for name, values in (("bump", [500]), ("refuse", [])):
            call = {**asked, "data": contract.encode_abi(name, args=values)}
            mine, other = [await each("eth_call", call, "latest") for each in (ours, theirs)]
            assert (mine["code"], mine["data"]) == (other["code"], other["data"])
            assert mine["message"] in (other["message"], "execution reverted")
        count = {**asked, "data": contract.encode_abi("count")}
        changed = {created: {"stateDiff": {"0x" + "00" * 32: "0x" + "00" * 31 + "2a"}}}
        for params in ((count, "latest"), (count, "latest", changed)):
            assert await ours("eth_call", *params) == await theirs("eth_call", *params)

        for wrong in (1, 8453):
            raw = "0x" + signed(signer, wrong, nonce, {"to": created}).hex()
            mine, other = [await each("eth_sendRawTransaction", raw) for each in (ours, theirs)]
            assert "invalid chain id for signer" in mine["message"]
            assert "invalid chain id for signer" in other["message"]


def _lower(value: str | None) -> str | None:
    return None if value is None else value.lower()
