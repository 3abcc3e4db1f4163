"""Signed transactions: one procedure for everything that the wallet signs.

Steps of a swap, approvals, deposits, payments that fill a smart account, parts of a batch,
revocations, withdrawals, cancellations and higher fees all pass the same four steps of the
:class:`Transactor`. A transaction that the trader signs on its own is a :class:`Step`, which turns
the result into an :class:`Outcome`.

=========  ========================================================  ==========================
step       what happens                                              result
=========  ========================================================  ==========================
propose    the payload is made and the wallet agent judges it        a payload and its review
agree      the trader looks and agrees; a payload that changed       a signature, not journaled
           meanwhile is reviewed and shown again
confirm    the entry is committed, the payload is signed, its hash   a SignedTransaction
           is committed; nothing was sent yet
follow     the same bytes are sent until the transaction is final,   how far it came, committed
           however long that takes and whichever run began it
=========  ========================================================  ==========================

After a kill, ``resume`` finds in the agent's records what was signed, and ``follow`` continues it;
a recorded transaction is never signed a second time. The agent records a transaction before it
answers. So its records decide, and the journal is brought up to date with them.

An entry of the journal is marked refused only if it is certain that nothing was signed under it:

- the trader said no, or the gate or the agent refused: the entry is refused;
- the agent is gone: the outcome is unknown until its records can be read; the entry stays;
- ``already_signed``: the agent has a signature for this intent; the entry stays and is followed;
- ``READ_ONLY``: another desk has the wallet. An entry that this run began is refused, because no
  other run knows it. An entry of an earlier run stays, because the other desk may be signing it.

Every kind of action ends with an :class:`Outcome`: done, refused or open.

Sending again always sends the same bytes. At most one of the transactions on a nonce is executed,
and the chain shows which. A transaction with a higher fee makes the same payment under another
hash; a cancellation pays nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from swapdesk.acts import LEFT, State
from swapdesk.client.errors import ClientError
from swapdesk.clock import Clock
from swapdesk.flows.failure_messages import Failure, rule_next
from swapdesk.flows.journal.ledger import Ledger, Operation
from swapdesk.flows.payments import Sum, commit_signed, end_transaction
from swapdesk.wallet.answers import (
    CHAIN_UNREAD,
    Review,
    RuleFinding,
    Severity,
    Signature,
    SignedTransaction,
)
from swapdesk.wallet.promise import Payload, Promise, Purpose
from swapdesk.wallet.protocol import Refused, WalletError
from swapdesk.wire.orders import Order

if TYPE_CHECKING:
    from swapdesk.wallet.client import WalletClient

# How an action ended

SAME_AGAIN = "you: give the same command again; the same transaction is sent, never a new one"


class Outcome(Struct, frozen=True):
    """The result of one action of the trader. ``state`` is DONE if it was achieved, REFUSED if it
    did not happen and will not, UNKNOWN if it may be continued, which signs nothing anew.

    ``code`` is stable, for scripts: ``NOT_FINAL``. ``failure`` is None if the action succeeded.
    ``findings`` are the refusals of the wallet's checks.
    """

    state: State = State.DONE
    code: str = ""
    failure: Failure | None = None
    hash: str | None = None
    order_id: str | None = None
    order: Order | None = None
    error: ClientError | None = None
    findings: tuple[RuleFinding, ...] = ()

    @property
    def done(self) -> bool:
        return self.state is State.DONE

    @property
    def refused(self) -> bool:
        return self.state is State.REFUSED

    @property
    def open(self) -> bool:
        return self.state is State.UNKNOWN

    @property
    def cause(self) -> str:
        return "" if self.failure is None else self.failure.cause


def refused(code: str, failure: Failure, hash_: str | None = None) -> Outcome:
    return Outcome(State.REFUSED, code, failure, hash_)


def still_open(code: str, failure: Failure | None, hash_: str | None = None) -> Outcome:
    return Outcome(State.UNKNOWN, code, failure, hash_)


# Sending what was signed

_DECISIVE: tuple[Callable[[SignedTransaction], bool], ...] = (
    lambda one: one.executed,
    lambda one: one.mined,
    lambda one: one.state in LEFT,
)
"""Tests that choose, in sequence, the one transaction that counts for a nonce."""


def same_nonce(
    one: SignedTransaction, signed: Sequence[SignedTransaction]
) -> tuple[SignedTransaction, ...]:
    """Returns the transactions in ``signed`` with the nonce of ``one``; on Solana, which has no
    nonces, those with the same hash."""
    if one.nonce is None:
        return tuple(transaction for transaction in signed if transaction.hash == one.hash)
    place = (one.chain, one.account, one.nonce)
    return tuple(
        transaction
        for transaction in signed
        if (transaction.chain, transaction.account, transaction.nonce) == place
    )


def decisive(signed: Sequence[SignedTransaction]) -> SignedTransaction | None:
    """Returns the transaction that decides a payment's state: an executed one, else one in a block,
    else a sent one, else the newest. A replacement that was never sent does not hide the original.
    None if ``signed`` is empty."""
    for decides in _DECISIVE:
        deciding = [transaction for transaction in signed if decides(transaction)]
        if deciding:
            return deciding[-1]
    return signed[-1] if signed else None


def of_name(signed: Sequence[SignedTransaction], *names: str) -> list[SignedTransaction]:
    """Returns the transactions of the intents called ``name#0``, ``name#1`` and so on, for each of
    ``names``."""
    return [
        transaction for transaction in signed if transaction.intent_id.rpartition("#")[0] in names
    ]


def under_way(signed: Sequence[SignedTransaction], *purposes: Purpose) -> SignedTransaction | None:
    """Returns the transaction that decides the payment's state among those with one of ``purposes``
    that are not final; None if there are none. ``signed`` must not contain cancellations."""
    return decisive(
        [
            transaction
            for transaction in signed
            if transaction.purpose in purposes and not transaction.final
        ]
    )


async def current(client: WalletClient, one: SignedTransaction) -> SignedTransaction:
    """Returns the transaction that decides whether the payment of ``one`` is made: ``one``, or its
    replacement with a higher fee. May raise WalletError."""
    if one.nonce is None:
        return one
    place = same_nonce(one, await client.transactions(one.intent_id))
    act = (one.intent_id, one.purpose)
    return (
        decisive(
            [
                transaction
                for transaction in place
                if (transaction.intent_id, transaction.purpose) == act
            ]
        )
        or one
    )


async def looked_at(client: WalletClient, hash_: str) -> SignedTransaction:
    """Returns the transaction with this hash, as its chain has it now, without sending it again.
    Raises Refused if this wallet did not sign it, or another WalletError."""
    transaction = next(
        (transaction for transaction in await client.transactions() if transaction.hash == hash_),
        None,
    )
    if transaction is None:
        raise Refused("no_transaction", "this wallet signed no such transaction")
    if transaction.nonce is None or transaction.final or transaction.state is State.PREPARED:
        return transaction
    return await client.resolve(hash_, resend=False)


class Pace(Struct, frozen=True):
    """How long to wait for a payment, in seconds. ``look`` is the pause before the chain is read
    again; ``patience`` is how long this run waits in all."""

    look: float = 1.0
    patience: float = 300.0


OWN = Pace(patience=90.0)
"""The pace for a transaction that the trader signed as a single step and waits for."""


class Delivered(Struct, frozen=True):
    """How far a payment came. ``transaction`` is the transaction whose state counts. ``error`` is
    the error that ended the waiting early, or None."""

    transaction: SignedTransaction
    reason: str = ""
    error: WalletError | None = None

    @property
    def final(self) -> bool:
        return self.transaction.final

    def outcome(self, code: str, in_vain: Failure, meanwhile: str) -> Outcome:
        """Returns the outcome of an action that is this one transaction. If it had no effect, the
        outcome has ``code`` and the message ``in_vain``. While the result is unknown, ``meanwhile``
        says where the money is."""
        transaction = self.transaction
        if transaction.state is State.DONE:
            return Outcome(hash=transaction.hash)
        if self.final:
            cause = f"{in_vain.cause} The transaction is {transaction.word}."
            return refused(code, replace(in_vain, cause=cause), transaction.hash)
        cause = f"The transaction {transaction.hash} is not confirmed yet. {self.reason}".strip()
        return still_open("ON_ITS_WAY", Failure(cause, meanwhile, SAME_AGAIN), transaction.hash)


def _passes(error: WalletError, signed: SignedTransaction, *, contested: bool) -> bool:
    if not isinstance(error, Refused):
        return False
    if error.code == "chain_refused":
        return contested or signed.nonce is None
    return error.code == "chain_unreachable"


# Proposing, agreeing, signing

MOST_LOOKS = 5
"""How often one payload, if something changed meanwhile, is shown for consent."""

_NOT_TAKEN = frozenset({"chain_unreachable", "chain_refused"})
LOOK_AGAIN = frozenset({"stale_review", "unknown_review"})
"""Refusals after which nothing was signed and the payload may be reviewed again."""


# What the trader says, and who hears how it goes


class Agreed(Struct, frozen=True):
    """The trader's consent; ``phrase`` is the text that had to be typed, None if none was
    required."""

    phrase: str | None = None


Look = Callable[[Review], Awaitable[Agreed | None]]
"""Shows a review to the trader and returns the consent; None if the trader declines. May raise
NotAgreed."""


class Turn(Struct, frozen=True):
    """The next of ``total`` signatures for a batch's orders. It pays ``payees`` deposits or, if
    ``payees`` is 0, funds the smart account. ``need`` is the amount of one token that the signature
    moves."""

    need: Sum
    payees: int
    number: int
    total: int

    @property
    def funding(self) -> bool:
        return self.payees == 0


class Watch:
    """A listener that is told the progress of transactions and cannot influence them. This base
    class ignores all events."""

    def reviewed(self, payload: Payload, review: Review) -> None:
        """Called after the agent judged a payload and before the trader is asked, unless the agent
        refused it."""

    def signing(self, review: Review) -> None:
        """Called when the trader has agreed, before the agent checks the payload once more and
        signs it."""

    def seen(self, signed: SignedTransaction) -> None:
        """Called when a transaction was sent or looked up on its chain."""

    def turns_to(self, turn: Turn) -> None:
        """Called when the next signature for a batch's orders begins."""

    def moved(self) -> None:
        """Called after a new state of a batch's orders was written to the journal."""


# Why nothing was signed, or nothing is final


class NotAgreed(Exception):
    """Raised if nothing was signed because the trader did not agree to a review, or the review's
    time ran out."""

    def __init__(self, words: str = "You did not sign.", code: str = "NOT_CONFIRMED") -> None:
        super().__init__(words)
        self.code = code


class NotSignable(Exception):
    """Raised if the gate, the wallet agent's check of a payload, refuses to sign. ``findings`` say
    why."""

    def __init__(self, findings: tuple[RuleFinding, ...]) -> None:
        super().__init__(" ".join(finding.words for finding in findings))
        self.findings = findings
        refusing = [finding.code for finding in findings if finding.severity is Severity.REFUSE]
        self.code = next(iter(refusing), "GATE")
        """The code of the first rule that refused; ``GATE`` if none is named."""

    def next(self, otherwise: str) -> str:
        """Returns who acts next after this refusal. Returns ``otherwise`` if there is no text for
        the rule that refused."""
        return rule_next(self.code, otherwise)


class StillOpen(Exception):
    """Raised if the outcome of a transaction was still unknown when the time to wait for it was
    over."""

    def __init__(self, hash_: str, problem: str | None = None) -> None:
        super().__init__(problem or "it is not final yet")
        self.hash = hash_


# What is signed


class Entry:
    """Records one transaction in the journal, step by step. This base class records nothing and is
    for transactions that pay nobody. ``fresh`` is True if this run began the entry."""

    fresh = True

    def begin(self) -> None:
        """Records what is about to be signed. If this cannot be recorded, raises
        JournalUnavailable, so that nothing is signed."""

    def signed(self, hash_: str) -> None:
        """Commits the hash before the transaction is sent. Each run of the desk that follows the
        transaction calls this again."""

    def given(self, signature: Signature) -> None:
        """Records the signature of a document that is no transaction. Called before the signature
        is sent."""

    def done(self, hash_: str) -> None:
        """Commits that the transaction ``hash_`` was executed and had its effect."""

    def refused(self, code: str, hash_: str | None = None) -> None:
        """Commits that the transaction had no effect and never will. ``code`` is the reason.
        ``hash_`` is None if nothing was signed."""


class ActEntry(Entry):
    """Records a wallet transaction as an operation of the journal. ``act`` is the operation that an
    earlier run began, or None; an ended operation is not reopened. Raises ClaimTaken before
    anything is sent if another operation pays the same thing."""

    def __init__(
        self, ledger: Ledger, begin: Callable[[], Operation], act: Operation | None = None
    ) -> None:
        self._ledger = ledger
        self._begin = begin
        self._act = act
        self.fresh = act is None

    def begin(self) -> None:
        if self._act is None:
            self._act = self._begin()

    @property
    def _begun(self) -> Operation:
        self.begin()
        assert self._act is not None  # begun above
        return self._act

    def signed(self, hash_: str) -> None:
        if commit_signed(self._ledger, self._begun.id, hash_):
            return
        stands = self._ledger.get(self._begun.id)
        # A group follows once more what was executed in vain; for an order that pays anew.
        again = stands is not None and stands.kind == "deposit" and stands.state is State.REFUSED
        if stands is None or stands.hash != hash_ or again:
            self._act = self._begin()
            commit_signed(self._ledger, self._act.id, hash_)

    def done(self, hash_: str) -> None:
        self._end(State.DONE, None, hash_)

    def refused(self, code: str, hash_: str | None = None) -> None:
        self._end(State.REFUSED, code, hash_)

    def _end(self, state: State, code: str | None, hash_: str | None) -> None:
        if self._act is not None:
            end_transaction(self._ledger, self._act, state, code=code, hash_=hash_)


Signing = Callable[[], Awaitable[Signature | SignedTransaction]]
"""A function that has the wallet sign and returns the signature, usually by
:meth:`Transactor.agree`."""


class Step(Struct, frozen=True, kw_only=True):
    """One transaction that the trader signs as a single step. ``review`` shows it before it is
    signed and may refuse. If an earlier run signed it, ``transaction`` is sent unchanged.
    ``replaces`` is the transaction to be replaced, or None."""

    client: Callable[[], Awaitable[WalletClient]]
    clock: Clock
    ended: Callable[[Delivered], Awaitable[Outcome]]
    entry: Entry = field(default_factory=Entry)
    watch: Watch | None = None
    payload: Payload | None = None
    review: Review | None = None
    transaction: SignedTransaction | None = None
    replaces: SignedTransaction | None = None

    @property
    def purpose(self) -> Purpose | None:
        signed = self.transaction or self.payload
        return None if signed is None else signed.purpose

    @property
    def refusal(self) -> str | None:
        """The reason why the wallet does not sign even with the trader's consent: a rule, or a
        phrase that must be typed. None if nothing is missing."""
        review = self.review
        if review is None or (not review.refused and review.phrase is None):
            return None
        findings = sorted(
            review.findings, key=lambda finding: finding.severity is not Severity.REFUSE
        )
        return findings[0].sentence if findings else "It is not understood."

    async def send(self, phrase: str | None = None) -> Outcome:
        """Signs the transaction if necessary, sends it, and waits until it or the one that it
        replaces is final. ``phrase`` is what the trader typed, if the review asked for it. A
        WalletError means that this run sent nothing."""
        client, signed = await self.client(), self.transaction
        transactor = Transactor(client, self.clock, OWN, watch=self.watch)
        if signed is None:
            review = self.review
            assert review is not None, "it is to be signed"
            signed = await transactor.confirm(self.entry, lambda: client.sign(review, phrase))
        contested = self.replaces is not None
        return await self.ended(await transactor.follow(signed, self.entry, contested=contested))


class Transactor:
    """Signs and sends transactions of one wallet. Methods may raise JournalUnavailable or, for
    example without a wallet agent, WalletError."""

    def __init__(
        self,
        client: WalletClient,
        clock: Clock,
        pace: Pace,
        look: Look | None = None,
        watch: Watch | None = None,
    ) -> None:
        """``look`` is a function that shows a review to the trader and returns the answer.
        ``watch`` is notified of progress."""
        self._client = client
        self._clock = clock
        self._pace = pace
        self._look = look
        self._watch = watch or Watch()

    # Before the signature

    async def signed(self, intent_id: str, *purposes: Purpose) -> tuple[SignedTransaction, ...]:
        """Returns the transactions that were signed for an intent with one of these purposes,
        oldest first."""
        signed = await self._client.transactions(intent_id)
        return tuple(transaction for transaction in signed if transaction.purpose in purposes)

    async def resume(self, intent_id: str, *purposes: Purpose) -> SignedTransaction | None:
        """Returns the signed transaction that has paid the intent or may still pay it, even if it
        was never sent; None if there is none. The caller must continue it instead of signing
        another."""
        signed = await self.signed(intent_id, *purposes)
        return decisive(
            [transaction for transaction in signed if transaction.state is not State.REFUSED]
        )

    async def agree(self, payload: Payload, promise: Promise) -> Signature | SignedTransaction:
        """Shows the trader the agent's review of a payload and, after consent, has the payload
        signed. If something changed meanwhile, shows a new review. ``promise`` is what the user
        confirmed. NotSignable or NotAgreed means that nothing was signed."""
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
                if refused.code == "gate":
                    raise _refusal(refused.findings) from None
                if refused.code not in LOOK_AGAIN or look == MOST_LOOKS:
                    raise
        raise AssertionError("unreachable")

    # The signature

    async def confirm(self, entry: Entry, signing: Signing) -> SignedTransaction:
        """Writes the journal entry, calls ``signing`` to have the wallet sign, and writes the hash.
        Only then may the transaction be sent (:meth:`follow`)."""
        signed = await self._signed(entry, signing)
        if not isinstance(signed, SignedTransaction):
            raise Refused("defect", "the wallet signed something else than a transaction")
        entry.signed(signed.hash)
        return signed

    async def confirm_document(self, entry: Entry, signing: Signing) -> Signature:
        """Has a document signed like :meth:`confirm`, and records the signature. The caller sends
        the signature."""
        signed = await self._signed(entry, signing)
        if not isinstance(signed, Signature):
            raise Refused("defect", "the wallet signed something else than a document")
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
            # Whether it is certain that nothing was signed under this entry (see above).
            unsigned = entry.fresh if refused.code == "read_only" else True
            if unsigned and refused.code != "already_signed":
                entry.refused(refused.code.upper())
            raise

    # Behind the signature

    async def give_up_unsent(self, signed: SignedTransaction) -> SignedTransaction:
        """Gives up a transaction that was never sent, and returns its new state. Does nothing to
        any other transaction."""
        if signed.state is not State.PREPARED:
            return signed
        return await self._client.abandon(signed.hash)

    async def dispatch(self, signed: SignedTransaction) -> bool:
        """Sends the transaction once, without waiting for its result. Returns True if a node
        accepted it."""
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
        """Sends a signed transaction until it or another with its nonce is final; records the
        result. Stops at ``until`` or after the pace's time. An unsent transaction is given up when
        ``wanted`` returns False. ``contested``: another may be executed."""
        entry.signed(signed.hash)
        self._watch.seen(signed)
        delivered = await self._delivered(signed, wanted, until, contested)
        stands = delivered.transaction
        if stands.state is State.DONE:
            entry.done(stands.hash)
        elif delivered.final:
            entry.refused(stands.word.upper(), stands.hash)
        return delivered

    async def _delivered(
        self,
        signed: SignedTransaction,
        wanted: Callable[[], bool],
        until: datetime | None,
        contested: bool,
    ) -> Delivered:
        clock = self._clock
        ends = clock.monotonic() + self._pace.patience
        stands, reason = signed, signed.problem or ""
        while not stands.final:
            try:
                stands = await self._looked_for(signed, wanted())
                self._watch.seen(stands)
                reason = stands.problem or ""
            except WalletError as error:
                if not _passes(error, signed, contested=contested):
                    return Delivered(stands, error.words, error)
                reason = error.words
            late = until is not None and clock.now() >= until
            if stands.final or late or clock.monotonic() >= ends:
                break
            await clock.sleep(self._pace.look)
        return Delivered(stands, reason)

    async def _looked_for(self, signed: SignedTransaction, wanted: bool) -> SignedTransaction:
        """Looks up a transaction, and sends it again if necessary. If it was never sent, sends it
        or, if ``wanted`` is False, gives it up. Returns the transaction that decides the payment's
        state."""
        client = self._client
        # What a Solana node has not executed may still be kept from it.
        state = await client.resolve(signed.hash, resend=wanted or signed.nonce is not None)
        if state.state is State.PREPARED:
            state = await (client.broadcast(signed.hash) if wanted else client.abandon(signed.hash))
        return await current(client, state)

    async def settle(
        self, signed: SignedTransaction, entry: Entry, *, until: datetime | None = None
    ) -> SignedTransaction:
        """Follows a transaction that is one step of several, and returns it when it is final.
        Raises StillOpen if time runs out, or the error that ended the waiting early."""
        delivered = await self.follow(signed, entry, until=until)
        if delivered.error is not None:
            raise delivered.error
        if not delivered.final:
            raise StillOpen(signed.hash, delivered.reason)
        return delivered.transaction


def _refusal(findings: tuple[RuleFinding, ...]) -> NotSignable | Refused:
    """Returns the error for a review that refused: NotSignable or, if the chain could not be read,
    Refused with the code ``chain_unreachable``."""
    for finding in findings:
        if finding.code == CHAIN_UNREAD:
            return Refused("chain_unreachable", finding.words.rstrip("."))
    return NotSignable(findings)
