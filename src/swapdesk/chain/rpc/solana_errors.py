"""How a call to a Solana node fails, and what is known then."""

from __future__ import annotations

from typing import Any


class SolanaError(Exception):
    """A call to the node failed."""


class SolanaUnreachable(SolanaError):
    """No connection: nothing happened."""


class SolanaUncertain(SolanaError):
    """The request left and no usable answer came back. A transaction may have been sent."""


class SolanaRefused(SolanaError):
    """The node answered with an error and did nothing. ``reason`` is Solana's JSON name of why a
    transaction would fail, None for other errors; ``logs`` are its programs'."""

    def __init__(self, code: int, message: str, reason: Any, logs: tuple[str, ...]) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.logs = logs
