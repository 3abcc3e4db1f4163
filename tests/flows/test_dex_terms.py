"""Bounds of a swap on chains, from what its quote says."""

from __future__ import annotations

from decimal import Decimal

from swapdesk.flows.intents.intent import least_units, terms_of
from swapdesk.wire.quotes import Quote

SENDER = "0x" + "ab" * 20


def quote(**facts: Decimal) -> Quote:
    return Quote(type="dex", quote_id="a" * 24, **facts)  # type: ignore[arg-type]


def test_fees_of_bridge_and_venue_go_along_together() -> None:
    told = terms_of(quote(fee_usd=Decimal(3), bridge_fee_usd=Decimal(6)), SENDER, Decimal(3000))
    assert told.fee_units == 3_030_000_000_000_000
    assert terms_of(quote(), SENDER, Decimal(3000)).fee_units == 0


def test_gas_has_room_above_the_quote_and_a_least_bound() -> None:
    assert terms_of(quote(gas_usd=Decimal(30)), SENDER, Decimal(3000)).gas_units == 4 * 10**16
    assert terms_of(quote(gas_usd=Decimal("0.01")), SENDER, Decimal(5)).gas_units == 10**18


def test_the_least_is_rounded_down_and_exact() -> None:
    assert least_units(1000, Decimal("0.5")) == 995
    assert least_units(1001, Decimal("0.5")) == 995
    whole = 10**27 + 7
    assert least_units(whole, Decimal(0)) == whole
    assert least_units(10**40 + 201, Decimal("0.5")) == (10**40 + 201) * 995 // 1000
