"""Groups of orders over HTTP: created, opened one by one, shown to their owner."""

from __future__ import annotations

import asyncio
import base64
import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from solders.pubkey import Pubkey

import manual_time
from rows import each_row
from service import groups
from service.groups import group, opened, row
from service.http_calls import calling, declined, running, small_service
from service.orders_fixtures import EVM, XRP, venues_at
from service.price_venue import PriceVenue
from service.test_http import posted
from service.venue import PlainVenue
from service.world import (
    AS_FIRST,
    AS_FREE,
    AS_SECOND,
    BTC,
    DISABLED,
    ETH,
    FIRST,
    SOL,
    TOKENS,
    UNKNOWN_TOKEN,
    USDC,
    USDC_SOL,
)
from service.world import XRP as RIPPLE_COIN
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.chain.node_http import NodeUnreachable
from swapdesk.chain.rpc.solana import Blockhash
from swapdesk.chain.solana import (
    PACKET_BYTES,
    ComputeLimit,
    ComputePrice,
    CreateTokenAccount,
    Memo,
    ReadMessage,
    Transfer,
    TransferChecked,
    read_message,
    read_transaction,
    token_account,
)
from swapdesk.clock import ManualClock
from swapdesk.service.app import Onchain, build_service
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.orders.presentation import delete_order
from swapdesk.service.store.store import Store
from swapdesk.service.venues.adapter import VenueTraits
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.encoding.timestamps import parse_rfc3339
from swapdesk.wire.multi import MultiExchangeStatus, MultiTransactions
from swapdesk.wire.tokens import Token


@pytest.fixture
def venue_list() -> list[PlainVenue]:
    return venues_at()


async def status(api: httpx2.AsyncClient, multi_id: str) -> dict[str, Any]:
    answer = (await api.get(f"/exchanges/multi/{multi_id}")).raise_for_status()
    decode(MultiExchangeStatus, answer.content, side="client")
    return json.loads(answer.content, parse_float=str)


async def test_the_answer_has_the_addresses_of_what_was_set_up_in_time(
    service: ServiceParts,
) -> None:
    refused = row(0.5, addressTo="nowhere")
    async with running(service, AS_FIRST) as api:
        told = (await group(api, row(0.5), refused, row(0.75, anonymous=True)))["orders"]
    assert [each["order"]["depositAddress"] != "" for each in (told[0], told[2])] == [True, True]
    assert [each["order"]["status"] for each in (told[0], told[2])] == [0, 0]
    assert told[1]["error"]["code"] == "VALIDATION_ERROR"


async def test_an_exchange_that_does_not_answer_is_waited_for_five_seconds(
    service: ServiceParts, clock: ManualClock, venue_list: list[PlainVenue]
) -> None:
    for venue in venue_list:
        venue.trouble.hang = True
    async with running(service, AS_FIRST) as api:
        asking = asyncio.ensure_future(group(api, row(0.5)))
        await manual_time.until(clock, asking.done)
    (told,) = (await asking)["orders"]
    assert told["order"]["status"] < 0
    assert "depositAddress" not in told["order"]
    waited = clock.now() - parse_rfc3339(told["order"]["created"])
    assert timedelta(seconds=5) <= waited < timedelta(seconds=6)
    for venue in venue_list:
        venue.trouble.released.set()


def ids(told: dict[str, Any]) -> list[str]:
    return [each["order"]["serviceId"] for each in told["orders"]]


@pytest.mark.proves("input create_multi_exchange orders")
async def test_a_group_is_created_new_and_opened_by_the_worker(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, venue_list: list[PlainVenue]
) -> None:
    told = await group(
        api,
        row(0.5, walletInfo="mine"),
        row(0.75, anonymous=True),
        {**row(2000, to=RIPPLE_COIN.id, addressTo=XRP), "from": USDC.id, "destinationTag": "77"},
    )
    first, private, tagged = (each["order"] for each in told["orders"])
    for order in (first, private, tagged):
        assert order["multiId"] == told["multiId"]
        assert (order["status"], order["statusLabel"]) == (-1, "NEW")
        assert order["displayStatus"] == "WAITING_FOR_DEPOSIT"
        assert not {"depositAddress", "swapName", "in"} & order.keys()
    assert [order["anonymous"] for order in (first, private, tagged)] == [False, True, False]
    assert (first["inAmount"], private["inAmount"], tagged["inAmount"]) == ("0.5", "0.75", 2000)
    assert tagged["receiverTag"] == "77"
    assert not any(venue.opened for venue in venue_list), "nobody was asked yet"
    assert (await status(api, told["multiId"]))["orders"] == [first, private, tagged]
    await opened(service, clock)
    now = await status(api, told["multiId"])
    assert now.keys() == {"multiId", "orders", "txHash"}
    assert now["txHash"] is None
    for order in now["orders"]:
        assert (order["status"], order["statusLabel"]) == (0, "WAITING")
        assert order["depositAddress"]
    assert [order.get("swapName") for order in now["orders"]] == ["Alpha", None, "Alpha"]
    assert [order["serviceId"] for order in now["orders"]] == ids(told), "as they were asked for"
    details = await api.get(f"/orders/{ids(told)[0]}")
    assert json.loads(details.content, parse_float=str) == now["orders"][0]


@pytest.mark.proves("input list_orders multiId")
async def test_the_list_of_orders_by_their_group(
    api: httpx2.AsyncClient, clock: ManualClock
) -> None:
    one = await group(api, row(0.5), row(0.6))
    clock.advance(1)
    other = await group(api, row(0.7))
    for told in (one, other):
        listed = await api.get("/orders", params={"multiId": told["multiId"]})
        assert {each["serviceId"] for each in listed.json()["orders"]} == set(ids(told))
    foreign = await api.get("/orders", params={"multiId": one["multiId"]}, headers=AS_SECOND)
    assert foreign.json() == {"orders": [], "total": 0, "totalPages": 0}


BAD_ROWS: list[tuple[str, dict[str, Any], str, str | None]] = [
    ("an address of another chain", row(addressTo=EVM), "VALIDATION_ERROR", "addressTo"),
    ("a memo of no such chain", row(destinationTag="7"), "VALIDATION_ERROR", "destinationTag"),
    ("too little", row(0.0001), "AMOUNT_TOO_LOW", "amount"),
    ("too much", row(300), "QUOTE_OVER_LIMIT", "amount"),
    ("finer than the token", row("AMOUNT"), "VALIDATION_ERROR", "amount"),
    ("the same token openly", row(to=ETH.id, addressTo=EVM), "VALIDATION_ERROR", "to"),
    ("fixed without a way back", row(fixed=True), "VALIDATION_ERROR", "refundAddress"),
    ("a memo for nobody", row(refundExtraId="7"), "VALIDATION_ERROR", "refundExtraId"),
    (
        "an exchange that is none",
        row(filters={"onlySwaps": ["nobody"]}),
        "VALIDATION_ERROR",
        "filters.onlySwaps",
    ),
    (
        "a leg of nobody",
        row(anonymous=True, filters={"inLeg": {"include": ["nobody"]}}),
        "VALIDATION_ERROR",
        "filters.inLeg.include",
    ),
    (
        "filters that exclude each other",
        row(anonymous=True, filters={"onlySwaps": ["aa"], "outLeg": {"include": ["bb"]}}),
        "VALIDATION_ERROR",
        "filters.outLeg.include",
    ),
    ("a hop that this world has not", row(anonymous=True, useXmr=True), "INVALID_SWAP", None),
    (
        "one exchange for both legs",
        row(anonymous=True, filters={"onlySwaps": ["aa"]}),
        "INVALID_SWAP",
        None,
    ),
]


@pytest.mark.proves("input create_multi_exchange orders")
@each_row(("bad", "code", "field"), [each[1:] for each in BAD_ROWS])
async def test_what_is_wrong_with_one_order_leaves_the_others_alone(
    api: httpx2.AsyncClient,
    service: ServiceParts,
    clock: ManualClock,
    bad: dict[str, Any],
    code: str,
    field: str | None,
) -> None:
    sent = json.dumps({"orders": [row(0.5), bad, row(0.6)]})
    body = sent.replace('"AMOUNT"', "0.1234567890123456789")
    answer = (
        await api.post(
            "/exchanges/multi", content=body, headers={"content-type": "application/json"}
        )
    ).raise_for_status()
    good, wrong, last = answer.json()["orders"]
    assert wrong.keys() == {"error"}
    assert wrong["error"]["code"] == code
    if field is not None:
        assert list(wrong["error"]["fields"]) == [field]
        sent_of_it = bad.get(field)
        if sent_of_it not in (None, "AMOUNT"):
            assert str(wrong["error"]["fields"][field]["value"]) == str(sent_of_it)
    assert good.keys() == last.keys() == {"order"}
    await opened(service, clock)
    told = await status(api, answer.json()["multiId"])
    assert [each["status"] for each in told["orders"]] == [0, 0]


async def test_a_deposit_address_is_no_place_to_pay_to_of_one_order_of_a_group(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock
) -> None:
    first = await group(api, row(0.5))
    await opened(service, clock)
    [order] = (await status(api, first["multiId"]))["orders"]
    told = await group(api, row(0.5, refundAddress=order["depositAddress"].lower()), row(0.5))
    wrong, good = told["orders"]
    assert (wrong["error"]["code"], good.keys()) == ("VALIDATION_ERROR", {"order"})
    assert wrong["error"]["fields"].keys() == {"refundAddress"}


@each_row(
    ("rows", "code", "says"),
    [
        ([row(), row(to=UNKNOWN_TOKEN)], "TOKEN_NOT_FOUND", "orders.1.to"),
        ([row(), {**row(), "from": DISABLED.id}], "TOKEN_DISABLED", "orders.1.from"),
    ],
)
async def test_tokens_that_cannot_be_swapped_refuse_the_group(
    api: httpx2.AsyncClient, rows: list[dict[str, Any]], code: str, says: str
) -> None:
    refused = await declined(api.post("/exchanges/multi", json={"orders": rows}), code)
    assert says in refused["message"]


async def test_one_source_chain_a_group(api: httpx2.AsyncClient) -> None:
    mixed = [row(), {**row(20, to=BTC.id), "from": SOL.id}]
    refused = await declined(api.post("/exchanges/multi", json={"orders": mixed}), field="orders")
    told = refused["fields"]["orders"]
    assert "ethereum, solana" in told["message"]
    assert told["value"] == [mixed[0], "…"], "the begin of what was sent"
    several = await group(api, row(), {**row(2000), "from": USDC.id})
    assert len(ids(several)) == 2, "several tokens of one chain are one group"


@pytest.mark.proves("input create_multi_exchange filters")
async def test_filters_of_the_group_and_of_an_order(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock
) -> None:
    told = await group(
        api,
        row(0.5),
        row(0.5, filters={"onlySwaps": ["cc"]}),
        row(0.5, anonymous=True, filters={"inLeg": {"include": ["bb"]}, "onlySwaps": ["bb", "cc"]}),
        row(0.5, anonymous=True, filters={"onlySwaps": ["aa", "bb", "cc"]}),
        filters={"onlySwaps": ["bb"], "outLeg": {"exclude": ["bb"]}},
    )
    await opened(service, clock)
    rows = await service.store.groups.orders(FIRST.partner_id, told["multiId"])
    assert [each.legs for each in rows[:3]] == [("bb",), ("cc",), ("bb", "cc")]
    assert rows[3].legs[1] != "bb"
    refused = await api.post(
        "/exchanges/multi", json={"orders": [row()], "filters": {"onlySwaps": ["nobody"]}}
    )
    assert list(refused.json()["fields"]) == ["filters.onlySwaps"]


async def test_each_rotated_order_of_a_group_has_a_wallet_of_its_own(
    api: httpx2.AsyncClient, service: ServiceParts, venue_list: list[PlainVenue]
) -> None:
    for venue in venue_list:
        venue.traits = VenueTraits(payout_wallets=2)
    rotating = {"rotatePayoutWallets": True, "rotationLookback": 50, "deviationThreshold": 100}
    told = await group(api, *[row(0.5, anonymous=True)] * 7, filters=rotating)
    left = [each["error"]["code"] for each in told["orders"] if "error" in each]
    assert left == ["INVALID_SWAP"], "there are six wallets"
    rows = await service.store.groups.orders(FIRST.partner_id, told["multiId"])
    used = [(each.legs[-1], each.payout_wallet) for each in rows]
    assert len(set(used)) == len(used)
    assert all(wallet is not None for _, wallet in used)
    assert {each.choice.rotation_lookback for each in rows} == {50}
    assert {each.choice.deviation_threshold for each in rows} == {Decimal(100)}


async def test_a_deleted_order_is_an_id_and_a_state(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, store: Store
) -> None:
    told = await group(api, row(0.5), row(0.6))
    await opened(service, clock)
    gone = await store.orders.get(FIRST.partner_id, ids(told)[0])
    assert await delete_order(store, gone, clock.now())
    shown = await status(api, told["multiId"])
    listed = (await api.get("/orders", params={"multiId": told["multiId"]})).json()
    assert {each["status"] for each in listed["orders"]} == {0, 8}
    assert shown["orders"][0] == {"serviceId": ids(told)[0], "status": 8}
    assert shown["orders"][1]["status"] == 0


async def test_a_group_whose_orders_all_fail(api: httpx2.AsyncClient) -> None:
    """It exists, holds no order, and nothing of it can be paid or submitted."""
    told = await group(api, row(addressTo="nowhere"), row(destinationTag="7"))
    assert [each.keys() for each in told["orders"]] == [{"error"}, {"error"}]
    path = f"/exchanges/multi/{told['multiId']}"
    shown = await status(api, told["multiId"])
    assert shown == {"multiId": told["multiId"], "orders": [], "txHash": None}
    await declined(api.post(f"{path}/tx/build", json={"sender": EVM}), "VALIDATION_ERROR")
    await declined(api.post(f"{path}/tx", json={"signatures": ["0x" + "ab" * 65]}), "NOT_FOUND")


@pytest.mark.proves("input get_multi_exchange multiId")
async def test_a_group_is_told_for_48_hours(api: httpx2.AsyncClient, clock: ManualClock) -> None:
    told = await group(api, row())
    path = f"/exchanges/multi/{told['multiId']}"
    clock.advance(timedelta(hours=48).total_seconds() - 1)
    assert (await api.get(path)).status_code == 200
    clock.advance(2)
    assert (await api.get(path)).status_code == 404


async def test_a_group_counts_as_one_exchange(api: httpx2.AsyncClient) -> None:
    """And one of which nothing is created counts as none."""
    headers = AS_FREE  # one exchange a minute
    nothing = await api.post(
        "/exchanges/multi", json={"orders": [row(addressTo=EVM)]}, headers=headers
    )
    assert nothing.status_code == 200
    empty = await api.get(f"/exchanges/multi/{nothing.json()['multiId']}", headers=headers)
    assert empty.json()["orders"] == []
    rows = {"orders": [row(0.5), row(0.6)]}
    assert (await api.post("/exchanges/multi", json=rows, headers=headers)).status_code == 200
    await declined(api.post("/exchanges/multi", json=rows, headers=headers), "RATE_LIMIT_EXCEEDED")


@pytest.mark.parametrize("anonymous", [False, True])
async def test_the_maximum_of_an_order_is_that_of_the_live_limits(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, anonymous: bool
) -> None:
    """At the bound an order is created and opened; one unit above it is refused."""
    pair = {"tokenIdFrom": ETH.id, "tokenIdTo": BTC.id}
    told = json.loads((await api.get("/minMax", params=pair)).content, parse_float=Decimal)
    most = Decimal(told["private" if anonymous else "cex"]["max"])
    unit = Decimal(1).scaleb(-6)

    async def asked(amount: Decimal) -> dict[str, Any]:
        text = json.dumps({"orders": [row("AMOUNT", anonymous=anonymous)]})
        return await posted(api, "/exchanges/multi", text.replace('"AMOUNT"', str(amount)))

    (above,) = (await asked(most + unit))["orders"]
    assert above["error"]["code"] == "QUOTE_OVER_LIMIT"
    at_most = await asked(most)
    assert "error" not in at_most["orders"][0], at_most
    for _ in range(4):
        await opened(service, clock)
        clock.advance(1)
    (order,) = (await status(api, at_most["multiId"]))["orders"]
    assert order["status"] == 0
    assert order["depositAddress"]


@each_row(
    ("field", "order", "told"),
    [
        ("amount", {"amount": 0.00000015}, "number 0.00000015"),
        ("amount", {"amount": 9e25}, 90000000000000000000000000),
        ("filters.onlySwaps", {"filters": {"onlySwaps": ["aa", "zz"]}}, ["aa", "zz"]),
        ("addressTo", {"addressTo": "nowhere"}, "nowhere"),
    ],
)
async def test_an_order_of_a_group_sends_values_too(
    api: httpx2.AsyncClient, field: str, order: dict[str, Any], told: Any
) -> None:
    answer = await posted(api, "/exchanges/multi", json.dumps({"orders": [row() | order]}))
    assert answer["orders"][0]["error"]["fields"][field]["value"] == told


async def test_a_fixed_order_keeps_its_rate_and_its_way_back(
    store: Store, clock: ManualClock
) -> None:
    """One venue has fixed rates and refuses to open, and a better one has none."""
    kept = PriceVenue("kept", fee=Decimal("0.02"), traits=VenueTraits(fixed=True))
    service = small_service(clock, store, venues=[PriceVenue("aa", fee=Decimal("0.004")), kept])
    async with calling(build_service(service), AS_FIRST) as api:
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
        back = {"refundAddress": XRP, "refundExtraId": "7"}
        tagged = row(amount=1000, fixed=True, **back) | {"from": RIPPLE_COIN.id}
        answer = await api.post("/exchanges/multi", json={"orders": [tagged]})
        (stored,) = await service.store.groups.orders(FIRST.partner_id, answer.json()["multiId"])
        assert (stored.refund_address, stored.refund_tag) == (XRP, "7")
        assert stored.receiver_tag is None


# Groups on Solana: their deposits as transactions of measured size (contract 9.15)


SENDER = derive_address("sol", b"s" * 32)
HASH = "4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM"
BUNDLED = [token.model_copy(update={"has_bundler": True}) for token in TOKENS]


class OneHash:
    """The newest blockhash of a chain, unless it does not answer."""

    silent = False

    async def latest_blockhash(self) -> Blockhash:
        if self.silent:
            raise NodeUnreachable("no connection")
        return Blockhash(HASH, 150)


@pytest.fixture
def node() -> OneHash:
    return OneHash()


@pytest.fixture
def token_list() -> list[Token]:
    return BUNDLED


@pytest.fixture
def onchain(node: OneHash) -> Onchain:
    return Onchain(solana={"solana": node})


def sold(amount: float, token: str = SOL.id) -> dict[str, Any]:
    return {**groups.row(amount), "from": token}


async def ordered(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, *rows: dict[str, Any]
) -> tuple[str, dict[str, dict[str, Any]]]:
    """A group that was set up: its id and its orders."""
    multi_id, _ = await groups.set_up(api, service, clock, *rows)
    now = (await api.get(f"/exchanges/multi/{multi_id}")).json()
    return multi_id, {each["serviceId"]: each for each in now["orders"]}


async def asked(api: httpx2.AsyncClient, multi_id: str, sender: str = SENDER) -> dict[str, Any]:
    answer = (
        await api.get(f"/exchanges/multi/{multi_id}/tx", params={"sender": sender})
    ).raise_for_status()
    decode(MultiTransactions, answer.content, side="client")
    return answer.json()


def messages(told: dict[str, Any]) -> list[ReadMessage]:
    found = []
    for each in told["transactions"]:
        raw = base64.b64decode(each["txData"]["data"])
        assert len(raw) <= PACKET_BYTES
        found.append(read_message(read_transaction(raw).message))
    return found


@pytest.mark.proves("input get_multi_transactions multiId", "input get_multi_transactions sender")
async def test_deposits_in_sol(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock
) -> None:
    rows = [sold(20 + number) for number in range(25)]
    multi_id, orders = await ordered(api, service, clock, *rows)
    told = await asked(api, multi_id)
    assert told.keys() == {"multiId", "chain", "transactions"}
    assert told["chain"] == "solana"
    assert [len(each["serviceIds"]) for each in told["transactions"]] == [10, 10, 5]
    assert [one for each in told["transactions"] for one in each["serviceIds"]] == list(orders)
    for each, message in zip(told["transactions"], messages(told), strict=True):
        assert str(message.payer) == SENDER
        assert len(message.signers) == 1
        limit, price, memo, *paid = message.instructions
        assert isinstance(limit, ComputeLimit)
        assert isinstance(price, ComputePrice)
        assert memo == Memo(multi_id)
        assert paid == [
            Transfer(
                Pubkey.from_string(SENDER),
                Pubkey.from_string(orders[one]["depositAddress"]),
                int(orders[one]["inAmount"] * 10**9),
            )
            for one in each["serviceIds"]
        ]


async def test_deposits_in_tokens_open_the_accounts_they_need(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock
) -> None:
    rows = [sold(2000 + number, USDC_SOL.id) for number in range(25)]
    multi_id, orders = await ordered(api, service, clock, *rows)
    told = await asked(api, multi_id)
    assert [len(each["serviceIds"]) for each in told["transactions"]] == [9, 9, 7]
    payer, mint = Pubkey.from_string(SENDER), Pubkey.from_string(str(USDC_SOL.address))
    for each, message in zip(told["transactions"], messages(told), strict=True):
        paid = message.instructions[3:]
        for place, service_id in enumerate(each["serviceIds"]):
            receiver = Pubkey.from_string(orders[service_id]["depositAddress"])
            opened, sent = paid[2 * place : 2 * place + 2]
            assert opened == CreateTokenAccount(payer, receiver, mint)
            assert sent == TransferChecked(
                token_account(payer, mint),
                mint,
                token_account(receiver, mint),
                payer,
                int(orders[service_id]["inAmount"] * 10**6),
                6,
            )


async def test_the_build_of_some_orders_is_the_same(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock
) -> None:
    multi_id, orders = await ordered(
        api, service, clock, sold(20), sold(2000, USDC_SOL.id), sold(30)
    )
    path = f"/exchanges/multi/{multi_id}/tx/build"
    whole = await api.post(path, json={"sender": SENDER})
    assert whole.json() == await asked(api, multi_id)
    ids = list(orders)
    some = await api.post(path, json={"sender": SENDER, "serviceIds": [ids[2], ids[0]]})
    assert [each["serviceIds"] for each in some.json()["transactions"]] == [[ids[0], ids[2]]]
    now = (await api.get(f"/exchanges/multi/{multi_id}")).json()
    assert "bundleStatus" not in now, "there are no bundles on Solana"
    nothing = await api.post(
        f"/exchanges/multi/{multi_id}/tx", json={"signatures": ["0x" + "ab" * 65]}
    )
    assert nothing.status_code == 404


@pytest.mark.proves("input get_multi_transactions multiId", "input get_multi_transactions sender")
async def test_what_cannot_be_asked_for(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock, node: OneHash
) -> None:
    multi_id, _ = await ordered(api, service, clock, sold(20))
    path = f"/exchanges/multi/{multi_id}/tx"
    for sender in ("0x" + "ab" * 20, SENDER[:-1], "1" * 44):
        await declined(api.get(path, params={"sender": sender}), field="sender")
    foreign = await api.get(path, params={"sender": SENDER}, headers=AS_SECOND)
    assert foreign.status_code == 404
    node.silent = True
    await declined(api.get(path, params={"sender": SENDER}), "SERVICE_UNAVAILABLE")
