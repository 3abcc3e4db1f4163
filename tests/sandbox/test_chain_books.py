"""What the exchanges' books make of payments on embedded chains, in one process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from patience import eventually
from sandbox.test_node import BTC, ETH, HOUR, SOL, address, audit, open_leg, pay, report
from swapdesk.chain.deployments import PERMIT2
from swapdesk.chain.rpc.evm import EvmClient
from swapdesk.chain.rpc.evm_answers import EvmUncertain
from swapdesk.chain.rpc.ledger import LedgerMethod
from swapdesk.clock import SystemClock
from swapdesk.sandbox.node.ledger import LedgerRefusal
from swapdesk.sandbox.node.node import SandboxNode, open_node
from swapdesk.sandbox.node.params import FaultAdd, Fund, NoParams
from swapdesk.sandbox.node.solana.terms import SLOT_MS
from swapdesk.sandbox.world import WorldToken, find_token
from swapdesk.wire.orders import LegStatus

FINISHED, FAILED, REFUNDED = LegStatus.FINISHED, LegStatus.FAILED, LegStatus.REFUNDED
UNITS = 10**9
LEG = {"units_in": str(UNITS), "units_out": "10", "minimum": "1"}


@asynccontextmanager
async def opened(directory: Path, *, speed: int = 1) -> AsyncIterator[SandboxNode]:
    """A node with its chains."""
    made = open_node(directory, SystemClock(), seed=7, speed=Decimal(speed))
    try:
        yield made
    finally:
        await made.close()


async def fund(made: SandboxNode, address: str) -> None:
    asked = Fund(chain="solana", address=address, units=str(UNITS))
    await made.node.call(LedgerMethod.FUND, asked)


async def test_a_deposit_counts_with_its_last_confirmation(tmp_path: Path) -> None:
    async with opened(tmp_path) as made:
        leg, to = open_leg(made.node, SOL, BTC, **LEG)
        await fund(made, to["address"])
        seen = set()
        while (told := report(made.node, leg))["status"] in (
            LegStatus.WAITING,
            LegStatus.CONFIRMING,
        ):
            seen.add(told["confirmations"])
            made.node.clock.advance(SLOT_MS)
        assert seen == {None, *range(1, told["confirmationsNeeded"])}
        assert told["confirmations"] == told["confirmationsNeeded"]
        assert audit(made.node) == []


async def test_what_was_paid_in_time_and_read_late_is_a_deposit(tmp_path: Path) -> None:
    """The node ends before it reads the block, and begins again after the deadline."""
    async with opened(tmp_path) as made:
        leg, to = open_leg(made.node, SOL, BTC, **LEG)
        await fund(made, to["address"])
    async with opened(tmp_path) as made:
        made.node.clock.advance(2 * HOUR * 1000)
        assert report(made.node, leg)["status"] == LegStatus.EXCHANGING
    async with opened(tmp_path) as made:
        made.node.clock.advance(HOUR * 1000)
        told = report(made.node, leg)
        assert (told["status"], told["unitsIn"]) == (LegStatus.FINISHED, str(UNITS))
        assert audit(made.node) == []


async def test_no_leg_expires_before_its_chain_is_read(tmp_path: Path) -> None:
    """A chain that is stored is open from the start."""
    ether = find_token("arbitrum", "ETH")
    async with opened(tmp_path, speed=1000) as made:
        leg, to = open_leg(made.node, ether, BTC, **LEG)
        paid = await made.chains.fund("arbitrum", to["address"], UNITS)
        await made.chains.confirmed("arbitrum", str(paid["hash"]))
    async with opened(tmp_path) as made:
        made.node.clock.advance(2 * HOUR * 1000)
        told = report(made.node, leg)
        assert (told["status"] != LegStatus.EXPIRED, told["unitsIn"]) == (True, str(UNITS))


async def test_what_was_paid_after_the_deadline_is_late_whenever_it_is_read(tmp_path: Path) -> None:
    async with opened(tmp_path) as made:
        leg, to = open_leg(made.node, SOL, BTC, **LEG)
        made.node.clock.advance(2 * HOUR * 1000)
        # Not through the node, which would look at what is due before.
        await made.solana.fund(to["address"], UNITS, None)
        made.node.clock.advance(SLOT_MS)
        told = report(made.node, leg)
        assert (told["status"], told["depositArrived"]) == (LegStatus.EXPIRED, True)


async def ended(made: SandboxNode, leg: Any) -> Any:
    """The report once the leg has come to an end."""

    def over() -> bool:
        made.node.clock.advance(SLOT_MS)
        return report(made.node, leg)["status"] in (FINISHED, FAILED, REFUNDED)

    await eventually(over)
    return report(made.node, leg)


def paid_by_exchanges(made: SandboxNode) -> list[tuple[str, str, str]]:
    query = "SELECT sender, receiver, hash FROM payments WHERE wallet IS NOT NULL ORDER BY id"
    return [tuple(row) for row in made.node.database.connection.execute(query)]


async def test_a_payout_that_its_receiver_refuses_stays_with_the_exchange(tmp_path: Path) -> None:
    ether = find_token("base", "ETH")
    async with opened(tmp_path, speed=1000) as made:
        wallet = made.node.ledger.hot_wallet("cb", ether.chain)
        held = made.node.ledger.balance(ether.token_id, wallet)
        leg, to = open_leg(made.node, BTC, ether, payout_address=PERMIT2, exchange_seconds=0)
        pay(made.node, BTC, to, 50_000_000)
        told = await ended(made, leg)
        assert (told["status"], told["payoutHash"], told["declined"]) == (FAILED, None, True)
        assert made.node.ledger.balance(ether.token_id, wallet) == held
        assert made.node.ledger.waiting("base") == audit(made.node) == []


@pytest.mark.parametrize("token", [find_token("base", "USDC"), find_token("solana", "USDC")])
async def test_a_transfer_by_anybody_is_a_deposit_and_goes_back_as_one(
    tmp_path: Path, token: WorldToken
) -> None:
    chain, back = token.row.chain, address(token, "refund")
    more = {"units_in": "80000000", "units_out": "10", "venue": "hy", "refund_address": back}
    async with opened(tmp_path, speed=1000) as made:
        leg, to = open_leg(made.node, token, BTC, **more)
        asked = FaultAdd(fault="refund", service_id=leg.key.partition(":")[0])
        made.node.call(LedgerMethod.FAULT_ADD, asked)
        if chain == "base":
            await made.chains.fund(chain, to["address"], 80_000_000, token.address)
        else:
            await made.solana.fund(to["address"], 80_000_000, token.address)
        told = await ended(made, leg)
        assert told["status"] == REFUNDED
        assert (told["refundUnits"], told["refundChain"]) == ("79800000", chain)
        wallets, wallet = (
            made.node.ledger.embedded[chain],
            made.node.ledger.hot_wallet("hy", token.chain),
        )
        assert paid_by_exchanges(made) == [(wallet, back, told["refundHash"])]
        await eventually(lambda: wallets.balance(token, back) == 79_800_000)
        assert audit(made.node) == []


async def test_what_one_exchange_pays_another_is_one_transfer(tmp_path: Path) -> None:
    """The middle of a private order."""
    async with opened(tmp_path, speed=1000) as made:
        second, to = open_leg(made.node, ETH, BTC, venue="jn", **LEG)
        more = {"units_out": str(UNITS), "exchange_seconds": 0, "payout_address": to["address"]}
        first, place = open_leg(made.node, BTC, ETH, **more)
        pay(made.node, BTC, place, 50_000_000)
        told = await ended(made, second)
        paid = report(made.node, first)["payoutHash"]
        assert (told["depositHash"], told["unitsIn"]) == (paid, str(UNITS))
        assert [payment[2] for payment in paid_by_exchanges(made)] == [paid]


async def test_faults_of_a_chain_reach_it_through_the_node(tmp_path: Path) -> None:
    async with opened(tmp_path, speed=1000) as made:
        door = httpx2.ASGITransport(app=made.application("secret"))

        async def fund(units: str, **more: str) -> str:
            asked = Fund(**{"chain": "base", "address": "0x" + "5a" * 20, "units": units, **more})
            found: dict[str, str] = await made.node.call(LedgerMethod.FUND, asked)
            return found["hash"]

        for wrong in ({"units": "0"}, {"units": "1", "chain": "bitcoin"}):
            with pytest.raises(LedgerRefusal):
                await fund(**wrong)
        with pytest.raises(LedgerRefusal):
            made.node.call(LedgerMethod.FAULT_ADD, FaultAdd(fault="node_down", chain="atlantis"))
        for name in ("drop_transaction", "node_down"):
            asked = FaultAdd(fault=name, chain="base", times=1)
            made.node.call(LedgerMethod.FAULT_ADD, asked)
        async with EvmClient("http://127.0.0.1/evm/base", transport=door) as client:
            with pytest.raises(EvmUncertain):
                await client.height()
            assert await client.receipt(await fund("1")) is None
            assert made.node.call(LedgerMethod.FAULT_LIST, NoParams()) == []
            kept = await fund("2")
            await made.chains.confirmed("base", kept)
            assert await client.receipt(kept) is not None
