"""What an order calls a refund: the deposited token, back on its own chain."""

from __future__ import annotations

from decimal import Decimal

import pytest

from service.orders_fixtures import EVM, Floor, caller, row_of
from swapdesk.service.venues.adapter import LegReport
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.orders import LegStatus


@pytest.mark.parametrize("intermediate", [{}, {"intermediate_refund_address": "kept"}])
async def test_what_the_second_leg_gives_back_is_no_refund(
    floor: Floor, intermediate: dict[str, str]
) -> None:
    order = await floor.create(route="private", refund_address=EVM, **intermediate)
    row = await row_of(floor, order)
    first, second = (floor.venue(code) for code in row.legs)
    first.move(f"{order.service_id}:in", LegStatus.FINISHED)
    second.tell(
        f"{order.service_id}:out",
        LegReport(
            LegStatus.REFUNDED,
            deposit_arrived=True,
            refund_hash="hash between the legs",
            refund_chain="monero",
            refund_amount=Decimal(8),
        ),
    )
    await floor.work()
    shown = await floor.desk.get(caller(), order.service_id)
    assert (shown.status, shown.display_status, shown.action_required) == (6, "FAILED", True)
    assert (shown.refund_hash, shown.refund_chain, shown.refund_amount) == (None, None, None)
    assert shown.order_finished_received is None
    sent = encode_json(shown).decode()
    assert "monero" not in sent
    assert "between" not in sent


async def test_a_private_deposit_given_back_by_the_first_leg_is_a_refund(floor: Floor) -> None:
    order = await floor.create(route="private", refund_address=EVM)
    row = await row_of(floor, order)
    floor.venue(row.legs[0]).tell(
        f"{order.service_id}:in",
        LegReport(
            LegStatus.REFUNDED,
            deposit_arrived=True,
            refund_hash="0xaa",
            refund_chain="ethereum",
            refund_amount=Decimal("0.49"),
        ),
    )
    await floor.work()
    shown = await floor.desk.get(caller(), order.service_id)
    assert (shown.status, shown.refund_chain, shown.refund_amount) == (
        7,
        "ethereum",
        Decimal("0.49"),
    )
    assert shown.action_required is False
