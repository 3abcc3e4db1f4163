"""What the wallet agent says of a payload before it signs: every field, every finding.

A screen shows this and nothing else; ``s`` sends back ``id`` and ``digest``, and the agent
signs only what it reviewed under them.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import ClassVar

from msgspec import Struct

CHAIN_UNREAD = "CHAIN_UNREAD"
"""Code of the finding that the chain did not answer: nothing is signed, and nothing is said
against the payload either."""


class Severity(StrEnum):
    REFUSE = "refuse"
    WARN = "warn"


class RuleFinding(Struct, frozen=True, forbid_unknown_fields=True):
    """A rule of the gate that had something to say. ``code`` names the rule for ever;
    ``field`` the line it is about."""

    PRINTED: ClassVar = {"code": "code", "severity": "severity", "message": "words"}

    code: str
    severity: Severity
    words: str
    field: str | None = None


class Match(StrEnum):
    """How a signed field stands to what the user confirmed."""

    EQUAL = "equal"
    DIFFERS = "differs"
    UNMATCHED = "unmatched"
    """Not in the quote: a label, or something only the trader can judge."""


class ReviewLine(Struct, frozen=True, forbid_unknown_fields=True):
    """One field in words: what is signed, what the quote promised, and whether they agree.

    ``weight`` is True where an unmatched field is more than a label (an address, an amount,
    a spender) and asks for a typed phrase. ``units`` is an amount as it is signed, in base units.
    """

    PRINTED: ClassVar = {
        "field": "field", "signed": "signed", "promised": "promised", "match": "match",
        "weight": "weight",
    }  # fmt: skip

    field: str
    signed: str
    promised: str
    match: Match
    weight: bool = False
    units: int | None = None


class BalanceChange(Struct, frozen=True, forbid_unknown_fields=True):
    """What a simulation moved: ``units`` of a token, negative when they leave ``holder``."""

    PRINTED: ClassVar = {
        "holder": "holder", "symbol": "symbol", "contract": "contract", "units": "written_units",
    }  # fmt: skip

    holder: str
    symbol: str
    contract: str | None
    decimals: int | None
    units: int

    @property
    def written_units(self) -> str:
        """Base units as a text: most readers of JSON round whole numbers of this size."""
        return str(self.units)


class Simulation(Struct, frozen=True, forbid_unknown_fields=True):
    """What the chain would do now, at ``height``; ``failure`` in the words of the contract."""

    PRINTED: ClassVar = {
        "height": "height", "gas": "gas", "failure": "failure", "changes": "changes",
    }  # fmt: skip

    height: int
    changes: tuple[BalanceChange, ...]
    gas: int
    failure: str | None = None


class EvmTerms(Struct, frozen=True, forbid_unknown_fields=True):
    """What the agent adds to a call to make an EVM transaction of it: fees in wei per gas, ``gas``
    a limit."""

    chain_id: int
    nonce: int
    gas: int
    max_fee: int
    max_priority: int


class Review(Struct, frozen=True, forbid_unknown_fields=True):
    """The agent's verdict. Any finding to refuse means that nothing can be signed. ``phrase``
    has to be typed; None when a yes is enough."""

    PRINTED: ClassVar = {
        "title": "title", "digest": "digest", "refused": "refused", "phrase": "phrase",
        "validUntil": "valid_until", "lines": "lines", "findings": "findings",
        "simulation": "simulation",
    }  # fmt: skip

    id: str
    title: str
    account: str
    chain: str
    digest: str
    lines: tuple[ReviewLine, ...]
    findings: tuple[RuleFinding, ...]
    simulation: Simulation | None
    valid_until: datetime
    phrase: str | None = None
    terms: EvmTerms | None = None
    agreed: bool | None = None
    """Whether the desk computed the same digest; None where it computes none. The desk says it,
    whatever the agent tells."""

    @property
    def refused(self) -> bool:
        return any(one.severity is Severity.REFUSE for one in self.findings)
