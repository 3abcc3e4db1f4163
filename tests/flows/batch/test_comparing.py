"""An order of a group is that of its row only when nothing of it differs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from flows.orders import ETH, RECIPIENT, order
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.flows.batch.payable import differing
from swapdesk.wire.multi import MultiOrderRequest

ORDER = order()


def asked(**changes: Any) -> MultiOrderRequest:
    fields: dict[str, Any] = {
        "from_": ORDER.in_token_id,
        "to": ORDER.out_token_id,
        "amount": Decimal("0.5"),
        "address_to": RECIPIENT,
    }
    return MultiOrderRequest(**{**fields, **changes})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"in_token_id": ETH.id}, "token sold"),
        ({"out_token_id": "6689b73ec90e45f3b3e51500"}, "token bought"),
        ({"receiver_address": derive_address("evm", b"x" * 32)}, "recipient"),
        ({"receiver_address": None}, "recipient"),
        ({"receiver_tag": "70417"}, "memo"),
        ({"anonymous": True}, "route"),
        ({"in_amount": Decimal("0.501")}, "amount"),
        ({"in_amount": Decimal("0.499")}, "amount"),
    ],
)
def test_what_differs_from_the_row_is_named(change: dict[str, Any], said: str) -> None:
    assert differing(asked(), ORDER.model_copy(update=change)) == said


def test_a_memo_of_the_row_has_to_be_repeated() -> None:
    row = asked(destination_tag="70417")
    assert differing(row, ORDER) == "memo"
    unsaid = ORDER.model_copy()
    unsaid.model_fields_set.discard("receiver_tag")
    assert differing(row, unsaid) == "memo"
    assert differing(row, ORDER.model_copy(update={"receiver_tag": "70417"})) is None


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"receiver_address": RECIPIENT.lower()},
        {"in_amount": Decimal("0.50004")},
        {"in_token_id": None, "out_token_id": None, "anonymous": None, "in_amount": None},
    ],
)
def test_what_is_within_the_tolerance_or_not_said_is_the_same(change: dict[str, Any]) -> None:
    assert differing(asked(), ORDER.model_copy(update=change)) is None
