"""The node as a process, killed while transactions are sent: what was answered stays done."""

from __future__ import annotations

import asyncio
import os
import random
import signal
from pathlib import Path

import pytest
from solders.keypair import Keypair

from sandbox.solana.solana_world import memo, signed, transfer
from sandbox.test_node_process import NodeProcess
from swapdesk.chain.rpc.ledger import LedgerClient, LedgerMethod
from swapdesk.chain.rpc.solana import SolanaClient, SolanaError

FEE = 5_000


async def test_nothing_is_lost_and_nothing_happens_twice(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    cycles = 20 if request.config.getoption("--full", default=False) else 2
    node = NodeProcess(tmp_path)
    node.start()
    sender, receiver = Keypair(), Keypair().pubkey()
    async with SolanaClient(f"{node.url}solana", commitment="processed") as client:
        async with LedgerClient(node.url, "secret") as ledger:
            await ledger.call(
                LedgerMethod.SOLANA_FUND, address=str(sender.pubkey()), units=str(10**12)
            )
        sent: list[bytes] = []
        answered: set[str] = set()
        paid = 0
        for cycle in range(cycles):
            blockhash = (await client.latest_blockhash()).blockhash
            batch = [
                bytes(
                    signed(
                        blockhash,
                        [sender],
                        transfer(sender, receiver, 10**9 + number),
                        memo(f"{cycle} {number}"),
                    )
                )
                for number in range(40)
            ]
            sent += batch
            pid = node.process.pid if node.process is not None else 0
            # The kill comes in the middle of one call or another.
            asyncio.get_running_loop().call_later(
                random.Random(cycle).uniform(0.002, 0.05), os.kill, pid, signal.SIGKILL
            )
            for raw in batch:
                try:
                    answered.add(await client.send(raw))
                except SolanaError:
                    break
            node.kill()
            node.start()
            for signature in answered:
                status = await client.status(signature)
                assert status is not None, "an answered transaction is gone"
                assert status.error is None
            # Everything is sent once more: what happened is not repeated, the rest happens now.
            for raw in sent[-len(batch) :]:
                answered.add(await client.send(raw))
            paid += sum(10**9 + number for number in range(40))
            assert await client.balance(str(receiver)) == paid
            spent = paid + len(sent) * FEE
            assert await client.balance(str(sender.pubkey())) == 10**12 - spent
        assert len(answered) == len(sent) == 40 * cycles
    node.kill()
    node.listener.close()
