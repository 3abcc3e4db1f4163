"""What the exchanges' books make of deposits on an embedded chain, in one process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path

from sandbox.test_node import BTC, HOUR, SOL, audit, open_leg, report
from swapdesk.chain.rpc.ledger import LedgerMethod
from swapdesk.clock import SystemClock
from swapdesk.sandbox.node.params import SolanaFund
from swapdesk.sandbox.node.sandbox_node import SandboxNode, open_node
from swapdesk.sandbox.node.solana.terms import SLOT_MS
from swapdesk.sandbox.world import find_token
from swapdesk.wire.orders import LegStatus

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
    asked = SolanaFund(address=address, units=str(UNITS))
    await made.node.call(LedgerMethod.SOLANA_FUND, asked)


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
