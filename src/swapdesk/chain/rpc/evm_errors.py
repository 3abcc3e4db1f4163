"""How a call to an EVM node fails, told apart by what is known of its effect."""

from __future__ import annotations

from swapdesk.chain.rpc.reverts import WORDS_LIMIT, revert_words

REVERTED = 3
"""Code of a call that was executed and reverted."""

NO_METHOD = -32601


class EvmError(Exception):
    """A call to the node failed."""


class EvmUnreachable(EvmError):
    """No connection came about: nothing was sent, nothing happened."""


class EvmUncertain(EvmError):
    """The request left and no usable answer came back. A transaction may have been taken."""


class EvmRefused(EvmError):
    """The node answered with an error: nothing happened on the chain.

    ``code`` and ``data`` are those of the answer; ``words`` is the message, or the decoded
    reason of a revert. Words are data of others: cut, and printable ASCII.
    """

    def __init__(self, code: int, message: str, data: bytes = b"") -> None:
        self.code = code
        self.data = data
        cut = "".join(c if c.isascii() and c.isprintable() else "?" for c in message[:WORDS_LIMIT])
        self.words = revert_words(data) or cut
        super().__init__(f"{self.words} ({code})")

    @property
    def reverted(self) -> bool:
        """Whether the call itself failed, rather than the request."""
        return self.code == REVERTED or bool(self.data)
