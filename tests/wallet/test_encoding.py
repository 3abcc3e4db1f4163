"""What one side of the agent's pipe tells the other is read whole or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct

from rows import each_row
from swapdesk.wallet import accounts, answers, promise
from swapdesk.wallet.promise import Asset, TakenOut
from swapdesk.wallet.protocol import MessageError, from_json, to_json

MESSAGES = [
    kind
    for module in (accounts, answers, promise)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Struct) and kind.__module__ == module.__name__
]
TAKEN = TakenOut(Asset("USDC", 6, "0x" + "ab" * 20), 2**255)


def refusal(kind: type[Struct], value: object) -> str:
    with pytest.raises(MessageError) as refused:
        from_json(kind, value)
    return str(refused.value)


def test_no_message_takes_a_field_that_it_does_not_know() -> None:
    assert len(MESSAGES) > 20
    for kind in MESSAGES:
        assert refusal(kind, {"more": 1}) == f"{kind.__name__} cannot be read: more"


@each_row(
    ("value", "places"),
    [
        ({"units": "1"}, "units"), ({"units": True}, "units"), ({"units": 1.0}, "units"),
        ({"units": None}, "units"), ({"units": float("nan")}, "all of it"),
        ({"asset": {"symbol": "USDC", "decimals": "6", "contract": None}}, "asset.decimals"),
        ({"asset": {"symbol": "USDC", "decimals": 6}}, "contract in asset"),
        ({"asset": {"symbol": "USDC", "decimals": 6, "contract": None, "x": 1}}, "x in asset"),
        ({"asset": {"symbol": "\ud800", "decimals": 6, "contract": None}}, "all of it"),
        ({"asset": []}, "asset"), ({"asset": object()}, "all of it"),
    ],
)  # fmt: skip
def test_a_field_of_another_type_refuses_the_whole_and_no_value_is_said(
    value: dict[str, Any], places: str
) -> None:
    assert from_json(TakenOut, to_json(TAKEN)) == TAKEN
    assert refusal(TakenOut, to_json(TAKEN) | value) == f"TakenOut cannot be read: {places}"
