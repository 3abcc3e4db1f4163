"""Venues on EVM chains, from the quote to the end of the order.

Basalt is an AMM with approvals, Fathom one with permits. Meridian locks tokens on one chain and
pays out on the other. Isthmus is an intent venue: a chain of two signatures, and a solver.
"""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from typing import Any

import pytest
from eth_account import Account

from patience import PATIENCE
from sandbox.evm.evm_world import KEY, stranger
from service.dex.trading import Floor, Trader, trader
from swapdesk.chain.calldata import erc20
from swapdesk.chain.calldata.method import method
from swapdesk.chain.deployments import PERMIT2, SANDBOX_VENUES
from swapdesk.sandbox.evm_world.genesis import RELAYER
from swapdesk.sandbox.node.evm.genesis import sandbox_key
from swapdesk.wire.orders import LegStatus

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def test_a_swap_with_an_approval(floor: Floor) -> None:
    someone = await trader(floor, 1001, USDC="1000")
    row = await someone.row("ba", "USDC", "WETH", "250")
    assert row["type"] == "dex"
    assert row["requiresApproval"] is True
    assert row["supportsSignatures"] is False
    assert row["netAmountOut"] == row["amountOut"]
    assert row["gasUsd"] > 0
    assert not await someone.allowed(row["quoteId"])
    refused = await someone.create(row["quoteId"], "INVALID_SWAP")
    assert "insufficient allowance" in refused["message"]
    missing = await someone.missing(row["quoteId"])
    assert missing["signatures"] == []
    (approval,) = missing["approvals"]
    assert approval["fromChain"]["shortName"] == "base"
    assert await someone.mined(await someone.send(approval["to"], approval["data"]))
    assert (await someone.missing(row["quoteId"]))["approvals"] == []
    assert await someone.allowed(row["quoteId"])

    order = await someone.create(row["quoteId"])
    assert await someone.create(row["quoteId"]) == order
    assert order["isDex"] is True
    assert "depositAddress" not in order
    assert order["displayStatus"] == "WAITING_FOR_DEPOSIT"
    sent = await someone.sent(order)
    assert await someone.confirm(order["serviceId"], sent) is True
    ended = await floor.ended(order["serviceId"])
    assert ended["orderFinishedReceived"]
    assert ended["inTransactionOutHash"] == sent
    assert json.loads(ended["metadata"]) == order["metadata"]
    assert ended["outAmount"] == Decimal(await someone.holds("WETH")).scaleb(-18)
    assert await someone.holds("USDC") == 750 * 10**6


@pytest.mark.proves("input create_exchange addressFrom")
async def test_the_native_coin_needs_no_approval(floor: Floor) -> None:
    """But its sender; markup and filters of the create are those of the quote."""
    someone = await trader(floor, 1002, coins="5")
    row = await someone.row("ba", "ETH", "USDC", "0.5")
    assert row["requiresApproval"] is False
    assert await someone.missing(row["quoteId"]) == {"approvals": [], "signatures": []}
    assert await someone.allowed(row["quoteId"])
    body = {"quoteId": row["quoteId"], "addressTo": someone.address}
    await someone.ask("/exchanges", body, "addressFrom")
    surplus = [{"signature": "0x" + "11" * 65, "key": "permit"}]
    for wrong, more in (
        ("addressFrom", {"addressFrom": "nobody"}),
        ("signatures", {"signatures": surplus}),
        ("INVALID_SWAP", {"markup": 1}),
        ("INVALID_SWAP", {"inLegIncludedSwaps": ["ba"]}),
    ):
        await someone.create(row["quoteId"], wrong, **more)
    order = await someone.create(row["quoteId"], markup=0)
    assert order["metadata"]["value"] == str(5 * 10**17)
    ended = await someone.swapped(order)
    assert ended["outAmount"] == Decimal(await someone.holds("USDC")).scaleb(-6)


async def test_the_native_coin_is_paid_out_to_another_address(floor: Floor) -> None:
    someone, other = await trader(floor, 1003), await trader(floor, 1004)
    await someone.fund("1", USDC="500")
    row = await someone.row("ba", "USDC", "ETH", "500")
    assert await someone.approve_all(row["quoteId"]) == 1
    order = await someone.create(row["quoteId"], addressTo=other.address)
    assert order["receiverAddress"] == other.address
    ended = await someone.swapped(order)
    assert ended["outAmount"] == Decimal(await other.holds("ETH")).scaleb(-18)


async def test_a_token_that_wants_its_allowance_reset(floor: Floor) -> None:
    someone = await trader(floor, 1005, "ethereum", USDT="900")
    first = await someone.row("ba", "USDT", "USDC", "100")
    assert await someone.approve_all(first["quoteId"]) == 1
    second = await someone.row("ba", "USDT", "USDC", "900")
    assert not await someone.allowed(second["quoteId"])
    assert await someone.approve_all(second["quoteId"]) == 2
    assert await someone.allowed(second["quoteId"])
    assert await someone.approve_all(second["quoteId"]) == 0


async def test_a_transaction_that_fails_ends_its_order(floor: Floor) -> None:
    someone = await trader(floor, 1009, coins="5", USDC="100")
    order = await someone.ordered("ba", "USDC", "WETH", "100")
    # The tokens go elsewhere first.
    await someone.give("USDC", 100 * 10**6, stranger(1999).address)
    sent = await someone.execute(order["metadata"])
    assert not await someone.mined(sent)
    assert await someone.confirm(order["serviceId"], sent) is True
    ended = await floor.ended(order["serviceId"], "FAILED")
    assert ended["actionRequired"] is False
    assert "orderFinishedReceived" not in ended


# An AMM with permits


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
        await someone.create(row["quoteId"], "signatures", signatures=given)
    twice = [{"signature": good, "key": "permit"}] * 2
    await someone.create(row["quoteId"], "signatures", signatures=twice)
    await someone.create(row["quoteId"], "signatures")
    given = [{"signature": good, "key": "permit"}]
    assert (await someone.create(row["quoteId"], signatures=given))["isDex"] is True


async def test_an_approval_will_do(floor: Floor) -> None:
    someone, row = await quoted(floor, 1104)
    assert await someone.approve_all(row["quoteId"]) == 1
    assert await someone.missing(row["quoteId"]) == {"approvals": [], "signatures": []}
    order = await someone.create(row["quoteId"])
    sent = await someone.execute(order["metadata"])
    assert await someone.mined(sent)


# A cross-chain portal: locked on one chain, paid out on the other


async def carried(floor: Floor, number: int, amount: str) -> tuple[Trader, Any, Any]:
    """Somebody who has so many USDC, the row that carries all of it, and the order."""
    someone = await trader(floor, number, coins="1", USDC=amount)
    here, there = floor.token("base", "USDC"), floor.token("ethereum", "USDC")
    row = (await someone.quotes(here, there, amount))["me"]
    assert await someone.approve_all(row["quoteId"]) == 1
    return someone, row, await someone.create(row["quoteId"])


async def test_a_transfer_to_another_chain(floor: Floor) -> None:
    someone, row, order = await carried(floor, 1601, "300")
    assert row["bridgeFeeUsd"] > 0
    assert row["feeUsd"] > 0
    assert row["netAmountOut"] < row["amountOut"]
    assert row["amountOut"] == Decimal("299.88")
    assert int(order["metadata"]["value"]) > 0
    sent = await someone.sent(order)
    ended = await floor.ended(order["serviceId"])
    assert ended["inTransactionOutHash"] != sent
    assert await someone.holds("USDC") == 0
    await floor.work()
    assert await someone.holds("USDC", "ethereum") == 299_880_000, "paid once"
    stored = await floor.parts.store.orders.get("partner-first", order["serviceId"])
    assert stored.fee_usd == row["feeUsd"]
    assert stored.commission == row["feeUsd"] / 5, "20 percent of the venue's fee"
    usdc, usdt = floor.token("base", "USDC"), floor.token("ethereum", "USDT")
    assert "me" not in await someone.quotes(usdc, usdt, "300"), "other assets are not carried"


async def test_what_the_relayer_forgot_is_paid_once(floor: Floor) -> None:
    """Two payouts of one transfer go out before anybody wrote one down."""
    someone, _, order = await carried(floor, 1603, "200")
    await someone.sent(order)
    stored = await floor.parts.store.orders.get("partner-first", order["serviceId"])
    async with asyncio.timeout(PATIENCE):
        while True:
            twins = await asyncio.gather(*(floor.parts.dex.progress(stored) for _ in range(2)))
            if any("payout" in each.notes for each in twins):
                break
    await floor.ended(order["serviceId"])
    assert await someone.holds("USDC", "ethereum") == 199_920_000


async def test_nothing_is_locked_that_the_relayer_cannot_pay_out_any_more(floor: Floor) -> None:
    """It could when the quote was given, and somebody else was paid since."""
    someone = await trader(floor, 1604)
    here, there = floor.token("base", "DAI"), floor.token("ethereum", "DAI")
    row = (await someone.quotes(here, there, "100"))["me"]
    key = Account.from_key(sandbox_key(KEY, RELAYER).secret)
    relayer, other = Trader(floor, key, "ethereum"), await trader(floor, 1605, "ethereum")
    await other.fund("1")
    held = await relayer.holds("DAI")
    await relayer.give("DAI", held, other.address)
    try:
        refused = await someone.create(row["quoteId"], "INVALID_SWAP")
        assert "relayer" in refused["message"]
        assert "relayer" in (await someone.quotes(here, there, "100"))["me"]["error"]
    finally:
        await other.give("DAI", held, relayer.address)
    assert "error" not in (await someone.quotes(here, there, "100"))["me"]


# An intent venue: a chain of two signatures, and a solver that settles


SETTLEMENT = next(one.address for one in SANDBOX_VENUES if one.provider == "is")


async def intended(floor: Floor, number: int) -> tuple[Trader, dict[str, Any]]:
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


async def signed_order(someone: Trader, quote_id: str) -> dict[str, Any]:
    signature, _ = await both_signed(someone, quote_id)
    return await someone.create(quote_id, signatures=[signature])


async def test_a_chain_of_two_steps(floor: Floor) -> None:
    someone, row = await intended(floor, 1301)
    assert row["supportsSignatures"] is True
    assert (row["gas"], row["gasUsd"]) == (0, 0)
    order = await signed_order(someone, row["quoteId"])
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
    # The market has not moved, so what was intended is what arrives, and nothing of it is kept.
    assert paid == row["amountOut"]
    assert await someone.holds("USDC") == 0


async def moved(floor: Floor, number: int, sell: str, buy: str, amount: str) -> None:
    """Somebody else swaps at Basalt, whose pools the solver prices by."""
    other = await trader(floor, number, coins="1", **{sell: amount})
    order = await other.ordered("ba", sell, buy, amount, slippage="50")
    assert await other.mined(await other.execute(order["metadata"]))


async def settled(floor: Floor, someone: Trader, row: dict[str, Any]) -> Decimal:
    """What the order pays; the solver settles it now."""
    order = await signed_order(someone, row["quoteId"])
    await someone.confirm(order["serviceId"])
    ended = await floor.ended(order["serviceId"])
    paid = Decimal(await someone.holds("WETH")).scaleb(-18)
    assert ended["outAmount"] == paid
    return paid


async def test_a_better_price_at_the_settlement_is_the_owners(floor: Floor) -> None:
    someone, row = await intended(floor, 1311)
    await moved(floor, 1312, "WETH", "USDC", "30")
    paid = await settled(floor, someone, row)
    assert paid > row["amountOut"]
    # What somebody is intended now is what the order of before got.
    later, now = await intended(floor, 1313)
    assert abs(paid - now["amountOut"]) <= now["amountOut"] * Decimal("0.0001")
    assert later.address != someone.address


async def test_a_worse_price_at_the_settlement_is_paid_down_to_the_limit(floor: Floor) -> None:
    someone, row = await intended(floor, 1321)
    await moved(floor, 1322, "USDC", "WETH", "20000")
    paid = await settled(floor, someone, row)
    assert row["amountOut"] * Decimal("0.995") <= paid < row["amountOut"]


@pytest.mark.proves(
    "input dex_chain_signatures quoteId",
    "input dex_chain_signatures addressFrom",
    "input dex_chain_signatures previousSignature",
    "input dex_chain_signatures signatureKey",
    "input dex_chain_signatures signatureStep",
)
async def test_steps_that_do_not_follow(floor: Floor) -> None:
    someone, row = await intended(floor, 1304)
    other, another = await intended(floor, 1303)
    quote_id = row["quoteId"]
    (permit,) = (await someone.missing(quote_id))["signatures"]
    given = {"signature": someone.sign(permit["data"]), "key": permit["key"]}
    body = step(someone, quote_id, given)
    # The same amount to the same second is the same permit.
    theirs = {**given, "signature": other.sign(permit["data"])}
    for of_another in (
        {"quoteId": another["quoteId"], "previousSignature": theirs},
        {"addressFrom": other.address},
    ):
        await someone.ask(
            "/dex/chainSignatures", {**body, **of_another}, "previousSignature.signature"
        )
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
        refused = await someone.ask("/dex/chainSignatures", sent, field)
        for name in field.split("."):
            sent = sent[name]
        assert refused["fields"][field]["value"] == sent


async def test_creates_without_the_whole_chain(floor: Floor) -> None:
    someone, row = await intended(floor, 1305)
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
        await someone.create(quote_id, "signatures", **more)
    other = await trader(floor, 1306)
    await someone.create(quote_id, "addressTo", signatures=[signature], addressTo=other.address)
    order = await someone.create(quote_id, signatures=[signature])
    await someone.confirm(order["serviceId"], "0x" + "ab" * 32, "txHash")


async def test_an_order_alone_where_an_approval_stands(floor: Floor) -> None:
    someone, row = await intended(floor, 1307)
    quote_id = row["quoteId"]
    assert await someone.approve_all(quote_id) == 1
    (alone,) = (await someone.missing(quote_id))["signatures"]
    assert (alone["type"], alone["step"], alone["totalSteps"]) == ("single", 0, 1)
    given = [{"signature": someone.sign(alone["data"]), "key": alone["key"]}]
    order = await someone.create(quote_id, signatures=given)
    assert await someone.confirm(order["serviceId"]) is True
    await floor.ended(order["serviceId"])


async def test_an_order_taken_back_moves_nothing(floor: Floor) -> None:
    someone, row = await intended(floor, 1308)
    signature, document = await both_signed(someone, row["quoteId"])
    order = await someone.create(row["quoteId"], signatures=[signature])
    taken_back = "0x" + method("invalidate(uint256)").call(int(document["message"]["nonce"])).hex()
    contract = document["domain"]["verifyingContract"]
    assert await someone.mined(await someone.send(contract, taken_back))
    assert await someone.confirm(order["serviceId"]) is True
    ended = await floor.ended(order["serviceId"], "FAILED")
    assert ended["actionRequired"] is False
    assert await someone.holds("USDC") == 100 * 10**6


async def test_what_the_solver_forgot_happens_once(floor: Floor) -> None:
    """Two settlements of one order go out before anybody wrote one down."""
    someone, row = await intended(floor, 1309)
    order = await signed_order(someone, row["quoteId"])
    assert await someone.confirm(order["serviceId"]) is True
    stored = await floor.parts.store.orders.get("partner-first", order["serviceId"])
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
    refused = await someone.create(quote_id, "signatures", signatures=[given])
    assert "Permit2" in str(refused)
    assert await someone.allowed(quote_id) is False
    assert await someone.mined(await someone.send(approval["to"], approval["data"]))
    assert await someone.allowed(quote_id) is True
    again = await someone.missing(quote_id)
    assert again == {"approvals": [], "signatures": [asked]}
    other = await trader(floor, 1332)
    stranger = {**given, "signature": other.sign(asked["data"])}
    await someone.create(quote_id, "signatures", signatures=[stranger])
    order = await someone.create(quote_id, signatures=[given])
    await someone.confirm(order["serviceId"])
    ended = await floor.ended(order["serviceId"])
    assert await someone.holds("WETH") == 0
    assert ended["outAmount"] == Decimal(await someone.holds("USDC")).scaleb(-6)
