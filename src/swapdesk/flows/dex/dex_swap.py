"""Carries out a swap on chains, from its confirmation until the service has been told of its
transaction.

The steps are: approve or sign what is missing, create the order, send its transaction, tell the
service. Every step is journaled before it is done, so :meth:`DexSwapFlow.take_on` can continue
where an earlier run stopped. The service is always told the same hash (contract 10.10). The desk
asks the service what must be approved or signed until no approval is missing (contract 10.3).
Approvals are executed one after another. A chain of signatures must advance by one step each time.

The wallet agent's records decide what was signed. A transaction found there is sent again unchanged
and never built anew. A document that changed after it was signed ends the swap. Every outcome says
the cause, where the money is and who acts next. A swap that may still have a result stays open in
the journal and is continued later. A dry run stops before the first signature, and journals,
creates, signs and sends nothing.
"""

from __future__ import annotations

import binascii
import hashlib
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar, Literal, TypeVar

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import asdict, replace

from swapdesk.acts import State
from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import (
    AnswerRefused,
    ApiError,
    ClientError,
    OutcomeUnknown,
    RateLimited,
    Unreachable,
)
from swapdesk.clock import Clock
from swapdesk.flows.creation.creates import (
    acts_of,
    begin_create,
    newest_part,
    refuse_create,
    refuse_payment,
)
from swapdesk.flows.creation.exchange import LAST_MOMENT, ExchangeFlow, dex_body
from swapdesk.flows.creation.order_verification import Created, CreateUnknown, NotCreated
from swapdesk.flows.dex.dex_plan import (
    MOST_APPROVALS,
    MOST_STEPS,
    PERMIT,
    SwapPlan,
    approval_of,
    deadline_of,
    journaled_plan,
    missing_permission,
    plan_of,
    promise_of,
    signature_kind,
    transaction_of,
)
from swapdesk.flows.failure_messages import (
    ALREADY_ASKED,
    ANSWER_REFUSED,
    NO_JOURNAL,
    OUTCOME_PENDING,
    OUTCOME_UNKNOWN,
    QUOTE_ENDED,
    Failure,
    failure_of,
    unsent,
    with_payment,
)
from swapdesk.flows.intents.intent import FOREIGN_TEXT, DepositRelease, Intent
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.ledger import ClaimTaken, Kind, Ledger, Operation
from swapdesk.flows.orders.payment_progress import QUOTE_AGAIN
from swapdesk.flows.orders.told_transaction import NotThisSwap, settled_by_venue, told_by
from swapdesk.flows.tracking.self_paid_orders import wallet_money
from swapdesk.flows.transactions import (
    ActEntry,
    Look,
    NotAgreed,
    NotSignable,
    Outcome,
    Pace,
    StillOpen,
    Transactor,
    Watch,
    decisive,
    refused,
    still_open,
)
from swapdesk.flows.wallet.wallet_words import failure_of_wallet, sentence
from swapdesk.wallet.answers import Review, Signature, SignedTransaction
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import (
    ChainStep,
    Promise,
    Purpose,
    SolanaPayload,
    TransactionPayload,
    TypedDataPayload,
)
from swapdesk.wallet.protocol import Refused, WalletError
from swapdesk.wire.dex import (
    Approval,
    ApproveRequest,
    ChainSignaturesRequest,
    ConfirmTransactionRequest,
    GivenSignature,
    SignatureRequirement,
    SignatureType,
)
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.orders import Order

CONFIRMATIONS_ASKED = 5
"""How often one run tells the service of a swap that the service does not see yet."""
ATTEMPTS = 3
"""The most attempts for a request that may safely be repeated."""
AFTER_QUOTE = timedelta(hours=1)
"""The longest time after the end of the quote during which the order's transaction may be signed,
even if the order states a later deadline."""
TOO_LATE = timedelta(seconds=5)
"""A signed transaction that was never sent is given up if it expires within this time, because it
could not be executed in time."""

T = TypeVar("T")


AGAIN = f"you: {QUOTE_AGAIN}"
AGAIN_LATER = frozenset({"locked", "read_only", "chain_unreachable"})
"""The codes of the wallet's refusals after which the swap stays open, because it can continue
later. Any other refusal ends the swap."""
GOES_ON = "the desk: it goes on where it stopped when it is started again"


def on_its_way(hash_: str) -> str:
    return f"on its way: transaction {hash_}"


def signed_away(hash_: str) -> str:
    """Returns the phrase for where the money is after signing: in the wallet until transaction
    ``hash_`` is executed."""
    return f"in your wallet until transaction {hash_}, which you signed, is executed"


class SwapStopped(Exception):
    """Raised to end this run of a swap. ``outcome`` is what the run returns."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.code)
        self.outcome = outcome


def whereabouts(intent: Intent, ledger: Ledger) -> str:
    """Returns a phrase on where a swap's money is, as far as the journal knows."""
    swap = newest_part(ledger, intent.id, "swap")
    if swap is not None and swap.hash is not None:
        if swap.state is State.DONE:
            return _with_venue(intent, swap.hash)
        if swap.left:
            return signed_away(swap.hash)
    return _unpaid_money(intent, ledger)


def _unpaid_money(intent: Intent, ledger: Ledger) -> str:
    return wallet_money(intent, acts_of(ledger, intent.id))


def _with_venue(intent: Intent, hash_: str) -> str:
    return f"with the venue, by transaction {hash_}; what it pays goes to {intent.recipient}"


class DexSwapFlow(Struct, frozen=True):
    """Carries out swaps on chains. ``look`` shows a review and returns the trader's answer.
    ``watch`` is notified of progress. ``pace`` has the waiting times."""

    api: PartnerApi
    exchange: ExchangeFlow
    journal: Journal
    clock: Clock
    wallet: WalletClient
    look: Look
    pace: Pace = Pace()
    watch: Watch = field(default_factory=Watch)

    async def swap(self, intent: Intent, plan: SwapPlan | None = None) -> Outcome:
        """Carries out a new swap. ``plan`` has the steps shown when the user confirmed, None if
        they were unknown. Raises NoDexSwap."""
        promise_of(intent)
        if intent.id in self.exchange.running:
            return refused("ALREADY_ASKED", ALREADY_ASKED)
        if intent.valid_until - self.clock.now() <= LAST_MOMENT:
            return refused("QUOTE_EXPIRED", QUOTE_ENDED)
        try:
            if self.journal.ledger.get(intent.id) is not None:
                return refused("ALREADY_ASKED", ALREADY_ASKED)
            digest = hashlib.sha256(json.dumps(intent.as_json()).encode()).hexdigest()
            planned = None if plan is None else asdict(plan)
            begin_create(self.journal.ledger, intent, digest, planned)
        except JournalUnavailable:
            return refused("NO_JOURNAL", NO_JOURNAL)
        except ClaimTaken:
            return refused("OUTCOME_PENDING", OUTCOME_PENDING)
        return await self._run(intent)

    async def take_on(self, intent: Intent) -> Outcome | None:
        """Continues a swap that an earlier run left open and returns its outcome. Returns None if
        this or another desk is working on it."""
        try:
            if intent.id in self.exchange.running:
                return None
            if not self.journal.ledger.take_over(intent.id):
                return None
        except JournalUnavailable:
            return still_open("NO_JOURNAL", NO_JOURNAL)
        return await self._run(intent)

    async def _run(self, intent: Intent) -> Outcome:
        self.exchange.running.add(intent.id)
        try:
            return await _Work(self, intent).done()
        finally:
            self.exchange.running.discard(intent.id)


_LATER = frozenset(code.upper() for code in AGAIN_LATER)


class SwapPart(ActEntry):
    """The journal's entry for one transaction or document of a swap."""

    def done(self, hash_: str) -> None:
        """Records that this part was executed. If the journal has the part as refused, a new
        operation records the execution."""
        with self._ledger.transaction():
            super().done(hash_)
            part = self._act and self._ledger.get(self._act.id)
            if part is not None and part.state is State.REFUSED:
                result = part.result | {"hash": hash_}
                self._ledger.begin(
                    part.kind, part.body, parent=part.parent, state=State.DONE, **result
                )

    def given(self, signature: Signature) -> None:
        self._ledger.move(
            self._begun.id,
            State.DONE,
            signature=signature.signature,
            taken=str(signature.taken),
        )

    def refused(self, code: str, hash_: str | None = None) -> None:
        if hash_ is not None or code not in _LATER:
            super().refused(code, hash_)


def begin_part(
    ledger: Ledger,
    intent_id: str,
    kind: Kind,
    body: dict[str, str],
    state: State = State.PREPARED,
    /,
    **result: Any,
) -> Operation:
    """Records the next transaction or document of a swap and returns its operation. Earlier parts
    that were never signed are first marked as refused."""
    with ledger.transaction():
        replace_prepared(ledger, intent_id)
        return ledger.begin(kind, body, parent=intent_id, state=state, **result)


def replace_prepared(ledger: Ledger, intent_id: str) -> None:
    """Marks unsigned parts (transactions and documents) of a swap as refused. Signed parts stay
    open: they may still be executed."""
    for part in ledger.parts(intent_id):
        if part.hash is None:
            ledger.move(part.id, State.REFUSED, among=(State.PREPARED,), code="REPLACED")


_NOTHING = "0" * 64
"""The end of the data of an approval that sets the allowance to zero: the amount is the last 32
bytes, 64 zeros in hexadecimal."""


class _Work:
    def __init__(self, flow: DexSwapFlow, intent: Intent) -> None:
        self._flow = flow
        self._ledger = flow.journal.ledger
        self._intent = intent
        self._promise = promise_of(intent)
        self._transactor = Transactor(flow.wallet, flow.clock, flow.pace, flow.look, flow.watch)
        self._order_id: str | None = None
        """The id of the swap's order; None until the order is created."""

    async def done(self) -> Outcome:
        try:
            return await self._through()
        except JournalUnavailable:
            return replace(still_open("NO_JOURNAL", NO_JOURNAL), order_id=self._order_id)

    async def _through(self) -> Outcome:
        try:
            order = await self._ordered()
            self._order_id = order.service_id
            hash_ = await self._executed(order)
            return await self._confirmed(order, hash_)
        except (
            SwapStopped,
            StillOpen,
            NotAgreed,
            NotSignable,
            NotThisSwap,
            WalletError,
            ClientError,
        ) as stop:
            return self._ended_by(stop)

    async def _ordered(self) -> Order:
        create = self._ledger.get(self._intent.id)
        if create is not None and create.subject is not None:
            return await self._again(create.subject)
        if create is not None and create.sent_at is not None:
            before = self._flow.journal.orders.seen_before(create.sent_at)
            if create.state is State.SENT:
                self._ledger.move(create.id, State.UNKNOWN, code="INTERRUPTED")
            since = create.server_at or create.sent_at
            return self._adopted(await self._flow.exchange.resolve(self._intent, since, before))
        if self._intent.valid_until - self._flow.clock.now() <= LAST_MOMENT:
            for signed in await self._signed(Purpose.APPROVE):
                await self._transactor.give_up_unsent(signed)
            raise SwapStopped(self._end("QUOTE_EXPIRED", QUOTE_ENDED.cause))
        body = dex_body(self._intent, await self._permitted())
        return self._adopted(await self._flow.exchange.create_onchain(self._intent, body))

    async def _again(self, service_id: str) -> Order:
        self._order_id = service_id
        tracked = self._flow.journal.orders.get(service_id)
        if tracked is not None and tracked.order.metadata is not None:
            return tracked.order
        return await self._flow.api.get_order(service_id)

    def _adopted(self, outcome: Created | NotCreated | CreateUnknown) -> Order:
        if isinstance(outcome, Created):
            self._order_id = outcome.order.service_id
            if outcome.check.hard:
                refuse_payment(self._ledger, self._intent.id, "ORDER_DIFFERS")
                said = outcome.withheld or "This order is not what you confirmed."
                raise SwapStopped(self._over("ORDER_DIFFERS", said))
            if outcome.verdict.standing is DepositRelease.FOREIGN:
                # The swap was over before its create was answered: nothing is signed for it.
                said = outcome.withheld or FOREIGN_TEXT
                raise SwapStopped(self._over("ORDER_DIFFERS", said))
            return outcome.order
        if isinstance(outcome, NotCreated):
            cause = outcome.failure.cause
            if isinstance(outcome.error, ApiError) and outcome.error.message:
                # A price that moved and an approval that is missing have the same code.
                cause = f'{cause} The service says: "{outcome.error.message}"'
            raise SwapStopped(replace(self._end(outcome.code, cause), error=outcome.error))
        cause, next_ = OUTCOME_UNKNOWN.cause, outcome.failure.next
        raise SwapStopped(self._open("OUTCOME_UNKNOWN", cause, self._money(), next_))

    # The transaction of the order

    async def _executed(self, order: Order) -> str | None:
        signed = await self._kept(order)
        if signed is None:
            instruction = told_by(order)
            if settled_by_venue(instruction):
                return None
            self._sign_until(deadline_of(instruction))
            read = half_of if self._promise.chain_id is None else transaction_of
            signed = await self._sign(
                "swap", _digest(instruction), read(instruction, self._promise)
            )
        try:
            final = await self._settle(signed, "swap")
        except Refused as refused:
            # The bytes are written down and are what may be sent once more.
            stopped = self._open("NOT_SENT", f"{refused.words}.", hash_=signed.hash)
            raise SwapStopped(stopped) from None
        hash_ = final.hash
        if final.state is State.DONE:
            return hash_
        if final.code == "FAILED":
            cause = f"The transaction {hash_} was executed and failed."
            money = "in your wallet, but for the gas it cost"
            raise SwapStopped(self._over("REVERTED", cause, money, hash_=hash_))
        cause = f"The transaction {hash_} of the order was {final.word} and moves nothing."
        raise SwapStopped(self._over(final.word.upper(), cause, hash_=hash_))

    async def _kept(self, order: Order) -> SignedTransaction | None:
        """Returns the order's transaction from the wallet's records; None if there is none. Raises
        SwapStopped if the transaction was never sent and it is too late to send it."""
        kept = [
            transaction
            for transaction in await self._signed(Purpose.SWAP)
            if transaction.code != "ABANDONED"
        ]
        pays = decisive(kept)
        if pays is None:
            return None
        if pays.state is State.PREPARED and self._too_late(order):
            await self._transactor.give_up_unsent(pays)
            raise SwapStopped(
                self._end("TOO_LATE", "The order's transaction was not sent in time.")
            )
        return pays

    def _too_late(self, order: Order) -> bool:
        try:
            ends = deadline_of(told_by(order))
        except NotThisSwap:
            return False
        return ends - self._flow.clock.now() <= TOO_LATE

    # What is signed

    async def _signed(self, purpose: Purpose) -> tuple[SignedTransaction, ...]:
        return await self._transactor.signed(self._intent.id, purpose)

    def _sign_until(self, until: datetime) -> None:
        end = self._promise.valid_until
        if until > end:
            self._promise = replace(self._promise, valid_until=min(until, end + AFTER_QUOTE))

    def _entry(
        self,
        kind: Kind,
        body: dict[str, str],
        state: State = State.PREPARED,
        /,
        part: Operation | None = None,
        **result: Any,
    ) -> SwapPart:
        """Returns the journal's entry for a step. The entry continues ``part``, the step's
        operation of an earlier run; if ``part`` is None, it begins a new operation."""
        ledger, begin = self._ledger, partial(begin_part, self._ledger, self._intent.id)
        return SwapPart(ledger, lambda: begin(kind, body, state, **result), part)

    async def _sign(
        self, kind: Kind, digest: str, payload: TransactionPayload | SolanaPayload, **result: Any
    ) -> SignedTransaction:
        entry = self._entry(kind, {"digest": digest}, **result)
        return await self._transactor.confirm(
            entry, lambda: self._transactor.agree(payload, self._promise)
        )

    async def _settle(
        self, signed: SignedTransaction, kind: Kind, until: datetime | None = None
    ) -> SignedTransaction:
        """Sends the transaction and waits until it, or its replacement, is final. Returns the
        executed one. Raises StillOpen if the time ``until`` passes first, and Refused."""
        part = newest_part(self._ledger, self._intent.id, kind)
        entry = self._entry(kind, {"digest": ""}, part=part)
        return await self._transactor.settle(signed, entry, until=until)

    async def _asked(self, call: Callable[[], Awaitable[T]]) -> T:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await call()
            except (OutcomeUnknown, Unreachable, RateLimited) as error:
                if attempt == ATTEMPTS:
                    raise
                pause = error.retry_after if isinstance(error, RateLimited) else None
                await self._flow.clock.sleep(max(self._flow.pace.look * attempt, pause or 0.0))
        raise AssertionError("unreachable")

    # What lets the venue take the tokens

    async def _permitted(self) -> list[GivenSignature]:
        if self._promise.chain_id is None:
            return []
        for signed in await self._signed(Purpose.APPROVE):
            # Of an earlier run: sent again as it is, to its end.
            if not signed.final:
                await self._mined(signed, self._kind_of(signed.hash))
        request = ApproveRequest(quote_id=self._intent.quote_id, address_from=self._promise.account)
        sent = 0
        while True:
            missing = await self._asked(lambda: self._flow.api.dex_approve(request))
            if journaled_plan(acts_of(self._ledger, self._intent.id)) is None:
                # It was confirmed without knowing what it takes.
                self._ledger.tell(self._intent.id, plan=asdict(plan_of(missing)))
            if not missing.approvals:
                break
            for approval in missing.approvals:
                sent += 1
                if sent > MOST_APPROVALS:
                    raise self._broken("it asks for one approval after the other")
                await self._approve(approval)
        replace_prepared(self._ledger, self._intent.id)
        if len(missing.signatures) > MOST_STEPS:
            raise self._broken("it asks for too many signatures")
        return [await self._chain(first) for first in missing.signatures]

    def _broken(self, what: str) -> SwapStopped:
        """Ends the swap because the service contradicts itself, and returns the exception to raise.
        ``what`` describes the contradiction."""
        cause = f"The service contradicts itself: {what}."
        return SwapStopped(self._end("SIGNATURE_CHAIN", cause))

    def _kind_of(self, hash_: str) -> Kind:
        """Returns the kind of an allowance transaction, ``approve`` or ``reset``. If the journal
        lacks its hash, returns the kind of the swap's newest allowance transaction."""
        approvals = self._ledger.parts(self._intent.id, "approve", "reset")[::-1]
        parts = [part for part in approvals if part.hash == hash_]
        return next((part.kind for part in (*parts, *approvals)), "approve")

    async def _approve(self, approval: Approval) -> None:
        payload = approval_of(approval, self._promise)
        kind: Kind = "reset" if payload.data.endswith(_NOTHING) else "approve"
        # In lower case: behind the selector, the right of the first word.
        spender = f"0x{payload.data[34:74]}".lower()
        signed = await self._sign(kind, _digest(approval), payload, spender=spender)
        await self._mined(signed, kind)

    async def _mined(self, signed: SignedTransaction, kind: Kind) -> None:
        done = await self._settle(signed, kind, self._intent.valid_until)
        if done.state is not State.DONE:
            what = f"is {done.word} and allows nothing"
            if done.code == "FAILED":
                what = "was executed and failed; its gas is paid"
            cause = f"The approval {done.hash} {what}."
            raise SwapStopped(self._end("APPROVAL_FAILED", cause))

    async def _chain(self, first: SignatureRequirement) -> GivenSignature:
        requirement, total = first, first.total_steps
        if first.step != 0 or not 1 <= total <= MOST_STEPS:
            raise self._broken(f"a chain of {total} steps begins with step {first.step}")
        while True:
            # A step that contradicts itself is not signed to find out.
            goes_on = self._goes_on(requirement)
            given = await self._given(requirement)
            if not goes_on:
                return given
            body = ChainSignaturesRequest(
                quote_id=self._intent.quote_id,
                address_from=self._promise.account,
                previous_signature=given,
                signature_key=given.key,
                signature_step=requirement.step,
            )
            following = await self._asked(partial(self._flow.api.dex_chain_signatures, body))
            if len(following) != 1:
                raise self._broken(f"{len(following)} steps follow step {requirement.step}")
            (after,) = following
            if (after.step, after.total_steps, after.key) != (
                requirement.step + 1,
                total,
                requirement.key,
            ):
                raise self._broken(f"step {after.step} does not follow step {requirement.step}")
            requirement = after

    async def _given(self, requirement: SignatureRequirement) -> GivenSignature:
        """Returns the signature of one document: from the journal, or a new one. Raises SwapStopped
        if the document has changed since it was signed."""
        name = f"sign {requirement.key} {requirement.step}"
        digest = _digest(requirement)
        before = newest_part(self._ledger, self._intent.id, "sign", name)
        if before is not None and before.state is State.DONE:
            if before.body["digest"] != digest:
                raise self._broken(f"step {requirement.step} is another document than before")
            return _given(requirement, str(before.result["signature"]))
        kind = signature_kind(requirement.data)
        payload = payload_of(requirement)
        entry = self._entry("sign", {"name": name, "digest": digest}, State.SENT, kind=kind)
        signature = await self._transactor.confirm_document(
            entry, lambda: self._transactor.agree(payload, self._promise)
        )
        return _given(requirement, signature.signature)

    def _goes_on(self, requirement: SignatureRequirement) -> bool:
        """True if another document follows this one. Raises SwapStopped if the document's step
        numbers contradict each other, and NotThisSwap if its type is unknown."""
        last = requirement.step + 1 == requirement.total_steps
        if not _chained(requirement):
            if not last:
                raise self._broken("a single signature is one of several steps")
            return False
        if requirement.is_complete is not last:
            raise self._broken("the chain does not end with its last step")
        return not last

    # What the service is told

    async def _confirmed(self, order: Order, hash_: str | None) -> Outcome:
        ledger, intent_id = self._ledger, self._intent.id
        with ledger.transaction():
            confirm = newest_part(ledger, intent_id, "confirm")
            if confirm is None:
                confirm = begin_part(ledger, intent_id, "confirm", {"digest": hash_ or ""})
            # It may be told as often as it takes.
            ledger.move(confirm.id, State.PREPARED)
            ledger.move(confirm.id, State.SENT)
        request = ConfirmTransactionRequest(id=order.service_id, tx_hash=hash_)
        code, error = "NOT_SEEN_YET", None
        for attempt in range(1, CONFIRMATIONS_ASKED + 1):
            try:
                answer = await self._asked(lambda: self._flow.api.dex_confirm_transaction(request))
            except ApiError as refused:
                if refused.code != ErrorCode.ALREADY_SUBMITTED:
                    return self._not_confirmed(refused, confirm.id, hash_)
                answer = True
            except ClientError as lost:
                code, error, answer = "NO_ANSWER", lost, False
            if answer:
                ledger.move(confirm.id, State.DONE)
                newest = await self._newest(order)
                return Outcome(hash=hash_, order_id=newest.service_id, order=newest)
            await self._flow.clock.sleep(2 * attempt * self._flow.pace.look)
        ledger.move(confirm.id, State.UNKNOWN, code=code)
        cause = "The service has not taken note of the swap yet."
        return replace(self._open(code, cause, self._paid_money(hash_), hash_=hash_), error=error)

    def _not_confirmed(self, refused: ApiError, confirm: str, hash_: str | None) -> Outcome:
        """Returns the outcome after the service refused the report of the swap's transaction. The
        swap stays open if ``hash_``, a sent transaction, is not None. ``confirm`` is the id of the
        report's operation in the journal."""
        code = refused.code or f"HTTP_{refused.status}"
        cause = f"The service does not take the swap's transaction: {refused.message}"
        if hash_ is None:
            self._ledger.move(confirm, State.REFUSED, code=code)
            return replace(self._over(code, cause), error=refused)
        self._ledger.move(confirm, State.UNKNOWN, code=code)
        who = f"you: send the service the order id and transaction {hash_}"
        return replace(self._open(code, cause, self._paid_money(hash_), who, hash_), error=refused)

    async def _newest(self, order: Order) -> Order:
        try:
            return await self._flow.api.get_order(order.service_id)
        except ClientError:
            return order

    # How it ends or stops

    def _ended_by(self, stop: Exception) -> Outcome:
        match stop:
            case SwapStopped():
                return stop.outcome
            case StillOpen():
                swap = newest_part(self._ledger, self._intent.id, "swap")
                # An approval pays nobody.
                pays = swap is not None and swap.hash == stop.hash
                money = on_its_way(stop.hash) if pays else self._money()
                cause = f"A transaction is not final yet: {stop}."
                return self._open("NOT_FINAL", cause, money, hash_=stop.hash)
            case NotAgreed():
                return self._end(stop.code, str(stop))
            case NotSignable():
                cause = f"Your wallet refuses to sign this: {stop}"
                outcome = self._end(stop.code, cause, stop.next(AGAIN))
                return replace(outcome, findings=stop.findings)
            case NotThisSwap():
                cause = f"The service asks for something else than you confirmed: {stop}."
                return self._end(stop.code, cause)
            case WalletError():
                return self._wallet_said(stop)
            case ClientError():
                return self._service_said(stop)
        raise AssertionError("unreachable")

    def _end(self, code: str, cause: str, next_: str = AGAIN) -> Outcome:
        money = self._money()
        if not self._refuse_open_part(code):
            money = self._whereabouts()
        return self._over(code, cause, money, next_)

    def _over(
        self,
        code: str,
        cause: str,
        money: str | None = None,
        next_: str = AGAIN,
        hash_: str | None = None,
    ) -> Outcome:
        failure = Failure(cause, money or self._money(), next_)
        return replace(refused(code, failure, hash_), order_id=self._order_id)

    def _open(
        self,
        code: str,
        cause: str,
        money: str | None = None,
        next_: str = GOES_ON,
        hash_: str | None = None,
    ) -> Outcome:
        failure = Failure(cause, money or self._whereabouts(), next_)
        return replace(still_open(code, failure, hash_), order_id=self._order_id)

    def _refuse_open_part(self, code: str) -> bool:
        """Marks the swap and its open part as refused. Returns False if the part was done in the
        meantime."""
        ledger, intent_id = self._ledger, self._intent.id
        create = ledger.get(intent_id)
        if create is not None and create.state is State.PREPARED:
            return refuse_create(ledger, intent_id, code, among=(State.PREPARED,))
        if create is None or create.state is not State.DONE:
            return True
        return refuse_payment(ledger, intent_id, code)

    # Words

    def _money(self) -> str:
        return _unpaid_money(self._intent, self._ledger)

    def _whereabouts(self) -> str:
        return whereabouts(self._intent, self._ledger)

    def _paid_money(self, hash_: str | None) -> str:
        return self._money() if hash_ is None else _with_venue(self._intent, hash_)

    def _wallet_said(self, error: WalletError) -> Outcome:
        cause = sentence(error.words)
        if isinstance(error, Refused) and error.code not in AGAIN_LATER:
            next_ = f"{failure_of_wallet(error).next}, then {QUOTE_AGAIN}"
            return self._end(error.code.upper(), cause, next_)
        return self._open("WALLET", cause)

    def _service_said(self, error: ClientError) -> Outcome:
        told, lost = error, error.reason if isinstance(error, OutcomeUnknown) else error
        if isinstance(error, ApiError) and self._order_id is None:
            code = error.code or f"HTTP_{error.status}"
            outcome = self._end(code, failure_of(error.code or "", error.status).cause)
        elif isinstance(lost, AnswerRefused) and self._order_id is None:
            # Asking created nothing, and was repeated already.
            outcome = self._end(f"ANSWER_{lost.reason.upper()}", ANSWER_REFUSED.cause)
            told = lost
        else:
            cause = ANSWER_REFUSED if isinstance(lost, AnswerRefused) else unsent(lost)
            outcome = self._open("NOT_REACHABLE", cause.cause)
        # With what was signed for the call that failed.
        failure = outcome.failure and with_payment(outcome.failure, error)
        return replace(outcome, failure=failure, error=told)


def payload_of(requirement: SignatureRequirement) -> TypedDataPayload:
    """Returns the document of a signature request exactly as the service sent it. Raises
    NotThisSwap for an unknown type."""
    permits = signature_kind(requirement.data) == PERMIT
    return TypedDataPayload(
        Purpose.APPROVE if permits else Purpose.ORDER,
        requirement.data,
        ChainStep(
            key=requirement.key,
            step=requirement.step,
            total=requirement.total_steps,
            complete=requirement.is_complete,
            chained=_chained(requirement),
        ),
    )


def _chained(requirement: SignatureRequirement) -> bool:
    kind = requirement.type.lower()
    if kind not in tuple(SignatureType):
        what = f"a signature of the type {requirement.type}, which this desk does not know"
        raise NotThisSwap("UNKNOWN_SIGNATURE", what)
    return kind == SignatureType.CHAINED


def _given(requirement: SignatureRequirement, signature: str) -> GivenSignature:
    metadata = requirement.swap_required_metadata
    return GivenSignature(signature=signature, key=requirement.key, swap_required_metadata=metadata)


def _digest(what: object) -> str:
    return hashlib.sha256(encode_json(what)).hexdigest()


_HEX = re.compile(r"(?:0x)?((?:[0-9a-fA-F]{2})+)")
_HEIGHT = re.compile(r"0|[1-9][0-9]{0,18}")


def half_of(told: Mapping[str, Any], promise: Promise) -> SolanaPayload:
    """Returns the Solana transaction to sign, from ``told``, the order's metadata, in hexadecimal
    (contract 10.8) or base64. Raises NotThisSwap if it cannot be read or is for another account or
    chain."""
    data = told.get("data")
    if not isinstance(data, str) or not data:
        raise NotThisSwap("NOTHING_TO_SEND", "the order does not say what to send")
    sender = told.get("from")
    if sender is not None and str(sender) != promise.account:
        raise NotThisSwap("OWNER_DIFFERS", "it is to be sent by another account than yours")
    if told.get("chainId") is not None:
        raise NotThisSwap("CHAIN_ID_DIFFERS", "it is to be sent on another chain than Solana")
    return SolanaPayload(Purpose.SWAP, b64encode(_octets(data)).decode(), _height(told))


def _octets(data: str) -> bytes:
    written = _HEX.fullmatch(data)
    try:
        return bytes.fromhex(written[1]) if written else b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise NotThisSwap("NOTHING_TO_SEND", "the order's transaction cannot be read") from None


def _height(told: Mapping[str, Any]) -> int | None:
    text = str(told.get("lastValidBlockHeight", ""))
    return int(text) if _HEIGHT.fullmatch(text) else None


ORDER_UNKNOWN = (
    "The order and what is to be sent for it: the service makes both when the order is created,"
    " and that uses the quote up."
)
LATER_APPROVAL = "It is judged on the chain as the step before it leaves it."


class ShownPayload(Struct, frozen=True):
    """A payload to sign, as it is printed in JSON. ``value`` is in wei. A document has neither
    ``to`` nor ``value``."""

    kind: Literal["transaction", "typedData"]
    purpose: Purpose
    data: str | dict[str, Any]
    to: str | UnsetType = UNSET
    value: str | UnsetType = UNSET

    @classmethod
    def of(cls, payload: TransactionPayload | TypedDataPayload) -> ShownPayload:
        if isinstance(payload, TypedDataPayload):
            return cls("typedData", payload.purpose, payload.document)
        return cls("transaction", payload.purpose, payload.data, payload.to, str(payload.value))


class DryStep(Struct, frozen=True):
    """A transaction or document that the swap would have signed. If ``review`` is None,
    ``unjudged`` says why."""

    name: str
    payload: ShownPayload
    review: Review | None
    unjudged: str | None


class DryRun(Struct, frozen=True):
    """The steps of a swap that would be signed. ``unknown`` has sentences about steps that are not
    known yet. ``asked`` lists the requests that were made to the service."""

    PRINTED: ClassVar = {
        "dryRun": "dry", "quoteId": "intent.quote_id", "provider": "intent.provider",
        "account": "promise.account", "recipient": "promise.recipient", "chain": "promise.chain",
        "chainId": "promise.chain_id", "amountIn": "intent.amount_in",
        "amountOut": "intent.amount_out", "leastOut": "promise.least", "steps": "steps",
        "notKnown": "unknown", "asked": "asked", "refused": "refused", "money": "money",
        "next": "next",
    }  # fmt: skip
    dry: ClassVar[bool] = True
    money: ClassVar[str] = "in your wallet; nothing was journaled, created, signed or sent"
    next: ClassVar[str] = "you: leave out --dry-run to swap"

    intent: Intent
    promise: Promise
    steps: tuple[DryStep, ...]
    unknown: tuple[str, ...]
    asked: tuple[str, ...]

    @property
    def refused(self) -> bool:
        """True if the wallet refuses a step, so that the swap would end there."""
        return any(step.review is not None and step.review.refused for step in self.steps)


async def dry_run(api: PartnerApi, wallet: WalletClient, intent: Intent) -> DryRun:
    """Returns the steps that would be signed, without signing or creating anything. Raises
    ClientError, WalletError, NoDexSwap, and NotThisSwap if an approval differs from what the user
    confirmed."""
    promise = promise_of(intent)
    if promise.chain_id is None:
        # Both sides pay in the order's transaction: nothing is permitted before it.
        return DryRun(intent, promise, (), (ORDER_UNKNOWN,), ())
    request = ApproveRequest(quote_id=intent.quote_id, address_from=promise.account)
    missing = await missing_permission(api, request)
    payloads: list[tuple[str, TransactionPayload | TypedDataPayload]] = [
        (f"approve {place}", approval_of(approval, promise))
        for place, approval in enumerate(missing.approvals[:MOST_APPROVALS], 1)
    ]
    unknown = []
    if missing.approvals and missing.signatures:
        unknown.append("Signatures: they are asked for again once the approval is mined.")
    for requirement in missing.signatures[:MOST_STEPS]:
        payloads.append(
            (
                f"sign {requirement.key} {requirement.step + 1} of {requirement.total_steps}",
                payload_of(requirement),
            )
        )
        if requirement.total_steps > requirement.step + 1:
            unknown.append(
                f"Signatures {requirement.step + 2} to {requirement.total_steps} of"
                f" {requirement.key!r}: the service hands each out against the signature before it."
            )
    steps = []
    for place, (name, payload) in enumerate(payloads):
        if place and isinstance(payload, TransactionPayload):
            steps.append(DryStep(name, ShownPayload.of(payload), None, LATER_APPROVAL))
        else:
            review = await wallet.review(payload, promise)
            steps.append(DryStep(name, ShownPayload.of(payload), review, None))
    return DryRun(intent, promise, tuple(steps), (*unknown, ORDER_UNKNOWN), ("POST /dex/approve",))
