"""How a group of a batch is paid, as commands print it: one object, or facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swapdesk.flows.batch.group_outcomes import or_take_back
from swapdesk.flows.batch.group_status import GroupStanding, Until
from swapdesk.flows.batch.payouts import PAY_OUT, payouts_of
from swapdesk.flows.journal.batch_records import WalletPayment
from swapdesk.flows.journal.journal_records import StepState
from swapdesk.flows.notation import exact_amount
from swapdesk.wire.encoding.numbers import from_base_units, short
from swapdesk.wire.orders import Order

LOOK = "swapdesk orders list shows the orders"
LEFT = "swapdesk wallet balance lists what gas left over in the smart account"
_COMMANDS = {Until.BUILT: "build", Until.SIGNED: "sign", Until.SETTLED: "submit"}


def group_document(
    standing: GroupStanding, orders: Mapping[str, Order] | None = None
) -> dict[str, Any]:
    """``bundle`` None before it is built; amounts are in whole tokens. ``orders`` by id, as far as
    the service was asked."""
    bundle, group = standing.bundle, standing.group
    return {
        "group": group.number,
        "chain": group.chain,
        "paid": group.paid,
        "state": group.state.value,
        "multiId": group.multi_id,
        "code": group.code,
        "rows": [row.number for row in group.rows],
        "standing": standing.word,
        "leftOut": standing.left_out,
        "bundle": None
        if bundle is None
        else {
            "number": bundle.number,
            "state": bundle.state.value,
            "account": bundle.built.account,
            "smartAccount": bundle.built.sender if bundle.built.kind == "evm" else None,
            "items": [
                {
                    "token": item.symbol,
                    "contract": item.contract,
                    "amount": item.amount,
                    "serviceIds": [one.service_id for one in item.deposits],
                }
                for item in bundle.built.items
            ],
            "needs": [
                {"token": one.symbol, "contract": one.contract, "amount": one.amount}
                for one in bundle.built.needs
            ],
            "gasAtMost": short(from_base_units(bundle.built.gas_units, _decimals(standing))),
            "expires": bundle.built.expires,
            "signatures": len(bundle.signatures),
            "txHash": bundle.tx_hash,
            "code": bundle.code,
            "reason": bundle.reason,
        },
        "payments": [_payment(one) for one in standing.payments],
        "money": money_words(standing, orders or {}),
        "next": next_words(standing, orders),
    }


def group_facts(
    standing: GroupStanding, orders: Mapping[str, Order] | None = None
) -> list[tuple[str, str]]:
    """The same for a person."""
    facts = [
        ("Group", f"{standing.group.number} {standing.group.multi_id or ''}".strip()),
        ("Stands", standing.word),
        ("Plan", standing.plan),
    ]
    facts += [
        (
            "Funding" if one in standing.fundings else "Transaction",
            f"{exact_amount(one.amount)} {one.symbol} {one.hash}",
        )
        for one in standing.payments
        if one.hash is not None
    ]
    if standing.bundle is not None and standing.bundle.tx_hash is not None:
        facts.append(("Paid by", standing.bundle.tx_hash))
    funds = f"{money_words(standing, orders or {})}."
    return [*facts, ("Funds", funds), ("Next", next_words(standing, orders))]


def money_words(standing: GroupStanding, orders: Mapping[str, Order]) -> str:
    """Where the money of the group is, without a point: at the recipients, as far as the orders
    say so."""
    payouts = payouts_of([standing], orders)
    return (payouts.whereabouts if payouts is not None else "") or standing.whereabouts


def next_words(standing: GroupStanding, orders: Mapping[str, Order] | None = None) -> str:
    """Who acts next, and by which command."""
    batch = standing.batch_id[:8]
    if standing.group.multi_id is None:
        group = standing.group
        waits = group.open or group.state is StepState.PREPARED
        return f"you: swapdesk batch {'resume' if waits else 'create --failed'} {batch}"
    if standing.over:
        payouts = payouts_of([standing], orders or {})
        return payouts.next(LOOK, LEFT) if payouts is not None else PAY_OUT
    due = standing.next
    if due is None:
        return "nobody: no row of it became an order"
    next_ = f"you: swapdesk batch {_COMMANDS[due]} {batch} --group {standing.group.number}"
    return or_take_back(next_, standing) if due is Until.BUILT else next_


def _payment(one: WalletPayment) -> dict[str, Any]:
    return {
        "for": one.paying.value,
        "token": one.symbol,
        "contract": one.contract,
        "amount": one.amount,
        "state": one.state.value,
        "hash": one.hash,
        "serviceIds": list(one.service_ids),
        "code": one.code,
    }


def _decimals(standing: GroupStanding) -> int:
    return 9 if standing.solana else 18
