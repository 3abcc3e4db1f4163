"""Names to try the sandbox with; their addresses have the right form and belong to nobody."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from swapdesk.chain.addresses.kind import with_article
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS, derive_address
from swapdesk.flows.payees.book_file import Entry, entry_toml, write_book

_NAMED: tuple[tuple[str, str, str | None, str], ...] = (
    ("bob", "evm", None, "a friend with an Ethereum wallet"),
    ("cold", "bitcoin", None, "a wallet in the drawer"),
    ("sol", "sol", None, "a friend with a Solana wallet"),
    ("mona", "xmr", None, "a friend with a Monero wallet"),
    ("rita", "xrp", "20117", "an account at an exchange, with its tag"),
    ("lars", "ltc", None, "a friend with a Litecoin wallet"),
    ("stella", "xlm", "7741", "an account at an exchange, with its memo"),
    ("timur", "ton", None, "a friend with a TON wallet"),
    ("tran", "tron", None, "a friend with a Tron wallet"),
    ("suki", "sui", None, "a friend with a Sui wallet"),
    ("kabo", "doge", None, "a friend with a Dogecoin wallet"),
    ("ada", "ada", None, "a friend with a Cardano wallet"),
    ("dora", "dot", None, "a friend with a Polkadot wallet"),
    ("cosima", "cosmos", "31415", "an account at an exchange, with its memo"),
    ("cash", "bch", None, "a friend with a Bitcoin Cash wallet"),
    ("dasha", "dash", None, "a friend with a Dash wallet"),
    ("algie", "algo", None, "a friend with an Algorand wallet"),
)
"""Name, kind, memo and note."""


def _starters() -> Iterator[tuple[str, str, str | None, str]]:
    """An entry for each kind; a kind without a row is called by its own name."""
    yield from _NAMED
    named = {kind for _, kind, _, _ in _NAMED}
    for kind in ADDRESS_KINDS.values():
        if kind.name not in named:
            memo = "31415" if kind.memo is not None and kind.memo.per_client else None
            yield kind.name, kind.name, memo, f"a friend with {with_article(kind.chain)} wallet"


STARTERS = tuple(_starters())
"""The sandbox's first entries."""


def write_starters(path: Path) -> bool:
    """Entries to try the sandbox with, one for each kind of chain; False when a file exists.

    Their addresses have the right form and belong to nobody.
    """
    if path.exists():
        return False
    head = "# Names for addresses: write @bob where a recipient is asked for.\n"
    tables = [
        entry_toml(Entry(name, _starter_address(name, kind), kind, None, memo, note))
        for name, kind, memo, note in STARTERS
    ]
    write_book(path, "\n".join([head, *tables]))
    return True


def _starter_address(name: str, kind: str) -> str:
    return derive_address(kind, hashlib.sha256(f"address book {name}".encode()).digest())
