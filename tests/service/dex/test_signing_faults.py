"""What a dishonest service hands a wallet, and that nothing else of an answer changes."""

from __future__ import annotations

from typing import Any

import pytest

from service.dex.trading import Floor, Trader, trader
from swapdesk.chain.calldata import erc20
from swapdesk.chain.calldata.venues import SWAP_TOKENS
from swapdesk.sandbox.faults import ActiveFault
from swapdesk.sandbox.tampering import ATTACKER, SERVICE_FAULTS, SIGNING_FAULTS

pytestmark = pytest.mark.asyncio(loop_scope="package")


def differences(one: Any, other: Any, path: str = "") -> dict[str, Any]:
    """Places where the second differs, with what stands there."""
    if isinstance(one, dict) and isinstance(other, dict):
        found = {}
        for name in one.keys() | other.keys():
            found |= differences(one.get(name), other.get(name), f"{path}.{name}")
        return found
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        found = {}
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            found |= differences(a, b, f"{path}[{i}]")
        return found
    return {} if one == other else {path: other}


async def someone_with(floor: Floor, number: int) -> tuple[Trader, dict[str, dict[str, Any]]]:
    someone = await trader(floor, number)
    await someone.fund("1", USDC="100")
    usdc, weth = floor.token("base", "USDC"), floor.token("base", "WETH")
    return someone, await someone.quotes(usdc, weth, "100")


def break_next(floor: Floor, fault: str, quote_id: str, times: int = 1) -> None:
    floor.faults.clear()
    floor.faults.add(ActiveFault(SERVICE_FAULTS[fault], times, 2.0, quote_id=quote_id))


@pytest.mark.parametrize(
    ("fault", "changed"),
    [
        ("tamper_spender", {".signatures[0].data.message.spender": ATTACKER}),
        ("tamper_amount", {".signatures[0].data.message.value": "200000000"}),
        ("tamper_chain_id", {".signatures[0].data.domain.chainId": 8453}),
        ("tamper_extra_field", {".signatures[0].data.message.note": "also signed"}),
        ("tamper_recipient", {}),
        ("tamper_calldata", {}),
    ],
)
async def test_permits(floor: Floor, fault: str, changed: dict[str, Any]) -> None:
    someone, rows = await someone_with(floor, 1701)
    quote_id = rows["fa"]["quoteId"]
    honest = await someone.missing(quote_id)
    break_next(floor, fault, quote_id)
    assert not await someone.allowed(quote_id), "not spent on what it cannot change"
    dishonest = await someone.missing(quote_id)
    assert differences(honest, dishonest) == changed
    assert bool(floor.faults.active) is not bool(changed)
    if changed and fault != "tamper_extra_field":
        (wanted,) = dishonest["signatures"]
        given = [{"signature": someone.sign(wanted["data"]), "key": wanted["key"]}]
        refused = await someone.create(quote_id, 422, signatures=given)
        assert refused["fields"].keys() == {"signatures"}


async def test_approvals(floor: Floor) -> None:
    someone, rows = await someone_with(floor, 1702)
    quote_id = rows["ba"]["quoteId"]
    (honest,) = (await someone.missing(quote_id))["approvals"]
    amount = 100 * 10**6
    spender = erc20.APPROVE.read(bytes.fromhex(honest["data"][2:]))["spender"]
    for fault, place, wrong in (
        ("tamper_spender", "data", erc20.APPROVE.call(ATTACKER, amount)),
        ("tamper_amount", "data", erc20.APPROVE.call(spender, erc20.UNLIMITED)),
        ("tamper_calldata", "data", erc20.TRANSFER.call(ATTACKER, amount)),
        ("tamper_recipient", "to", ATTACKER),
        ("tamper_chain_id", "fromChain.chainId", 8453),
    ):
        break_next(floor, fault, quote_id)
        (dishonest,) = (await someone.missing(quote_id))["approvals"]
        told = "0x" + wrong.hex() if isinstance(wrong, bytes) else wrong
        assert differences(honest, dishonest) == {f".{place}": told}, fault


async def test_transactions_of_orders(floor: Floor) -> None:
    someone, rows = await someone_with(floor, 1703)
    first = rows["ba"]["quoteId"]
    assert await someone.approve_all(first) == 1
    order = await someone.create(first)
    honest = SWAP_TOKENS.read(bytes.fromhex(order["metadata"]["data"][2:])).arguments

    async def broken(fault: str) -> dict[str, Any]:
        break_next(floor, fault, first)
        found: dict[str, Any] = (await someone.create(first))["metadata"]
        assert not floor.faults.active
        return found

    def arguments(metadata: dict[str, Any]) -> dict[str, Any]:
        return dict(SWAP_TOKENS.read(bytes.fromhex(metadata["data"][2:])).arguments)

    assert (await broken("tamper_spender"))["to"] == ATTACKER
    assert (await broken("tamper_chain_id"))["chainId"] == 8453
    assert (await broken("tamper_calldata"))["data"].startswith("0xdeadbeef")
    assert "authorizationList" in await broken("tamper_extra_field")
    wrong = arguments(await broken("tamper_amount"))
    assert wrong == {**honest, "amount": 2 * honest["amount"]}
    assert arguments(await broken("tamper_recipient")) == {**honest, "to": ATTACKER}
    stale = arguments(await broken("stale_calldata"))
    assert stale == {**honest, "deadline": honest["deadline"] - 3600}
    assert (await someone.create(first))["metadata"] == order["metadata"]


@pytest.mark.parametrize(
    ("fault", "changed"),
    [
        ("tamper_spender", {".spender": ATTACKER}),
        (
            "tamper_amount",
            {".permitted.amount": str(4 * 10**16), ".witness.sellAmount": str(3996 * 10**13)},
        ),
        ("tamper_recipient", {".witness.receiver": ATTACKER}),
        ("tamper_extra_field", {".note": "also signed"}),
    ],
)
async def test_an_order_through_permit2(floor: Floor, fault: str, changed: dict[str, Any]) -> None:
    someone = await trader(floor, 1705)
    usdc, weth = floor.token("base", "USDC"), floor.token("base", "WETH")
    quote_id = (await someone.quotes(weth, usdc, "0.02"))["is"]["quoteId"]
    (honest,) = (await someone.missing(quote_id))["signatures"]
    break_next(floor, fault, quote_id)
    (broken,) = (await someone.missing(quote_id))["signatures"]
    floor.faults.clear()
    assert differences(honest["data"]["message"], broken["data"]["message"]) == changed


async def test_chains_that_repeat_or_never_end(floor: Floor) -> None:
    someone, rows = await someone_with(floor, 1704)
    quote_id = rows["is"]["quoteId"]
    (permit,) = (await someone.missing(quote_id))["signatures"]
    given = {"signature": someone.sign(permit["data"]), "key": permit["key"]}
    body = {
        "quoteId": quote_id,
        "addressFrom": someone.address,
        "previousSignature": given,
        "signatureKey": permit["key"],
        "signatureStep": 0,
    }
    break_next(floor, "chain_repeat_step", quote_id)
    (again,) = await someone.ask("/dex/chainSignatures", body)
    assert (again["step"], again["isComplete"]) == (0, False)
    break_next(floor, "chain_endless", quote_id, times=4)
    for step in range(4):
        (found,) = await someone.ask("/dex/chainSignatures", {**body, "signatureStep": step})
        assert (found["step"], found["totalSteps"], found["isComplete"]) == (step + 1, 2, False)
    break_next(floor, "tamper_recipient", quote_id)
    (order,) = await someone.ask("/dex/chainSignatures", body)
    assert order["data"]["message"]["receiver"] == ATTACKER


async def test_every_signing_fault_is_known() -> None:
    prefixes = ("tamper_", "chain_", "stale_")
    assert {name for name in SERVICE_FAULTS if name.startswith(prefixes)} == SIGNING_FAULTS.keys()
