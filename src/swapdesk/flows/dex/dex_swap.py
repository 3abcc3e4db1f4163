"""A swap on chains from its confirmation to the venue's turn: one intent, one order, one payment.

Approve or sign what is missing, create the order, send its transaction, tell the service. Every
step is journaled before it is done, so that :meth:`DexSwapFlow.take_on` goes on wherever an
earlier run stopped. The order's transaction is the one in the agent's records, or it is signed
once. The report to the service is repeated with the same hash (contract 10.10). A dry run goes up
to the first signature and journals, creates, signs and sends nothing.
"""

from __future__ import annotations

import binascii
import hashlib
import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, ClassVar, Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from swapdesk.acts import State
from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ApiError, ClientError
from swapdesk.clock import Clock
from swapdesk.flows.creation.exchange import LAST_MOMENT, ExchangeFlow, dex_body
from swapdesk.flows.creation.order_verification import Created, CreateUnknown, NotCreated
from swapdesk.flows.dex.dex_ending import DexEnding, SwapStopped, ended, goes_on, reverted
from swapdesk.flows.dex.dex_permission import (
    DexPermission,
    SignedSteps,
    SwapFailed,
    asked,
    payload_of,
)
from swapdesk.flows.dex.dex_plan import (
    MOST_APPROVALS,
    MOST_STEPS,
    SwapPlan,
    approval_of,
    deadline_of,
    missing_permission,
    promise_of,
    transaction_of,
)
from swapdesk.flows.failure_messages import (
    ALREADY_ASKED,
    NO_JOURNAL,
    OUTCOME_PENDING,
    OUTCOME_UNKNOWN,
    QUOTE_ENDED,
)
from swapdesk.flows.intents.intent import FOREIGN_TEXT, DepositRelease, Intent
from swapdesk.flows.journal.creates import begin_create, newest_part, refuse_payment
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.ledger import ClaimTaken
from swapdesk.flows.orders.told_transaction import NotThisSwap, settled_by_venue, told_by
from swapdesk.flows.transactions import (
    Look,
    NotAgreed,
    NotSignable,
    Outcome,
    Pace,
    StillOpen,
    Watch,
    decisive,
    refused,
    still_open,
)
from swapdesk.wallet.answers import Review, SignedTransaction
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.promise import (
    Promise,
    Purpose,
    SolanaPayload,
    TransactionPayload,
    TypedDataPayload,
)
from swapdesk.wallet.protocol import Refused, WalletError
from swapdesk.wire.dex import ApproveRequest, ConfirmTransactionRequest, GivenSignature
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.orders import Order

CONFIRMATIONS_ASKED = 5
"""How often a run tells the service of a transaction that it does not see yet."""


_HEX = re.compile(r"(?:0x)?((?:[0-9a-fA-F]{2})+)")
_HEIGHT = re.compile(r"0|[1-9][0-9]{0,18}")


def half_of(told: Mapping[str, Any], promise: Promise) -> SolanaPayload:
    """The transaction to sign, written in hexadecimal (contract 10.8) or in base64, as bundles
    are. Raises NotThisSwap."""
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
    """The last block height that it can be executed at, where the service says it."""
    text = str(told.get("lastValidBlockHeight", ""))
    return int(text) if _HEIGHT.fullmatch(text) else None


TOO_LATE = timedelta(seconds=5)
"""A transaction that was never sent and ends this soon would be executed in vain."""


class DexSwapFlow:
    """``look`` shows each review and hears what the trader says; ``watch`` hears how it goes;
    ``on_waiting`` is called when the outcome of the create has to be looked up."""

    def __init__(
        self,
        api: PartnerApi,
        exchange: ExchangeFlow,
        journal: Journal,
        clock: Clock,
        wallet: WalletClient,
        look: Look,
        *,
        pace: Pace = Pace(),  # noqa: B008 - it is frozen
        watch: Watch | None = None,
        on_waiting: Callable[[], None] | None = None,
    ) -> None:
        self._api = api
        self._exchange = exchange
        self._journal = journal
        self._clock = clock
        self._wallet = wallet
        self._look = look
        self._pace = pace
        self._watch = watch or Watch()
        self._on_waiting = on_waiting

    async def swap(self, intent: Intent, plan: SwapPlan | None = None) -> Outcome:
        """A new swap; ``plan`` as it was confirmed, where it was known. Raises NoDexSwap for an
        intent that is none."""
        promise_of(intent)
        if intent.id in self._exchange.running:
            return refused("ALREADY_ASKED", ALREADY_ASKED)
        if intent.valid_until - self._clock.now() <= LAST_MOMENT:
            return refused("QUOTE_EXPIRED", QUOTE_ENDED)
        try:
            if self._journal.ledger.get(intent.id) is not None:
                return refused("ALREADY_ASKED", ALREADY_ASKED)
            digest = hashlib.sha256(json.dumps(intent.as_json()).encode()).hexdigest()
            planned = None if plan is None else plan.as_json()
            begin_create(self._journal.ledger, intent, digest, planned)
        except JournalUnavailable:
            return refused("NO_JOURNAL", NO_JOURNAL)
        except ClaimTaken:
            return refused("OUTCOME_PENDING", OUTCOME_PENDING)
        return await self._run(intent)

    async def take_on(self, intent: Intent) -> Outcome | None:
        """Go on with a swap that an earlier run left open; None while another desk has it."""
        try:
            if intent.id in self._exchange.running:
                return None
            if not self._journal.ledger.take_over(intent.id):
                return None
        except JournalUnavailable:
            return still_open("NO_JOURNAL", NO_JOURNAL)
        return await self._run(intent)

    async def _run(self, intent: Intent) -> Outcome:
        self._exchange.running.add(intent.id)
        try:
            return await _Work(self, intent).done()
        finally:
            self._exchange.running.discard(intent.id)


class _Work:
    """One run over one swap."""

    def __init__(self, flow: DexSwapFlow, intent: Intent) -> None:
        self._api = flow._api
        self._exchange = flow._exchange
        self._journal = flow._journal
        self._clock = flow._clock
        self._pace = flow._pace
        self._on_waiting = flow._on_waiting
        self._intent = intent
        self._promise = promise_of(intent)
        self._steps = SignedSteps(
            flow._wallet,
            flow._journal,
            flow._clock,
            self._promise,
            flow._look,
            flow._pace,
            flow._watch,
        )
        self._ending = DexEnding(intent, flow._journal)

    async def done(self) -> Outcome:
        try:
            return await self._through()
        except JournalUnavailable:
            return self._ending.open("NO_JOURNAL", NO_JOURNAL)

    async def _through(self) -> Outcome:
        try:
            order = await self._ordered()
            self._ending.order_id = order.service_id
            hash_ = await self._executed(order)
            return await self._confirmed(order, hash_)
        except (
            SwapStopped,
            StillOpen,
            NotAgreed,
            NotSignable,
            SwapFailed,
            NotThisSwap,
            WalletError,
            ClientError,
        ) as stop:
            return self._ending.of(stop)

    async def _ordered(self) -> Order:
        """The order of this swap, created now or before."""
        create = self._journal.ledger.get(self._intent.id)
        if create is not None and create.subject is not None:
            return await self._again(create.subject)
        if create is not None and create.sent_at is not None:
            before = self._journal.orders.seen_before(create.sent_at)
            if create.state is State.SENT:
                self._journal.ledger.move(create.id, State.UNKNOWN, code="INTERRUPTED")
            since = create.server_at or create.sent_at
            return self._adopted(await self._exchange.resolve(self._intent, since, before))
        if self._intent.valid_until - self._clock.now() <= LAST_MOMENT:
            for signed in await self._steps.of(Purpose.APPROVE):
                await self._steps.give_up_unsent(signed)
            raise SwapStopped(self._ending.end("QUOTE_EXPIRED", QUOTE_ENDED.cause))
        body = dex_body(self._intent, await self._permitted())
        return self._adopted(
            await self._exchange.create_onchain(self._intent, body, self._on_waiting)
        )

    async def _permitted(self) -> list[GivenSignature]:
        """What was signed so that the venue may take the tokens. On Solana it takes none: both
        sides pay in the order's transaction."""
        if self._promise.chain_id is None:
            return []
        permission = DexPermission(
            self._api, self._journal, self._clock, self._intent, self._steps, self._pace
        )
        return await permission.obtain()

    async def _again(self, service_id: str) -> Order:
        """The order as the journal has it; what to send is read from the service where not."""
        self._ending.order_id = service_id
        known = self._journal.orders.get(service_id)
        if known is not None and known.order.metadata is not None:
            return known.order
        return await self._api.get_order(service_id)

    def _adopted(self, outcome: Created | NotCreated | CreateUnknown) -> Order:
        if isinstance(outcome, Created):
            self._ending.order_id = outcome.order.service_id
            if outcome.check.hard:
                refuse_payment(self._journal.ledger, self._intent.id, "ORDER_DIFFERS")
                said = outcome.withheld or "This order is not what you confirmed."
                raise SwapStopped(self._ending.over("ORDER_DIFFERS", self._ending.words(said)))
            if outcome.verdict.standing is DepositRelease.FOREIGN:
                # The swap was over before its create was answered: nothing is signed for it.
                said = outcome.withheld or FOREIGN_TEXT
                raise SwapStopped(self._ending.over("ORDER_DIFFERS", self._ending.words(said)))
            return outcome.order
        if isinstance(outcome, NotCreated):
            cause = outcome.failure.cause
            if isinstance(outcome.error, ApiError) and outcome.error.message:
                # A price that moved and an approval that is missing have the same code.
                cause = f'{cause} The service says: "{outcome.error.message}"'
            words = ended(cause, self._ending.money())
            self._ending.refuse_open_part(outcome.code)
            raise SwapStopped(replace(refused(outcome.code, words), error=outcome.error))
        words = goes_on(OUTCOME_UNKNOWN.cause, self._ending.money(), outcome.failure.next)
        raise SwapStopped(still_open("OUTCOME_UNKNOWN", words))

    # The transaction of the order

    async def _executed(self, order: Order) -> str | None:
        """The hash of the order's transaction, executed; None where the venue settles."""
        signed = await self._kept(order)
        if signed is None:
            told = told_by(order)
            if settled_by_venue(told):
                return None
            self._steps.order_until(deadline_of(told))
            digest = hashlib.sha256(encode_json(told)).hexdigest()
            read = half_of if self._promise.chain_id is None else transaction_of
            signed = await self._steps.sign_transaction("swap", digest, read(told, self._promise))
        try:
            found = await self._steps.settle(signed, "swap")
        except Refused as refused:
            # The bytes are written down and are what may be sent once more.
            words = goes_on(f"{refused.words}.", self._ending.whereabouts())
            raise SwapStopped(self._ending.open("NOT_SENT", words, hash_=signed.hash)) from None
        hash_ = found.hash
        if found.state is State.DONE:
            return hash_
        if found.code == "FAILED":
            raise SwapStopped(self._ending.over("REVERTED", reverted(hash_), hash_))
        said = f"The transaction {hash_} of the order was {found.word} and moves nothing."
        words = self._ending.words(said)
        raise SwapStopped(self._ending.over(found.word.upper(), words, hash_))

    async def _kept(self, order: Order) -> SignedTransaction | None:
        """The transaction that stands in the wallet's records, whatever the service says by now;
        None where there is none. One that nobody has seen and that would come too late is given
        up."""
        before = await self._steps.of(Purpose.SWAP)
        kept = [one for one in before if one.code != "ABANDONED"]
        pays = decisive(kept)
        if pays is None:
            return None
        if pays.state is State.PREPARED and self._too_late(order):
            await self._steps.give_up_unsent(pays)
            raise SwapStopped(
                self._ending.end("TOO_LATE", "The order's transaction was not sent in time.")
            )
        return pays

    def _too_late(self, order: Order) -> bool:
        try:
            ends = deadline_of(told_by(order))
        except NotThisSwap:
            return False
        return ends - self._clock.now() <= TOO_LATE

    # What the service is told

    async def _confirmed(self, order: Order, hash_: str | None) -> Outcome:
        """Confirm, with the same hash however often; a service that knows it is content."""
        ledger, intent_id = self._journal.ledger, self._intent.id
        with ledger.transaction():
            confirm = newest_part(ledger, intent_id, "confirm")
            if confirm is None:
                confirm = ledger.begin("confirm", {"digest": hash_ or ""}, parent=intent_id)
            # It may be told as often as it takes.
            ledger.move(confirm.id, State.PREPARED)
            ledger.move(confirm.id, State.SENT)
        request = ConfirmTransactionRequest(id=order.service_id, tx_hash=hash_)
        code, error = "NOT_SEEN_YET", None
        for attempt in range(1, CONFIRMATIONS_ASKED + 1):
            try:
                known = await asked(
                    self._clock, self._pace, lambda: self._api.dex_confirm_transaction(request)
                )
            except ApiError as refused:
                if refused.code != ErrorCode.ALREADY_SUBMITTED:
                    return self._not_confirmed(refused, confirm.id, hash_)
                known = True
            except ClientError as lost:
                code, error, known = "NO_ANSWER", lost, False
            if known:
                ledger.move(confirm.id, State.DONE)
                newest = await self._newest(order)
                return Outcome(hash=hash_, order_id=newest.service_id, order=newest)
            await self._clock.sleep(2 * attempt * self._pace.look)
        ledger.move(confirm.id, State.UNKNOWN, code=code)
        said = "The service has not taken note of the swap yet."
        words = goes_on(said, self._ending.paid_money(hash_))
        return replace(self._ending.open(code, words, hash_), error=error)

    def _not_confirmed(self, refused: ApiError, confirm: str, hash_: str | None) -> Outcome:
        """A refusal is told and not final where money left: the service may see it later."""
        code = refused.code or f"HTTP_{refused.status}"
        said = f"The service does not take the swap's transaction: {refused.message}"
        if hash_ is None:
            self._journal.ledger.move(confirm, State.REFUSED, code=code)
            return replace(self._ending.over(code, self._ending.words(said)), error=refused)
        self._journal.ledger.move(confirm, State.UNKNOWN, code=code)
        who = f"you: send the service the order id and transaction {hash_}"
        words = goes_on(said, self._ending.paid_money(hash_), who)
        return replace(self._ending.open(code, words, hash_), error=refused)

    async def _newest(self, order: Order) -> Order:
        try:
            return await self._api.get_order(order.service_id)
        except ClientError:
            return order


ORDER_UNKNOWN = (
    "The order and what is to be sent for it: the service makes both when the order is created,"
    " and that uses the quote up."
)
LATER_APPROVAL = "It is judged on the chain as the step before it leaves it."


class ShownPayload(Struct, frozen=True):
    """``data`` is 0x-hex of a transaction, or the EIP-712 document. ``value`` is in wei."""

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
    """One payload that would be signed. ``review`` is None where ``unjudged`` says why."""

    name: str
    payload: ShownPayload
    review: Review | None
    unjudged: str | None


class DryRun(Struct, frozen=True):
    """What would be signed. ``notKnown`` are sentences on what comes later, ``asked`` the calls
    of the service that this took."""

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
        """Whether the gate refuses a step: the swap would end there."""
        return any(one.review is not None and one.review.refused for one in self.steps)


async def dry_run(api: PartnerApi, wallet: WalletClient, intent: Intent) -> DryRun:
    """Raises ClientError, WalletError, NoDexSwap, and NotThisSwap for an approval that is none
    of this swap."""
    promise = promise_of(intent)
    if promise.chain_id is None:
        # Both sides pay in the order's transaction: nothing is permitted before it.
        return DryRun(intent, promise, (), (ORDER_UNKNOWN,), ())
    request = ApproveRequest(quote_id=intent.quote_id, address_from=promise.account)
    missing = await missing_permission(api, request)
    found: list[tuple[str, TransactionPayload | TypedDataPayload]] = [
        (f"approve {place}", approval_of(one, promise))
        for place, one in enumerate(missing.approvals[:MOST_APPROVALS], 1)
    ]
    unknown = []
    if missing.approvals and missing.signatures:
        unknown.append("Signatures: they are asked for again once the approval is mined.")
    for one in missing.signatures[:MOST_STEPS]:
        found.append((f"sign {one.key} {one.step + 1} of {one.total_steps}", payload_of(one)))
        if one.total_steps > one.step + 1:
            unknown.append(
                f"Signatures {one.step + 2} to {one.total_steps} of {one.key!r}: the service hands"
                " each out against the signature before it."
            )
    steps = []
    for place, (name, payload) in enumerate(found):
        if place and isinstance(payload, TransactionPayload):
            steps.append(DryStep(name, ShownPayload.of(payload), None, LATER_APPROVAL))
        else:
            review = await wallet.review(payload, promise)
            steps.append(DryStep(name, ShownPayload.of(payload), review, None))
    return DryRun(intent, promise, tuple(steps), (*unknown, ORDER_UNKNOWN), ("POST /dex/approve",))
