"""How far the payment of an order is at this desk, as long as the service saw none of it.

The service says only that it waits. An order of a batch is paid by the bundle of its group, which
``flows.batch.order_payments`` works out; whether the transaction of a swap on chains was signed,
refused or executed stands in the steps of the journal. Both decide where the money is and who acts.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from swapdesk.chain.deployments import PERMIT2
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.dex_log import APPROVE, CONFIRM, SWAP, SwapStep
from swapdesk.flows.journal.journal_records import EXECUTED_IN_VAIN, StepState
from swapdesk.flows.notation import exact_amount
from swapdesk.wire.encoding.numbers import from_base_units, short


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
