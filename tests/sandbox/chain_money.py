"""Books and chains of a sandbox side by side: what they say of the exchanges' money is equal."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from sandbox.running import Running
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata.erc20 import BALANCE_OF
from swapdesk.sandbox.evm_world.parties import COINS
from swapdesk.sandbox.node.evm.sandbox_keys import sandbox_key
from swapdesk.sandbox.node.evm.terms import EVM_CHAINS
from swapdesk.sandbox.partner_keys import load_key
from swapdesk.sandbox.reserves import hot_wallet_name, reserves_of
from swapdesk.sandbox.venue_rows import PAYOUT_WALLETS
from swapdesk.sandbox.world import WorldToken, world_tokens


class ChainError(AssertionError):
    """A node answered an error."""


@dataclass(frozen=True)
class Chain:
    """One embedded chain over its JSON-RPC."""

    url: str

    def __call__(self, method: str, *params: Any) -> Any:
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        answer = httpx.post(self.url, json=asked, trust_env=False, timeout=15).json()
        if "error" in answer:
            raise ChainError(answer["error"])
        return answer["result"]

    def balance(self, token: WorldToken, address: str) -> int:
        if token.address is None:
            return int(self("eth_getBalance", address, "latest"), 16)
        data = "0x" + BALANCE_OF.call(address).hex()
        return int(self("eth_call", {"to": token.address, "data": data}, "latest"), 16)

    def receipt(self, hash_: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self("eth_getTransactionReceipt", hash_)
        return found

    def gas_of(self, hash_: str) -> int:
        """Wei that a mined transaction took from its sender beside what it sent."""
        receipt = self.receipt(hash_)
        assert receipt is not None, hash_
        return int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)


def chain_of(running: Running, name: str) -> Chain:
    return Chain(next(c["rpc"] for c in running.ready.chains if c["shortName"] == name))


def wallet(running: Running, name: str) -> str:
    """Address of one of the sandbox's own wallets."""
    return checksummed("0x" + sandbox_key(load_key(running.data), name).address.hex())


@dataclass(frozen=True)
class Sums:
    """Base units that an exchange has of a token above what it began with."""

    token: str
    venue: str
    booked: int
    on_chain: int


def sums(running: Running) -> Iterator[Sums]:
    """Of every (token, exchange) of the embedded chains that a leg or a payment has met."""
    with sqlite3.connect(f"file:{running.data / 'node.db'}?mode=ro", uri=True) as file:
        file.row_factory = sqlite3.Row
        accounts = file.execute("SELECT * FROM accounts").fetchall()
        outgoing = file.execute("SELECT * FROM outgoing").fetchall()
        booked = {
            (row["token"], row["address"]): int(row["units"])
            for row in file.execute("SELECT * FROM balances")
        }
    file.close()
    tokens = world_tokens()
    met = {
        (row[side], row["venue"])
        for row in accounts
        for side in ("token_in", "token_out")
        if tokens[row[side]].row.chain in EVM_CHAINS
    }
    for token_id, venue in sorted(met):
        token = tokens[token_id]
        chain = chain_of(running, token.row.chain)
        began = dict(reserves_of(token))
        book = on_chain = 0
        for number in range(PAYOUT_WALLETS):
            name = hot_wallet_name(venue, number)
            address = wallet(running, name)
            book += booked.get((token_id, address), 0) - began[name]
            on_chain += chain.balance(token, address) - began[name]
            if token.address is None:
                paid = [r for r in outgoing if (r["chain"], r["wallet"]) == (token.row.chain, name)]
                on_chain += sum(chain.gas_of(row["hash"]) for row in paid) - COINS
        places = {
            r["address"] for r in accounts if (r["token_in"], r["venue"]) == (token_id, venue)
        }
        on_chain += sum(chain.balance(token, address) for address in places)
        yield Sums(f"{token.row.symbol}.{token.row.chain}", venue, book, on_chain)


def paid_once(running: Running) -> None:
    """Every payment is one transaction of its wallet: as many as the chain has counted."""
    with sqlite3.connect(f"file:{running.data / 'node.db'}?mode=ro", uri=True) as file:
        rows = file.execute("SELECT chain, wallet, COUNT(*) FROM outgoing GROUP BY chain, wallet")
        counts = rows.fetchall()
    file.close()
    assert counts
    for chain, name, count in counts:
        used = chain_of(running, chain)("eth_getTransactionCount", wallet(running, name), "latest")
        assert int(used, 16) == count, (chain, name)
