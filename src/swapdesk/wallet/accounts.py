"""The wallet of a profile, the chains it signs for, and its accounts as known without a pass
phrase."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from msgspec import Struct

from swapdesk.clock import IsoTime, iso

SANDBOX_PROFILE = "sandbox"
MAX_NAME = 32
RECORDS = "transactions.db"
"""The name of the file that records what a wallet signed, kept beside its keys."""


class Kind(StrEnum):
    EVM = "evm"
    SOLANA = "solana"


COIN_DECIMALS = {Kind.EVM: 18, Kind.SOLANA: 9}
"""Decimals of a chain's own coin by kind of chain; no token list is asked."""
MAX_DECIMALS = 255
"""The most decimals of a token: EVM chains and Solana store them in one byte."""


class KeyOrigin(StrEnum):
    """Where a key came from."""

    CREATED = "created"
    """Made here from the system's randomness; never shown in plain text."""
    MNEMONIC = "mnemonic"
    RAW = "raw"
    """A key given as 32 bytes in hexadecimal."""
    KEYSTORE = "keystore"
    """A key from a keystore v3 file."""
    KEYGEN = "keygen"
    """A key from a file of solana-keygen."""


class Account(Struct, frozen=True, forbid_unknown_fields=True):
    """One account: a key with its address, name and profile. ``address`` is unique in a wallet;
    ``path`` is set only for a key of a mnemonic."""

    PRINTED: ClassVar = {
        "address": "address", "kind": "kind", "name": "name", "profile": "profile",
        "origin": "origin", "path": "path", "created": "created_text",
    }  # fmt: skip

    address: str
    kind: Kind
    name: str
    profile: str
    origin: KeyOrigin
    path: str | None
    created: datetime

    @property
    def created_text(self) -> IsoTime:
        return iso(self.created)

    @property
    def sandboxed(self) -> bool:
        """True if the key signs for the chains of a sandbox only; False if it signs for live chains
        only."""
        return self.profile == SANDBOX_PROFILE


class UnusableKey(Struct, frozen=True, forbid_unknown_fields=True):
    """A key file that is not opened, with the reason."""

    file: str
    reason: str


class Accounts(Struct, frozen=True, forbid_unknown_fields=True):
    """The accounts of a wallet. ``unlocked`` are the addresses that can sign now; ``read_only`` is
    True if another desk has the wallet."""

    PRINTED: ClassVar = {
        "accounts": "accounts", "unusable": "unusable", "readOnly": "read_only",
    }  # fmt: skip

    accounts: tuple[Account, ...]
    unusable: tuple[UnusableKey, ...]
    unlocked: tuple[str, ...]
    read_only: bool

    def first(self, kind: Kind | None, named: str = "") -> Account | None:
        """Returns the first account of ``kind``. If ``named`` is not empty, only accounts with this
        name or address count, in upper or lower case. Returns None if there is no such account."""
        own = (account for account in self.accounts if account.kind is kind)
        wanted = named.lower()
        return next(
            (
                account
                for account in own
                if wanted in ("", account.name.lower(), account.address.lower())
            ),
            None,
        )


class ImportChoice(Struct, frozen=True, forbid_unknown_fields=True):
    """An address that an imported secret leads to, shown before the secret is used."""

    kind: Kind
    address: str
    path: str | None


def export_phrase(address: str) -> str:
    """Returns the phrase that the user types before a key leaves the wallet."""
    return f"export {address[-6:]}"


AUTO_LOCK_SECONDS = 900.0


def has_smart_accounts(*, live: bool) -> bool:
    """True if bundles can be paid on EVM chains. A factory of smart accounts is known only in the
    sandbox, and no setting names another."""
    return not live


class ChainLink(Struct, frozen=True, forbid_unknown_fields=True):
    """A chain by its short name, with the node that is used for it. ``chain_id`` is None on Solana;
    ``rpc`` is the node's URL. A transaction counts as final after ``confirmations`` blocks."""

    name: str
    kind: Kind
    chain_id: int | None
    rpc: str
    confirmations: int


class WalletPlace(Struct, frozen=True, forbid_unknown_fields=True):
    """The wallet of one profile and what the agent has to know about it. ``directory`` holds its
    keys. ``clock_offset`` is the number of seconds that sandbox time is ahead of the wall clock; a
    live profile always has 0. ``known`` are addresses that were paid before. ``makers`` are the
    Solana keys by which providers sign their half of a swap, each as (provider, key).

    Nothing in here can make the gate allow a spender that is no contract of the venue, or a
    document of unknown shape.
    """

    directory: str
    profile: str
    chains: tuple[ChainLink, ...] = ()
    auto_lock_seconds: float = AUTO_LOCK_SECONDS
    clock_offset: float = 0.0
    known: tuple[str, ...] = ()
    makers: tuple[tuple[str, str], ...] = ()

    @property
    def live(self) -> bool:
        return self.profile != SANDBOX_PROFILE
