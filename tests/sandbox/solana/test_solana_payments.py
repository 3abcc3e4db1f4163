"""Payments of the exchanges on Solana: signed once, sent until they are executed, and signed anew
only when the bytes before can never be executed any more."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from sandbox.solana.solana_world import KEY, SOL, USDC, signed
from sandbox.test_node import audit, open_leg, pay, report
from swapdesk.chain.solana import Transfer, read_transaction, token_account
from swapdesk.clock import SystemClock
from swapdesk.paths import make_directories
from swapdesk.sandbox.node.ledger import hot_wallet_name
from swapdesk.sandbox.node.node import Node
from swapdesk.sandbox.node.solana.genesis import WALLET_LAMPORTS
from swapdesk.sandbox.node.solana.node import SolanaNode, SolanaWallets
from swapdesk.sandbox.node.solana.terms import SLOT_MS, WINDOW
from swapdesk.sandbox.world import WorldToken, find_token, world_tokens
from swapdesk.wire.orders import LegStatus

BTC, SOLANA = find_token("bitcoin", "BTC"), find_token("solana", "SOL")
DOLLARS = find_token("solana", "USDC")
EXPIRY = (WINDOW + 2) * SLOT_MS
VENUE = "cb"


class Books(Struct):
    """A node in this process that carries the Solana chain, at speed 1."""

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
        (row,) = self.outgoing()
        return leg, row

    def outgoing(self) -> list[sqlite3.Row]:
        query = "SELECT * FROM payments WHERE wallet IS NOT NULL"
        return self.node.database.connection.execute(query).fetchall()

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

    def lamports(self, address: Pubkey) -> int:
        return self.node.ledger.embedded["solana"].balance(SOLANA, str(address))

    def wallet(self, number: int = 0) -> str:
        return str(self.chain.keypair(hot_wallet_name(VENUE, number)).pubkey())


@asynccontextmanager
async def books_in(directory: Path) -> AsyncIterator[Books]:
    make_directories(directory)
    wallets = SolanaWallets(KEY)
    node = Node(
        directory / "node.db",
        SystemClock(),
        seed=7,
        speed=Decimal(1),
        embedded={wallets.name: wallets},
    )
    chain = SolanaNode(directory, KEY, now_ms=node.clock.now_ms, faults=node.chain_faults)
    wallets.node = chain
    chain.open()
    try:
        yield Books(node, chain)
    finally:
        chain.close()
        node.close()


async def test_what_expired_unseen_is_signed_anew_and_executed_once(tmp_path: Path) -> None:
    payee = Keypair().pubkey()
    async with books_in(tmp_path) as books:
        leg, signed_first = books.signed_payout(DOLLARS, payout_address=str(payee))
        first = signed_first["hash"]
        assert report(books.node, leg)["payoutHash"] == first
        # Their blockhash runs out while the bytes wait; the chain says so before the books ask.
        books.advance(EXPIRY)
        await asyncio.sleep(0)
        told = await books.until(leg, LegStatus.FINISHED)
        (row,) = books.outgoing()
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
    tmp_path: Path, executed: bool, late: bool
) -> None:
    payee = Keypair().pubkey()
    async with books_in(tmp_path / "before") as books:
        leg, row = books.signed_payout(DOLLARS, payout_address=str(payee))
        if executed:
            books.execute(row["raw"])
        assert row["height"] is None
        # What a kill leaves: nothing ran since, so that nothing else has happened to the bytes.
        shutil.copytree(tmp_path / "before", tmp_path / "after")
    async with books_in(tmp_path / "after") as books:
        books.advance(EXPIRY if late else SLOT_MS)
        told = await books.until(leg, LegStatus.FINISHED)
        assert (told["payoutHash"] == row["hash"]) is (executed or not late)
        assert len(await books.history(str(payee))) == 1
        assert books.chain.open().units(payee, USDC) == 14_000_000


@pytest.mark.parametrize("kind", ["below the rent", "another token"])
async def test_what_the_chain_does_not_execute_stays_with_the_exchange(
    tmp_path: Path, kind: str
) -> None:
    """Too few coins for an account that is not there, and a payee that holds another token."""
    async with books_in(tmp_path) as books:
        if kind == "below the rent":
            payee, token, units = str(Keypair().pubkey()), SOLANA, "20000"
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
        assert books.lamports(Pubkey.from_string(payee)) in (0, 2_039_280)
        assert audit(books.node) == []
        # Nothing waits to be sent any more.
        assert books.node.ledger.waiting("solana") == []


async def test_deposits_are_read_in_blocks_and_counted(tmp_path: Path) -> None:
    """Of the right token, by anybody, also two in one transaction; of another one none."""
    async with books_in(tmp_path) as books:
        of_coins, coins = books.open(SOLANA, BTC, units_in=str(SOL), units_out="10")
        of_tokens, tokens = books.open(DOLLARS, BTC, units_out="10")
        rich = Keypair()
        await books.chain.fund(str(rich.pubkey()), 10 * SOL)
        await books.chain.fund(tokens["address"], 7, str(find_token("solana", "USDT").address))
        blockhash = await books.chain.call(
            "solana", "getLatestBlockhash", [{"commitment": "processed"}]
        )
        place = Pubkey.from_string(coins["address"])
        halves = [Transfer(rich.pubkey(), place, SOL // 2).build() for _ in range(2)]
        sent = signed(blockhash["value"]["blockhash"], [rich], *halves)
        # The books do not read the newest block, to which more is added.
        books.node.step()
        books.execute(bytes(sent))
        await books.chain.fund(tokens["address"], 50_000_000, str(USDC))
        told = await books.until(of_coins, LegStatus.CONFIRMING)
        assert told["depositHash"] == str(sent.signatures[0])
        assert told["unitsIn"] == str(SOL)
        told = await books.until(of_tokens, LegStatus.CONFIRMING)
        assert told["unitsIn"] == "50000000"
        for leg in (of_coins, of_tokens):
            await books.until(leg, LegStatus.FINISHED)
        assert audit(books.node) == []


async def test_everything_that_is_traded_can_be_paid(tmp_path: Path) -> None:
    """What the books say that a wallet holds it holds, and the tokens were made for it."""
    async with books_in(tmp_path) as books:
        wallets, wallet = books.node.ledger.embedded["solana"], books.wallet()
        traded = [t for t in world_tokens().values() if t.row.chain == "solana" and t.asset]
        booked = {token: books.node.ledger.balance(token.token_id, wallet) for token in traded}
        assert sum(units > 0 for units in booked.values()) > 20
        for token, units in booked.items():
            # Beside the coins that it trades with it has some for fees.
            fees = WALLET_LAMPORTS if token.address is None else 0
            assert wallets.balance(token, wallet) == units + fees
