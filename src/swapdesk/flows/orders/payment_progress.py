"""How an order of a batch is paid: by the bundle of its group, as far as the journal has that.

The batch works this out (``flows.batch.order_payments``); what is said of the order follows it
until the service has seen the deposit.

How the payment of a swap on chains stands at this desk, as long as the service saw none of it.

The service says only that it waits. Whether its transaction was signed, refused or executed
stands in the steps of the journal, and decides where the money is and who acts next.

How what a chain shows of a payment differs from what its order asked for: another token or chain,
a missing memo, less or more, a payment after the deadline. The service tells none of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.deployments import PERMIT2
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.dex_log import APPROVE, CONFIRM, SWAP, SwapStep
from swapdesk.flows.journal.journal_records import EXECUTED_IN_VAIN, PaidOnChain, StepState
from swapdesk.flows.journal.order_merge import display_of, ended
from swapdesk.flows.notation import exact_amount
from swapdesk.flows.orders.order_fields import deposit_arrived
from swapdesk.wire.encoding.numbers import from_base_units, short
from swapdesk.wire.orders import Order


class PaidTo(StrEnum):
    """How far the money of the order is."""

    WALLET = "wallet"
    """Nothing left the wallet for it."""
    ACCOUNT = "account"
    """It is in the owner's smart account, or goes there; the bundle has still to pay, or ended."""
    WAY = "way"
    """The bundle pays now."""
    ADDRESS = "address"
    """The deposit address has it."""
    LEFT_OUT = "left out"
    """Its group was paid without it."""


class BatchPayment(Struct, frozen=True):
    """``money`` is a sentence that follows the word Funds, ``place`` its short form, both with
    their point; ``actor`` does ``due``."""

    at: PaidTo
    money: str
    place: str
    actor: str
    due: str
    problem: str = ""
    """Why its bundle paid nobody, in a sentence; empty unless it failed, was called off or was not
    taken."""

    @property
    def begun(self) -> bool:
        """Whether nobody may pay the order once more."""
        return self.at in (PaidTo.WAY, PaidTo.ADDRESS)


QUOTE_AGAIN = "ask for new quotes"


class SwapStage(StrEnum):
    """How far the order's transaction is; journals hold the value of a trouble."""

    TO_SIGN = "not-signed-yet"
    NOT_SIGNED = "not-signed"
    """Refused by the trader, by the wallet or by the end of the quote, or never answered before
    the order was closed; it is not asked again."""
    REVERTED = "reverted"
    NOT_EXECUTED = "not-executed"
    """Signed, and can not be executed any more."""
    EXECUTED = "executed"


class SwapPayment(Struct, frozen=True):
    """``money`` is where it is as long as nothing was swapped; it follows the word Funds and has
    its point."""

    at: SwapStage
    money: str


def swap_payment(
    intent: Intent, steps: Sequence[SwapStep], *, settles: bool, closed: bool = False
) -> SwapPayment | None:
    """Of an order whose transaction nobody saw; None where the order's own words say it: the
    transaction was sent and may be executed, or the venue settles what was signed. ``closed``:
    the service waits for it no longer, and what was not begun will never be signed."""
    stage = _stage(steps, settles=settles, closed=closed)
    return None if stage is None else SwapPayment(stage, f"{wallet_money(intent, steps)}.")


def _stage(steps: Sequence[SwapStep], *, settles: bool, closed: bool) -> SwapStage | None:
    step = next((step for step in steps[::-1] if step.name == SWAP), None)
    last = steps[-1]
    if step is None or step.state is StepState.PREPARED:
        if last.state is StepState.REFUSED and last.name != CONFIRM:
            return SwapStage.NOT_SIGNED
        if settles or any(step.name == CONFIRM for step in steps):
            return None
        if closed:
            # A step that was begun may have been signed by a desk that was killed then.
            return SwapStage.NOT_SIGNED if step is None else None
        return SwapStage.TO_SIGN
    if step.state is StepState.ACKED:
        return SwapStage.EXECUTED
    if step.state is not StepState.REFUSED:
        return None
    if not step.told.get("hash"):
        return SwapStage.NOT_SIGNED
    return SwapStage.REVERTED if step.code == EXECUTED_IN_VAIN else SwapStage.NOT_EXECUTED


def wallet_money(intent: Intent, steps: Sequence[SwapStep]) -> str:
    """Where the money is as long as nothing was paid, and who may take it; without a point."""
    said = "in your wallet; nothing was swapped"
    amount = f"{exact_amount(intent.amount_in)} {intent.token_in.symbol}"
    allowed = (StepState.SENT, StepState.ACKED)
    approved = [one for one in steps if one.name == APPROVE and one.state in allowed]
    if approved and all(one.told.get("spender") == PERMIT2.lower() for one in approved):
        said += (
            f"; Permit2 may pass on up to {amount} by a signature of yours, until you revoke that"
        )
    elif approved:
        said += f"; {venue_of(intent)} may still take up to {amount} until you revoke that"
    signed = {
        one.name: one
        for one in steps
        if one.name.startswith("sign ") and one.state is StepState.ACKED
    }
    if signed:
        said += f"; {_signatures(intent, list(signed.values()))}"
    return said


def _signatures(intent: Intent, signed: Sequence[SwapStep]) -> str:
    """What was signed, with the sum that the wallet counted under the last of them."""
    token, counted = intent.token_in, [one.told.get("taken") for one in signed]
    if None in counted:
        # Of an earlier release, which added nothing up.
        each = f"{exact_amount(intent.amount_in)} {token.symbol}"
        if len(signed) > 1:
            return f"{len(signed)} signatures for {each} each were made and end by themselves"
        return f"a signature for {each} was made and ends by itself"
    most = max(int(str(one)) for one in counted)
    total = f"{exact_amount(short(from_base_units(most, token.decimals)))} {token.symbol}"
    if len(signed) > 1:
        return f"{len(signed)} signatures for {total} in all were made and end by themselves"
    return f"a signature for {total} was made and ends by itself"


def venue_of(intent: Intent) -> str:
    """What the venue of a swap is called."""
    return intent.provider_name or intent.provider or "the venue"


class PaymentMatch(StrEnum):
    """How a payment to the deposit address stands to the order, the worst first."""

    MISSING = "missing"
    FAILED = "failed"
    WRONG_CHAIN = "wrong chain"
    WRONG_TOKEN = "wrong token"
    NO_MEMO = "memo missing"
    WRONG_MEMO = "another memo"
    UNDERPRICED = "underpriced"
    UNCONFIRMED = "not in a block"
    CLOSED_BEFORE = "closed before"
    """It waits for a block, and the order is closed."""
    LATE_STUCK = "late stuck"
    """After the deadline, and the order names no address for a refund."""
    LATE = "late"
    CLOSED_WITHOUT = "closed without"
    """It arrived, and the order was closed as one that was not paid."""
    TOO_LITTLE = "too little"
    TOO_MUCH = "too much"
    AS_ASKED = "as asked"


def match_payment(order: Order, paid: PaidOnChain) -> PaymentMatch:
    """How ``paid`` stands to what ``order`` asked for (contract 8.10 to 8.12)."""
    asked = order.in_token
    if paid.missing:
        return PaymentMatch.MISSING
    if paid.failed:
        return PaymentMatch.FAILED
    if order.is_dex:
        return _waiting(paid) or PaymentMatch.AS_ASKED
    if asked is not None and asked.chain != paid.chain:
        return PaymentMatch.WRONG_CHAIN
    if asked is not None and paid.token_id != asked.id:
        return PaymentMatch.WRONG_TOKEN
    if order.deposit_tag and not paid.memo:
        return PaymentMatch.NO_MEMO
    if order.deposit_tag and paid.memo != order.deposit_tag:
        return PaymentMatch.WRONG_MEMO
    closed = ended(display_of(order))
    if (waits := _waiting(paid)) is not None:
        return PaymentMatch.CLOSED_BEFORE if closed else waits
    if paid.at is not None and order.expires is not None and paid.at > order.expires:
        return PaymentMatch.LATE if order.refund_address else PaymentMatch.LATE_STUCK
    if closed:
        return PaymentMatch.CLOSED_WITHOUT
    if paid.amount is None or order.in_amount is None or paid.amount == order.in_amount:
        return PaymentMatch.AS_ASKED
    return PaymentMatch.TOO_LITTLE if paid.amount < order.in_amount else PaymentMatch.TOO_MUCH


def _waiting(paid: PaidOnChain) -> PaymentMatch | None:
    if paid.confirmations is not None:
        return None
    return PaymentMatch.UNDERPRICED if paid.underpriced else PaymentMatch.UNCONFIRMED


_WIDE = Context(prec=200)
_SEQUENCE = tuple(PaymentMatch)


def deposit_on_chain(order: Order, payments: Sequence[PaidOnChain]) -> PaidOnChain | None:
    """What chains show of the deposit, as one payment: those of one kind added up, and of several
    kinds the one that needs somebody first. What moved money comes before what moved none."""
    kinds: dict[tuple[str, str | None, str | None], PaidOnChain] = {}
    moved = [one for one in payments if one.moved]
    waiting = [one for one in payments if not one.failed and not one.missing]
    for one in moved or waiting or payments:
        kind = (one.chain, one.token_id, one.memo)
        kinds[kind] = _together(kinds[kind], one) if kind in kinds else one
    return min(
        kinds.values(), key=lambda one: _SEQUENCE.index(match_payment(order, one)), default=None
    )


def unseen_match(order: Order, deposit: PaidOnChain | None) -> PaymentMatch | None:
    """How what chains show of the deposit stands to the order, as long as the service has not seen
    it. That a swap on a chain was executed is told by the situation of the swap."""
    if deposit is None or deposit_arrived(order):
        return None
    match = match_payment(order, deposit)
    return None if order.is_dex and match is PaymentMatch.AS_ASKED else match


def _together(one: PaidOnChain, other: PaidOnChain) -> PaidOnChain:
    """Both as one, as old as the first of them and as certain as the last."""
    if one.amount is None or other.amount is None:
        return one
    times = [each.at for each in (one, other) if each.at is not None]
    depths = [each.confirmations for each in (one, other) if each.confirmations is not None]
    return replace(
        one,
        amount=short(_WIDE.add(one.amount, other.amount)),
        confirmations=min(depths, default=None),
        at=min(times, default=None),
        seen_at=min(one.seen_at, other.seen_at),
    )
