"""How the node of a chain misbehaves on demand (interfaces 2): the seam, and faults in memory."""

from __future__ import annotations

from typing import Literal, Protocol

ChainFault = Literal["node_down", "forged_receipt", "drop_transaction"]


class ChainFaults(Protocol):
    """Asked whenever a fault could happen; an answer of True uses one up."""

    def is_down(self, chain: str) -> bool:
        """Whether the next request gets no answer."""

    def forges_receipt(self, chain: str) -> bool:
        """Whether the next receipt tells the opposite of what happened."""

    def takes_transaction(self, chain: str) -> bool:
        """Whether the next transaction is taken, and forgotten."""


class HeldFaults:
    """Faults in memory: so many times, or until they are cleared."""

    def __init__(self) -> None:
        self._left: dict[tuple[str, str], int | None] = {}

    def add(self, chain: str, fault: ChainFault, times: int | None = None) -> None:
        self._left[(chain, fault)] = times

    def clear(self) -> None:
        self._left.clear()

    def is_down(self, chain: str) -> bool:
        return self._meets(chain, "node_down")

    def forges_receipt(self, chain: str) -> bool:
        return self._meets(chain, "forged_receipt")

    def takes_transaction(self, chain: str) -> bool:
        return self._meets(chain, "drop_transaction")

    def _meets(self, chain: str, fault: ChainFault) -> bool:
        if (chain, fault) not in self._left:
            return False
        left = self._left[(chain, fault)]
        if left is not None:
            if left <= 1:
                del self._left[(chain, fault)]
            else:
                self._left[(chain, fault)] = left - 1
        return True
