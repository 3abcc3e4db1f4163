"""Everything that the wallet signs goes this way: proposed, agreed to, journaled, signed, sent.

What an action is made of is its own; the way there is one. See the page of this package.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime

from msgspec import Struct, field

from swapdesk.clock import Clock
from swapdesk.flows.failure_messages import rule_next
from swapdesk.flows.transactions.delivery import Delivered, Pace, decisive, deliver
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import Payload, Promise, Purpose
from swapdesk.wallet.protocol import RefusalCode, Refused
from swapdesk.wallet.review import CHAIN_UNREAD, Review, RuleFinding, Severity
from swapdesk.wallet.transactions import (
    HARMLESS,
    Signature,
    SignedTransaction,
    TransactionState,
)

MOST_LOOKS = 5
"""How often one payload is shown when chain or wallet changed under the review."""

_NOT_TAKEN = frozenset({RefusalCode.CHAIN_UNREACHABLE, RefusalCode.CHAIN_REFUSED})
LOOK_AGAIN = frozenset({RefusalCode.STALE_REVIEW, RefusalCode.UNKNOWN_REVIEW})
"""Nothing was signed: what is reviewed once more may be."""


# What the trader says, and who hears how it goes


class Agreed(Struct, frozen=True):
    """The trader looked and says yes; ``phrase`` is what had to be typed for it."""

    phrase: str | None = None


Look = Callable[[Review], Awaitable[Agreed | None]]
"""Shows a review and answers what the trader says to it; None is no. It may raise NotAgreed with
another reason."""


class Watch:
    """Hears what happens and changes nothing of it; this one shows it to nobody."""

    def reviewed(self, payload: Payload, review: Review) -> None:
        """The agent judged a payload; nobody was asked yet, and nobody is if it refuses."""

    def signing(self, review: Review) -> None:
        """The trader agreed; the agent looks once more and signs."""

    def seen(self, signed: SignedTransaction) -> None:
        """A transaction was sent or looked for on its chain."""


# Why nothing was signed, or nothing is final


class NotAgreed(Exception):
    """The trader did not say yes to a review; nothing was signed."""

    def __init__(self, words: str = "You did not sign.", code: str = "NOT_CONFIRMED") -> None:
        super().__init__(words)
        self.code = code


class NotSignable(Exception):
    """The gate refuses what was to be signed; ``findings`` say why."""

    def __init__(self, findings: tuple[RuleFinding, ...]) -> None:
        super().__init__(" ".join(finding.words for finding in findings))
        self.findings = findings
        refusing = [finding.code for finding in findings if finding.severity is Severity.REFUSE]
        self.code = next(iter(refusing), "GATE")
        """The first rule that refuses."""

    def next(self, otherwise: str) -> str:
        """Who acts, by the rule that refuses."""
        return rule_next(self.code, otherwise)


class StillOpen(Exception):
    """What became of a transaction is not known within the time that was given."""

    def __init__(self, hash_: str, problem: str | None = None) -> None:
        super().__init__(problem or "it is not final yet")
        self.hash = hash_


# What is signed


class Entry:
    """The journal's entry of an action. This one writes nothing: the wallet's own records are
    enough for what pays nobody, as a revocation. ``fresh``: this run began it."""

    fresh = True

    def begin(self) -> None:
        """Commit what is about to be signed. Raises JournalUnavailable; then nothing is signed."""

    def signed(self, hash_: str) -> None:
        """Commit the transaction before a byte of it leaves; said again by who follows it."""

    def given(self, signature: Signature) -> None:
        """Commit the signature of a document before it is handed on."""

    def done(self, hash_: str) -> None:
        """``hash_`` was executed and counts."""

    def refused(self, code: str, hash_: str | None = None) -> None:
        """Nothing came of it and nothing can. ``hash_``: of what was signed, None where nothing
        was."""


Signing = Callable[[], Awaitable[Signature | SignedTransaction]]
"""Has the wallet sign, as a rule :meth:`Transactor.agree`."""
Reviewing = Callable[[], Awaitable[tuple[Payload, Review]]]
"""Makes what is to be signed and has the agent judge it."""


class SignedAction(Struct, frozen=True):
    """``review`` makes the payload and has it judged against what was confirmed; ``replaces`` is
    the transaction on whose nonce it is signed, of which the chain executes one."""

    purpose: Purpose
    intent_id: str
    review: Reviewing
    entry: Entry = field(default_factory=Entry)
    replaces: SignedTransaction | None = None


class Proposal(Struct, frozen=True):
    """What would be signed. ``review.refused``: nothing can be."""

    action: SignedAction
    payload: Payload
    review: Review

    @property
    def replaces(self) -> SignedTransaction | None:
        return self.action.replaces

    @property
    def refusal(self) -> str | None:
        """Why a word typed by the trader does not sign it, in sentences; None where it does."""
        if not self.review.refused and self.review.phrase is None:
            return None
        findings = sorted(
            self.review.findings, key=lambda finding: finding.severity is not Severity.REFUSE
        )
        if not findings:
            return "It is not understood."
        return f"{findings[0].words} Rule {findings[0].code}."


class UnderWay(Struct, frozen=True):
    """An earlier run signed this, and it is not final: the same bytes are sent again."""

    transaction: SignedTransaction
    entry: Entry = field(default_factory=Entry)
    replaces: SignedTransaction | None = None

    @property
    def refusal(self) -> None:
        return None


class Transactor:
    """Of one wallet. Methods raise WalletError where the agent cannot be asked, and
    JournalUnavailable where nothing can be written down."""

    def __init__(
        self,
        client: WalletClient,
        clock: Clock,
        pace: Pace,
        look: Look | None = None,
        watch: Watch | None = None,
    ) -> None:
        """``look`` shows each review and hears what the trader says; ``watch`` hears how it
        goes."""
        self._client = client
        self._clock = clock
        self._pace = pace
        self._look = look
        self._watch = watch or Watch()

    # Before the signature

    async def signed(self, intent_id: str, *purposes: Purpose) -> tuple[SignedTransaction, ...]:
        """What was signed for an intent and these purposes, in that order."""
        signed = await self._client.transactions(intent_id)
        return tuple(transaction for transaction in signed if transaction.purpose in purposes)

    async def resume(self, intent_id: str, *purposes: Purpose) -> SignedTransaction | None:
        """The one that was signed and pays, or may still: whoever begins anew goes on with it.
        What never left the wallet counts as well."""
        signed = await self.signed(intent_id, *purposes)
        return decisive([one for one in signed if one.state not in HARMLESS])

    async def propose(self, action: SignedAction) -> Proposal:
        """What would be signed; nothing is."""
        payload, review = await action.review()
        self._watch.reviewed(payload, review)
        return Proposal(action, payload, review)

    async def agree(self, payload: Payload, promise: Promise) -> Signature | SignedTransaction:
        """Review, show, sign. What changed under a review is reviewed and shown once more.

        Raises NotSignable and NotAgreed; then nothing was signed."""
        assert self._look is not None, "nobody is there to agree"
        for look in range(1, MOST_LOOKS + 1):
            review = await self._client.review(payload, promise)
            self._watch.reviewed(payload, review)
            if review.refused:
                raise _refusal(review.findings)
            agreed = await self._look(review)
            if agreed is None or (review.phrase is not None and agreed.phrase != review.phrase):
                raise NotAgreed
            self._watch.signing(review)
            try:
                return await self._client.sign(review, agreed.phrase)
            except Refused as refused:
                if refused.code is RefusalCode.GATE:
                    raise _refusal(refused.findings) from None
                if refused.code not in LOOK_AGAIN or look == MOST_LOOKS:
                    raise
        raise AssertionError("unreachable")

    # The signature

    async def confirm(self, entry: Entry, signing: Signing) -> SignedTransaction:
        """Sign a transaction: its entry in the journal, the signature, its hash in the journal.
        Only then its bytes may leave (:meth:`follow`)."""
        signed = await self._signed(entry, signing)
        if not isinstance(signed, SignedTransaction):
            raise Refused(RefusalCode.DEFECT, "the wallet signed something else than a transaction")
        entry.signed(signed.hash)
        return signed

    async def confirm_document(self, entry: Entry, signing: Signing) -> Signature:
        """The same of a document, of which nothing leaves by itself."""
        signed = await self._signed(entry, signing)
        if not isinstance(signed, Signature):
            raise Refused(RefusalCode.DEFECT, "the wallet signed something else than a document")
        entry.given(signed)
        return signed

    async def _signed(self, entry: Entry, signing: Signing) -> Signature | SignedTransaction:
        entry.begin()
        try:
            return await signing()
        except (NotAgreed, NotSignable) as said_no:
            entry.refused(said_no.code)
            raise
        except Refused as refused:
            if _nothing_signed(refused, entry):
                entry.refused(refused.code.value.upper())
            raise

    async def send(self, step: Proposal | UnderWay, phrase: str | None = None) -> Delivered:
        """Sign what was proposed (nothing, where it was signed before), send it, and wait until
        it, or what it replaces, counts. Raises WalletError for what happened before anything was
        sent."""
        if isinstance(step, UnderWay):
            signed, entry = step.transaction, step.entry
        else:
            entry = step.action.entry
            signed = await self.confirm(entry, lambda: self._client.sign(step.review, phrase))
        return await self.follow(signed, entry, contested=step.replaces is not None)

    # Behind the signature

    async def give_up_unsent(self, signed: SignedTransaction) -> SignedTransaction:
        """Give up what no node has seen; anything else stays what it is."""
        if signed.state is not TransactionState.SIGNED:
            return signed
        return await self._client.abandon(signed.hash)

    async def dispatch(self, signed: SignedTransaction) -> bool:
        """Send the bytes once and do not wait: whether a node has them."""
        try:
            self._watch.seen(await self._client.broadcast(signed.hash))
        except Refused as refused:
            if refused.code not in _NOT_TAKEN:
                raise
            return False
        return True

    async def follow(
        self,
        signed: SignedTransaction,
        entry: Entry,
        *,
        wanted: Callable[[], bool] = lambda: True,
        until: datetime | None = None,
        contested: bool = False,
    ) -> Delivered:
        """Send the bytes, the same ones however often, and wait for their end, which is committed
        before it is told. The parameters are those of :func:`~.delivery.deliver`."""
        entry.signed(signed.hash)
        self._watch.seen(signed)
        came = await deliver(
            self._client,
            self._clock,
            signed,
            self._pace,
            wanted=wanted,
            contested=contested,
            until=until,
            seen=self._watch.seen,
        )
        stands = came.transaction
        if stands.state is TransactionState.SUCCEEDED:
            entry.done(stands.hash)
        elif came.final:
            entry.refused(stands.state.value.upper(), stands.hash)
        return came

    async def settle(
        self, signed: SignedTransaction, entry: Entry, *, until: datetime | None = None
    ) -> SignedTransaction:
        """:meth:`follow` for what is a step of more. Raises StillOpen when there is no end in time,
        and what ended the following before."""
        came = await self.follow(signed, entry, until=until)
        if came.error is not None:
            raise came.error
        if not came.final:
            raise StillOpen(signed.hash, came.reason)
        return came.transaction


def _nothing_signed(refused: Refused, entry: Entry) -> bool:
    """Whether it is certain that nothing was signed under this entry (see the package)."""
    if refused.code is RefusalCode.READ_ONLY:
        return entry.fresh
    return refused.code is not RefusalCode.ALREADY_SIGNED


def _refusal(findings: tuple[RuleFinding, ...]) -> NotSignable | Refused:
    """A chain that could not be read says nothing against a payload: it is asked again later."""
    for finding in findings:
        if finding.code == CHAIN_UNREAD:
            return Refused(RefusalCode.CHAIN_UNREACHABLE, finding.words.rstrip("."))
    return NotSignable(findings)
