"""A swap on chains from its confirmation to the venue's turn: one intent, one order, one payment.

approve or sign what is missing, create the order, send its transaction, tell the service. Every
step is in the journal before it is done, so that :meth:`DexSwapFlow.take_on` goes on wherever an
earlier run stopped. What was paid is decided by the wallet agent's records alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from swapdesk.client.api import PartnerApi
from swapdesk.client.errors import ApiError, ClientError
from swapdesk.clock import Clock
from swapdesk.flows.create_body import dex_body
from swapdesk.flows.create_outcome import Created, NotCreated, Unknown
from swapdesk.flows.dex_outcome import DexOutcome, Stopped, SwapEnded, SwapOpen, Swapped
from swapdesk.flows.dex_payment import (
    DexPayment,
    Look,
    NotAgreed,
    NotSignable,
    Pace,
    StillOpen,
)
from swapdesk.flows.dex_permission import ApprovalFailed, ChainBroken, DexPermission, asked
from swapdesk.flows.dex_promise import promise_of
from swapdesk.flows.dex_words import ended, goes_on, in_wallet, on_its_way, reverted
from swapdesk.flows.exchange import LAST_MOMENT, ExchangeFlow
from swapdesk.flows.intent import Intent
from swapdesk.flows.intent_log import TwinPending
from swapdesk.flows.journal import Journal
from swapdesk.flows.journal_file import JournalUnavailable
from swapdesk.flows.journal_records import IntentState, StepState
from swapdesk.flows.wording import (
    ALREADY_ASKED,
    NO_JOURNAL,
    OUTCOME_PENDING,
    OUTCOME_UNKNOWN,
    QUOTE_ENDED,
    UNREACHABLE,
    failure_of,
)
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.errors import Refused, WalletError
from swapdesk.wallet.payload import TransactionPayload
from swapdesk.wallet.promise import Purpose
from swapdesk.wallet.protocol import RefusalCode
from swapdesk.wallet.transactions import SignedTransaction, TransactionState
from swapdesk.wire.dex import ConfirmTransactionRequest
from swapdesk.wire.encoding.codec import CodecError, decode_json, encode_json
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.orders import Order

CONFIRMATIONS_ASKED = 5
"""How often a run tells the service of a transaction that it does not see yet."""
TOO_LATE = timedelta(seconds=5)
"""A transaction that was never sent and ends this soon would be executed in vain."""

_AGAIN_LATER = frozenset({RefusalCode.LOCKED, RefusalCode.READ_ONLY, RefusalCode.CHAIN_UNREACHABLE})


class DexSwapFlow:
    """``look`` shows each review and hears what the trader says; ``on_waiting`` is called when
    the outcome of the create has to be looked up."""

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
        on_waiting: Callable[[], None] | None = None,
    ) -> None:
        self._api = api
        self._exchange = exchange
        self._journal = journal
        self._clock = clock
        self._wallet = wallet
        self._look = look
        self._pace = pace
        self._on_waiting = on_waiting

    async def swap(self, intent: Intent) -> DexOutcome:
        """A new swap. Raises NoDexSwap for an intent that is none."""
        promise_of(intent)
        if intent.id in self._exchange.running:
            return SwapEnded(ALREADY_ASKED, "ALREADY_ASKED")
        if intent.valid_until - self._clock.now() <= LAST_MOMENT:
            return SwapEnded(QUOTE_ENDED, "QUOTE_EXPIRED")
        try:
            if self._journal.intents.get(intent.id) is not None:
                return SwapEnded(ALREADY_ASKED, "ALREADY_ASKED")
            digest = hashlib.sha256(json.dumps(intent.as_json()).encode()).hexdigest()
            self._journal.intents.add(intent, "permission", digest)
        except JournalUnavailable:
            return SwapEnded(NO_JOURNAL, "NO_JOURNAL")
        except TwinPending:
            return SwapEnded(OUTCOME_PENDING, "OUTCOME_PENDING")
        return await self._run(intent)

    async def take_on(self, intent: Intent) -> DexOutcome | None:
        """Go on with a swap that an earlier run left open; None while another desk has it."""
        try:
            if intent.id in self._exchange.running or not self._journal.intents.adopt(intent.id):
                return None
        except JournalUnavailable:
            return SwapOpen(NO_JOURNAL, "NO_JOURNAL", intent.id)
        return await self._run(intent)

    async def _run(self, intent: Intent) -> DexOutcome:
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
        self._payment = DexPayment(
            flow._wallet,
            flow._journal,
            flow._clock,
            promise_of(intent),
            flow._look,
            flow._pace,
        )
        self._order_id: str | None = None

    async def done(self) -> DexOutcome:
        try:
            order = await self._ordered()
            self._order_id = order.service_id
            hash_ = await self._paid(order)
            return await self._told(order, hash_)
        except Stopped as stopped:
            return stopped.outcome
        except StillOpen as still:
            words = goes_on(f"A transaction is not final yet: {still}.", on_its_way(still.hash))
            return self._open("NOT_FINAL", words, hash_=still.hash)
        except NotAgreed:
            return self._end("NOT_CONFIRMED", "You did not sign.")
        except NotSignable as refused:
            code = refused.findings[0].code if refused.findings else "GATE"
            said = f"Your wallet refuses to sign this: {refused}"
            outcome = self._end(code, said)
            return SwapEnded(outcome.failure, code, outcome.order_id, findings=refused.findings)
        except ChainBroken as broken:
            return self._end("SIGNATURE_CHAIN", f"The service contradicts itself: {broken}.")
        except ApprovalFailed as failed:
            said = f"The approval {failed.hash} was executed and failed; its gas is paid."
            return self._end("APPROVAL_FAILED", said)
        except WalletError as error:
            return self._wallet_said(error)
        except ClientError as error:
            return self._service_said(error)
        except JournalUnavailable:
            return SwapOpen(NO_JOURNAL, "NO_JOURNAL", self._intent.id, self._order_id)

    # The order

    async def _ordered(self) -> Order:
        """The order of this swap, created now or before."""
        step = self._journal.swaps.last(self._intent.id, "create")
        known = self._journal.swaps.order_of(self._intent.id)
        if known is not None:
            return await self._again(known)
        if step is not None and step.sent_at is not None:
            before = self._journal.orders.seen_before(step.sent_at)
            if step.state is StepState.SENT:
                self._journal.intents.mark_unknown(self._intent.id, code="INTERRUPTED")
            return self._adopted(
                await self._exchange.resolve(self._intent, step.server_at or step.sent_at, before)
            )
        if self._intent.valid_until - self._clock.now() <= LAST_MOMENT:
            for signed in await self._payment.of(Purpose.APPROVE):
                await self._payment.give_up_unsent(signed)
            raise Stopped(self._end("QUOTE_EXPIRED", QUOTE_ENDED.cause))
        permission = DexPermission(
            self._api, self._journal, self._clock, self._intent, self._payment, self._pace
        )
        signatures = await permission.obtain()
        body = dex_body(self._intent, signatures)
        return self._adopted(
            await self._exchange.create_onchain(self._intent, body, self._on_waiting)
        )

    async def _again(self, service_id: str) -> Order:
        """The order as the journal has it; what to send is read from the service where not."""
        known = self._journal.orders.get(service_id)
        if known is not None and known.order.metadata is not None:
            return known.order
        return await self._api.get_order(service_id)

    def _adopted(self, outcome: Created | NotCreated | Unknown) -> Order:
        if isinstance(outcome, Created):
            self._order_id = outcome.order.service_id
            if outcome.check.hard:
                seq = self._journal.swaps.begin(self._intent.id, "swap", "")
                self._journal.swaps.refused(self._intent.id, seq, "ORDER_DIFFERS")
                said = outcome.withheld or "This order is not what you confirmed."
                raise Stopped(SwapEnded(self._words(said), "ORDER_DIFFERS", self._order_id))
            return outcome.order
        if isinstance(outcome, NotCreated):
            words = ended(outcome.failure.cause, self._money())
            self._refuse_open_step(outcome.code)
            raise Stopped(SwapEnded(words, outcome.code, error=outcome.error))
        words = goes_on(OUTCOME_UNKNOWN.cause, self._money(), outcome.failure.next)
        raise Stopped(SwapOpen(words, "OUTCOME_UNKNOWN", self._intent.id))

    # The payment

    async def _paid(self, order: Order) -> str | None:
        """The hash of the order's transaction, executed; None where the venue settles."""
        metadata = _metadata(order)
        if metadata.get("offChain") is True:
            return None
        signed = await self._signed(metadata)
        hash_ = signed if isinstance(signed, str) else signed.hash
        try:
            found = await self._payment.settle(hash_, "swap")
        except Refused as refused:
            # The bytes are written down and are what may be sent once more.
            raise Stopped(
                self._open("NOT_SENT", goes_on(f"{refused.words}.", self._money()), hash_=hash_)
            ) from None
        if found.state is TransactionState.SUCCEEDED:
            return hash_
        if found.state is TransactionState.FAILED:
            raise Stopped(SwapEnded(reverted(hash_), "REVERTED", self._order_id, hash_))
        said = f"The transaction {hash_} of the order was {found.state.value} and moves nothing."
        raise Stopped(
            SwapEnded(self._words(said), found.state.value.upper(), self._order_id, hash_)
        )

    async def _signed(self, metadata: dict[str, Any]) -> SignedTransaction | str:
        """The transaction that stands in the wallet's records, or a new one where there is none.

        One that nobody has seen and that would come too late is given up."""
        before = await self._payment.of(Purpose.SWAP)
        kept = [one for one in before if one.state is not TransactionState.ABANDONED]
        if kept:
            newest = kept[-1]
            unsent = newest.state is TransactionState.SIGNED
            if unsent and _deadline(metadata) - self._clock.now() <= TOO_LATE:
                await self._payment.give_up_unsent(newest)
                raise Stopped(
                    self._end("TOO_LATE", "The order's transaction was not sent in time.")
                )
            self._note(newest)
            return newest
        payload = TransactionPayload(
            Purpose.SWAP, str(metadata["to"]), str(metadata["data"]), _wei(metadata.get("value"))
        )
        digest = hashlib.sha256(encode_json(metadata)).hexdigest()
        return await self._payment.send_new("swap", digest, payload)

    def _note(self, signed: SignedTransaction) -> None:
        """Bring the journal to what the wallet's records say."""
        swaps, intent_id = self._journal.swaps, self._intent.id
        step = swaps.last(intent_id, "swap")
        if step is None:
            swaps.sent(intent_id, swaps.begin(intent_id, "swap", ""), hash=signed.hash)
        elif step.state is StepState.PREPARED:
            swaps.sent(intent_id, step.seq, hash=signed.hash)

    # The word to the service

    async def _told(self, order: Order, hash_: str | None) -> DexOutcome:
        """Confirm, with the same hash however often; a service that knows it is content."""
        swaps, intent_id = self._journal.swaps, self._intent.id
        step = swaps.last(intent_id, "confirm")
        seq = step.seq if step is not None else swaps.begin(intent_id, "confirm", hash_ or "")
        swaps.sent(intent_id, seq)
        request = ConfirmTransactionRequest(id=order.service_id, tx_hash=hash_)
        code, error = "NOT_SEEN_YET", None
        for attempt in range(1, CONFIRMATIONS_ASKED + 1):
            try:
                known = await asked(
                    self._clock, self._pace, lambda: self._api.dex_confirm_transaction(request)
                )
            except ApiError as refused:
                if refused.code != ErrorCode.ALREADY_SUBMITTED:
                    return self._not_confirmed(refused, seq, hash_)
                known = True
            except ClientError as lost:
                code, error, known = "NO_ANSWER", lost, False
            if known:
                swaps.acked(intent_id, seq)
                return Swapped(await self._newest(order), hash_)
            await self._clock.sleep(2 * attempt * self._pace.look)
        swaps.unknown(intent_id, seq, code)
        said = "The service has not taken note of the swap yet."
        words = goes_on(said, self._paid_money(hash_))
        return SwapOpen(words, code, intent_id, order.service_id, hash_, error)

    def _not_confirmed(self, refused: ApiError, seq: int, hash_: str | None) -> DexOutcome:
        """A refusal is told and not final where money left: the service may see it later."""
        code = refused.code or f"HTTP_{refused.status}"
        said = f"The service does not take the swap's transaction: {refused.message}"
        if hash_ is None:
            self._journal.swaps.refused(self._intent.id, seq, code)
            return SwapEnded(self._words(said), code, self._order_id, error=refused)
        self._journal.swaps.unknown(self._intent.id, seq, code)
        who = f"you: send the service the order id and transaction {hash_}"
        words = goes_on(said, self._paid_money(hash_), who)
        return SwapOpen(words, code, self._intent.id, self._order_id, hash_, refused)

    async def _newest(self, order: Order) -> Order:
        try:
            return await self._api.get_order(order.service_id)
        except ClientError:
            return order

    # Words

    def _paid_money(self, hash_: str | None) -> str:
        if hash_ is None:
            return self._money()
        return (
            f"with the venue, by transaction {hash_}; what it pays goes to {self._intent.recipient}"
        )

    def _money(self) -> str:
        steps = self._journal.swaps.steps(self._intent.id)
        return in_wallet(
            self._intent,
            allowed=any(
                one.name == "approve" and one.state in (StepState.SENT, StepState.ACKED)
                for one in steps
            ),
            signed=any(
                one.name.startswith("sign ") and one.state is StepState.ACKED for one in steps
            ),
        )

    def _words(self, cause: str) -> Any:
        return ended(cause, self._money())

    def _end(self, code: str, cause: str) -> SwapEnded:
        """Nothing was paid and nothing more is tried; committed before it is told."""
        words = self._words(cause)
        self._refuse_open_step(code)
        return SwapEnded(words, code, self._order_id)

    def _refuse_open_step(self, code: str) -> None:
        entry = self._journal.intents.get(self._intent.id)
        if entry is not None and entry.state is IntentState.OPEN:
            self._journal.intents.mark_refused(self._intent.id, code=code)
            return
        steps = self._journal.swaps.steps(self._intent.id)
        if entry is None or entry.state is not IntentState.CREATED or not steps:
            return
        last = steps[-1]
        if last.name == "create":
            seq = self._journal.swaps.begin(self._intent.id, "swap", "")
            self._journal.swaps.refused(self._intent.id, seq, code)
        elif last.state is not StepState.REFUSED:
            self._journal.swaps.refused(self._intent.id, last.seq, code)

    def _open(self, code: str, words: Any, hash_: str | None = None) -> SwapOpen:
        return SwapOpen(words, code, self._intent.id, self._order_id, hash_)

    def _wallet_said(self, error: WalletError) -> DexOutcome:
        """Gone, locked or without its chain: later. Any other refusal ends it unsigned."""
        said = f"{error.words[:1].upper()}{error.words[1:]}."
        if isinstance(error, Refused) and error.code not in _AGAIN_LATER:
            return self._end(error.code.value.upper(), said)
        return self._open("WALLET", goes_on(said, self._money()))

    def _service_said(self, error: ClientError) -> DexOutcome:
        code = getattr(error, "code", None)
        status = getattr(error, "status", None)
        if isinstance(error, ApiError) and self._order_id is None:
            outcome = self._end(code or f"HTTP_{status}", failure_of(code or "", status).cause)
            return SwapEnded(outcome.failure, outcome.code, error=error)
        words = goes_on(UNREACHABLE.cause, self._money())
        return SwapOpen(words, "NOT_REACHABLE", self._intent.id, self._order_id, error=error)


def _metadata(order: Order) -> dict[str, Any]:
    """What to send: an object in the answer to a create, a text of it in all others (wire
    decisions 2.8)."""
    found = order.metadata
    if isinstance(found, str):
        try:
            found = decode_json(found.encode())
        except CodecError:
            found = None
    if not isinstance(found, dict):
        raise ChainBroken("the order does not say what to send")
    sends = isinstance(found.get("to"), str) and isinstance(found.get("data"), str)
    if found.get("offChain") is not True and not sends:
        raise ChainBroken("the order does not say what to send")
    return found


def _wei(value: object) -> int:
    """A decimal or 0x-hex text (wire decisions 3); no digits are lost on the way."""
    text = str(value if value is not None else 0)
    try:
        return int(text, 16 if text.startswith("0x") else 10)
    except ValueError:
        raise ChainBroken("the order does not say how much to send along") from None


def _deadline(metadata: dict[str, Any]) -> datetime:
    try:
        return datetime.fromtimestamp(int(str(metadata["deadline"])), UTC)
    except (KeyError, ValueError, OverflowError, OSError):
        return datetime.max.replace(tzinfo=UTC)
