"""What the wallet agent answers: its review of a payload, what it signed, and what an account has.

A review has every field and every finding, and a screen shows the review and nothing else. If the
trader agrees, the desk sends back the review's ``id`` and ``digest``, and the agent signs only what
it reviewed under them.

The agent writes a signed transaction down before anybody else sees a byte of it. Therefore a crash
may leave its outcome open, but never its content.

The wallet may be locked while the agent reads what an account has on a chain and who may take its
tokens. Amounts are integers of the token's smallest unit. None means that the token did not answer
as tokens do, which is not the same as a balance of 0.
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
"""The code of the finding that the chain did not answer. Nothing is signed in this case, although
no rule objects to the payload."""


class Severity(StrEnum):
    REFUSE = "refuse"
    WARN = "warn"


class RuleFinding(Struct, frozen=True, forbid_unknown_fields=True):
    """A finding of a rule of the gate. ``code`` is the rule's permanent name; ``field`` is the
    review line that the finding is about."""

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
    """Returns the sentences of all findings of this severity, each with its code."""
    return tuple(finding.sentence for finding in findings if finding.severity is severity)


class Match(StrEnum):
    """How a signed field compares with what the user confirmed."""

    EQUAL = "equal"
    DIFFERS = "differs"
    UNMATCHED = "unmatched"
    """Not in the quote: a label, or something only the trader can judge."""


class ReviewLine(Struct, frozen=True, forbid_unknown_fields=True):
    """One field of a payload in words: what is signed, what the quote promised, and whether the two
    agree. ``weight`` is True if a field that is not in the quote is more than a label (an address,
    an amount, a spender), so that the user has to type a phrase. ``units`` is an amount as it is
    signed, in base units."""

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
    """One balance change in a simulation: ``units`` of a token, negative if they leave
    ``holder``."""

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
        """The amount in base units, as text because most readers of JSON round whole numbers of
        this size."""
        return str(self.units)


class Simulation(Struct, frozen=True, forbid_unknown_fields=True):
    """The effects that the transaction would have on the chain now, at ``height``. ``failure`` is
    the contract's own error message."""

    PRINTED: ClassVar = {
        "height": "height", "gas": "gas", "failure": "failure", "changes": "changes",
    }  # fmt: skip

    height: int
    changes: tuple[BalanceChange, ...]
    gas: int
    failure: str | None = None


class EvmTerms(Struct, frozen=True, forbid_unknown_fields=True):
    """The fields that the agent adds to a call to make an EVM transaction: fees in wei per gas, and
    the limit ``gas``."""

    chain_id: int
    nonce: int
    gas: int
    max_fee: int
    max_priority: int


class Review(Struct, frozen=True, forbid_unknown_fields=True):
    """The agent's verdict on a payload. If any finding refuses, nothing can be signed. ``phrase``
    has to be typed; None if a yes is enough."""

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
    """True if the desk computed the same digest as the agent, False if it computed another one or
    could compute none. None if the digests were not compared, or if the review was refused anyway.
    The desk sets this value and ignores what the agent sends."""

    @property
    def refused(self) -> bool:
        return any(finding.severity is Severity.REFUSE for finding in self.findings)


TransactionCode = Literal["MINED", "FAILED", "REPLACED", "LOST", "ABANDONED"]
"""The detail of a transaction's state.

MINED (state sent): in a block, but with too few confirmations. The other codes have state refused.
FAILED: executed and reverted, so the gas is paid and nothing else moved. REPLACED: another
transaction of this wallet with the same nonce was executed. LOST: an unknown transaction used the
nonce, or the transaction can no longer be executed (Solana: its blockhash has expired). ABANDONED:
given up and never sent.
"""
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
    """A transaction that the wallet signed. ``nonce`` is None on Solana; ``last_valid_height`` (a
    block height) is None on EVM chains. ``replaces`` is the hash of the transaction whose nonce
    this one takes to pay more for gas."""

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
    """PREPARED once the transaction is recorded. UNKNOWN from just before its first byte is sent
    until a node confirms that it has the bytes; after that SENT."""
    nonce: int | None
    last_valid_height: int | None
    confirmations: int
    replaces: str | None
    created: datetime
    problem: str | None = None
    """The last message in which the node objected to the transaction; None if it never did."""
    code: TransactionCode | None = None

    @property
    def word(self) -> TransactionWord:
        """The state of the transaction in one word, as a screen shows it."""
        return cast("TransactionWord", self.code.lower()) if self.code else _WORDS[self.state]

    @property
    def final(self) -> bool:
        """True if the outcome can no longer change."""
        return self.state not in OPEN

    @property
    def mined(self) -> bool:
        return self.code == "MINED"

    @property
    def executed(self) -> bool:
        """True if the chain executed this transaction, and no other of the same nonce."""
        return self.state is State.DONE or self.code == "FAILED"

    @property
    def created_text(self) -> IsoTime:
        return iso(self.created)


class Signature(Struct, frozen=True, forbid_unknown_fields=True):
    """A signature of typed data: 0x and 65 bytes (r, s, v of 27 or 28) in hexadecimal. ``taken`` is
    the most of the token sold, in base units, that can be taken by everything signed under the
    intent."""

    digest: str
    signature: str
    taken: int


MAX_ASSETS = 500
"""The most tokens in one request."""


class Balance(Struct, frozen=True, forbid_unknown_fields=True):
    """A balance of one token. ``asset`` has the decimals that the chain states, whatever decimals
    were in the request."""

    asset: Asset
    units: int | None


class Balances(Struct, frozen=True, forbid_unknown_fields=True):
    """The balances of one account on one chain, in the order of the request. ``fee`` is the amount
    that has to remain in the account to pay for one payment in the coin, in the coin's smallest
    units. It is computed from the node's own fees. It is None if it was not asked for or the node
    states no fees."""

    balances: tuple[Balance, ...]
    fee: int | None = None


class Allowance(Struct, frozen=True, forbid_unknown_fields=True):
    """An approval: ``spender`` may take ``units`` of ``token`` at any time. ``venue`` is the code
    of the provider that owns the spender, None if unknown. ``permit2`` is True if the approval was
    given to ``spender`` in the contract Permit2, which takes the token for it. Such an approval
    expires at ``ends``."""

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
        """The amount in base units, as text because most readers of JSON round whole numbers of
        this size."""
        return str(self.units)

    @property
    def ends_text(self) -> IsoTime | None:
        return None if self.ends is None else iso(self.ends)


class Allowances(Struct, frozen=True, forbid_unknown_fields=True):
    """The approvals above 0 of one account on one chain. ``complete`` is True if every approval
    that the chain ever recorded was checked. It is False if the node does not return old events, or
    if there are too many. In that case only the known contracts were checked."""

    allowances: tuple[Allowance, ...]
    complete: bool


class SmartAccount(Struct, frozen=True, forbid_unknown_fields=True):
    """The smart account that pays the bundles of its owner on one chain. ``address`` is known even
    before the account is created there. ``balances`` are in the order of the request. ``prepaid``
    is the wei that the EntryPoint contract keeps for the account's gas, None if it could not be
    read. ``deployment`` is the call that creates the account, None if the account exists."""

    address: str
    balances: tuple[Balance, ...]
    prepaid: int | None
    deployment: TransactionPayload | None = None
