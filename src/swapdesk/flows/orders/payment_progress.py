"""How far the payment of an order is at this desk, as long as the service saw none of it.

The service says only that it waits. An order of a batch is paid by the bundle of its group, which
``flows.batch.order_payments`` works out; whether the transaction of a swap on chains was signed,
refused or executed stands in the parts of its create. Both decide where the money is and who acts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from swapdesk.chain.deployments import PERMIT2
from swapdesk.flows.intents.intent import Intent
from swapdesk.flows.journal.ledger import EXECUTED_IN_VAIN, Operation, State
from swapdesk.flows.notation import exact_amount
from swapdesk.wire.encoding.numbers import from_base_units, short


class BatchPayment(Struct, frozen=True):
    """How the order's payment stands: prepared while its bundle has still to pay, or paid nobody;
    sent while that pays; done once the deposit address has the money; refused where the group was
    paid without it. ``money`` is a sentence that follows the word Funds, ``place`` its short form,
    both with their point; ``actor`` does ``due``."""

    state: State
    money: str
    place: str
    actor: str
    due: str
    problem: str = ""
    """Why its bundle paid nobody, in a sentence; empty unless it failed, was called off or was not
    taken."""
    in_account: bool = False
    """What is not paid yet is in the owner's smart account, or goes there."""

    @property
    def begun(self) -> bool:
        """Whether nobody may pay the order once more."""
        return self.state in (State.SENT, State.DONE)


QUOTE_AGAIN = "ask for new quotes"


SwapFailure = Literal["not-signed", "reverted", "not-executed"]
"""Refused by the trader, by the wallet or by the end of the quote, or never answered before the
order was closed; executed in vain; signed, and not to be executed any more. Of the last two the
journal keeps the word with an order that was put away."""


class SwapPayment(Struct, frozen=True):
    """How the order's transaction stands: still to be signed (prepared), done, or refused by
    ``failure``. ``money`` is where it is as long as nothing was swapped; it follows the word Funds
    and has its point."""

    state: State
    money: str
    failure: SwapFailure | None = None


def swap_payment(
    intent: Intent, acts: Sequence[Operation], *, settles: bool, closed: bool = False
) -> SwapPayment | None:
    """Of an order whose transaction nobody saw; None where the order's own words say it: the
    transaction was sent and may be executed, or the venue settles what was signed. ``acts`` are its
    create and the parts of that. ``closed``: the service waits for it no longer, and what was not
    begun will never be signed."""
    swap = next((act for act in reversed(acts) if act.kind == "swap"), None)
    money = f"{wallet_money(intent, acts)}."
    failure: SwapFailure = "not-signed"
    if swap is not None and swap.state is State.DONE:
        return SwapPayment(State.DONE, money)
    if swap is not None and swap.state is State.REFUSED:
        if swap.hash is not None:
            failure = "reverted" if swap.code == EXECUTED_IN_VAIN else "not-executed"
        return SwapPayment(State.REFUSED, money, failure)
    if any(act.state is State.REFUSED for act in (acts[0], acts[-1]) if act.kind != "confirm"):
        return SwapPayment(State.REFUSED, money, failure)
    if settles or (swap is not None and swap.left) or any(act.kind == "confirm" for act in acts):
        return None
    if not closed:
        return SwapPayment(State.PREPARED, money)
    # What was begun may have been signed by a desk that was killed then.
    return SwapPayment(State.REFUSED, money, failure) if swap is None else None


def wallet_money(intent: Intent, acts: Sequence[Operation]) -> str:
    """Where the money is as long as nothing was paid, and who may take it; without a point."""
    said = "in your wallet; nothing was swapped"
    amount = f"{exact_amount(intent.amount_in)} {intent.token_in.symbol}"
    allowed = (State.SENT, State.DONE)
    approved = [act for act in acts if act.kind == "approve" and act.state in allowed]
    if approved and all(act.result.get("spender") == PERMIT2.lower() for act in approved):
        said += (
            f"; Permit2 may pass on up to {amount} by a signature of yours, until you revoke that"
        )
    elif approved:
        said += f"; {venue_of(intent)} may still take up to {amount} until you revoke that"
    signed = {
        act.body["name"]: act for act in acts if act.kind == "sign" and act.state is State.DONE
    }
    if signed:
        said += f"; {_signatures(intent, list(signed.values()))}"
    return said


def _signatures(intent: Intent, signed: Sequence[Operation]) -> str:
    """What was signed, with the sum that the wallet counted under the last of them."""
    token, counted = intent.token_in, [act.result.get("taken") for act in signed]
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
