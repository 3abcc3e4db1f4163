"""A home with two desks in terminals and three commands at a time, of which one is killed again and
again while money is under way: swaps and their deposits, swaps on chains, batches, withdrawals, and
calls that are journaled, or paid one by one.

Everything is done and asked from outside, by the words of the program. ``settle`` goes on with what
was left, and ``wrong`` says what is lost, doubled, or told otherwise than the chains have it.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from cli.desks import Desk, account_of, batch_file
from harness import Result, Sandbox, start_command, wait_for
from patience import PATIENCE
from sandbox.chain_money import Chain, SolanaChain, paid_once, sums
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.chain.smart_account import account_address
from swapdesk.cli.command_error import Exit
from swapdesk.sandbox.world import find_token
from tui.test_end_to_end import DeskWindow

COMMANDS, DESKS = 3, 2
USDC, ETH = find_token("base", "USDC"), find_token("base", "ETH")
WETH = find_token("base", "WETH")
ARBITRUM_ETH = find_token("arbitrum", "ETH")
SOL_USDC, SOL = find_token("solana", "USDC"), find_token("solana", "SOL")
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
GIFT = 10**16
"""Wei for the smart account on Arbitrum, to be withdrawn."""
ENDED = ("succeeded", "failed", "replaced", "lost", "abandoned", "done", "refused")
"""How a transaction may end, by words of before and of now."""
SWAP_ON_CHAIN = ("swap", "--type", "dex", "--provider", "ba")
CLAIMS = {
    "create": "twin",
    "deposit": "deposit",
    "batch": "batch",
    "bundle": "bundle",
    "fund": "fund",
    "withdraw": "withdraw",
}
"""What a claim of each kind begins with."""
BATCH_STEPS = {
    "BUILT_BEFORE": ("build", "sign", "submit"),
    "NOT_BEGUN": ("sign", "submit"),
}
"""What a trader does who is told so."""
KEPT = ("deposit", "batch")
"""Kinds whose claim stands when they are done."""


class WatchedWindow(DeskWindow):
    """A desk whose person stops waiting once it is over: beside others it may never show what is
    waited for."""

    def __init__(self, home: Path, over: threading.Event) -> None:
        super().__init__(home)
        self._over = over

    def until(self, condition: Callable[[], object], what: str) -> None:
        def held() -> object:
            assert not self._over.is_set(), "it is over"
            return condition()

        super().until(held, what)


class Home:
    """The home, what runs in it, and what was asked for there.

    ``files`` are batches. ``orders`` were told as created, ``paid`` as paid. ``kills`` counts who
    died, ``told`` how commands ended. With ``pays`` each call is paid by the wallet."""

    def __init__(self, sandbox: Sandbox, directory: Path, seed: int, *, pays: bool) -> None:
        self.sandbox = sandbox
        self.desk = Desk(sandbox, sandbox.home, {})
        self.rng = random.Random(seed)
        self.over = threading.Event()
        self.kills: Counter[str] = Counter()
        self.told: Counter[tuple[str, int, str]] = Counter()
        self.defects: list[str] = []
        self.files: list[str] = []
        self.orders: set[str] = set()
        self.paid: set[str] = set()
        self.settled: set[str] = set()
        self.pays = pays
        self.last: Result | None = None
        self.directory = directory
        self._running: dict[subprocess.Popen[bytes], str] = {}
        self._count = 0
        self._lock = threading.Lock()
        self.base, self.arbitrum = (Chain(sandbox.rpc(name)) for name in ("base", "arbitrum"))
        self.solana = SolanaChain(sandbox.rpc("solana"))
        self.account = account_of(sandbox, "evm", self.base, USDC, ETH)
        self.on_solana = account_of(sandbox, "solana", self.solana, SOL_USDC, SOL)
        self.smart = account_address(self.account)
        self.began = self.held()
        if pays:
            config = sandbox.home / "config.toml"
            config.touch(0o600)
            config.write_text('[profiles.sandbox]\npay = "x402"\n')
            self.desk.made("wallet", "policy", "set", "--per-day", "usdc.base=9000")

    def held(self) -> dict[str, int]:
        """What the trader has, in the accounts and in the smart account."""
        return {
            "USDC": sum(self.base.balance(USDC, one) for one in (self.account, self.smart)),
            "SOL_USDC": self.solana.balance(SOL_USDC, self.on_solana),
        }

    # What is done in it

    def run(self, *words: str) -> Result | None:
        """How a command ended; None where it was killed."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        process = start_command(*words, "--json", home=self.sandbox.home, **pipes)
        with self._while_running(process, words[0]):
            out, err = process.communicate(timeout=PATIENCE)
        if process.returncode == -signal.SIGKILL:
            self.told[words[0], -9, ""] += 1
            return None
        result = Result(out.decode(), err.decode(), process.returncode)
        code = "" if result.code == 0 else result.error["code"]
        self.told[words[0], result.code, code] += 1
        self.last = result
        if result.code not in [*Exit] or result.code == Exit.DEFECT:
            self.defects.append(f"{words}: {result}")
        return result

    @contextmanager
    def _while_running(self, process: subprocess.Popen[bytes], name: str) -> Iterator[None]:
        with self._lock:
            self._running[process] = name
        try:
            yield
        finally:
            with self._lock:
                del self._running[process]

    def recipient(self, kind: str) -> tuple[int, str]:
        """A number and an address that no other act has."""
        with self._lock:
            self._count += 1
            return self._count, derive_address(kind, sha256(f"{self._count}".encode()).digest())

    def kill(self) -> None:
        """``kill -9`` of one of the processes."""
        with self._lock:
            process = self.rng.choice([*self._running] or [None])
            if process is not None and process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
                self.kills[self._running[process]] += 1

    def work(self, worker: int) -> None:
        """One command after the other."""
        rng = random.Random(worker)
        while not self.over.is_set():
            rng.choice(ACTS)(self)
            # Another may have the wallet, and nobody gets it sooner by asking again at once.
            self.over.wait(0.1)

    def watch(self, number: int) -> None:
        """A desk in a terminal; where it is killed another one begins. The first of them creates
        orders and pays them, if it can before it dies."""
        while not self.over.is_set():
            window = WatchedWindow(self.sandbox.home, self.over)
            try:
                with self._while_running(window.process, "desk"):
                    self._use(window, number)
            except AssertionError:
                # It was killed, or shows what a desk beside others may show.
                if window.process.poll() is None:
                    self._stay(window)
            finally:
                window.close()

    def _use(self, window: DeskWindow, number: int) -> None:
        window.ready()
        if number == 0 and self.rng.random() < 0.5:
            amount, to = self.recipient("bitcoin")
            window.to_deposit(f"{25 + amount / 100:.2f} usdc.base btc.bitcoin", to)
            window.fund_from_wallet()
        self._stay(window)

    def _stay(self, window: DeskWindow) -> None:
        while window.process.poll() is None and not self.over.is_set():
            window._read(0.2)

    # Afterwards

    def settle(self) -> None:
        """Go on with everything as a trader would, until nothing is left to go on with. What a kill
        left signed and unsent holds up every other signature of its account until whoever signed it
        goes on, so that all are given in turn."""
        waiting: list[tuple[Callable[..., bool], *tuple[str, ...]]] = [
            *((self._batch_settled, file) for file in self.files),
            (self._went_on, *SWAP_ON_CHAIN, "20", "usdc.base", "weth.base"),
        ]

        emptied = False

        def moved() -> bool:
            """Whether something was settled when all were given once, or nothing is left."""
            nonlocal waiting, emptied
            before = len(waiting) - len(self.settled)
            waiting = [step for step in waiting if not step[0](*step[1:])]
            self.settled |= {name for name in self._deposits() if self._deposit_settled(name)}
            emptied = self._emptied() and not (waiting or self._deposits())
            return emptied or len(waiting) - len(self.settled) < before

        while not emptied:
            self._until(moved)
        self._until(self._arrived)

    def _deposits(self) -> list[str]:
        """Orders whose deposit is to be settled; also of one that is told as paid: its transaction
        may never have left, or have arrived without anybody who followed it."""
        return [
            name
            for name, order in self.listed().items()
            if name not in self.settled and order["intentId"] and not order["order"]["isDex"]
        ]

    def _until(self, settled: Callable[..., bool], *words: str) -> None:
        try:
            wait_for(lambda: settled(*words))
        except AssertionError:
            said = self.last and (self.last.stderr[-2000:], self.last.stdout[:2000])
            raise AssertionError(f"{settled.__name__} {words}: {said}") from None

    def listed(self) -> dict[str, dict[str, Any]]:
        """The orders of this home by their ids, as the desk tells them."""
        orders = self._asked("orders", "list").documents[-1]["orders"]
        return {order["serviceId"]: order for order in orders}

    def _unsettled(self) -> Iterator[str]:
        """What a list of orders tells as not known."""
        told = self._asked("orders", "list")
        yield from map(str, told.documents[-1]["unknown"])
        yield from (line for line in told.stderr.splitlines() if "The payment of order" in line)

    def _asked(self, *words: str) -> Result:
        """A command that reads, once whoever has the wallet has let go of it."""

        def tried() -> Result | None:
            result = self.run(*words)
            assert result is not None
            assert result.code in (Exit.DONE, Exit.OWN_REFUSAL, Exit.RATE_LIMITED), result
            return result if result.code == Exit.DONE else None

        found = wait_for(tried, str(words))
        assert found is not None
        return found

    def _went_on(self, *words: str) -> bool:
        """Whether a command came through."""
        result = self.run(*words, *(() if words[1] in ("build", "submit") else ("--yes",)))
        assert result is not None
        return result.code == Exit.DONE

    def _emptied(self) -> bool:
        """Whether nothing is left in the smart account: behind a withdrawal that was on its way
        there may be what came since."""
        back = self.run("wallet", "withdraw", "--chain", "arbitrum", "--yes")
        return back is not None and back.code != 0 and back.error["code"] == "NOTHING_HELD"

    def _batch_settled(self, file: str) -> bool:
        ran = self.run("batch", "run", file, "--yes")
        assert ran is not None
        if ran.code == Exit.DONE or ran.error["code"] != "CREATED_BEFORE":
            return ran.code == Exit.DONE
        (name,) = re.findall(r"batch (\w{8}) already", ran.error["message"])
        resumed = self.run("batch", "resume", name, "--yes")
        assert resumed is not None
        if resumed.code == Exit.DONE:
            return True
        # Another batch used the smart account meanwhile, or its bundle was never agreed to.
        steps = BATCH_STEPS.get(resumed.error["code"], ())
        return bool(steps) and all(self._went_on("batch", step, name) for step in steps)

    def _deposit_settled(self, service_id: str) -> bool:
        paid = self.run("fund", service_id, "--yes")
        assert paid is not None
        if paid.code == Exit.DONE:
            self.paid.add(service_id)
        return paid.code == Exit.DONE or paid.error["code"] in ("PAID_BEFORE", "NOT_PAYABLE")

    def _arrived(self) -> bool:
        """Of a swap on chains that the wallet refused, as its gas had risen, nothing arrives."""
        return all(
            order["ended"]
            for order in self.listed().values()
            if order["depositHash"] or any(act["for"] == "swap" for act in order["transactions"])
        )

    # What became of it

    def wrong(self) -> list[str]:
        """What is lost, doubled, or told otherwise than it is."""
        listed = self.listed()
        made = self._made()
        signed = self._asked("wallet", "transactions").documents[-1]["transactions"]
        spent = Counter({"USDC": 0, "SOL_USDC": 0})
        paid: set[str] = set()
        found = [
            *self.defects,
            *self._unsettled(),
            *(f"{name} is not listed" for name in ({*made} | self.orders) - {*listed}),
            *(f"{name} is not the service's" for name in {*listed} - {*made}),
            *self._twins(made),
            *(
                error
                for name, order in made.items()
                for error in self._deposit(order, listed.get(name), spent, paid)
            ),
            *self._transactions(signed),
            *self._acts(listed, paid),
        ]
        calls = self._paid_calls() if self.pays else 0
        for name, began in self.began.items():
            left = began - spent[name] - (calls if name == "USDC" else 0)
            if (held := self.held()[name]) != left:
                found.append(f"{held} {name} are held, and {left} by the orders")
        if held := self.arbitrum.balance(ARBITRUM_ETH, self.smart):
            found.append(f"{held} wei are left in the smart account")
        running: Any = SimpleNamespace(
            data=self.sandbox.home / "sandbox",
            ready=SimpleNamespace(chains=self.sandbox.ready["chains"]),
        )
        paid_once(running)
        found += [f"books {one}, chains {two}" for one, two in sums(running) if one != two]
        return found

    def _made(self) -> dict[str, dict[str, Any]]:
        """The orders of this home as the service lists them."""
        made: dict[str, dict[str, Any]] = {}
        for page in range(1, 100):
            words = ("api", "GET", "/orders", "-q", f"page={page}")
            orders = self._asked(*words).documents[-1]["orders"]
            made |= {order["serviceId"]: order for order in orders}
            if len(orders) < 100:
                break
        return made

    def _twins(self, made: dict[str, dict[str, Any]]) -> Iterator[str]:
        """Each create named a recipient of its own; a swap on a chain an amount of its own."""
        counts = Counter(
            Decimal(order["inAmount"]) if order["isDex"] else order["receiverAddress"].lower()
            for order in made.values()
        )
        # What each round swaps once more, so that one that was stopped is gone on with.
        del counts[Decimal(20)]
        yield from (f"{count} orders for {what}" for what, count in counts.items() if count > 1)

    def _deposit(
        self,
        order: dict[str, Any],
        told: dict[str, Any] | None,
        spent: Counter[str],
        paid: set[str],
    ) -> Iterator[str]:
        """Whether an order is paid once where it is told as paid, and not where it is not; what
        was paid is counted, and whose deposit it was is noted."""
        name, on_solana = order["serviceId"], order["inToken"]["chain"] == "solana"
        token = SOL_USDC if on_solana else USDC
        by_wallet = (
            [one["hash"] for one in told["transactions"] if one["for"] == "swap"] if told else []
        )
        if order["isDex"]:
            hashes = by_wallet
        else:
            hashes = self._paid_to(order["depositAddress"], on_solana=on_solana)
            paid.update([name] * len(hashes))
            if told and hashes != [told["depositHash"]] * bool(told["depositHash"]):
                yield f"{name}: paid by {hashes}, told {told['depositHash']}"
        if len(hashes) != (order["displayStatus"] == "SWAP_COMPLETED"):
            yield f"{name}: {order['displayStatus']} by {hashes}"
        if name in self.paid and not hashes:
            yield f"{name}: told as paid"
        units = int(Decimal(order["inAmount"]).scaleb(token.row.decimals))
        spent["SOL_USDC" if on_solana else "USDC"] += units * len(hashes)

    def _paid_to(self, address: str, *, on_solana: bool) -> list[str]:
        """The transactions that paid a deposit address."""
        if on_solana:
            history = self.solana.history(address)
            return [one["signature"] for one in history if one["err"] is None]
        topics = [TRANSFER, None, "0x" + address[2:].lower().rjust(64, "0")]
        asked = {"fromBlock": "0x0", "address": USDC.address, "topics": topics}
        return [log["transactionHash"] for log in self.base("eth_getLogs", asked)]

    def _transactions(self, signed: list[dict[str, Any]]) -> Iterator[str]:
        """Each of the wallet's has ended, and the chains have as many as it says."""
        for chain, name in ((self.base, "base"), (self.arbitrum, "arbitrum")):
            states = Counter(one["state"] for one in signed if one["chain"] == name)
            executed = states["succeeded"] + states["failed"]
            if executed != (count := chain.payments_of(self.account)):
                yield f"{count} transactions on {name}, {states} by the wallet"
        yield from (f"{one} has not ended" for one in signed if one["state"] not in ENDED)

    def _acts(self, listed: dict[str, dict[str, Any]], paid: set[str]) -> Iterator[str]:
        """What the ledger has and should not: acts whose end is not known, but for calls, of which
        nobody but their script can tell; claims that are not of their kind, held for too long or
        too short; creates that are no orders, deposits that the chains do not have, and the other
        way round."""
        journal = self.sandbox.home / "profiles" / "sandbox" / "journal.db"
        with closing(sqlite3.connect(journal)) as file:
            rows = file.execute("SELECT kind, state, claim, subject, id FROM operation").fetchall()
            strays = file.execute("PRAGMA foreign_key_check(operation)").fetchall()
        for kind, state, claim, _, id_ in rows:
            if kind != "call" and state not in ("done", "refused"):
                yield f"{kind} {id_} is {state}"
            if claim is not None and claim.partition(":")[0] != CLAIMS.get(kind):
                yield f"{kind} {id_} claims {claim}"
            if state == "done" and kind in CLAIMS and (claim is None) != (kind not in KEPT):
                yield f"{kind} {id_} is done and claims {claim}"
        yield from (f"{stray} leads nowhere" for stray in strays)
        creates = {row[3] for row in rows if row[:2] == ("create", "done")}
        orders = {name for name, order in listed.items() if order["intentId"]}
        yield from (f"{name} is no order and created here" for name in creates ^ orders)
        deposits = {row[3] for row in rows if row[:2] == ("deposit", "done")}
        yield from (
            f"the ledger's deposit of {name} is not the chain's" for name in deposits ^ paid
        )

    def _paid_calls(self) -> int:
        """Units that calls were paid with: what the account gave to who is paid for calls."""
        (payee,) = re.findall(
            r"USDC for each .*, to (0x\w{40})", self._asked("api", "GET", "/orders").stderr
        )
        between = ["0x" + one[2:].lower().rjust(64, "0") for one in (self.account, payee)]
        asked = {"fromBlock": "0x0", "address": USDC.address, "topics": [TRANSFER, *between]}
        return sum(int(log["data"], 16) for log in self.base("eth_getLogs", asked))


# What commands do


def swap(home: Home) -> None:
    number, to = home.recipient("bitcoin")
    words = (f"{25 + number / 100:.2f}", home.rng.choice(("usdc.base", "usdc.solana")))
    made = home.run("swap", *words, "btc.bitcoin", "--to", to, "--type", "standard", "--yes")
    if made is not None and made.code == Exit.DONE:
        home.orders.add(made.documents[-1]["serviceId"])


def fund(home: Home) -> None:
    """One of the newest orders, which another command may be paying."""
    names = sorted(home.orders - home.paid)[:3]
    if not names:
        return swap(home)
    name = home.rng.choice(names)
    paid = home.run("fund", name, "--yes")
    if paid is not None and paid.code == 0:
        home.paid.add(name)
    return None


def swap_on_chain(home: Home) -> None:
    number, _ = home.recipient("evm")
    amount = f"{20 + number / 100:.2f}"
    home.run(*SWAP_ON_CHAIN, amount, "usdc.base", "weth.base", "--yes")


def batch(home: Home) -> None:
    (number, first), (_, second) = home.recipient("evm"), home.recipient("evm")
    place = home.directory / str(number)
    place.mkdir()
    rows = [f"{to},{21 + number / 100:.2f},ETH,arbitrum,USDC.base" for to in (first, second)]
    file = batch_file(place, *rows)
    home.files.append(file)
    if home.run("batch", "run", file, "--yes") is None:
        home.run("batch", "resume", "--yes")


def withdraw(home: Home) -> None:
    body = {"chain": "arbitrum", "address": home.smart, "amount": GIFT / 10**18}
    home.sandbox.control("POST", "/faucet", body)
    home.run("wallet", "withdraw", "--chain", "arbitrum", "--yes")


def call(home: Home) -> None:
    """An order by a call of the script's own, which the journal has all the same."""
    number, to = home.recipient("bitcoin")
    words = (f"{30 + number / 100:.2f}", "usdc.base", "btc.bitcoin", "--type", "standard")
    quoted = home.run("quote", *words)
    if quoted is not None and quoted.code == 0:
        quote = next(one for one in quoted.document["quotes"] if one.get("quoteId"))
        body = json.dumps({"quoteId": quote["quoteId"], "addressTo": to})
        home.run("api", "POST", "/exchanges", "-d", body, "--yes")


ACTS: tuple[Callable[[Home], None], ...] = (
    swap, swap, fund, fund, fund, swap_on_chain, batch, withdraw, call,
)  # fmt: skip


def play(home: Home, kills: int) -> None:
    """Everything at once, until so many were killed."""
    threads = [threading.Thread(target=home.work, args=(number,)) for number in range(COMMANDS)]
    threads += [threading.Thread(target=home.watch, args=(number,)) for number in range(DESKS)]
    before = home.kills.total()
    home.over.clear()
    for thread in threads:
        thread.start()
    try:
        while home.kills.total() - before < kills:
            assert all(thread.is_alive() for thread in threads)
            home.over.wait(home.rng.uniform(0.3, 1.5))
            home.kill()
    finally:
        home.over.set()
        for thread in threads:
            thread.join(PATIENCE)
