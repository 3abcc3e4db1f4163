"""What the exchanges' books make of payments on embedded chains, in one process."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from msgspec import Struct
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from patience import eventually
from sandbox.solana.solana_world import USDC, signed
from sandbox.test_node import BTC, ETH, HOUR, SOL, address, audit, open_leg, pay, report
from swapdesk.chain.deployments import PERMIT2
from swapdesk.chain.node_http import NodeUncertain
from swapdesk.chain.rpc.evm import EvmClient
from swapdesk.chain.solana import Transfer, read_transaction, token_account
from swapdesk.clock import SystemClock
from swapdesk.paths import make_directories
from swapdesk.sandbox.node.evm.json_rpc import Problem
from swapdesk.sandbox.node.ledger import hot_wallet_name
from swapdesk.sandbox.node.node import Node, open_node
from swapdesk.sandbox.node.params import FaultAdd, Fund, NoParams
from swapdesk.sandbox.node.solana.genesis import WALLET_LAMPORTS
from swapdesk.sandbox.node.solana.node import SolanaNode
from swapdesk.sandbox.node.solana.terms import SLOT_MS, WINDOW
from swapdesk.sandbox.world import WorldToken, find_token, world_tokens
from swapdesk.wire.orders import LegStatus

FINISHED, FAILED, REFUNDED = LegStatus.FINISHED, LegStatus.FAILED, LegStatus.REFUNDED
UNITS = 10**9
LEG = {"units_in": str(UNITS), "units_out": "10", "minimum": "1"}
DOLLARS = find_token("solana", "USDC")
EXPIRY = (WINDOW + 2) * SLOT_MS
VENUE = "cb"


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a node whose money was issued, which is half of what each test costs."""

    async def begin() -> None:
        async with opened(directory):
            pass

    directory = tmp_path_factory.mktemp("begun")
    make_directories(directory)
    asyncio.run(begin())
    return directory


@pytest.fixture
def home(tmp_path: Path, begun: Path) -> Path:
    """The directory of a new node."""
    return Path(shutil.copytree(begun, tmp_path / "home"))


@asynccontextmanager
async def opened(
    directory: Path, *, speed: int = 1, clock: SystemClock | None = None
) -> AsyncIterator[Node]:
    """A node with its chains."""
    made = open_node(directory, clock or SystemClock(), seed=7, speed=Decimal(speed))
    try:
        yield made
    finally:
        await made.end()


async def fund(made: Node, address: str) -> None:
    asked = Fund(chain="solana", address=address, units=str(UNITS))
    await made.call("fund", asked)


async def test_a_deposit_counts_with_its_last_confirmation(home: Path) -> None:
    # Its time is moved by the test alone: each look is one block later.
    moment = SystemClock().now()
    still = SystemClock(wall=lambda: moment, monotonic=lambda: 0.0)
    async with opened(home, clock=still) as made:
        leg, to = open_leg(made, SOL, BTC, **LEG)
        await fund(made, to["address"])
        seen = set()
        while (told := report(made, leg))["status"] in (
            LegStatus.WAITING,
            LegStatus.CONFIRMING,
        ):
            seen.add(told["confirmations"])
            made.clock.advance(SLOT_MS)
        assert seen == {None, *range(1, told["confirmationsNeeded"])}
        assert told["confirmations"] == told["confirmationsNeeded"]
        assert audit(made) == []


async def test_what_was_paid_in_time_and_read_late_is_a_deposit(home: Path) -> None:
    """The node ends before it reads the block, and begins again after the deadline."""
    async with opened(home) as made:
        leg, to = open_leg(made, SOL, BTC, **LEG)
        await fund(made, to["address"])
    async with opened(home) as made:
        made.clock.advance(2 * HOUR * 1000)
        assert report(made, leg)["status"] == LegStatus.EXCHANGING
    async with opened(home) as made:
        made.clock.advance(HOUR * 1000)
        told = report(made, leg)
        assert (told["status"], told["unitsIn"]) == (LegStatus.FINISHED, str(UNITS))
        assert audit(made) == []


async def test_no_leg_expires_before_its_chain_is_read(home: Path) -> None:
    """A chain that is stored is open from the start."""
    ether = find_token("arbitrum", "ETH")
    async with opened(home, speed=1000) as made:
        leg, to = open_leg(made, ether, BTC, **LEG)
        paid = await made.chains.fund("arbitrum", to["address"], UNITS)
        await made.chains.confirmed("arbitrum", str(paid["hash"]))
    async with opened(home) as made:
        made.clock.advance(2 * HOUR * 1000)
        told = report(made, leg)
        assert (told["status"] != LegStatus.EXPIRED, told["unitsIn"]) == (True, str(UNITS))


async def test_what_was_paid_after_the_deadline_is_late_whenever_it_is_read(home: Path) -> None:
    async with opened(home) as made:
        leg, to = open_leg(made, SOL, BTC, **LEG)
        made.clock.advance(2 * HOUR * 1000)
        # Not through the node, which would look at what is due before.
        await made.solana.fund(to["address"], UNITS, None)
        made.clock.advance(SLOT_MS)
        told = report(made, leg)
        assert (told["status"], told["depositArrived"]) == (LegStatus.EXPIRED, True)


async def ended(made: Node, leg: Any) -> Any:
    """The report once the leg has come to an end."""

    def over() -> bool:
        made.clock.advance(SLOT_MS)
        return report(made, leg)["status"] in (FINISHED, FAILED, REFUNDED)

    await eventually(over)
    return report(made, leg)


def outgoing(node: Node) -> list[sqlite3.Row]:
    """What wallets of the sandbox paid."""
    query = "SELECT * FROM payments WHERE wallet IS NOT NULL ORDER BY id"
    return node.database.connection.execute(query).fetchall()


async def test_a_payout_that_its_receiver_refuses_stays_with_the_exchange(home: Path) -> None:
    ether = find_token("base", "ETH")
    async with opened(home, speed=1000) as made:
        wallet = made.ledger.hot_wallet("cb", ether.chain)
        held = made.ledger.balance(ether.token_id, wallet)
        leg, to = open_leg(made, BTC, ether, payout_address=PERMIT2, exchange_seconds=0)
        pay(made, BTC, to, 50_000_000)
        told = await ended(made, leg)
        assert (told["status"], told["payoutHash"], told["declined"]) == (FAILED, None, True)
        assert made.ledger.balance(ether.token_id, wallet) == held
        assert made.ledger.waiting("base") == audit(made) == []


@pytest.mark.parametrize("token", [find_token("base", "USDC"), find_token("solana", "USDC")])
async def test_a_transfer_by_anybody_is_a_deposit_and_goes_back_as_one(
    home: Path, token: WorldToken
) -> None:
    chain, back = token.row.chain, address(token, "refund")
    more = {"units_in": "80000000", "units_out": "10", "venue": "hy", "refund_address": back}
    async with opened(home, speed=1000) as made:
        leg, to = open_leg(made, token, BTC, **more)
        asked = FaultAdd(fault="refund", service_id=leg.key.partition(":")[0])
        made.call("fault_add", asked)
        if chain == "base":
            await made.chains.fund(chain, to["address"], 80_000_000, token.address)
        else:
            await made.solana.fund(to["address"], 80_000_000, token.address)
        told = await ended(made, leg)
        assert told["status"] == REFUNDED
        assert (told["refundUnits"], told["refundChain"]) == ("79800000", chain)
        wallets, wallet = (
            made.ledger.embedded[chain],
            made.ledger.hot_wallet("hy", token.chain),
        )
        (paid,) = outgoing(made)
        assert (paid["sender"], paid["receiver"]) == (wallet, back)
        assert paid["hash"] == told["refundHash"]
        await eventually(lambda: wallets.balance(token, back) == 79_800_000)
        assert audit(made) == []


async def test_what_one_exchange_pays_another_is_one_transfer(home: Path) -> None:
    """The middle of a private order."""
    async with opened(home, speed=1000) as made:
        second, to = open_leg(made, ETH, BTC, venue="jn", **LEG)
        more = {"units_out": str(UNITS), "exchange_seconds": 0, "payout_address": to["address"]}
        first, place = open_leg(made, BTC, ETH, **more)
        pay(made, BTC, place, 50_000_000)
        told = await ended(made, second)
        paid = report(made, first)["payoutHash"]
        assert (told["depositHash"], told["unitsIn"]) == (paid, str(UNITS))
        assert [payment["hash"] for payment in outgoing(made)] == [paid]


async def test_faults_of_a_chain_reach_it_through_the_node(home: Path) -> None:
    asked = Fund(chain="base", address="0x" + "5a" * 20, units="1")
    async with opened(home, speed=1000) as made:
        for wrong in ({"units": "0"}, {"chain": "bitcoin"}):
            with pytest.raises(Problem):
                await made.call("fund", asked.model_copy(update=wrong))
        for name in ("drop_transaction", "node_down"):
            fault = FaultAdd(fault=name, chain="base", times=1)
            made.call("fault_add", fault)
        door = httpx2.ASGITransport(app=made.application("secret"))
        async with EvmClient("http://127.0.0.1/evm/base", transport=door) as client:
            with pytest.raises(NodeUncertain):
                await client.height()
        sent = await made.call("fund", asked)
        with pytest.raises(Problem, match="gone from the pool"):
            await made.chains.confirmed("base", sent["hash"])
        assert made.call("fault_list", NoParams()) == []


# Payments on Solana are signed once, sent until they are executed, and signed anew only when the
# bytes before can never be executed any more


class Books(Struct):
    """A node with its Solana chain, at speed 1."""

    node: Node
    chain: SolanaNode

    def open(self, token_in: WorldToken, token_out: WorldToken, **more: Any) -> tuple[Any, Any]:
        """The leg, and where it is to be paid."""
        values = {"units_out": "14000000", "exchange_seconds": 0, **more}
        return open_leg(self.node, token_in, token_out, **values)

    def advance(self, milliseconds: int) -> None:
        self.node.clock.advance(milliseconds)

    async def until(self, leg: Any, status: LegStatus, *, blocks: int = 400) -> Any:
        """The report once the leg has come so far; every look is a block later."""
        for _ in range(blocks):
            told = report(self.node, leg)
            if told["status"] == status:
                return told
            self.advance(SLOT_MS)
            # What was handed in is executed when this step is over.
            await asyncio.sleep(0)
        raise AssertionError(f"{leg} is {told}")

    def signed_payout(self, token: WorldToken, **more: Any) -> tuple[Any, sqlite3.Row]:
        """A leg that is paid out: signed, and nothing of it has left this process."""
        leg, to = self.open(BTC, token, **more)
        pay(self.node, BTC, to, 50_000_000)
        self.advance(200_000)
        # One turn confirms the deposit, and the next one, without the loop between, signs.
        self.node.step()
        self.advance(1_000)
        self.node.step()
        (row,) = outgoing(self.node)
        return leg, row

    async def history(self, address: str) -> list[dict[str, Any]]:
        """What names an address and was executed, newest first."""
        self.advance(3 * SLOT_MS)
        options = {"commitment": "confirmed"}
        found: list[dict[str, Any]] = await self.chain.call(
            "solana", "getSignaturesForAddress", [address, options]
        )
        return found

    def execute(self, raw: bytes) -> None:
        self.chain.open().execute(read_transaction(raw))

    def wallet(self, number: int = 0) -> str:
        return str(self.chain.keypair(hot_wallet_name(VENUE, number)).pubkey())


@asynccontextmanager
async def books_in(directory: Path) -> AsyncIterator[Books]:
    async with opened(directory) as made:
        made.solana.open()
        yield Books(made, made.solana)


async def test_what_expired_unseen_is_signed_anew_and_executed_once(home: Path) -> None:
    payee = Keypair().pubkey()
    async with books_in(home) as books:
        leg, signed_first = books.signed_payout(DOLLARS, payout_address=str(payee))
        first = signed_first["hash"]
        assert report(books.node, leg)["payoutHash"] == first
        # Their blockhash runs out while the bytes wait; the chain says so before the books ask.
        books.advance(EXPIRY)
        await asyncio.sleep(0)
        told = await books.until(leg, LegStatus.FINISHED)
        (row,) = outgoing(books.node)
        assert row["hash"] == told["payoutHash"] != first
        assert books.chain.open().units(payee, USDC) == 14_000_000
        (executed,) = await books.history(str(payee))
        assert executed["signature"] == told["payoutHash"]
        assert executed["memo"].endswith(f"payment {row['number']}")
        paid = books.node.ledger.find(told["payoutHash"])
        assert (paid.receiver, paid.units) == (str(payee), 14_000_000)
        assert books.node.ledger.find(first) is None
        assert audit(books.node) == []


@pytest.mark.parametrize("late", [False, True], ids=["in time", "expired"])
@pytest.mark.parametrize("executed", [False, True], ids=["never left", "executed"])
async def test_a_payout_whose_end_the_node_did_not_live_to_see_is_made_once(
    home: Path, executed: bool, late: bool
) -> None:
    payee = Keypair().pubkey()
    async with books_in(home) as books:
        leg, row = books.signed_payout(DOLLARS, payout_address=str(payee))
        if executed:
            books.execute(row["raw"])
        assert row["height"] is None
        # What a kill leaves: nothing ran since, so that nothing else has happened to the bytes.
        after = shutil.copytree(home, home.with_name("after"))
    async with books_in(after) as books:
        books.advance(EXPIRY if late else SLOT_MS)
        told = await books.until(leg, LegStatus.FINISHED)
        assert (told["payoutHash"] == row["hash"]) is (executed or not late)
        assert len(await books.history(str(payee))) == 1
        assert books.chain.open().units(payee, USDC) == 14_000_000


@pytest.mark.parametrize("kind", ["below the rent", "another token"])
async def test_what_the_chain_does_not_execute_stays_with_the_exchange(
    home: Path, kind: str
) -> None:
    """Too few coins for an account that is not there, and a payee that holds another token."""
    async with books_in(home) as books:
        if kind == "below the rent":
            payee, token, units = str(Keypair().pubkey()), SOL, "20000"
        else:
            owner = Keypair().pubkey()
            usdt = Pubkey.from_string(str(find_token("solana", "USDT").address))
            await books.chain.fund(str(owner), 5, str(usdt))
            payee, token, units = str(token_account(owner, usdt)), DOLLARS, "14000000"
        held = books.node.ledger.balance(token.token_id, books.wallet())
        leg, _ = books.signed_payout(token, payout_address=payee, units_out=units)
        told = await books.until(leg, LegStatus.FAILED)
        assert told["payoutHash"] is None
        assert told["declined"]
        assert books.node.ledger.balance(token.token_id, books.wallet()) == held
        assert books.node.ledger.embedded["solana"].balance(SOL, payee) in (0, 2_039_280)
        assert audit(books.node) == []
        # Nothing waits to be sent any more.
        assert books.node.ledger.waiting("solana") == []


async def test_deposits_are_read_in_blocks_and_counted(home: Path) -> None:
    """Of the right token, by anybody, also two in one transaction; of another one none."""
    async with books_in(home) as books:
        of_coins, coins = books.open(SOL, BTC, units_in=str(UNITS), units_out="10")
        of_tokens, tokens = books.open(DOLLARS, BTC, units_out="10")
        rich = Keypair()
        await books.chain.fund(str(rich.pubkey()), 10 * UNITS)
        await books.chain.fund(tokens["address"], 7, str(find_token("solana", "USDT").address))
        blockhash = await books.chain.call(
            "solana", "getLatestBlockhash", [{"commitment": "processed"}]
        )
        place = Pubkey.from_string(coins["address"])
        halves = [Transfer(rich.pubkey(), place, UNITS // 2).build() for _ in range(2)]
        sent = signed(blockhash["value"]["blockhash"], [rich], *halves)
        # The books do not read the newest block, to which more is added.
        books.node.step()
        books.execute(bytes(sent))
        await books.chain.fund(tokens["address"], 50_000_000, str(USDC))
        told = await books.until(of_coins, LegStatus.CONFIRMING)
        assert told["depositHash"] == str(sent.signatures[0])
        assert told["unitsIn"] == str(UNITS)
        told = await books.until(of_tokens, LegStatus.CONFIRMING)
        assert told["unitsIn"] == "50000000"
        for leg in (of_coins, of_tokens):
            await books.until(leg, LegStatus.FINISHED)
        assert audit(books.node) == []


async def test_everything_that_is_traded_can_be_paid(home: Path) -> None:
    """What the books say that a wallet holds it holds, and the tokens were made for it."""
    async with books_in(home) as books:
        wallets, wallet = books.node.ledger.embedded["solana"], books.wallet()
        traded = [t for t in world_tokens().values() if t.row.chain == "solana" and t.asset]
        booked = {token: books.node.ledger.balance(token.token_id, wallet) for token in traded}
        assert sum(units > 0 for units in booked.values()) > 20
        for token, units in booked.items():
            # Beside the coins that it trades with it has some for fees.
            fees = WALLET_LAMPORTS if token.address is None else 0
            assert wallets.balance(token, wallet) == units + fees
