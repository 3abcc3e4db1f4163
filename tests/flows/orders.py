"""Intents and orders for tests of the flows: real models, one Bitcoin to Ethereum swap."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from msgspec.structs import replace

from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.batch.batches import (
    begin_batch,
    find_batch,
    move_group,
    move_row,
)
from swapdesk.flows.batch.bundles import Bundle, BundleDeposit, BundleItem, add_bundle, sign_bundle
from swapdesk.flows.batch.rows import Group, Row
from swapdesk.flows.creation.creates import become_order, begin_create
from swapdesk.flows.creation.exchange import new_intent_id
from swapdesk.flows.intents.intent import (
    RELEASED,
    UNREPEATED,
    DepositRelease,
    Intent,
    IntentKind,
    ReleaseVerdict,
    TokenFacts,
)
from swapdesk.flows.journal.journal import Journal
from swapdesk.flows.journal.ledger import State
from swapdesk.flows.orders.tracked_order import TrackedOrder
from swapdesk.flows.payments import Sum
from swapdesk.wire.orders import DisplayStatus, Order

NOW = datetime(2026, 11, 20, 14, 2, 11, tzinfo=UTC)
BTC = TokenFacts("6689b73ec90e45f3b3e51500", "BTC", "bitcoin", "Bitcoin", "bitcoin", None, 8)
ETH = TokenFacts("6689b73ec90e45f3b3e51566", "ETH", "ethereum", "Ethereum", "evm", None, 18)
RECIPIENT = derive_address("evm", b"r" * 32)
DEPOSIT = derive_address("bitcoin", b"d" * 32)


def intent(**changes: Any) -> Intent:
    confirmed = Intent(
        id=new_intent_id(),
        kind=IntentKind.EXCHANGE,
        frozen_at=NOW,
        token_in=BTC,
        token_out=ETH,
        amount_in=Decimal("0.5"),
        amount_out=Decimal("14.524108"),
        net_amount_out=Decimal("14.524108"),
        route="standard",
        provider="hy",
        provider_name="Halyard",
        quote_id="a" * 24,
        valid_until=NOW + timedelta(seconds=60),
        minutes=Decimal(14),
        recipient=RECIPIENT,
        recipient_label=None,
        memo=None,
        memo_waived=False,
        refund_address=None,
        refund_memo=None,
    )
    return replace(confirmed, **changes)


def order(of: Intent | None = None, **changes: Any) -> Order:
    """The order that ``of`` becomes when the service does exactly what was confirmed."""
    of = of or intent()
    facts: dict[str, Any] = {
        "service_id": "h8Kq2PdT5mXcVbN3wRtY7z",
        "created": NOW,
        "modified": NOW,
        "expires": NOW + timedelta(minutes=30),
        "receiver_address": of.recipient,
        "receiver_tag": of.memo,
        "deposit_address": DEPOSIT,
        "status": 0,
        "display_status": DisplayStatus.WAITING_FOR_DEPOSIT.value,
        "in_status": 1,
        "anonymous": of.route == "private",
        "in_": of.provider,
        "swap_name": of.provider_name,
        "in_amount": of.amount_in,
        "in_symbol": of.token_in.symbol,
        "in_token_id": of.token_in.id,
        "out_amount": of.amount_out,
        "out_symbol": of.token_out.symbol,
        "out_token_id": of.token_out.id,
        "refund_address": of.refund_address,
        "eta": Decimal(14),
    }
    return Order(**{**facts, **changes})


def created_here(journal: Journal, made: Order, *, verdict: ReleaseVerdict = RELEASED) -> None:
    """Journal ``made`` as an order of this desk, of which ``verdict`` stands."""
    confirmed = intent(recipient=made.receiver_address, memo=made.receiver_tag)
    hidden = verdict if verdict.standing is DepositRelease.DIFFERS else UNREPEATED
    begin_create(journal.ledger, confirmed, "0" * 64)
    journal.ledger.move(confirmed.id, State.SENT, server_at=NOW)
    become_order(journal, confirmed.id, made, source="create", verdict=hidden)
    journal.orders.settle(made.service_id, verdict)


def tracked(
    of: Intent | None = None,
    withheld: str | None = None,
    standing: DepositRelease = DepositRelease.RELEASED,
    **changes: Any,
) -> TrackedOrder:
    """The order of an intent as the stream told it a while ago."""
    one = order(of, **changes)
    return TrackedOrder(one, of, withheld, False, NOW, "stream", standing=standing)


NEED = Sum("USDC", 6, "0xdd", 243 * 10**6)


def batch_of_one(journal: Journal, number: int = 1) -> str:
    """A batch of one row, written down and not sent."""
    batch_id = f"{number:032x}"
    begin_group(journal, batch_id)
    return batch_id


def begin_group(journal: Journal, batch_id: str, rows: int = 1, body: str = "{}") -> Group:
    """A batch of one group, written down and not sent; ``body`` is its request."""
    cells = {"to": "@bob"}
    some = tuple(Row(number, number + 1, cells) for number in range(1, rows + 1))
    groups = [(Group(1, "base", "bundle", some), body)]
    begin_batch(journal.ledger, batch_id, "payout.csv", f"digest {batch_id}", groups)
    return group_of(journal, batch_id)


def group_of(journal: Journal, batch_id: str) -> Group:
    """The first group of a batch as the journal has it now."""
    batch = find_batch(journal.ledger, batch_id)
    assert batch is not None
    return batch.groups[0]


def create_group(
    journal: Journal,
    group: Group,
    multi_id: str,
    *names: str,
    code: str | None = None,
    request_id: str | None = None,
) -> bool:
    """The group was created, each row as the order of its name; ``code``: as what differs."""
    with journal.ledger.transaction():
        moved = move_group(
            journal.ledger, group, State.DONE, multi_id=multi_id, request_id=request_id
        )
        for row, name in zip(group.rows, names, strict=True) if moved else ():
            move_row(journal.ledger, row, State.DONE, service_id=name, code=code)
        return moved


def created_batch(journal: Journal, batch_id: str, multi_id: str, *names: str, **ends: Any) -> None:
    """A batch whose group was created with an order of each name."""
    group = begin_group(journal, batch_id, len(names), ends.pop("body", "{}"))
    assert move_group(journal.ledger, group, State.SENT, server_at=NOW)
    assert create_group(journal, group, multi_id, *names, **ends)


def built(*paid: str) -> Bundle:
    """A bundle with an operation for each order, at least one."""
    expires = NOW + timedelta(minutes=30)
    items = tuple(
        BundleItem("usdc", "USDC", 6, "0xdd", at, (deposit,), 1, {})
        for at, deposit in enumerate(BundleDeposit(1, one, "0x01", 1, expires) for one in paid)
    )
    return Bundle("evm", "base", "0x5e", "0x5e", items, (NEED,))


def signed_bundle(journal: Journal, batch_id: str, *paid: str) -> Bundle:
    bundle = add_bundle(journal.ledger, group_of(journal, batch_id).act.id, built(*paid))
    assert sign_bundle(journal.ledger, bundle, ["0x51"] * len(paid))
    return bundle
