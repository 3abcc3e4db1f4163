"""What an account has on a chain and who may take of it, as the wallet agent read it.

Nothing here needs an unlocked wallet. Units are integers of the token's smallest unit; None is
a token that did not answer as tokens do, which is not the same as having none of it.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from msgspec import Struct

from swapdesk.clock import IsoTime, iso
from swapdesk.wallet.promise import Asset

MAX_ASSETS = 500
"""Most tokens of one question."""


class Balance(Struct, frozen=True, forbid_unknown_fields=True):
    """``asset`` has the decimals that the chain says, whatever it was asked with."""

    asset: Asset
    units: int | None


class Balances(Struct, frozen=True, forbid_unknown_fields=True):
    """Of one account on one chain, in the sequence they were asked for. ``fee`` is what has to
    stay behind of the coin so that one payment in it goes through, in its smallest units as the
    node states fees; None where it was not asked for or is not stated."""

    balances: tuple[Balance, ...]
    fee: int | None = None


class Allowance(Struct, frozen=True, forbid_unknown_fields=True):
    """``spender`` may take ``units`` of ``token`` at any time; ``venue`` is the code of the
    provider whose contract it is, None for one that is not known here. ``permit2``: it was given
    in Permit2, which takes the token itself as far as it is allowed to, and it ``ends``."""

    PRINTED: ClassVar = {
        "token": "token.contract", "symbol": "token.symbol", "spender": "spender",
        "venue": "venue", "units": "written_units", "unlimited": "unlimited",
        "permit2": "permit2", "ends": "ends_text",
    }  # fmt: skip

    token: Asset
    spender: str
    units: int
    unlimited: bool
    venue: str | None = None
    permit2: bool = False
    ends: datetime | None = None

    @property
    def written_units(self) -> str:
        """Base units as a text: most readers of JSON round whole numbers of this size."""
        return str(self.units)

    @property
    def ends_text(self) -> IsoTime | None:
        return None if self.ends is None else iso(self.ends)


class Allowances(Struct, frozen=True, forbid_unknown_fields=True):
    """Of one account on one chain, those above nothing.

    ``complete``: every approval that the chain ever recorded was looked at. Without it, because
    the node does not tell old events or tells too many, the known contracts alone were asked.
    """

    allowances: tuple[Allowance, ...]
    complete: bool


class CallData(Struct, frozen=True, forbid_unknown_fields=True):
    """A call that the agent encoded: ``to`` a contract, ``data`` as 0x-hex."""

    to: str
    data: str


class SmartAccount(Struct, frozen=True, forbid_unknown_fields=True):
    """The account that pays the bundles of its owner on one chain, at its counterfactual
    ``address``. ``balances`` are in the sequence they were asked for, ``prepaid`` the wei that the
    EntryPoint keeps for its gas, None where it did not tell. ``deployment`` is the call that puts
    it there, None where it stands."""

    address: str
    balances: tuple[Balance, ...]
    prepaid: int | None
    deployment: CallData | None = None


class SolanaDraft(Struct, frozen=True, forbid_unknown_fields=True):
    """A transaction that the agent built, in base64 and without a signature; it is executed at
    ``last_valid_height`` at last."""

    transaction: str
    last_valid_height: int
