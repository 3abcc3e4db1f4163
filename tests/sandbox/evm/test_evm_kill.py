"""``swapdesk node`` as a process, killed while it makes blocks: nothing seen is taken back."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from eth_account import Account

from patience import PATIENCE
from plain_http import PLAIN
from sandbox.evm.evm_world import stranger
from sandbox.running import until
from swapdesk.sandbox.node.evm.genesis import FAUCET, sandbox_key
from swapdesk.sandbox.partner_keys import load_key
from swapdesk.sandbox.processes import listen

CHAIN_ID = 1_337_042_161


class NodeProcess:
    """The command, on a port that stays the same."""

    process: subprocess.Popen[bytes] | None = None

    def __init__(self, data: Path) -> None:
        with listen("127.0.0.1", 0) as listener:
            self.port = listener.getsockname()[1]
        self.data = data

    def start(self) -> dict[str, Any]:
        command = ["node", "--data", str(self.data), "--port", str(self.port), "--speed", "100"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "swapdesk", *command],
            stdout=subprocess.PIPE,
            env={**os.environ, "SWAPDESK_HOME": str(self.data.parent / "home")},
        )
        ready: dict[str, Any] = json.loads(self.process.stdout.readline())
        return ready

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self.process.stdout.close()
        return code


@pytest.fixture
def node(tmp_path: Path) -> Iterator[NodeProcess]:
    made = NodeProcess(tmp_path / "node")
    yield made
    if made.process is not None and made.process.poll() is None:
        made.end(signal.SIGKILL)


def call(client: httpx2.Client, method: str, *params: Any) -> Any:
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
    answer = client.post("/evm/arbitrum", json=asked).json()
    return answer.get("result", answer.get("error"))


def mined(client: httpx2.Client, address: str) -> int:
    """How many transactions of an account are in blocks."""
    return int(call(client, "eth_getTransactionCount", address, "latest"), 16)


def test_what_was_seen_is_there_after_every_kill(
    node: NodeProcess, request: pytest.FixtureRequest
) -> None:
    cycles = 25 if request.config.getoption("--full", default=False) else 3
    ready = node.start()
    assert [each["shortName"] for each in ready["chains"]] == [
        "ethereum",
        "base",
        "arbitrum",
        "polygon",
        "bsc",
        "solana",
    ]
    assert ready["chains"][2] == {
        "shortName": "arbitrum",
        "kind": "evm",
        "chainId": CHAIN_ID,
        "rpc": f"http://127.0.0.1:{node.port}/evm/arbitrum",
    }
    signer = Account.from_key(sandbox_key(load_key(node.data), FAUCET).secret)
    raws = [
        signer.sign_transaction(
            {
                "chainId": CHAIN_ID,
                "nonce": nonce,
                "to": stranger(nonce + 1).address,
                "value": nonce + 1,
                "gas": 21_000,
                "maxFeePerGas": 10**9,
                "maxPriorityFeePerGas": 10**6,
            }
        )
        for nonce in range(30 * cycles)
    ]
    rng = random.Random(5)
    seen: dict[str, Any] = {}
    sent = 0
    for _ in range(cycles):
        with httpx2.Client(
            base_url=f"http://127.0.0.1:{node.port}", timeout=PATIENCE, verify=PLAIN
        ) as client:
            # What was accepted and not mined is gone: the same bytes again are right.
            for raw in raws[mined(client, signer.address) : sent]:
                call(client, "eth_sendRawTransaction", raw.raw_transaction.to_0x_hex())
            until(lambda: mined(client, signer.address) == sent, what="what was sent again")  # noqa: B023
            last = sent + rng.randrange(12, 30)
            with suppress(httpx2.HTTPError):
                for raw in raws[sent:last]:
                    found = call(client, "eth_sendRawTransaction", raw.raw_transaction.to_0x_hex())
                    assert found == raw.hash.to_0x_hex()
                    sent += 1
                    for earlier in raws[max(0, sent - 12) : sent]:
                        key = earlier.hash.to_0x_hex()
                        receipt = call(client, "eth_getTransactionReceipt", key)
                        if receipt is not None:
                            seen[key] = receipt
                            assert int(receipt["blockNumber"], 16) <= int(
                                call(client, "eth_blockNumber"), 16
                            )
                    if sent == last - 2:
                        os.kill(node.process.pid, signal.SIGKILL)
        node.end(signal.SIGKILL)
        assert seen
        node.start()
        with httpx2.Client(
            base_url=f"http://127.0.0.1:{node.port}", timeout=PATIENCE, verify=PLAIN
        ) as client:
            for key, receipt in seen.items():
                assert call(client, "eth_getTransactionReceipt", key) == receipt
                block = call(client, "eth_getBlockByHash", receipt["blockHash"], False)
                assert block["number"] == receipt["blockNumber"]
                to = receipt["to"]
                assert int(call(client, "eth_getBalance", to, "latest"), 16) > 0
            again = call(client, "eth_sendRawTransaction", raws[0].raw_transaction.to_0x_hex())
            assert again == {"code": -32000, "message": "already known"}
    assert node.end(signal.SIGTERM) == 0


def test_what_cannot_be_served_is_said(node: NodeProcess, subtests: pytest.Subtests) -> None:
    node.start()
    assert node.end(signal.SIGTERM) == 0
    for arguments, words in (
        (["--host", "0.0.0.0"], "this machine alone"),
        (["--chain-ids", "real"], "holds chain id"),
    ):
        with subtests.test(arguments=arguments):
            ended = subprocess.run(
                [sys.executable, "-m", "swapdesk", "node", "--data", str(node.data), *arguments],
                capture_output=True,
                timeout=PATIENCE,
                check=False,
                text=True,
            )
            assert ended.returncode == 2
            assert words in ended.stderr
            assert ended.stdout == ""
