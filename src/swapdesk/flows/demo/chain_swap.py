"""What Alice does when she swaps on a chain herself: one intent, one order, one transaction.

Her account is one of the sandbox, which signs for her; so she takes a route that needs
transactions alone. What is sent is read as a wallet of the desk reads it (``dex.dex_plan``), and
the order is journaled like any other. Each method is one thing she does, in their order here.
"""

from __future__ import annotations

import hashlib
import json
import logging
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from msgspec.structs import replace

from swapdesk.client.chain_transfers import EvmBlocks, Mined
from swapdesk.client.errors import ApiError
from swapdesk.client.sandbox_control import SandboxControl
from swapdesk.flows.catalog.coin_price import coin_price
from swapdesk.flows.creation.confirm_intent import NotLockable, consent_for, lock_for_review
from swapdesk.flows.creation.exchange import dex_body
from swapdesk.flows.creation.order_verification import Created
from swapdesk.flows.demo.facts import DemoFailed, SentTransaction, SwapFacts, SwapOffer
from swapdesk.flows.dex.dex_ending import DexEnding
from swapdesk.flows.dex.dex_plan import (
    SwapPlan,
    approval_of,
    missing_permission,
    promise_of,
    transaction_of,
)
from swapdesk.flows.dex.dex_swap import DexConfirmation
from swapdesk.flows.intents.intent import Intent, IntentKind, terms_of
from swapdesk.flows.journal.dex_log import CONFIRM, SWAP
from swapdesk.flows.journal.journal_file import JournalUnavailable
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.orders.told_transaction import NotThisSwap, told_by
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payees.recipients import check_memo, check_recipient
from swapdesk.flows.quotes.quote_request import OnChain, QuoteOptions, QuoteRequest
from swapdesk.flows.quotes.quoting import QuoteResult
from swapdesk.flows.quotes.ranking import RankedQuote
from swapdesk.flows.transactions.delivery import Pace
from swapdesk.wallet.payload import TransactionPayload
from swapdesk.wire.dex import ApproveRequest
from swapdesk.wire.encoding.numbers import from_base_units, short
from swapdesk.wire.orders import Order
from swapdesk.wire.quotes import RouteType
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

COINS_FOR_FEES = Decimal("0.2")
GIFT_TIMES = 4
"""Her account begins with so many times what she sells."""
LOOK_SECONDS = 1.0
"""Of the machine, between two looks at the chain."""
MOST_LOOKS = 120

log = logging.getLogger(__name__)


class ChainSwap:
    """Methods raise DemoFailed, ClientError, ChainUnreadable and JournalUnavailable. ``customer``
    is Alice's name in the sandbox."""

    def __init__(
        self,
        desk: Desk,
        control: SandboxControl,
        chain: EvmBlocks,
        customer: str,
        tokens: tuple[Token, Token],
        amount: Decimal,
    ) -> None:
        self._desk = desk
        self._control = control
        self._chain = chain
        self._customer = customer
        self._sold, self._bought = tokens
        self._amount = amount
        self._plan = SwapPlan()
        self._journaled = False
        self.intent: Intent
        """From :meth:`ask` on."""
        self.facts: SwapFacts
        """From :meth:`ask` on."""
        self.order: Order | None = None

    async def ask(self) -> None:
        """Ask for quotes, with an account that has the money, and choose the best route that is
        paid by a transaction."""
        account = await self._filled()
        board = await self._desk.link.quotes.ask(
            QuoteRequest.of(
                QuoteOptions(types=(RouteType.DEX,)),
                self._sold,
                self._bought,
                self._amount,
                on_chain=OnChain(sender=account, receiver=account),
            )
        )
        rows = [row for row in board.ranking.rows if row.choosable and row.quote.amount_out]
        chosen = next((row for row in rows if not row.quote.supports_signatures), None)
        if chosen is None:
            unusable = (one.reason for one in board.ranking.unusable)
            sold, bought = self._sold.symbol, self._bought.symbol
            reason = next(unusable, "no route takes a transaction for it")
            raise DemoFailed(
                f"{exact_amount(self._amount)} {sold} cannot be swapped for {bought} on"
                f" {self._sold.chain_data.name} now: {reason}."
            )
        consent = consent_for(board, chosen, self._desk.catalog, self._desk.clock.now())
        if consent.refused or consent.phrase:
            # Nobody is asked here for what the desk has typed.
            raise DemoFailed(consent.refused or consent.lines[-1])
        self.intent = self._frozen(board, chosen, account)
        promise = promise_of(self.intent)
        self.facts = SwapFacts(
            account=account,
            bought=self._bought,
            offers=tuple(
                SwapOffer(
                    _venue(row),
                    row.quote.amount_out,
                    row is chosen,
                    bool(row.quote.supports_signatures),
                )
                for row in rows
                if row.quote.amount_out is not None
            ),
            venue=_venue(chosen),
            least=short(from_base_units(promise.least_units, self._bought.decimals)),
        )

    async def approve(self) -> None:
        """Send the approvals that the route needs, each once the one before is in a block."""
        request = ApproveRequest(
            quote_id=self.intent.quote_id, address_from=self.facts.account, use_permit=False
        )
        missing = await missing_permission(self._desk.link.api, request)
        if missing.signatures:
            raise DemoFailed(f"{self.facts.venue} asks for a signature in place of an approval.")
        self._plan = SwapPlan(approvals=len(missing.approvals))
        self.facts = replace(self.facts, approvals=())
        for approval in missing.approvals:
            try:
                payload = approval_of(approval, promise_of(self.intent))
            except NotThisSwap as error:
                raise DemoFailed(f"The approval is not of this swap: {error}.") from None
            sent = await self._mined(await self._send(payload))
            self.facts = replace(
                self.facts,
                approvals=(*(self.facts.approvals or ()), sent),
                spender=f"0x{payload.data[34:74]}",
            )

    async def create(self) -> None:
        """The order, with the transaction that is to be sent for it."""
        desk = self._desk
        digest = hashlib.sha256(json.dumps(self.intent.as_json()).encode()).hexdigest()
        told = {"plan": self._plan.as_json()}
        desk.journal.intents.add(self.intent, "permission", digest, told)
        self._journaled = True
        desk.link.exchange.running.add(self.intent.id)
        outcome = await desk.link.exchange.create_onchain(self.intent, dex_body(self.intent, []))
        if not isinstance(outcome, Created):
            raise DemoFailed(outcome.failure.cause)
        self.order = outcome.order
        if outcome.check.hard:
            raise DemoFailed("The order differs from what was confirmed and is not paid.")

    async def send(self) -> None:
        """The order's transaction, as it says."""
        assert self.order is not None  # created before
        try:
            payload = transaction_of(told_by(self.order), promise_of(self.intent))
        except NotThisSwap as error:
            raise DemoFailed(f"The transaction is not of this swap: {error}.") from None
        swaps, intent_id = self._desk.journal.swaps, self.intent.id
        seq = swaps.begin(intent_id, SWAP, hashlib.sha256(payload.data.encode()).hexdigest())
        sent = await self._send(payload)
        swaps.sent(intent_id, seq, hash=sent.hash)
        self.facts = replace(self.facts, sent=sent)

    async def wait_for_block(self) -> None:
        """Until the transaction is in a block, where the swap has happened."""
        assert self.facts.sent is not None  # sent before
        sent = await self._mined(self.facts.sent)
        self.facts = replace(self.facts, sent=sent)
        step = self._desk.journal.swaps.last(self.intent.id, SWAP)
        assert step is not None  # begun before
        self._desk.journal.swaps.acked(self.intent.id, step.seq, hash=sent.hash)

    async def tell(self) -> None:
        """Tell the service which transaction is the order's."""
        assert self.order is not None  # created before
        assert self.facts.sent is not None  # sent before
        desk = self._desk
        ending = DexEnding(self.intent, desk.journal)
        ending.order_id = self.order.service_id
        confirmation = DexConfirmation(
            desk.link.api, desk.journal, desk.clock, self.intent, ending, Pace()
        )
        outcome = await confirmation.told(self.order, self.facts.sent.hash)
        if not outcome.done:
            raise DemoFailed(outcome.cause)
        self.facts = replace(self.facts, told=desk.clock.now())

    async def look(self) -> SwapFacts:
        """With what her account has now of what she buys."""
        address = self._bought.address
        if address is not None:
            units = await self._chain.balance(address, self.facts.account)
            holds = short(from_base_units(units, self._bought.decimals))
            self.facts = replace(self.facts, holds=holds)
        return self.facts

    def close(self) -> None:
        """Leave nothing open that a wallet of this desk would be asked to go on with."""
        if self._journaled:
            self._desk.link.exchange.running.discard(self.intent.id)
        try:
            self._close()
        except JournalUnavailable as error:
            log.error("the journal cannot be written: %s", error)

    def _close(self) -> None:
        journal, intent_id = self._desk.journal, self.intent.id if self._journaled else ""
        step = journal.swaps.steps(intent_id)[-1] if self._journaled else None
        if step is None or (step.name == CONFIRM and step.state is StepState.ACKED):
            return
        if self.order is not None:
            seq = journal.swaps.begin(intent_id, CONFIRM, "")
            journal.swaps.refused(intent_id, seq, "DEMO_ENDED")
        elif step.state is StepState.PREPARED:
            journal.intents.abandon(intent_id)

    async def _filled(self) -> str:
        """Her account, once what it begins with is in a block."""
        chain, control = self._chain.chain, self._control
        account = await control.account(chain, self._customer)
        amount = GIFT_TIMES * self._amount
        coins = await control.give(chain, account, COINS_FOR_FEES)
        try:
            tokens = await control.give(chain, account, amount, self._sold.address)
        except ApiError as refused:
            wanted = f"{exact_amount(amount)} {self._sold.symbol}"
            raise DemoFailed(f"The sandbox gives no {wanted}: {refused.message}.") from None
        for gift in (coins, tokens):
            await self._included(gift)
        return account

    def _frozen(self, board: QuoteResult, row: RankedQuote, account: str) -> Intent:
        price = coin_price(self._desk.catalog, self._chain.chain)
        try:
            return lock_for_review(
                IntentKind.EXCHANGE,
                row,
                board,
                check_recipient(account, self._bought, book=self._desk.book, paid={}),
                check_memo(None, False, self._bought),
                None,
                self._desk.clock,
                dex=terms_of(row.quote, account, price),
            )
        except NotLockable as error:
            raise DemoFailed(f"The swap cannot be confirmed: {error}.") from None

    async def _send(self, payload: TransactionPayload) -> SentTransaction:
        at: datetime = self._desk.clock.now()
        hash_ = await self._control.send(
            self._chain.chain, self._customer, payload.to, payload.data, payload.value
        )
        return SentTransaction(hash_, at, payload.to)

    async def _mined(self, sent: SentTransaction) -> SentTransaction:
        found = await self._included(sent.hash)
        if not found.succeeded:
            raise DemoFailed(f"The transaction {sent.hash} was executed and failed.")
        return replace(sent, height=found.height, fee=found.fee)

    async def _included(self, transaction_hash: str) -> Mined:
        for _ in range(MOST_LOOKS):
            found = await self._chain.mined(transaction_hash)
            if found is not None:
                return found
            await self._desk.clock.sleep(LOOK_SECONDS)
        raise DemoFailed(f"The transaction {transaction_hash} came into no block.")


def whereabouts(known: SwapFacts, tracked: TrackedOrder | None) -> tuple[str, str]:
    """Where the money is, and who acts next."""
    sent, here = known.sent, "in Alice's account."
    if sent is not None and sent.height is None:
        money = "in Alice's account until her transaction is in a block."
        return money, "the chain: it takes the transaction into a block"
    if sent is not None:
        money = "in Alice's account, swapped."
        if tracked is not None and tracked.ended:
            return money, "nobody: nothing is left to do"
        if known.told is not None:
            return money, "the service: it counts blocks until this one is final"
        return money, "Alice: she tells the service which transaction it was"
    if tracked is not None:
        return here, "Alice: she sends the order's transaction"
    if known.approvals is not None:
        return here, "Alice: she creates the order"
    return here, f"Alice: she lets {known.venue} take what she sells"


def _venue(row: RankedQuote) -> str:
    return row.quote.swap_name or row.quote.swap or ""
