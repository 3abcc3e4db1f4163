"""An intent venue: a chain of two signatures, and a solver that settles."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from service.dex.trading import Floor, Trader, trader
from swapdesk.chain.calldata import erc20
from swapdesk.chain.calldata.venues import INVALIDATE
from swapdesk.chain.deployments import PERMIT2, SANDBOX_VENUES
from swapdesk.wire.orders import LegStatus

pytestmark = pytest.mark.asyncio(loop_scope="package")

SETTLEMENT = next(one.address for one in SANDBOX_VENUES if one.provider == "is")


async def quoted(floor: Floor, number: int) -> tuple[Trader, dict[str, Any]]:
    """A trader with 100 USDC and no coins, and Isthmus's row for all of it."""
    someone = await trader(floor, number, coins="1", USDC="100")
    return someone, await someone.row("is", "USDC", "WETH", "100")


def step(someone: Trader, quote_id: str, given: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The body that hands in the first signature."""
    return {
        "quoteId": quote_id,
        "addressFrom": someone.address,
        "previousSignature": given,
        "signatureKey": given["key"],
        "signatureStep": 0,
        **more,
    }


async def both_signed(someone: Trader, quote_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The last signature of the chain, as a create takes it, and what it signs."""
    (permit,) = (await someone.missing(quote_id))["signatures"]
    assert (permit["type"], permit["step"], permit["totalSteps"]) == ("chained", 0, 2)
    assert permit["isComplete"] is False
    given = {"signature": someone.sign(permit["data"]), "key": permit["key"]}
    body = step(someone, quote_id, given)
    (order,) = await someone.ask("/dex/chainSignatures", body)
    assert (order["type"], order["step"], order["totalSteps"]) == ("chained", 1, 2)
    assert order["isComplete"] is True
    assert order["key"] == permit["key"]
    assert order["data"]["primaryType"] == "Order"
    assert order["data"]["message"]["receiver"] == someone.address
    signature = {
        "signature": someone.sign(order["data"]),
        "key": order["key"],
        "swapRequiredMetadata": order["swapRequiredMetadata"],
    }
    return signature, order["data"]


async def test_a_chain_of_two_steps(floor: Floor) -> None:
    someone, row = await quoted(floor, 1301)
    assert row["supportsSignatures"] is True
    assert (row["gas"], row["gasUsd"]) == (0, 0)
    signature, _ = await both_signed(someone, row["quoteId"])
    order = await someone.create(row["quoteId"], signatures=[signature])
    assert order["metadata"]["offChain"] is True
    assert "data" not in order["metadata"]
    await floor.work()
    waiting = await someone.floor.api.get(f"/orders/{order['serviceId']}")
    assert waiting.json()["status"] == 0, "nothing is settled before it is confirmed"
    assert await someone.confirm(order["serviceId"]) is True
    assert await someone.confirm(order["serviceId"]) is True
    ended = await floor.ended(order["serviceId"])
    paid = Decimal(await someone.holds("WETH")).scaleb(-18)
    assert ended["outAmount"] == paid
    # The market has not moved, so what was quoted is what arrives, and nothing of it is kept.
    assert paid == row["amountOut"]
    assert await someone.holds("USDC") == 0


async def moved(floor: Floor, number: int, sell: str, buy: str, amount: str) -> None:
    """Somebody else swaps at Basalt, whose pools the solver prices by."""
    other = await trader(floor, number, coins="1", **{sell: amount})
    row = await other.row("ba", sell, buy, amount, slippage="50")
    await other.approve_all(row["quoteId"])
    order = await other.create(row["quoteId"])
    assert await other.mined(await other.execute(order["metadata"]))


async def settled(floor: Floor, someone: Trader, row: dict[str, Any]) -> Decimal:
    """What the order pays; the solver settles it now."""
    signature, _ = await both_signed(someone, row["quoteId"])
    order = await someone.create(row["quoteId"], signatures=[signature])
    await someone.confirm(order["serviceId"])
    ended = await floor.ended(order["serviceId"])
    paid = Decimal(await someone.holds("WETH")).scaleb(-18)
    assert ended["outAmount"] == paid
    return paid


async def test_a_better_price_at_the_settlement_is_the_owners(floor: Floor) -> None:
    someone, row = await quoted(floor, 1311)
    await moved(floor, 1312, "WETH", "USDC", "30")
    paid = await settled(floor, someone, row)
    assert paid > row["amountOut"]
    # What somebody is quoted now is what the order of before got.
    later, now = await quoted(floor, 1313)
    assert abs(paid - now["amountOut"]) <= now["amountOut"] * Decimal("0.0001")
    assert later.address != someone.address


async def test_a_worse_price_at_the_settlement_is_paid_down_to_the_limit(floor: Floor) -> None:
    someone, row = await quoted(floor, 1321)
    await moved(floor, 1322, "USDC", "WETH", "20000")
    paid = await settled(floor, someone, row)
    assert row["amountOut"] * Decimal("0.995") <= paid < row["amountOut"]


@pytest.mark.proves(
    "input dex_chain_signatures quoteId",
    "input dex_chain_signatures addressFrom",
    "input dex_chain_signatures previousSignature",
)
async def test_a_step_is_that_of_its_quote_and_owner(floor: Floor) -> None:
    someone, row = await quoted(floor, 1302)
    other, another = await quoted(floor, 1303)
    (permit,) = (await someone.missing(row["quoteId"]))["signatures"]
    given = {"signature": someone.sign(permit["data"]), "key": permit["key"]}
    for quote_id, address_from in (
        (another["quoteId"], someone.address),
        (row["quoteId"], other.address),
    ):
        body = step(someone, quote_id, given, addressFrom=address_from)
        if quote_id == another["quoteId"]:
            # The same amount to the same second is the same permit.
            body["previousSignature"] = {**given, "signature": other.sign(permit["data"])}
        refused = await someone.ask("/dex/chainSignatures", body, 422)
        assert refused["fields"].keys() == {"previousSignature.signature"}


@pytest.mark.proves(
    "input dex_chain_signatures previousSignature",
    "input dex_chain_signatures signatureKey",
    "input dex_chain_signatures signatureStep",
)
async def test_steps_that_do_not_follow(floor: Floor) -> None:
    someone, row = await quoted(floor, 1304)
    quote_id = row["quoteId"]
    (permit,) = (await someone.missing(quote_id))["signatures"]
    given = {"signature": someone.sign(permit["data"]), "key": permit["key"]}
    body = step(someone, quote_id, given)
    for change, field in (
        ({"signatureStep": 1}, "signatureStep"),
        ({"signatureStep": 7}, "signatureStep"),
        ({"signatureKey": "permit"}, "signatureKey"),
        (
            {"signatureKey": "x", "previousSignature": {**given, "key": "x"}},
            "previousSignature.key",
        ),
        (
            {"previousSignature": {**given, "signature": "0x" + "11" * 65}},
            "previousSignature.signature",
        ),
    ):
        sent: Any = {**body, **change}
        refused = await someone.ask("/dex/chainSignatures", sent, 422)
        assert refused["fields"].keys() == {field}, change
        for name in field.split("."):
            sent = sent[name]
        assert refused["fields"][field]["value"] == sent


async def test_creates_without_the_whole_chain(floor: Floor) -> None:
    someone, row = await quoted(floor, 1305)
    quote_id = row["quoteId"]
    signature, _ = await both_signed(someone, quote_id)
    for wrong in (
        None,
        [{**signature, "swapRequiredMetadata": None}],
        [{**signature, "swapRequiredMetadata": {"permit": "0x" + "11" * 65}}],
        [{**signature, "swapRequiredMetadata": {"permit": 5}}],
        [{**signature, "signature": "0x" + "11" * 65}],
        [{**signature, "key": "permit"}],
        [signature, signature],
    ):
        more = {} if wrong is None else {"signatures": wrong}
        refused = await someone.create(quote_id, 422, **more)
        assert refused["fields"].keys() == {"signatures"}, wrong
    other = await trader(floor, 1306)
    refused = await someone.create(quote_id, 422, signatures=[signature], addressTo=other.address)
    assert refused["fields"].keys() == {"addressTo"}
    order = await someone.create(quote_id, signatures=[signature])
    refused = await someone.confirm(order["serviceId"], "0x" + "ab" * 32, 422)
    assert refused["fields"].keys() == {"txHash"}


async def test_an_order_alone_where_an_approval_stands(floor: Floor) -> None:
    someone, row = await quoted(floor, 1307)
    quote_id = row["quoteId"]
    assert await someone.approve_all(quote_id) == 1
    (alone,) = (await someone.missing(quote_id))["signatures"]
    assert (alone["type"], alone["step"], alone["totalSteps"]) == ("single", 0, 1)
    given = [{"signature": someone.sign(alone["data"]), "key": alone["key"]}]
    order = await someone.create(quote_id, signatures=given)
    assert await someone.confirm(order["serviceId"]) is True
    await floor.ended(order["serviceId"])


async def test_an_order_taken_back_moves_nothing(floor: Floor) -> None:
    someone, row = await quoted(floor, 1308)
    signature, document = await both_signed(someone, row["quoteId"])
    order = await someone.create(row["quoteId"], signatures=[signature])
    taken_back = "0x" + INVALIDATE.call(int(document["message"]["nonce"])).hex()
    contract = document["domain"]["verifyingContract"]
    assert await someone.mined(await someone.send(contract, taken_back))
    assert await someone.confirm(order["serviceId"]) is True
    ended = await floor.ended(order["serviceId"], "FAILED")
    assert ended["actionRequired"] is False
    assert await someone.holds("USDC") == 100 * 10**6


async def test_what_the_solver_forgot_happens_once(floor: Floor) -> None:
    """Two settlements of one order go out before anybody wrote one down."""
    someone, row = await quoted(floor, 1309)
    signature, _ = await both_signed(someone, row["quoteId"])
    order = await someone.create(row["quoteId"], signatures=[signature])
    assert await someone.confirm(order["serviceId"]) is True
    stored = await floor.parts.store.get_order("partner-first", order["serviceId"])
    assert stored.fee_usd > 0, "what it keeps of the token sold"
    twins = await asyncio.gather(*(floor.parts.dex.progress(stored) for _ in range(2)))
    # The worker may be first, and a block between the look and the sending; nothing has failed.
    assert LegStatus.FAILED not in {each.report.status for each in twins}
    ended = await floor.ended(order["serviceId"])
    paid = Decimal(await someone.holds("WETH")).scaleb(-18)
    assert ended["outAmount"] == paid > 0


async def test_a_token_without_permits_is_taken_by_permit2(floor: Floor) -> None:
    someone = await trader(floor, 1331, coins="1", WETH="0.02")
    row = await someone.row("is", "WETH", "USDC", "0.02")
    assert (row["supportsSignatures"], row["requiresApproval"]) == (True, True)
    quote_id = row["quoteId"]
    (plain,) = (await someone.missing(quote_id, usePermit=False))["approvals"]
    assert erc20.APPROVE.read(bytes.fromhex(plain["data"][2:]))["spender"] == SETTLEMENT
    missing = await someone.missing(quote_id)
    (approval,) = missing["approvals"]
    (asked,) = missing["signatures"]
    call = erc20.APPROVE.read(bytes.fromhex(approval["data"][2:]))
    assert call == {"spender": PERMIT2, "amount": 2 * 10**16}
    assert (asked["type"], asked["totalSteps"], asked["isComplete"]) == ("single", 1, True)
    message = asked["data"]["message"]
    assert asked["data"]["primaryType"] == "PermitWitnessTransferFrom"
    assert message["witness"]["receiver"] == someone.address
    given = {"signature": someone.sign(asked["data"]), "key": asked["key"]}
    # Before the approval is mined, Permit2 can take nothing.
    refused = await someone.create(quote_id, 422, signatures=[given])
    assert "Permit2" in str(refused)
    assert await someone.allowed(quote_id) is False
    assert await someone.mined(await someone.send(approval["to"], approval["data"]))
    assert await someone.allowed(quote_id) is True
    again = await someone.missing(quote_id)
    assert again == {"approvals": [], "signatures": [asked]}
    other = await trader(floor, 1332)
    stranger = {**given, "signature": other.sign(asked["data"])}
    await someone.create(quote_id, 422, signatures=[stranger])
    order = await someone.create(quote_id, signatures=[given])
    await someone.confirm(order["serviceId"])
    ended = await floor.ended(order["serviceId"])
    assert await someone.holds("WETH") == 0
    assert ended["outAmount"] == Decimal(await someone.holds("USDC")).scaleb(-6)
