"""The embedded Solana chain. LiteSVM executes each transaction once, and the result is on disk
before a client gets an answer.

On disk are one snapshot of the beginning and a log of all transactions with the accounts that they
changed; a start executes nothing again.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from solders.account import Account
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.token.state import Mint, TokenAccount, TokenAccountState
from solders.transaction import VersionedTransaction

from swapdesk.chain.solana import SYSTEM, TOKEN, Memo, token_account
from swapdesk.sandbox.node.mined_log import ChainFileMismatch, MinedLog
from swapdesk.sandbox.node.solana.genesis import (
    FAUCET,
    FAUCET_LAMPORTS,
    MAKER,
    MAKER_LAMPORTS,
    MINTER,
    catalogue_mints,
    genesis_hash,
    key_seed,
    wallet_lamports,
)
from swapdesk.sandbox.node.solana.machine import (
    MINT_BYTES,
    TOKEN_ACCOUNT_BYTES,
    Blocks,
    SolanaMachine,
    TransactionOutcome,
    read_mint,
    read_token_account,
    record_meta,
)
from swapdesk.sandbox.node.solana.terms import CHAIN


class FirstState(Struct, frozen=True, array_like=True):
    """A chain's first snapshot: genesis hash, sandbox time of its beginning, and serialized
    accounts by address."""

    genesis: str
    began_ms: int
    accounts: dict[bytes, bytes]


class Mined(Struct, frozen=True, array_like=True):
    """An executed transaction, with its ``error`` (None for success) and ``meta`` in Solana's JSON.
    The accounts that it changed are serialized; a deleted account is None."""

    height: int
    seconds: int
    raw: bytes
    error: Any
    meta: bytes
    changed: dict[bytes, bytes | None]

    @property
    def signature(self) -> bytes:
        # One byte tells how many there are: a packet holds less than 128.
        return self.raw[1:65]

    @property
    def transaction(self) -> VersionedTransaction:
        return VersionedTransaction.from_bytes(self.raw)


def sandbox_keypair(key: bytes, name: str) -> Keypair:
    return Keypair.from_seed(key_seed(key, name))


EXPIRED, REPEATED = "BlockhashNotFound", "AlreadyProcessed"
"""Solana's names of two refusals: the blockhash is not valid, or the transaction was executed
before."""


class SolanaChain:
    """The chain in ``directory``, created if missing. ``now_ms`` returns sandbox time in
    milliseconds. Raises OSError, LogDamaged, and ChainFileMismatch if the stored chain began with
    other tokens or signing keys."""

    def __init__(self, directory: Path, key: bytes, now_ms: Callable[[], int]) -> None:
        self.genesis = genesis_hash(key)
        self.machine = SolanaMachine()
        self._log = MinedLog(directory, CHAIN)
        self._mined: list[Mined] = []
        self._places: dict[bytes, int] = {}
        self._naming: dict[Pubkey, list[int]] = defaultdict(list)
        self._messages: set[bytes] = set()
        self._held: dict[Pubkey, set[Pubkey]] = defaultdict(set)
        """The addresses of token accounts that each owner has or once had."""
        snapshot, payloads = self._log.read()
        if snapshot is None:
            snapshot = msgspec.msgpack.encode(
                FirstState(self.genesis, now_ms(), first_accounts(self.machine, key))
            )
            self._log.replace(snapshot)
        first = msgspec.msgpack.decode(snapshot, type=FirstState)
        if first.genesis != self.genesis:
            self._log.close()
            raise ChainFileMismatch(
                f"{directory} holds a Solana chain that was begun with other tokens or keys; choose"
                " another data directory, or remove it to begin a new world"
            )
        mined = msgspec.msgpack.Decoder(Mined)
        accounts: dict[bytes, bytes | None] = {**first.accounts}
        for payload in payloads:
            transaction = mined.decode(payload)
            self._note(transaction)
            accounts |= transaction.changed
        for address, account in accounts.items():
            self._put(address, account)
        reached = self._mined[-1].height if self._mined else 0
        self.blocks = Blocks(key, now_ms, began_ms=first.began_ms, reached=reached)

    def signed(
        self, instructions: Sequence[Instruction], memo: str, *signers: Keypair
    ) -> tuple[VersionedTransaction, int]:
        """Returns a signed transaction and the last height at which it is valid. The first signer
        pays the fee. Give each transaction its own ``memo``, because equal ones are executed only
        once."""
        blockhash, last = self.blocks.latest(self.blocks.now().height)
        message = MessageV0.try_compile(
            signers[0].pubkey(),
            [*instructions, Memo(memo).build()],
            [],
            Hash.from_bytes(blockhash),
        )
        return VersionedTransaction(message, signers), last

    def refusal(
        self, transaction: VersionedTransaction, *, any_blockhash: bool = False
    ) -> TransactionOutcome | None:
        """Returns why a transaction must not be executed now, for example because it was executed
        before; None if it may be executed. If ``any_blockhash`` is True, its blockhash is not
        checked."""
        message = transaction.message
        if not any_blockhash and not self.blocks.is_good(bytes(message.recent_blockhash)):
            return TransactionOutcome(EXPIRED)
        if bytes(message.hash()) in self._messages:
            return TransactionOutcome(REPEATED)
        return None

    def execute(self, transaction: VersionedTransaction) -> TransactionOutcome:
        """Executes a transaction at most once; the result is durable on return. A transaction that
        is refused, unsigned or unable to pay its fee changes nothing. An OSError means that nothing
        changed."""
        refused = self.refusal(transaction)
        if refused is not None:
            return refused
        at = self.blocks.now()
        outcome = self.machine.execute(transaction, at)
        if outcome.details is None or not outcome.charged:
            return outcome
        keys = transaction.message.account_keys
        meta = record_meta(outcome, outcome.details, self.decimals)
        moved = [
            (key, before, after)
            for key, before, after in zip(keys, outcome.before, outcome.after, strict=True)
            if before != after
        ]
        mined = Mined(
            at.height,
            at.seconds,
            bytes(transaction),
            outcome.error,
            json.dumps(meta).encode(),
            {bytes(key): None if after is None else bytes(after) for key, _, after in moved},
        )
        try:
            self._log.append(msgspec.msgpack.encode(mined))
        except OSError:
            # Memory is ahead of the disk now; the disk is right.
            for key, before, _ in moved:
                self.machine.put(key, before)
            raise
        self._note(mined)
        for key, _, after in moved:
            self._index(key, after)
        return outcome

    def find(self, signature: bytes) -> Mined | None:
        place = self._places.get(signature)
        return None if place is None else self._mined[place]

    def between(self, first: int, last: int) -> list[Mined]:
        """Returns the transactions that were executed at the heights ``first`` to ``last``, in
        order."""
        low, high = (
            bisect_left(self._mined, at, key=attrgetter("height")) for at in (first, last + 1)
        )
        return self._mined[low:high]

    def naming(self, address: Pubkey, before: bytes | None, until: bytes | None) -> Iterable[Mined]:
        """Returns the transactions that name an address, newest first. Only transactions older than
        the signature ``before`` and newer than ``until`` are included; None or an unknown signature
        sets no limit."""
        high = len(self._mined) if before is None else self._places.get(before, len(self._mined))
        low = -1 if until is None else self._places.get(until, -1)
        places = self._naming.get(address, ())
        return (self._mined[place] for place in reversed(places) if low < place < high)

    def held(self, owner: Pubkey) -> list[tuple[Pubkey, Account, TokenAccount]]:
        """Returns the owner's token accounts as (address, account, decoded content), sorted by
        address."""
        accounts = []
        for address in sorted(self._held.get(owner, ()), key=bytes):
            account = self.machine.get(address)
            token = read_token_account(account)
            if account is not None and token is not None and token.owner == owner:
                accounts.append((address, account, token))
        return accounts

    def units(self, owner: Pubkey, mint: Pubkey) -> int:
        held = read_token_account(self.machine.get(token_account(owner, mint)))
        return 0 if held is None else int(held.amount)

    def decimals(self, mint: Pubkey) -> int | None:
        """Returns the decimals of a mint; None if there is no such mint."""
        account = read_mint(self.machine.get(mint))
        return None if account is None else account.decimals

    def close(self) -> None:
        self._log.close()

    def _note(self, mined: Mined) -> None:
        message = mined.transaction.message
        for key in message.account_keys:
            self._naming[key].append(len(self._mined))
        self._messages.add(bytes(message.hash()))
        self._places[mined.signature] = len(self._mined)
        self._mined.append(mined)

    def _put(self, address: bytes, raw: bytes | None) -> None:
        key = Pubkey.from_bytes(address)
        account = None if raw is None else Account.from_bytes(raw)
        self.machine.put(key, account)
        self._index(key, account)

    def _index(self, address: Pubkey, account: Account | None) -> None:
        token = read_token_account(account)
        if token is not None:
            self._held[token.owner].add(address)


def first_accounts(machine: SolanaMachine, key: bytes) -> dict[bytes, bytes]:
    """Returns the accounts with which the chain begins, serialized, by address."""
    minter, maker = (sandbox_keypair(key, name).pubkey() for name in (MINTER, MAKER))
    lamports = wallet_lamports()
    wallets = {name: sandbox_keypair(key, name).pubkey() for name in lamports}
    rent, holding = (machine.rent_exempt(size) for size in (MINT_BYTES, TOKEN_ACCOUNT_BYTES))
    accounts = {
        sandbox_keypair(key, FAUCET).pubkey(): Account(FAUCET_LAMPORTS, b"", SYSTEM),
        maker: Account(MAKER_LAMPORTS, b"", SYSTEM),
        **{wallets[name]: Account(held, b"", SYSTEM) for name, held in lamports.items()},
    }
    for first_mint in catalogue_mints():
        address = Pubkey.from_string(first_mint.address)
        mint = Mint(minter, first_mint.supply, first_mint.decimals, True)
        accounts[address] = Account(rent, bytes(mint), TOKEN)
        holders = [
            (maker, first_mint.held),
            *((wallets[name], units) for name, units in first_mint.reserves),
        ]
        for holder, units in holders:
            if units:
                held = TokenAccount(
                    address, holder, units, None, TokenAccountState.Initialized, None, 0
                )
                accounts[token_account(holder, address)] = Account(holding, bytes(held), TOKEN)
    return {bytes(address): bytes(account) for address, account in accounts.items()}
