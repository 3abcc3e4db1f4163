"""The chain: what LiteSVM executes, at our time, once, and on disk before it is told.

It begins with coins of faucet, maker and exchanges, and the catalogue's mints. Used by one thread.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from solders.account import Account
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.token.state import Mint, TokenAccount, TokenAccountState
from solders.transaction import VersionedTransaction

from swapdesk.chain.solana import SYSTEM, TOKEN, token_account
from swapdesk.sandbox.node.solana.documents import (
    MINT_BYTES,
    TOKEN_ACCOUNT_BYTES,
    balances,
    inner_instructions,
    read_mint,
    read_token_account,
    returned_data,
    token_amount,
)
from swapdesk.sandbox.node.solana.genesis import (
    FAUCET,
    FAUCET_LAMPORTS,
    MAKER,
    MAKER_LAMPORTS,
    MINTER,
    catalogue_mints,
    genesis_hash,
    key_seed,
    shown_hash,
    wallet_lamports,
)
from swapdesk.sandbox.node.solana.machine import (
    Blockhashes,
    Instant,
    Slots,
    SolanaMachine,
    TransactionOutcome,
)
from swapdesk.sandbox.node.solana.store import Record, SolanaStore, StoredAccount
from swapdesk.sandbox.node.solana.terms import CHAIN
from swapdesk.sandbox.world import chains_by_name

Decimals = Callable[[Pubkey], int | None]
"""Those of a mint, None when there is none."""

NO_ADDRESSES: dict[str, list[str]] = {"writable": [], "readonly": []}


def status_of(error: Any) -> dict[str, Any]:
    return {"Ok": None} if error is None else {"Err": error}


def record_meta(
    outcome: TransactionOutcome, transaction: VersionedTransaction, decimals: Decimals
) -> dict[str, Any]:
    """The ``meta`` of ``getTransaction``."""
    found = {
        **moved(outcome, transaction.message.account_keys, decimals),
        "err": outcome.error,
        "status": status_of(outcome.error),
        "fee": outcome.details.fee(),
        "logMessages": outcome.details.logs(),
        "innerInstructions": inner_instructions(outcome.details),
        "computeUnitsConsumed": outcome.details.compute_units_consumed(),
        "loadedAddresses": NO_ADDRESSES,
        "rewards": [],
    }
    returned = returned_data(outcome.details)
    return found if returned is None else {**found, "returnData": returned}


def moved(
    outcome: TransactionOutcome, keys: Sequence[Pubkey], decimals: Decimals
) -> dict[str, Any]:
    """Balances before and after, of coins and of tokens."""
    return {
        "preBalances": balances(outcome.before),
        "postBalances": balances(outcome.after),
        "preTokenBalances": _tokens(outcome.before, decimals),
        "postTokenBalances": _tokens(outcome.after, decimals),
    }


def _tokens(accounts: Sequence[Account | None], decimals: Decimals) -> list[dict[str, Any]]:
    found = []
    for index, account in enumerate(accounts):
        token = read_token_account(account)
        if account is None or token is None:
            continue
        places = decimals(token.mint)
        if places is None:
            continue
        found.append(
            {
                "accountIndex": index,
                "mint": str(token.mint),
                "owner": str(token.owner),
                "programId": str(account.owner),
                "uiTokenAmount": token_amount(token.amount, places),
            }
        )
    return found


def sandbox_keypair(key: bytes, name: str) -> Keypair:
    """The sandbox's own account of this name."""
    return Keypair.from_seed(key_seed(key, name))


def first_accounts(machine: SolanaMachine, key: bytes) -> dict[Pubkey, Account]:
    """Coins of the faucet, the maker and the exchanges, and the catalogue's mints with what maker
    and exchanges hold of them."""
    minter, maker = (sandbox_keypair(key, name).pubkey() for name in (MINTER, MAKER))
    lamports = wallet_lamports()
    wallets = {name: sandbox_keypair(key, name).pubkey() for name in lamports}
    rent, holding = (machine.rent_exempt(size) for size in (MINT_BYTES, TOKEN_ACCOUNT_BYTES))
    accounts = {
        sandbox_keypair(key, FAUCET).pubkey(): Account(FAUCET_LAMPORTS, b"", SYSTEM),
        maker: Account(MAKER_LAMPORTS, b"", SYSTEM),
        **{wallets[name]: Account(held, b"", SYSTEM) for name, held in lamports.items()},
    }
    for each in catalogue_mints():
        address = Pubkey.from_string(each.address)
        mint = Mint(minter, each.supply, each.decimals, True)
        accounts[address] = Account(rent, bytes(mint), TOKEN)
        holders = [(maker, each.held), *((wallets[name], units) for name, units in each.reserves)]
        for holder, units in holders:
            if units:
                accounts[token_account(holder, address)] = Account(
                    holding, bytes(_held(address, holder, units)), TOKEN
                )
    return accounts


def _held(mint: Pubkey, holder: Pubkey, units: int) -> TokenAccount:
    return TokenAccount(mint, holder, units, None, TokenAccountState.Initialized, None, 0)


class TransactionRefusal(Struct, frozen=True):
    """Why a transaction is not even executed, by Solana's name of it."""

    error: str


EXPIRED = TransactionRefusal("BlockhashNotFound")
REPEATED = TransactionRefusal("AlreadyProcessed")


class SolanaChain:
    """Opens or begins the chain in ``path``. ``now_ms`` is sandbox time."""

    def __init__(self, path: Path, key: bytes, now_ms: Callable[[], int]) -> None:
        self.store = SolanaStore(path)
        self.genesis = shown_hash(genesis_hash(key))
        meta = self.store.meta()
        if not meta:
            meta = {"genesis": self.genesis, "began_ms": str(now_ms())}
            first = first_accounts(SolanaMachine(), key)
            self.store.begin(meta, [_stored(address, each) for address, each in first.items()])
        self.slots = Slots(
            now_ms,
            began_ms=int(meta["began_ms"]),
            first=chains_by_name()[CHAIN].first_height,
            reached=self.store.reached(),
        )
        self.blockhashes = Blockhashes(key)
        self.machine = self._loaded()

    def refusal(
        self, transaction: VersionedTransaction, at: Instant, *, any_blockhash: bool = False
    ) -> TransactionRefusal | None:
        """Why it is not executed now, if so."""
        message = transaction.message
        blockhash = bytes(message.recent_blockhash)
        if not any_blockhash and not self.blockhashes.is_good(blockhash, at.height):
            return EXPIRED
        if self.store.executed(bytes(transaction.signatures[0]), bytes(message.hash())):
            return REPEATED
        return None

    def execute(self, transaction: VersionedTransaction) -> TransactionOutcome | TransactionRefusal:
        """Execute a transaction once; durable when this returns. One that could not pay, or is
        not signed, leaves nothing behind."""
        with self.slots.executing() as at:
            return self._execute(transaction, at)

    def _execute(
        self, transaction: VersionedTransaction, at: Instant
    ) -> TransactionOutcome | TransactionRefusal:
        refusal = self.refusal(transaction, at)
        if refusal is not None:
            return refusal
        outcome = self.machine.execute(transaction, at)
        if not outcome.charged:
            return outcome
        record = Record(
            signature=bytes(transaction.signatures[0]),
            message=bytes(transaction.message.hash()),
            height=at.height,
            seconds=at.seconds,
            raw=bytes(transaction),
            meta=json.dumps(record_meta(outcome, transaction, self.decimals)),
        )
        try:
            self._keep(record, transaction.message.account_keys, outcome)
        except sqlite3.Error:
            # Memory is ahead of the disk now; the disk is right.
            self.machine = self._loaded()
            raise
        return outcome

    def decimals(self, mint: Pubkey) -> int | None:
        """Of a mint, None when there is none."""
        found = read_mint(self.machine.get(mint))
        return None if found is None else found.decimals

    def close(self) -> None:
        self.store.close()

    def _keep(self, record: Record, keys: list[Pubkey], outcome: TransactionOutcome) -> None:
        changed, gone = [], []
        for address, before, after in zip(keys, outcome.before, outcome.after, strict=True):
            if after == before:
                continue
            if after is None:
                gone.append(bytes(address))
            else:
                changed.append(_stored(address, after))
        self.store.append(record, map(bytes, keys), changed, gone)

    def _loaded(self) -> SolanaMachine:
        machine = SolanaMachine()
        for address, account in self.store.accounts():
            machine.put(Pubkey.from_bytes(address), Account.from_bytes(account))
        return machine


def _stored(address: Pubkey, account: Account) -> StoredAccount:
    token = read_token_account(account)
    if token is None:
        return StoredAccount(bytes(address), bytes(account))
    return StoredAccount(
        bytes(address), bytes(account), bytes(account.owner), bytes(token.owner), bytes(token.mint)
    )
