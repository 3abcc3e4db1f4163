"""Orders of every kind in a running sandbox, whose processes may be killed meanwhile.

Whatever was acknowledged has to end as it should: ``sound`` says whether it did.
"""

from __future__ import annotations

import os
import random
import signal
import sqlite3
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

import httpx2
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from msgspec import Struct, field
from solders.keypair import Keypair
from solders.transaction import VersionedTransaction

from harness import wait_for
from sandbox.chain_money import ChainError, chain_of, paid_once, solana_of, sums
from sandbox.running import Running
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.chain.deployments import ENTRY_POINT, SANDBOX_CHAIN_IDS
from swapdesk.chain.smart_account import account_address, read_operation, user_operation_hash
from swapdesk.sandbox.world import WorldToken, find_token, seed_bytes
from swapdesk.wire.orders import LegStatus

BTC, XRP, XMR = (
    find_token(*one) for one in (("bitcoin", "BTC"), ("xrp", "XRP"), ("monero", "XMR"))
)
USDC, ETH_BASE = find_token("base", "USDC"), find_token("base", "ETH")
WETH = find_token("base", "WETH")
ETH_ARBITRUM, USDC_POLYGON = find_token("arbitrum", "ETH"), find_token("polygon", "USDC")
SOL, USDC_SOLANA = find_token("solana", "SOL"), find_token("solana", "USDC")
BUSY = (404, 409, 422, 429, 500, 502, 503)
"""What a service answers whose node is gone, or that was asked too often."""
PROCESSES = ("swapdesk.sandbox.node", "swapdesk.sandbox.service_process")


class Traffic(Struct):
    """A sandbox, its orders, and how often something of it was killed."""

    running: Running
    rng: random.Random
    kills: int = 0
    orders: dict[str, str] = field(default_factory=dict)
    """Of each order that has to end well the address that is paid, which no other order has."""

    def kill(self) -> None:
        wait_for(lambda: self.tried(self.running.control, "GET", "/state"), "the sandbox answers")
        for module in self.rng.choice([PROCESSES[:1], PROCESSES[:1], PROCESSES[1:], PROCESSES]):
            with suppress(ProcessLookupError):
                os.kill(self.running.child(module), signal.SIGKILL)
        self.kills += 1

    def tried(self, door: Callable[[], httpx2.Client], method: str, path: str, **asked: Any) -> Any:
        """The answer; None where there is none, or none that settles anything."""
        try:
            with door() as client:
                answer = client.request(method, path, **asked)
        except httpx2.TransportError:
            return None
        assert answer.status_code == 200 or answer.status_code in BUSY, answer.text
        return answer.json() if answer.status_code == 200 else None

    def api(self, method: str, path: str, **asked: Any) -> Any:
        """Once there is an answer: for what may be asked any number of times."""
        return wait_for(lambda: self.tried(self.running.api, method, path, **asked), path)

    def control(self, path: str, **body: Any) -> Any:
        return wait_for(lambda: self.tried(self.running.control, "POST", path, json=body), path)

    def created(self, sell: WorldToken, buy: WorldToken, to: str, query: Any, body: Any) -> Any:
        """An order. One whose create was not answered is paid by nobody."""
        asked = {"from": sell.token_id, "to": buy.token_id, **query}

        def tried() -> Any:
            quotes = self.tried(self.running.api, "GET", "/quotes", params=asked) or {"quotes": ()}
            found = [each for each in quotes["quotes"] if "error" not in each]
            wanted = {"quoteId": found[0]["quoteId"], "addressTo": to, **body} if found else None
            return wanted and self.tried(self.running.api, "POST", "/exchanges", json=wanted)

        order = wait_for(tried, "an order")
        self.orders[order["serviceId"]] = to
        return order

    def chain(self, name: str, method: str, *params: Any) -> Any:
        """What a chain answers; None while it does not."""
        with suppress(ChainError, httpx2.TransportError, ValueError):
            return chain_of(self.running, name)(method, *params)
        return None

    def balance(self, token: WorldToken, address: str) -> int:
        with suppress(ChainError, httpx2.TransportError, ValueError):
            return chain_of(self.running, token.row.chain).balance(token, address)
        return 0

    def given(self, token: WorldToken, address: str, amount: int) -> None:
        """Money from the faucet. What was not in a block when the node was killed is gone."""
        units = amount * 10**token.row.decimals
        body = {"chain": token.row.chain, "address": address, "amount": amount}
        if token.address is not None:
            body["token"] = token.address if token.chain.kind == "evm" else token.row.symbol
        while self.balance(token, address) < units:
            before = self.kills
            self.control("/faucet", **body)
            wait_for(lambda b=before: self.balance(token, address) >= units or self.kills != b)

    def mined(self, name: str, raw: str, hash_: str) -> Any:
        """The receipt of a transaction whose bytes are handed in until it has one."""

        def tried() -> Any:
            self.chain(name, "eth_sendRawTransaction", raw)
            return self.chain(name, "eth_getTransactionReceipt", hash_)

        receipt = wait_for(tried, f"a block of {name}")
        assert receipt["status"] == "0x1", receipt
        return receipt

    def ended(self, service_id: str) -> None:
        def look() -> Any:
            order = self.tried(self.running.api, "GET", f"/orders/{service_id}")
            return order if order is not None and order["status"] >= 4 else None

        end = wait_for(look, f"the end of {service_id}")
        assert end["status"] == 4, end


Operation = Callable[[Traffic, int], None]


def person(*path: object) -> LocalAccount:
    account: LocalAccount = Account.from_key(seed_bytes("kills", *path))
    return account


def receiver(token: WorldToken, *path: object) -> str:
    return derive_address(token.chain.kind, seed_bytes("kills", *path))


def deposit(sell: WorldToken, buy: WorldToken, amount: str, types: str = "standard") -> Operation:
    """An order that is paid by a deposit, with the memo that it names."""

    def run(traffic: Traffic, number: int) -> None:
        to = receiver(buy, number)
        order = traffic.created(sell, buy, to, {"amount": amount, "types": types}, {})
        traffic.control("/deposits", serviceId=order["serviceId"])
        traffic.ended(order["serviceId"])

    return run


def sending(traffic: Traffic, me: LocalAccount) -> Callable[[dict[str, Any]], str]:
    """What signs a call as the next transaction of an account on Base, and has it mined."""
    nonces = iter(range(100))

    def send(call: dict[str, Any]) -> str:
        made = me.sign_transaction(
            {
                "to": call["to"],
                "data": call["data"],
                "value": int(str(call.get("value", 0)), 0),
                "nonce": next(nonces),
                "chainId": SANDBOX_CHAIN_IDS + 8453,
                "gas": 1_000_000,
                "maxFeePerGas": 10**11,
                "maxPriorityFeePerGas": 10**9,
            }
        )
        hash_ = made.hash.to_0x_hex()
        traffic.mined("base", made.raw_transaction.to_0x_hex(), hash_)
        return hash_

    return send


def swap_on_chain(traffic: Traffic, number: int) -> None:
    """A swap that the wallet's own transactions carry out."""
    me = person(number)
    traffic.given(ETH_BASE, me.address, 1)
    traffic.given(USDC, me.address, 100)
    send = sending(traffic, me)
    query = {
        "amount": "20",
        "types": "dex",
        "swaps": "ba",
        "senderAddress": me.address,
        "slippage": "3",
    }
    quoted = wait_for(lambda: quotes_of(traffic, query), "a quote")
    asked = {"quoteId": quoted["quoteId"], "addressFrom": me.address, "usePermit": False}
    for call in traffic.api("POST", "/dex/approve", json=asked)["approvals"]:
        send(call)
    order = traffic.created(USDC, WETH, me.address, query, {"addressFrom": me.address})
    sent = send(order["metadata"])
    traffic.api("POST", "/dex/confirmTx", json={"id": order["serviceId"], "txHash": sent})
    traffic.ended(order["serviceId"])


def quotes_of(traffic: Traffic, query: dict[str, str]) -> Any:
    asked = {"from": USDC.token_id, "to": WETH.token_id, **query}
    told = traffic.tried(traffic.running.api, "GET", "/quotes", params=asked) or {"quotes": ()}
    return next((each for each in told["quotes"] if "error" not in each), None)


def group(
    traffic: Traffic, rows: list[tuple[WorldToken, str]], buy: WorldToken, number: int
) -> str:
    """A group of orders, and its id."""
    orders = [
        {
            "from": token.token_id,
            "to": buy.token_id,
            "amount": float(amount),
            "addressTo": receiver(buy, number, place),
        }
        for place, (token, amount) in enumerate(rows)
    ]

    def tried() -> Any:
        told = traffic.tried(
            traffic.running.api, "POST", "/exchanges/multi", json={"orders": orders}
        )
        whole = told is not None and all(
            "depositAddress" in each.get("order", {}) for each in told["orders"]
        )
        return told if whole else None

    made = wait_for(tried, "a group")
    for each, asked in zip(made["orders"], orders, strict=True):
        traffic.orders[each["order"]["serviceId"]] = str(asked["addressTo"])
    return f"/exchanges/multi/{made['multiId']}"


def bundle(traffic: Traffic, number: int) -> None:
    """One bundle of a smart account pays every order of a group."""
    owner = person(number)
    account = account_address(owner.address)
    rows = [(USDC, "60"), (ETH_BASE, "0.03"), (USDC, "75")]
    place = group(traffic, rows, ETH_ARBITRUM, number)
    traffic.given(ETH_BASE, account, 1)
    traffic.given(USDC, account, 135)
    sent: list[list[str]] = []

    def submitted() -> Any:
        told = traffic.api("POST", f"{place}/tx/build", json={"sender": owner.address})
        if told["depositNeeded"] != "0":
            return None
        signatures = [signature(each["txData"], owner) for each in told["transactions"]]
        sent.append(signatures)
        # Not answered, it may have been taken: what became of it the group says.
        traffic.tried(traffic.running.api, "POST", f"{place}/tx", json={"signatures": signatures})
        return traffic.api("GET", place)["bundleStatus"] != "pending"

    wait_for(submitted, "a bundle")

    def confirmed() -> Any:
        told = traffic.api("GET", place)
        assert told["bundleStatus"] not in ("failed", "withdrawn"), told
        return told if told["bundleStatus"] == "confirmed" else None

    for order in wait_for(confirmed, "the bundle")["orders"]:
        traffic.ended(order["serviceId"])
    with traffic.running.api() as client:
        again = client.post(f"{place}/tx", json={"signatures": sent[-1]})
    assert again.status_code == 404, "what was paid is not paid again"


def signature(data: dict[str, Any], owner: LocalAccount, chain_id: int = 8453) -> str:
    """Over the hash that is computed out of the operation, as a careful wallet does."""
    operation = read_operation(data["userOperation"], signed=False)
    hash_ = user_operation_hash(operation, ENTRY_POINT, SANDBOX_CHAIN_IDS + chain_id)
    assert data["userOpHash"] == "0x" + hash_.hex()
    return str(owner.sign_message(encode_defunct(hash_)).signature.to_0x_hex())


def solana_group(traffic: Traffic, number: int) -> None:
    """Transactions of one account pay every order of a group."""
    sender = Keypair.from_seed(seed_bytes("kills", number)[:32])
    me = str(sender.pubkey())
    place = group(traffic, [(USDC_SOLANA, "60"), (USDC_SOLANA, "61")], SOL, number)
    traffic.given(SOL, me, 1)
    traffic.given(USDC_SOLANA, me, 121)
    built = traffic.api("GET", f"{place}/tx", params={"sender": me})
    for each in built["transactions"]:
        half = VersionedTransaction.from_bytes(b64decode(each["txData"]["data"]))
        whole = VersionedTransaction(half.message, [sender])
        raw, name = b64encode(bytes(whole)).decode(), str(whole.signatures[0])

        def executed(raw: str = raw, name: str = name) -> Any:
            options = {"encoding": "base64", "skipPreflight": True}
            traffic.chain("solana", "sendTransaction", raw, options)
            with suppress(ChainError, httpx2.TransportError, ValueError):
                return solana_of(traffic.running).executed(name)

        assert wait_for(executed, "a transaction")["meta"]["err"] is None
    for order in traffic.api("GET", place)["orders"]:
        traffic.ended(order["serviceId"])


OPERATIONS: dict[str, Operation] = {
    "ledger chains": deposit(BTC, XRP, "0.02"),
    "a memo": deposit(XRP, XMR, "500"),
    "private": deposit(XMR, USDC, "5", "private"),
    "to an EVM chain": deposit(BTC, ETH_BASE, "0.02"),
    "between EVM chains": deposit(USDC_POLYGON, ETH_ARBITRUM, "75"),
    "to Solana": deposit(USDC, SOL, "70"),
    "from Solana": deposit(SOL, USDC_SOLANA, "1"),
    "on a chain": swap_on_chain,
    "a group on an EVM chain": bundle,
    "a group on Solana": solana_group,
}


def sound(traffic: Traffic) -> None:
    """Nothing lost, nothing doubled, money conserved. Whoever paid a deposit twice, by a bundle or
    a transaction that left twice, has a second payment at its leg."""
    with closing(sqlite3.connect(traffic.running.data / "node.db")) as books:
        books.row_factory = sqlite3.Row
        held: dict[str, int] = {}
        for row in books.execute("SELECT token, units FROM balances"):
            held[row["token"]] = held.get(row["token"], 0) + int(row["units"])
        assert set(held.values()) == {0}
        for service_id, to in traffic.orders.items():
            legs = books.execute(
                "SELECT * FROM accounts WHERE key LIKE ?", (f"{service_id}:%",)
            ).fetchall()
            for leg in legs:
                query = "SELECT COUNT(*) FROM payments WHERE account = ? OR cause = ?"
                ((moved,),) = books.execute(query, (leg["id"], f"payout:{leg['id']}"))
                assert (leg["status"], moved) == (LegStatus.FINISHED, 2), service_id
            query = "SELECT COUNT(*) FROM payments WHERE receiver = ?"
            ((paid,),) = books.execute(query, (to,))
            assert paid == (1 if legs else 0), service_id
    paid_once(traffic.running)
    assert all(booked == on_chain for booked, on_chain in sums(traffic.running))
