"""An AMM with permits."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from service.dex.trading import Floor, Trader, trader

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def quoted(floor: Floor, number: int) -> tuple[Trader, dict[str, Any]]:
    """A trader with 100 USDC, and Fathom's row for all of it."""
    someone = await trader(floor, number, coins="1", USDC="100")
    return someone, await someone.row("fa", "USDC", "WETH", "100")


@pytest.mark.proves("input create_exchange signatures")
async def test_a_swap_with_a_permit(floor: Floor) -> None:
    someone, row = await quoted(floor, 1101)
    assert row["supportsSignatures"] is True
    missing = await someone.missing(row["quoteId"])
    assert missing["approvals"] == []
    (wanted,) = missing["signatures"]
    assert (wanted["type"], wanted["step"], wanted["totalSteps"]) == ("single", 0, 1)
    assert wanted["isComplete"] is True
    signatures = [{"signature": someone.sign(wanted["data"]), "key": wanted["key"]}]
    order = await someone.create(row["quoteId"], signatures=signatures)
    ended = await someone.swapped(order)
    assert (ended["in"], ended["swapName"]) == ("fa", "Fathom AMM")
    assert ended["outAmount"] == Decimal(await someone.holds("WETH")).scaleb(-18)


@pytest.mark.proves("input create_exchange signatures")
async def test_signatures_of_others_are_refused(floor: Floor) -> None:
    someone, row = await quoted(floor, 1102)
    other = await trader(floor, 1103)
    (wanted,) = (await someone.missing(row["quoteId"]))["signatures"]
    good = someone.sign(wanted["data"])
    richer = {**wanted["data"], "message": {**wanted["data"]["message"], "value": "1"}}
    high_s = good[:66] + "f" * 64 + good[130:]
    for signature, key in (
        (other.sign(wanted["data"]), "permit"),
        (someone.sign(richer), "permit"),
        (high_s, "permit"),
        (good[:-2] + "05", "permit"),
        ("0x00", "permit"),
        (good, "order"),
    ):
        given = [{"signature": signature, "key": key}]
        refused = await someone.create(row["quoteId"], 422, signatures=given)
        assert refused["fields"].keys() == {"signatures"}, (signature, key)
    twice = [{"signature": good, "key": "permit"}] * 2
    refused = await someone.create(row["quoteId"], 422, signatures=twice)
    assert refused["fields"].keys() == {"signatures"}
    refused = await someone.create(row["quoteId"], 422)
    assert refused["fields"].keys() == {"signatures"}
    given = [{"signature": good, "key": "permit"}]
    assert (await someone.create(row["quoteId"], signatures=given))["isDex"] is True


async def test_an_approval_will_do(floor: Floor) -> None:
    someone, row = await quoted(floor, 1104)
    assert await someone.approve_all(row["quoteId"]) == 1
    assert await someone.missing(row["quoteId"]) == {"approvals": [], "signatures": []}
    order = await someone.create(row["quoteId"])
    sent = await someone.execute(order["metadata"])
    assert await someone.mined(sent)
