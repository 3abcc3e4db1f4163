"""The answers of the wallet agent: reviews of payloads, records of signed transactions, and the
balances and approvals of an account.

A review has every field of the payload and every finding of the agent's rules, and a screen shows
nothing but the review. If the trader agrees, the desk sends back the review's ``id`` and
``digest``, and the agent signs only the payload that it reviewed under them.

The agent records a signed transaction before it hands out a byte of it. After a crash it may
therefore be unknown whether the transaction was executed, but never what it says.

Balances and approvals can be read while the wallet is locked. Amounts are integers of the token's
smallest unit. A balance of None means that the contract did not answer as a token does; this is not
the same as a balance of 0.
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
"""The code of the finding that the chain could not be read. The payload is refused in this case
even if no rule objects to it."""


class Severity(StrEnum):
    REFUSE = "refuse"
    WARN = "warn"


class RuleFinding(Struct, frozen=True, forbid_unknown_fields=True):
    """An objection or warning of the agent's rules. ``code`` is the rule's permanent name.
    ``field`` names a review line, None if no single line is concerned."""

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
    """Returns the findings of this severity as sentences, each with its rule's code."""
    return tuple(finding.sentence for finding in findings if finding.severity is severity)


class Match(StrEnum):
    """The result of comparing a signed field with what the user confirmed."""

    EQUAL = "equal"
    DIFFERS = "differs"
    UNMATCHED = "unmatched"
    """The quote has nothing to compare the field with: it is a label, or something that only the
    trader can judge."""


class ReviewLine(Struct, frozen=True, forbid_unknown_fields=True):
    """One field of a payload in words: the value to be signed, the confirmed value, and whether the
    two agree."""

    PRINTED: ClassVar = {
        "field": "field", "signed": "signed", "promised": "promised", "match": "match",
        "weight": "weight",
    }  # fmt: skip

    field: str
    signed: str
    promised: str
    match: Match
    weight: bool = False
    """True for an important field (an address, an amount, a spender) that the quote lacks, so that
    the user has to type a phrase."""
    units: int | None = None
    """A signed amount in base units; None for other fields."""


class BalanceChange(Struct, frozen=True, forbid_unknown_fields=True):
    """The change of one holder's balance in a simulation, in base units; negative if the holder
    loses. ``contract`` is None for the native coin."""

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
        """The base units as text: most JSON readers would round so large a number."""
        return str(self.units)


class Simulation(Struct, frozen=True, forbid_unknown_fields=True):
    """The effects that a transaction would have at block ``height``. ``failure`` is the contract's
    error message, None if the transaction would succeed."""

    PRINTED: ClassVar = {
        "height": "height", "gas": "gas", "failure": "failure", "changes": "changes",
    }  # fmt: skip

    height: int
    changes: tuple[BalanceChange, ...]
    gas: int
    failure: str | None = None


class EvmTerms(Struct, frozen=True, forbid_unknown_fields=True):
    """The fields that the agent adds to an EVM transaction. Both fees are in wei per unit of
    gas."""

    chain_id: int
    nonce: int
    gas: int
    max_fee: int
    max_priority: int


class Review(Struct, frozen=True, forbid_unknown_fields=True):
    """The agent's verdict on a payload. A finding of severity REFUSE makes signing impossible.
    ``phrase`` is the text that the user must type to consent, None if a plain yes is enough."""

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
    """True if the desk computed the same digest as the agent. False if the desk computed a
    different digest or none. None if no digests were compared or the review had refused the payload
    anyway. The desk sets this value and ignores the one that the agent sends."""

    @property
    def refused(self) -> bool:
        return any(finding.severity is Severity.REFUSE for finding in self.findings)


TransactionCode = Literal["MINED", "FAILED", "REPLACED", "LOST", "ABANDONED"]
"""Why a transaction is in its state. MINED (the state is SENT): in a block, but with too few
confirmations. With all other codes the state is REFUSED.

FAILED: executed and reverted, so the gas was paid and nothing else moved. REPLACED: another
transaction of this wallet with the same nonce was executed. LOST: a transaction that the wallet
does not know used the nonce, or this one can no longer be executed (Solana: its blockhash has
expired). ABANDONED: given up and never sent.
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
    """A transaction that the wallet signed. ``nonce`` is None on Solana; ``last_valid_height`` is
    None on EVM chains. ``replaces`` is the hash of the transaction whose nonce is reused, otherwise
    None."""

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
    until a node confirms that it has the transaction. SENT from that confirmation on."""
    nonce: int | None
    last_valid_height: int | None
    confirmations: int
    replaces: str | None
    created: datetime
    problem: str | None = None
    """The node's last error message about the transaction; None if no node ever objected."""
    code: TransactionCode | None = None

    @property
    def word(self) -> TransactionWord:
        """The state in one word, as screens show it."""
        return cast("TransactionWord", self.code.lower()) if self.code else _WORDS[self.state]

    @property
    def final(self) -> bool:
        return self.state not in OPEN

    @property
    def mined(self) -> bool:
        return self.code == "MINED"

    @property
    def executed(self) -> bool:
        """True if the chain executed this transaction, successfully or not; False if it executed
        another one with the same nonce."""
        return self.state is State.DONE or self.code == "FAILED"

    @property
    def created_text(self) -> IsoTime:
        return iso(self.created)


class Signature(Struct, frozen=True, forbid_unknown_fields=True):
    """A signature of typed data or of a UserOperation, in 0x-hex (r, s, and v of 27 or 28).
    ``taken`` is the most, in base units, that all signatures under the intent together can take."""

    digest: str
    signature: str
    taken: int


MAX_ASSETS = 500
"""The most tokens that one request for balances or approvals may name."""


class Balance(Struct, frozen=True, forbid_unknown_fields=True):
    """The balance of one token. ``units`` are base units, None if the contract did not answer
    properly. ``asset`` has the decimals that the chain states."""

    asset: Asset
    units: int | None


class Balances(Struct, frozen=True, forbid_unknown_fields=True):
    """The balances of one account on one chain. ``fee`` is the network fee to keep for one payment,
    in the native coin's smallest unit; None if not requested or unknown."""

    balances: tuple[Balance, ...]
    fee: int | None = None


class Allowance(Struct, frozen=True, forbid_unknown_fields=True):
    """An approval: ``spender`` may take up to ``units`` base units at any time. ``venue`` is the
    provider's code, None if unknown. ``ends`` is None unless the approval was given through
    Permit2."""

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
        """The base units as text: most JSON readers would round so large a number."""
        return str(self.units)

    @property
    def ends_text(self) -> IsoTime | None:
        return None if self.ends is None else iso(self.ends)


class Allowances(Struct, frozen=True, forbid_unknown_fields=True):
    """The approvals of one account on one chain. If ``complete`` is False, approvals for unknown
    contracts may be missing."""

    allowances: tuple[Allowance, ...]
    complete: bool


class SmartAccount(Struct, frozen=True, forbid_unknown_fields=True):
    """The smart account that pays bundles for its owner. ``address`` is known even before the
    account exists on the chain."""

    address: str
    balances: tuple[Balance, ...]
    """In the order of the request."""
    prepaid: int | None
    """The wei deposited in the EntryPoint contract for the account's gas; None if it could not be
    read."""
    deployment: TransactionPayload | None = None
    """The call that creates the account; None if it exists."""
