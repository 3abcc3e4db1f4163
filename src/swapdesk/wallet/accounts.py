"""Which wallet, which chains it signs for, and its accounts as known without a pass phrase."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from msgspec import Struct

from swapdesk.clock import IsoTime, iso

SANDBOX_PROFILE = "sandbox"
MAX_NAME = 32
RECORDS = "transactions.db"
"""The file of what a wallet signed, beside its keys."""


class Kind(StrEnum):
    EVM = "evm"
    SOLANA = "solana"


COIN_DECIMALS = {Kind.EVM: 18, Kind.SOLANA: 9}
"""Decimals of a chain's own coin follow from the kind of chain, not from any list."""
MAX_DECIMALS = 255
"""Decimals of a token are one byte on EVM chains and on Solana."""


class KeyOrigin(StrEnum):
    """Where a key came from."""

    CREATED = "created"
    """Made here from the system's randomness; never shown in plain text."""
    MNEMONIC = "mnemonic"
    RAW = "raw"
    """32 bytes in hexadecimal."""
    KEYSTORE = "keystore"
    """A keystore v3 file."""
    KEYGEN = "keygen"
    """A file of solana-keygen."""


class Account(Struct, frozen=True, forbid_unknown_fields=True):
    """One key. ``address`` is unique in a wallet; ``path`` is set for a mnemonic's."""

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
        """Whether the key signs for the chains of a sandbox only; else for live ones only."""
        return self.profile == SANDBOX_PROFILE


class UnusableKey(Struct, frozen=True, forbid_unknown_fields=True):
    """A key file that is not opened, and why."""

    file: str
    reason: str


class Accounts(Struct, frozen=True, forbid_unknown_fields=True):
    """What is in a wallet. ``unlocked`` are the addresses that can sign now; ``read_only``
    that another desk has the wallet."""

    PRINTED: ClassVar = {
        "accounts": "accounts", "unusable": "unusable", "readOnly": "read_only",
    }  # fmt: skip

    accounts: tuple[Account, ...]
    unusable: tuple[UnusableKey, ...]
    unlocked: tuple[str, ...]
    read_only: bool

    def first(self, kind: Kind | None, named: str = "") -> Account | None:
        """The first one of a kind, by name or address where it is ``named``, in any case."""
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
    """An address that a secret leads to, shown before it is used."""

    kind: Kind
    address: str
    path: str | None


def export_phrase(address: str) -> str:
    """What has to be typed before a key leaves the wallet."""
    return f"export {address[-6:]}"


AUTO_LOCK_SECONDS = 900.0


def has_smart_accounts(*, live: bool) -> bool:
    """Whether bundles on EVM chains can be paid: who makes smart accounts is known in the sandbox
    alone, and no setting names anybody."""
    return not live


class ChainLink(Struct, frozen=True, forbid_unknown_fields=True):
    """A chain by its short name. ``chain_id`` is None on Solana; ``rpc`` is the URL of a node;
    after ``confirmations`` blocks a transaction counts."""

    name: str
    kind: Kind
    chain_id: int | None
    rpc: str
    confirmations: int


class WalletPlace(Struct, frozen=True, forbid_unknown_fields=True):
    """The wallet of one profile.

    ``directory`` holds its keys; ``clock_offset`` is sandbox time ahead of the wall, and 0 for
    a live profile whatever is said. ``known`` are addresses that were paid before, ``makers`` the
    Solana keys of providers, each (provider, key). Nothing here lets the gate allow a spender that
    is no venue's, or a document of unknown shape.
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
