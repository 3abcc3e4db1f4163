"""Whether the deposit address of an order may be shown, and who decided so.

An address is hidden from the start and released by one path alone: the order was created
for an intent of this desk, compared with it, repeated by the service and compared again. A
later contradiction hides it for good; nothing releases it after that. A floating rate that
falls before the deposit hides it until the user accepts less (``agreed_output``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class DepositRelease(StrEnum):
    """Stored with the order in the journal."""

    FOREIGN = "foreign"
    """Seen, but not confirmed at this desk: another program of the partner made it."""
    UNREPEATED = "unrepeated"
    """Created here; the service has not repeated it yet."""
    LOWER = "lower"
    """As confirmed but for less output than agreed to; the user may accept that."""
    DIFFERS = "differs"
    """Not what was confirmed."""
    CONTRADICTS = "contradicts"
    """A later answer named something else to pay or to receive."""
    RELEASED = "released"


MAY_FOLLOW: dict[DepositRelease, frozenset[DepositRelease]] = {
    DepositRelease.FOREIGN: frozenset(
        {DepositRelease.UNREPEATED, DepositRelease.DIFFERS, DepositRelease.CONTRADICTS}
    ),
    DepositRelease.UNREPEATED: frozenset(
        {
            DepositRelease.LOWER,
            DepositRelease.DIFFERS,
            DepositRelease.CONTRADICTS,
            DepositRelease.RELEASED,
        }
    ),
    DepositRelease.LOWER: frozenset(
        {
            DepositRelease.LOWER,
            DepositRelease.DIFFERS,
            DepositRelease.CONTRADICTS,
            DepositRelease.RELEASED,
        }
    ),
    DepositRelease.RELEASED: frozenset({DepositRelease.LOWER, DepositRelease.CONTRADICTS}),
    DepositRelease.DIFFERS: frozenset({DepositRelease.CONTRADICTS}),
    DepositRelease.CONTRADICTS: frozenset(),
}

FOREIGN_TEXT = "This order was not confirmed at this desk; its deposit address stays hidden."
IN_BATCH_TEXT = "This order is of a batch, which pays it; its deposit address stays hidden here."
UNREPEATED_TEXT = "The service has not repeated this order yet; its address stays hidden."
NO_ADDRESS_TEXT = "The service has not given the deposit address yet."
NO_SUCH_TEXT = "The service knows no order of this id. Nothing was paid, and nothing is to be paid."


@dataclass(frozen=True)
class ReleaseVerdict:
    """A standing with the sentence that says why; the sentence is None only when released."""

    standing: DepositRelease
    withheld: str | None

    @property
    def payable(self) -> bool:
        return self.standing is DepositRelease.RELEASED


FOREIGN = ReleaseVerdict(DepositRelease.FOREIGN, FOREIGN_TEXT)
UNREPEATED = ReleaseVerdict(DepositRelease.UNREPEATED, UNREPEATED_TEXT)
RELEASED = ReleaseVerdict(DepositRelease.RELEASED, None)


def contradiction(reason: str) -> ReleaseVerdict:
    return ReleaseVerdict(DepositRelease.CONTRADICTS, f"Do not pay this order: {reason}.")
