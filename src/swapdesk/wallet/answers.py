"""What the wallet agent answers: what it makes of a payload, what it signed, and what an account
has.

A review has every field and every finding. A screen shows this and nothing else; ``s`` sends back
``id`` and ``digest``, and the agent signs only what it reviewed under them.

The agent writes a transaction down before anybody else sees a byte of it, so after any crash the
question is only what became of it, never what it was.

What an account has on a chain and who may take of it needs no unlocked wallet. Units are integers
of the token's smallest unit; None is a token that did not answer as tokens do, which is not the
same as having none of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Literal, cast

from msgspec import Struct

from swapdesk.acts import OPEN, State
from swapdesk.clock import IsoTime, iso
from swapdesk.wallet.promise import Asset, Purpose, TransactionPayload

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

    @property
    def sentence(self) -> str:
        return f"{self.words} Rule {self.code}."


def objections(
    findings: Sequence[RuleFinding], severity: Severity = Severity.REFUSE
) -> tuple[str, ...]:
    """What the rules say against it so severely, each with its code."""
    return tuple(finding.sentence for finding in findings if finding.severity is severity)


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
        return any(finding.severity is Severity.REFUSE for finding in self.findings)


TransactionCode = Literal["MINED", "FAILED", "REPLACED", "LOST", "ABANDONED"]
"""More than the state of a transaction says: sent and MINED is in a block, with fewer
confirmations than count. Refused are FAILED, executed and reverted: the gas is paid and nothing
else moved; REPLACED by another transaction of this wallet with the same nonce; LOST, whose nonce
was used by a transaction that this wallet does not know, or which can no longer be executed
(Solana: its blockhash has expired); and ABANDONED, never sent and given up."""
TransactionWord = Literal[
    "signed", "sending", "sent", "mined", "succeeded", "failed", "replaced", "lost", "abandoned"
]
_WORDS: Mapping[State, TransactionWord] = {
    State.PREPARED: "signed",
    State.UNKNOWN: "sending",
    State.SENT: "sent",
    State.DONE: "succeeded",
}


class SignedTransaction(Struct, frozen=True, forbid_unknown_fields=True):
    """``nonce`` is None on Solana, ``last_valid_height`` (of blocks) None on EVM chains;
    ``replaces`` is the hash of the one whose nonce it shares to pay more for gas."""

    PRINTED: ClassVar = {
        "hash": "hash", "intentId": "intent_id", "purpose": "purpose", "chain": "chain",
        "account": "account", "state": "word", "nonce": "nonce",
        "confirmations": "confirmations", "replaces": "replaces", "created": "created_text",
        "problem": "problem",
    }  # fmt: skip

    hash: str
    intent_id: str
    purpose: Purpose
    chain: str
    account: str
    state: State
    """Prepared once it is written down; unknown from before a byte of it leaves until a node says
    that it has it; then sent."""
    nonce: int | None
    last_valid_height: int | None
    confirmations: int
    replaces: str | None
    created: datetime
    problem: str | None = None
    """What the node last said against it."""
    code: TransactionCode | None = None

    @property
    def word(self) -> TransactionWord:
        """How it stands, as it is shown."""
        return cast("TransactionWord", self.code.lower()) if self.code else _WORDS[self.state]

    @property
    def final(self) -> bool:
        """Nothing can come of it any more."""
        return self.state not in OPEN

    @property
    def mined(self) -> bool:
        return self.code == "MINED"

    @property
    def executed(self) -> bool:
        """The chain took it, and no other of its nonce."""
        return self.state is State.DONE or self.code == "FAILED"

    @property
    def created_text(self) -> IsoTime:
        return iso(self.created)


class Signature(Struct, frozen=True, forbid_unknown_fields=True):
    """Of typed data: 0x and 65 bytes (r, s, v of 27 or 28) in hexadecimal. ``taken`` is the most
    of the token sold that everything signed under the intent lets be taken, in base units."""

    digest: str
    signature: str
    taken: int


MAX_ASSETS = 500
"""Most tokens in one question."""


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


class SmartAccount(Struct, frozen=True, forbid_unknown_fields=True):
    """The account that pays the bundles of its owner on one chain, at its counterfactual
    ``address``. ``balances`` are in the sequence they were asked for, ``prepaid`` the wei that the
    EntryPoint keeps for its gas, None where it did not tell. ``deployment`` is the call that puts
    it there, None where it stands."""

    address: str
    balances: tuple[Balance, ...]
    prepaid: int | None
    deployment: TransactionPayload | None = None
