"""Books and chains of a sandbox side by side: what they say of the exchanges' money is equal."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import httpx2
from msgspec import Struct

from harness import rpc_of, wait_for
from patience import PATIENCE
from plain_http import PLAIN
from sandbox.running import Running
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.calldata.erc20 import BALANCE_OF
from swapdesk.sandbox.evm_world.genesis import COINS
from swapdesk.sandbox.node.evm.genesis import sandbox_key
from swapdesk.sandbox.node.ledger import hot_wallet_name, reserves_of
from swapdesk.sandbox.node.solana.chain import sandbox_keypair
from swapdesk.sandbox.node.solana.genesis import WALLET_LAMPORTS
from swapdesk.sandbox.node.solana.terms import CHAIN as SOLANA
from swapdesk.sandbox.partner_keys import load_key
from swapdesk.sandbox.tables import EVM_CHAINS, PAYOUT_WALLETS
from swapdesk.sandbox.world import WorldToken, world_tokens


class ChainError(AssertionError):
    """A node answered an error."""


class Chain(Struct, frozen=True):
    """One embedded chain over its JSON-RPC."""

    url: str

    def __call__(self, method: str, *params: Any) -> Any:
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
        answer = httpx2.post(
            self.url, json=asked, trust_env=False, timeout=PATIENCE, verify=PLAIN
        ).json()
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

    def cost_of(self, hash_: str, sent: int) -> int:
        """Wei that a mined transaction took from its sender beside what it ``sent``."""
        receipt = self.receipt(hash_)
        assert receipt is not None, hash_
        return int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)

    def payments_of(self, address: str) -> int:
        """How many transactions of this sender were executed."""
        return int(self("eth_getTransactionCount", address, "latest"), 16)


class SolanaChain(Chain, frozen=True):
    """The embedded Solana chain over its JSON-RPC."""

    def balance(self, token: WorldToken, address: str) -> int:
        if token.address is None:
            return int(self("getBalance", address)["value"])
        options = {"encoding": "jsonParsed"}
        found = self("getTokenAccountsByOwner", address, {"mint": token.address}, options)
        held = [one["account"]["data"]["parsed"]["info"] for one in found["value"]]
        return sum(int(one["tokenAmount"]["amount"]) for one in held)

    def executed(self, signature: str) -> dict[str, Any] | None:
        options = {"commitment": "confirmed", "maxSupportedTransactionVersion": 0}
        found: dict[str, Any] | None = self("getTransaction", signature, options)
        return found

    def cost_of(self, hash_: str, sent: int) -> int:
        """Lamports: the fee, and the rent of what it opened."""
        found = wait_for(lambda: self.executed(hash_), hash_)
        meta = found["meta"]
        gone = meta["preBalances"][0] - meta["postBalances"][0]
        return int(gone - (sent if meta["err"] is None else 0))

    def history(self, address: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self(
            "getSignaturesForAddress", address, {"commitment": "confirmed"}
        )
        return found

    def payments_of(self, address: str) -> int:
        """Each is numbered in its memo; one that were executed twice would stand there twice."""
        found = [self.executed(one["signature"]) for one in self.history(address)]
        keys = [each["transaction"]["message"]["accountKeys"][0] for each in found if each]
        return keys.count(address)


def chain_of(running: Running, name: str) -> Chain:
    url = rpc_of(running.ready.chains, name)
    return SolanaChain(url) if name == SOLANA else Chain(url)


def solana_of(running: Running) -> SolanaChain:
    return SolanaChain(chain_of(running, SOLANA).url)


def wallet(running: Running, name: str, chain: str = "base") -> str:
    """Address of one of the sandbox's own wallets."""
    if chain == SOLANA:
        return str(sandbox_keypair(load_key(running.data), name).pubkey())
    return checksummed("0x" + sandbox_key(load_key(running.data), name).address.hex())


def sums(running: Running) -> Iterator[tuple[int, int]]:
    """Base units that an exchange has of a token above what it began with, by its books and on the
    chain; of every (token, exchange) of the embedded chains that a leg or a payment has met."""
    with sqlite3.connect(f"file:{running.data / 'node.db'}?mode=ro", uri=True) as file:
        file.row_factory = sqlite3.Row
        accounts = file.execute("SELECT * FROM accounts").fetchall()
        outgoing = file.execute("SELECT * FROM payments WHERE wallet IS NOT NULL").fetchall()
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
        if tokens[row[side]].row.chain in (*EVM_CHAINS, SOLANA)
    }
    for token_id, venue in sorted(met):
        token = tokens[token_id]
        chain = chain_of(running, token.row.chain)
        began = dict(reserves_of(token))
        book = on_chain = 0
        for number in range(PAYOUT_WALLETS):
            name = hot_wallet_name(venue, number)
            address = wallet(running, name, token.row.chain)
            book += booked.get((token_id, address), 0) - began[name]
            on_chain += chain.balance(token, address) - began[name]
            if token.address is None:
                paid = [r for r in outgoing if (r["chain"], r["wallet"]) == (token.row.chain, name)]
                for row in paid:
                    sent = int(row["units"]) if row["token"] == token_id else 0
                    on_chain += chain.cost_of(row["hash"], sent)
                on_chain -= WALLET_LAMPORTS if token.row.chain == SOLANA else COINS
        places = {
            r["address"] for r in accounts if (r["token_in"], r["venue"]) == (token_id, venue)
        }
        on_chain += sum(chain.balance(token, address) for address in places)
        yield book, on_chain


def paid_once(running: Running) -> None:
    """Every payment is one transaction of its wallet: as many as the chain has counted."""
    with sqlite3.connect(f"file:{running.data / 'node.db'}?mode=ro", uri=True) as file:
        rows = file.execute(
            "SELECT chain, wallet, COUNT(*) FROM payments WHERE wallet IS NOT NULL"
            " GROUP BY chain, wallet"
        )
        counts = rows.fetchall()
    file.close()
    assert counts
    for chain, name, count in counts:
        address = wallet(running, name, chain)

        def used(chain: str = chain, address: str = address) -> int:
            return chain_of(running, chain).payments_of(address)

        # The node books a payment one block before a reader of "confirmed" sees it.
        wait_for(lambda used=used, count=count: used() >= count, what=f"{count} payments of {name}")
        assert used() == count, (chain, name)
