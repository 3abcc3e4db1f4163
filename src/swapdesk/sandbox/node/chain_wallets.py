"""What the exchanges' books ask of an embedded chain: wallets that sign, and blocks to read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct

from swapdesk.sandbox.world import WorldToken


class SignedPayment(Struct, frozen=True):
    """``raw`` is written down before anybody else sees it; ``hash`` as the chain spells it.
    ``expires`` is the last height at which it may be executed, None where it waits for ever."""

    raw: bytes
    hash: str
    expires: int | None = None


class IncomingPayment(Struct, frozen=True):
    """A payment in a block. ``position`` tells payments of one transaction apart; ``token`` is
    the contract (mint on Solana), None for the coin; ``seconds`` is the block's time."""

    hash: str
    position: int
    height: int
    seconds: int
    token: str | None
    sender: str
    receiver: str
    units: int


Inclusion = tuple[int, bool]
"""Height of the block that a transaction is in, and whether it did what it was to do."""


class ChainWallets(Protocol):
    """One embedded chain. All but ``address`` and ``is_open`` open it."""

    name: str
    began: int
    """Height before the first block in which anybody can have paid."""
    at_once: int
    """Blocks that are read at a time; so often it is noted how far the chain was read."""

    @property
    def is_open(self) -> bool:
        """Whether anybody can have paid on it: what is stored is open from the start, anything
        else from when it is first needed."""

    def address(self, wallet: str) -> str:
        """Of one of the sandbox's own wallets."""

    def sign(
        self, wallet: str, number: int, token: WorldToken, receiver: str, units: int
    ) -> SignedPayment:
        """The wallet's payment ``number`` (from 0)."""

    def submit(self, raw: bytes) -> None:
        """Hand in a payment; the same one any number of times."""

    def mined(self, transaction_hash: str) -> Inclusion | None:
        """None while it is in no block."""

    def refusal(self, transaction_hash: str) -> str | None:
        """Why the chain does not execute a payment that was submitted, where it says so."""

    def balance(self, token: WorldToken, address: str) -> int:
        """Base units at the newest block."""

    @property
    def height(self) -> int:
        """Of the newest block to which nothing more is added."""

    def arrivals(self, first: int, last: int) -> Iterable[IncomingPayment]:
        """Every payment in these blocks, in their order."""
