"""Fixed rates in groups: kept to the last digit, with a way back, and without a second venue."""

from __future__ import annotations

import json
from decimal import Decimal

import httpx2
import pytest

from service.groups import opened, row
from service.price_venue import PriceVenue
from service.world import EVM, FIRST, XRP, XRP_ADDRESS
from swapdesk.clock import ManualClock
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.venues.adapter import CentralizedVenue, VenueTraits


@pytest.fixture
def venue_list(aa: PriceVenue) -> list[CentralizedVenue]:
    """One venue with fixed rates, which refuses to open, and a better one without."""
    return [aa, PriceVenue("kept", fee=Decimal("0.02"), traits=VenueTraits(fixed=True))]


async def test_a_fixed_order_keeps_its_rate_and_its_way_back(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock
) -> None:
    rows = [row(fixed=True, refundAddress=EVM), row()]
    answer = await api.post("/exchanges/multi", json={"orders": rows})
    told = json.loads(answer.content, parse_float=Decimal)
    fixed, floating = (each["order"] for each in told["orders"])
    assert (fixed["fixed"], floating["fixed"]) == (True, False)
    assert fixed["refundAddress"] == EVM
    assert fixed["outAmount"] < floating["outAmount"]
    stored, other = await service.store.groups.orders(FIRST.partner_id, told["multiId"])
    assert (stored.legs, other.legs) == (("kept",), ("aa",))
    assert stored.fixed
    assert stored.rates[0] is not None
    assert other.rates == ()
    await opened(service, clock)
    now = (await api.get(f"/exchanges/multi/{told['multiId']}")).json()
    assert now["orders"][0]["status"] == 6, "a fixed order goes to nobody else"
    assert not {"depositAddress", "swapName", "in"} & now["orders"][0].keys()
    back = {"refundAddress": XRP_ADDRESS, "refundExtraId": "7"}
    tagged = row(amount=1000, fixed=True, **back) | {"from": XRP.id}
    answer = await api.post("/exchanges/multi", json={"orders": [tagged]})
    (stored,) = await service.store.groups.orders(FIRST.partner_id, answer.json()["multiId"])
    assert (stored.refund_address, stored.refund_tag) == (XRP_ADDRESS, "7")
    assert stored.receiver_tag is None
