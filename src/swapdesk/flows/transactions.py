"""Signed transactions: one engine for everything that the wallet signs.

A step of a swap, an approval, a deposit, what fills a smart account, a part of a batch, a
revocation, a withdrawal, a cancellation and a higher fee go the same way, in four steps of the
:class:`Transactor`. What the trader signs by itself is a :class:`Step`, which knows its end:

=========  ========================================================  ==========================
step       what happens                                              what stands afterwards
=========  ========================================================  ==========================
propose    the payload is made and the wallet agent judges it        a payload and its review
agree      the trader looks and says yes; what changed meanwhile     a signature, not journaled
           is reviewed and shown again
confirm    the journal's entry, the signature, its hash in the       a SignedTransaction
           journal; no byte has left
follow     the same bytes are sent until the transaction is final,   how far it came, committed
           however long that takes and whoever began it
=========  ========================================================  ==========================

After a kill ``resume`` finds in the agent's records what was signed, and ``follow`` goes on with
it. Nothing that stands there is signed a second time. The agent writes a transaction down before
it answers, so these records decide, and the journal is brought up to them.

An entry is marked refused only when it is certain that nothing was signed under it:

- the trader said no, or the gate or the agent refused: refused;
- the agent is gone: unknown, its records tell later: the entry stays;
- ``already_signed``: the records have one for this intent: the entry stays and is followed;
- ``READ_ONLY``: another desk has the wallet. An entry that this run began is refused, since
  nobody else knows of it. One that was found stays: the other desk may be signing for it.

Every kind of action tells its end as an :class:`Outcome`: done, refused or open.

The same bytes are sent however often, never new ones. At most one of the transactions on a nonce
is executed, and the chain says which. One with a higher fee is the same payment under another
hash; one that cancels it is no payment.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

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
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import Payload, Promise, Purpose
from swapdesk.wallet.protocol import Refused, WalletError
from swapdesk.wire.orders import Order

# How an action ended

SAME_AGAIN = "you: give the same command again; the same transaction is sent, never a new one"


class Outcome(Struct, frozen=True):
    """``code`` is stable, for scripts: ``NOT_FINAL``. ``failure`` has the cause, where the money
    is and who acts next; None for what is done, and for what stands where it was asked to stand.
    ``hash`` is of what was executed or sent. ``order_id`` and ``order`` are of a swap or deposit,
    ``error`` is what the service was asked in vain, ``findings`` are the gate's refusals.

    DONE: what was asked for holds. REFUSED: it did not happen, and nothing more is done for it.
    UNKNOWN: it can be gone on with; what was signed is sent again as it is, never signed anew."""

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
        """In a sentence; empty without a failure."""
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
"""The first of these that holds of one tells how all of them stand."""


def same_nonce(
    one: SignedTransaction, signed: Sequence[SignedTransaction]
) -> tuple[SignedTransaction, ...]:
    """Those of ``signed`` that share the nonce of ``one``, itself among them, in that order; of
    Solana, which has no nonces, those of its hash."""
    if one.nonce is None:
        return tuple(each for each in signed if each.hash == one.hash)
    place = (one.chain, one.account, one.nonce)
    return tuple(each for each in signed if (each.chain, each.account, each.nonce) == place)


def decisive(signed: Sequence[SignedTransaction]) -> SignedTransaction | None:
    """The one of several for the same payment that tells how it stands: executed, else in a
    block, else on its way, else the newest. A higher fee that was never sent says nothing about
    the payment that was."""
    for decides in _DECISIVE:
        found = [one for one in signed if decides(one)]
        if found:
            return found[-1]
    return signed[-1] if signed else None


def of_name(signed: Sequence[SignedTransaction], *names: str) -> list[SignedTransaction]:
    """Those of intents that are called so: ``name#0``, ``name#1``, one after the other."""
    return [one for one in signed if one.intent_id.rpartition("#")[0] in names]


def under_way(signed: Sequence[SignedTransaction], *purposes: Purpose) -> SignedTransaction | None:
    """The one of these purposes that is not over and tells how it stands. A cancellation is signed
    under the intent of what it takes back, and does nothing of it."""
    return decisive([one for one in signed if one.purpose in purposes and not one.final])


async def current(client: WalletClient, one: SignedTransaction) -> SignedTransaction:
    """The transaction that tells how the payment of ``one`` stands: itself, or one with a higher
    fee. Raises WalletError. For one intent and purpose a nonce holds a single call, whatever its
    fee."""
    if one.nonce is None:
        return one
    place = same_nonce(one, await client.transactions(one.intent_id))
    act = (one.intent_id, one.purpose)
    return decisive([each for each in place if (each.intent_id, each.purpose) == act]) or one


async def looked_at(client: WalletClient, hash_: str) -> SignedTransaction:
    """A transaction of the wallet as its chain has it now. It is looked at only: sending it once
    more is not wanted where something shall take its place. Raises WalletError; Refused for one
    that was not signed here."""
    one = next((one for one in await client.transactions() if one.hash == hash_), None)
    if one is None:
        raise Refused("no_transaction", "this wallet signed no such transaction")
    if one.nonce is None or one.final or one.state is State.PREPARED:
        return one
    return await client.resolve(hash_, resend=False)


class Pace(Struct, frozen=True):
    """Seconds between two looks at a chain or two questions to the service, and for how long a
    payment is followed before it is left to the next start."""

    look: float = 1.0
    patience: float = 300.0


OWN = Pace(patience=90.0)
"""For a transaction that the trader signed by itself, not as a step of a swap, and waits for."""


class Delivered(Struct, frozen=True):
    """How far it came: ``transaction`` tells how the payment stands, final or not; ``reason`` what
    chain or wallet said last; ``error`` what ended the following before its end, None where time
    ran out."""

    transaction: SignedTransaction
    reason: str = ""
    error: WalletError | None = None

    @property
    def final(self) -> bool:
        return self.transaction.final

    def outcome(self, code: str, in_vain: Failure, meanwhile: str) -> Outcome:
        """Of what the trader signed by itself. ``in_vain`` and its ``code``: nothing came of it;
        ``meanwhile``: where the money is until that is known."""
        one = self.transaction
        if one.state is State.DONE:
            return Outcome(hash=one.hash)
        if self.final:
            cause = f"{in_vain.cause} The transaction is {one.word}."
            return refused(code, replace(in_vain, cause=cause), one.hash)
        cause = f"The transaction {one.hash} is not confirmed yet. {self.reason}".strip()
        return still_open("ON_ITS_WAY", Failure(cause, meanwhile, SAME_AGAIN), one.hash)


def _passes(error: WalletError, signed: SignedTransaction, *, contested: bool) -> bool:
    """Whether a later look may tell more. Bytes that a Solana node does not take may be executed
    until their blockhash ends, and the chain then tells that they were not."""
    if not isinstance(error, Refused):
        return False
    if error.code == "chain_refused":
        return contested or signed.nonce is None
    return error.code == "chain_unreachable"


# Proposing, agreeing, signing

MOST_LOOKS = 5
"""How often one payload is shown when chain or wallet changed under the review."""

_NOT_TAKEN = frozenset({"chain_unreachable", "chain_refused"})
LOOK_AGAIN = frozenset({"stale_review", "unknown_review"})
"""Nothing was signed: what is reviewed once more may be."""


# What the trader says, and who hears how it goes


class Agreed(Struct, frozen=True):
    """The trader looked and says yes; ``phrase`` is what had to be typed for it."""

    phrase: str | None = None


Look = Callable[[Review], Awaitable[Agreed | None]]
"""Shows a review and answers what the trader says to it; None is no. It may raise NotAgreed with
another reason."""


class Turn(Struct, frozen=True):
    """What is signed now: ``need`` of one token, for ``payees`` deposits, or for the smart account
    itself (0). It is ``number`` of ``total``, both of the fundings or of the signatures."""

    need: Sum
    payees: int
    number: int
    total: int

    @property
    def funding(self) -> bool:
        return self.payees == 0


class Watch:
    """Hears what happens and changes nothing of it; this one shows it to nobody."""

    def reviewed(self, payload: Payload, review: Review) -> None:
        """The agent judged a payload; nobody was asked yet, and nobody is if it refuses."""

    def signing(self, review: Review) -> None:
        """The trader agreed; the agent looks once more and signs."""

    def seen(self, signed: SignedTransaction) -> None:
        """A transaction was sent or looked for on its chain."""

    def turns_to(self, turn: Turn) -> None:
        """Something else of a group is signed next."""

    def moved(self) -> None:
        """The journal says something new of a group."""


# Why nothing was signed, or nothing is final


class NotAgreed(Exception):
    """Nothing was signed: the trader did not say yes to a review, or nobody may any more."""

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


class ActEntry(Entry):
    """A transaction of the wallet as an act of the ledger, which ``begin`` commits, or which an
    earlier run began (``act``). What is over is not opened again: a transaction that is signed all
    the same is an act of its own. Where its claim is held, ClaimTaken is raised, and not a byte of
    it leaves."""

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
"""Has the wallet sign, as a rule :meth:`Transactor.agree`."""


class Step(Struct, frozen=True, kw_only=True):
    """One transaction that the trader signs by itself: to be signed (``review``; where that is
    refused, nothing can be), or signed by an earlier run and not final (``transaction``), so that
    the same bytes are sent again. ``client`` is asked for the agent when it is sent; ``ended`` says
    what came of it. ``replaces`` is the transaction on whose nonce it is signed, of which the chain
    executes one."""

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
        """What it is signed for."""
        signed = self.transaction or self.payload
        return None if signed is None else signed.purpose

    @property
    def refusal(self) -> str | None:
        """Why a word typed by the trader does not sign it, in sentences; None where it does."""
        review = self.review
        if review is None or (not review.refused and review.phrase is None):
            return None
        findings = sorted(
            review.findings, key=lambda finding: finding.severity is not Severity.REFUSE
        )
        return findings[0].sentence if findings else "It is not understood."

    async def send(self, phrase: str | None = None) -> Outcome:
        """Sign it (nothing, where it was signed before), send it, and wait until it, or what it
        replaces, counts. Raises WalletError for what happened before anything was sent."""
        client, signed = await self.client(), self.transaction
        transactor = Transactor(client, self.clock, OWN, watch=self.watch)
        if signed is None:
            review = self.review
            assert review is not None, "it is to be signed"
            signed = await transactor.confirm(self.entry, lambda: client.sign(review, phrase))
        contested = self.replaces is not None
        return await self.ended(await transactor.follow(signed, self.entry, contested=contested))


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
        return decisive([one for one in signed if one.state is not State.REFUSED])

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
                if refused.code == "gate":
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
            raise Refused("defect", "the wallet signed something else than a transaction")
        entry.signed(signed.hash)
        return signed

    async def confirm_document(self, entry: Entry, signing: Signing) -> Signature:
        """The same of a document, of which nothing leaves by itself."""
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
        """Give up what no node has seen; anything else stays what it is."""
        if signed.state is not State.PREPARED:
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
        """Send the bytes, the same ones however often, and wait until they count, or another of
        their nonce does, which is committed before it is told; not for ever.

        ``wanted``: whether it may still leave; what no node has seen is given up otherwise.
        ``contested``: another transaction of its nonce may be executed at any moment, so a node
        that does not take this one is asked what became of them. ``until``: nobody waits for its
        end longer.
        """
        entry.signed(signed.hash)
        self._watch.seen(signed)
        came = await self._delivered(signed, wanted, until, contested)
        stands = came.transaction
        if stands.state is State.DONE:
            entry.done(stands.hash)
        elif came.final:
            entry.refused(stands.word.upper(), stands.hash)
        return came

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
        """The bytes once more where the chain does not have them, and what became of them."""
        client = self._client
        # What a Solana node has not executed may still be kept from it.
        found = await client.resolve(signed.hash, resend=wanted or signed.nonce is not None)
        if found.state is State.PREPARED:
            found = await (client.broadcast(signed.hash) if wanted else client.abandon(signed.hash))
        return await current(client, found)

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


def _refusal(findings: tuple[RuleFinding, ...]) -> NotSignable | Refused:
    """A chain that could not be read says nothing against a payload: it is asked again later."""
    for finding in findings:
        if finding.code == CHAIN_UNREAD:
            return Refused("chain_unreachable", finding.words.rstrip("."))
    return NotSignable(findings)
