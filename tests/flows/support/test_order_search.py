"""A search over the real service: where it looks, what that costs, and what it says of nothing."""

from __future__ import annotations

import base64
import re
import sqlite3
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx2
import pytest

from flows.faulty_network import After, changed, on
from flows.orders import created_batch
from flows.support.searching import (
    REFUND,
    SupportDesk,
    said,
    support_desk,
)
from swapdesk.chain.addresses.display import grouped
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.client.credentials import Credentials
from swapdesk.flows.support.order_search import MOST_FOUND, NO_HASH, Place
from swapdesk.flows.support.support_case import SupportCase, facts_of
from swapdesk.wallet.accounts import ChainLink, Kind
from tui.desk_run import Market, market

__all__ = ["market"]

UNKNOWN = "h8Kq2PdT5mXcVbN3wRtY7z"
HASH = "0x" + "8f2c" * 16
NOBODY = derive_address("bitcoin", b"n" * 32)
"""An address of no order."""
LISTS, SERVICE, JOURNAL = Place.LISTS, Place.SERVICE, Place.JOURNAL


@pytest.fixture
async def support(market: Market) -> AsyncIterator[SupportDesk]:
    """A support desk of the first partner, and the service that it asks."""
    async with support_desk(market) as opened:
        yield opened


async def test_an_order_id_takes_one_read(support: SupportDesk) -> None:
    order = await support.make()
    search = support.look(f"Where is my order {order.service_id}?")
    assert search.found == {}
    assert search.next_cost[1] == "2 reads by id, up to 1 read of the lists"
    assert await support.spend(search) == 1
    assert search.found == {order.service_id: "order id"}
    assert said(search)[SERVICE] == ("found", "an order of this partner")
    assert LISTS not in said(search)
    assert search.next_cost is None
    # Now it stands in the journal, and costs nothing.
    again = support.look(order.service_id)
    assert (again.found, again.next_cost) == ({order.service_id: "order id"}, None)
    assert said(again)[JOURNAL] == ("found", "1 order, by order id")


async def test_a_group_id_brings_its_orders_without_a_read_for_each(support: SupportDesk) -> None:
    group = await support.make_group(5)
    search = support.look(group.multi_id)
    before = len(support.asked)
    assert await support.spend(search) == 2
    assert support.asked[before:] == [
        f"GET /v2/orders/{group.multi_id}",
        f"GET /v2/exchanges/multi/{group.multi_id}",
    ]
    assert set(search.found.values()) == {"group id"}
    assert len(search.found) == 5
    for service_id in search.found:
        assert facts_of(support.desk, service_id) is not None


async def test_orders_of_a_group_that_only_the_batch_knows_are_read_with_it(
    support: SupportDesk,
) -> None:
    group = await support.make_group(3)
    ids = [one.order.service_id for one in group.orders if one.order is not None]
    created_batch(support.desk.journal, "a" * 32, group.multi_id, *ids)
    search = support.look(group.multi_id)
    assert said(search)[JOURNAL] == ("found", "3 orders, by id")
    assert search.next_cost == (1, "1 read by id")
    assert await support.spend(search) == 1
    assert [facts_of(support.desk, name, search) is not None for name in ids] == [True] * 3
    assert support.look(group.multi_id).next_cost is None


@pytest.mark.parametrize(
    "kind",
    [
        *("beginning", "deposit", "receiver", "refund", "amount", "record"),
        *("in a sentence", "groups", "ends"),
    ],
)
async def test_what_is_no_id_is_found_in_the_lists(support: SupportDesk, kind: str) -> None:
    receiver = derive_address("evm", b"a" * 32)
    order = await support.make("0.4321", receiver=receiver)
    await support.make("0.5")
    text, way = {
        "beginning": (order.service_id[:6], "the beginning of its id"),
        "deposit": (str(order.deposit_address), "deposit address"),
        "receiver": (receiver.lower(), "receiver address"),
        "refund": (REFUND, "refund address"),
        "amount": ("I sent 0.4321 btc to you", "amount"),
        "record": (str(order.id), "record id"),
        "in a sentence": (f"Hola, {order.service_id[:8]} no llega", "the beginning of its id"),
        "groups": (f"支付到 {grouped(str(order.deposit_address))}。", "deposit address"),
        "ends": (f"to {receiver[:6]}…{receiver[-4:]}", "receiver address"),
    }[kind]
    search = await support.find(text)
    assert search.found[order.service_id] == way
    assert len(search.found) == (2 if kind == "refund" else 1)
    count = len(search.found)
    assert said(search)[LISTS] == ("found", f"matched {count} of 2 by {way}, 1 read")
    assert search.verdict == ""
    # The journal has it now, and is asked in the same words.
    again = support.look(text)
    assert (again.found[order.service_id], again.next_cost) == (way, None)


async def test_letters_alone_begin_an_id_where_the_journal_has_it(support: SupportDesk) -> None:
    """Of fifty ids one begins with six small letters, as words do."""
    order = await support.make()
    index = support.desk.journal.orders
    for name in ("hvbhznjzFfUSeuKrBc7Y8Y", "pleaseAzFfUSeuKrBc7Y8Y", "pleaseBzFfUSeuKrBc7Y8Y"):
        await support.desk.link.tracker.take([order.model_copy(update={"service_id": name})])
    words = ["hvbhzn", "please", "arrived", "hvbhznjz", "~", "hvbhznjzFfUSeuKrBc7Y8Y"]
    assert index.begun(words) == dict.fromkeys(
        ("hvbhzn", "hvbhznjz", "hvbhznjzFfUSeuKrBc7Y8Y"), "hvbhznjzFfUSeuKrBc7Y8Y"
    )
    search = support.look("please, hvbhzn has not arrived")
    assert search.found == {"hvbhznjzFfUSeuKrBc7Y8Y": "the beginning of its id"}
    assert [one.value for one in search.pasted.readings] == ["hvbhzn"]


async def test_a_transaction_is_found_by_every_spelling_of_its_hash(support: SupportDesk) -> None:
    order = await support.make()
    await support.find(order.service_id)
    octets = bytes(range(40, 72))
    hashes = {"in_transaction_out_hash": octets.hex(), "refund_hash": "5e" * 32}
    told = order.model_copy(update=hashes)
    await support.desk.link.tracker.take([told])
    assert support.look("5E" * 32).found == {order.service_id: "refund transaction"}
    plain = base64.b64encode(octets).decode()
    for text in (
        plain,
        plain.replace("+", "-").replace("/", "_"),
        f"0x{octets.hex()}",
        octets.hex().upper(),
        f"{octets.hex()[:40]}\n{octets.hex()[40:]}",
        f"{octets.hex()[:12]}...{octets.hex()[-6:]}",
        octets.hex()[:20],
    ):
        assert support.look(f"my hash {text} here").found == {
            order.service_id: "payout transaction"
        }, text


@pytest.mark.parametrize("answered", [True, False])
async def test_digits_that_no_chain_knows_as_a_hash_may_be_a_key(
    market: Market, answered: bool
) -> None:
    """Chains are asked over the transport of the desk: in one process with its world it opens no
    socket. Where nobody answers for the chain, nothing is known."""
    base = ChainLink("base", Kind.EVM, 8453, "http://127.0.0.1:9/evm/base", 3)
    nothing = httpx2.ByteStream(b'{"jsonrpc": "2.0", "id": 1, "result": null}')
    if answered:
        market.network.after = on("POST /evm/base", lambda *_: httpx2.Response(200, stream=nothing))
    async with support_desk(market, chains=(base,)) as support:
        search = support.look(f"it is {HASH[2:]}")
        await support.go_on(search)
        assert "POST /evm/base" in support.asked
        assert said(search)[Place.CHAINS][0] is ("nothing" if answered else "failed")
        assert search.may_be_key is answered
        assert search.verdict.endswith(NO_HASH) is answered
        assert (HASH[2:] in search.escalation) is not answered
        assert (f"{HASH[2:12]}...{HASH[-8:]}" in search.escalation) is answered


async def test_several_hits_are_a_list_and_one_message_may_name_several(
    support: SupportDesk,
) -> None:
    orders = [await support.make(amount) for amount in ("0.5", "0.6", "0.7")]
    ids = [order.service_id for order in orders]
    search = await support.find(f"first {ids[0]}, then {ids[1]} and {UNKNOWN}")
    assert set(search.found) == set(ids[:2])
    assert said(search)[SERVICE] == ("found", "2 orders of this partner")
    assert search.unanswered == [UNKNOWN]
    # One of two is known here by now; the other one is asked for, too.
    half = support.look(f"{ids[0]} and {ids[2]}")
    assert (set(half.found), half.next_cost) == ({ids[0]}, (2, "2 reads by id"))
    await support.spend(half)
    assert (set(half.found), half.unanswered) == ({ids[0], ids[2]}, [])
    # A word that may begin an id names an order only alone.
    words = f"Hola, {ids[0][:8]} y {ids[1][:8]} no llegan"
    assert set(support.look(words).found) == set(ids[:2])
    receiver = await support.find(str(orders[0].receiver_address))
    assert len(receiver.found) == 3, "those the journal has by now, at no cost"
    assert MOST_FOUND >= 10


async def test_a_request_of_this_run_is_found_by_its_id_and_by_nothing_shorter(
    support: SupportDesk,
) -> None:
    order = await support.make()
    await support.find(order.service_id)
    call = next(iter(support.desk.exchange_log))
    search = support.look(f"your page said request {call.request_id}")
    place = said(search)[Place.REQUESTS]
    assert place[0] == "found"
    assert re.fullmatch(r"1 request, the last GET /orders/\w{22} at [\d:]+, 200", place[1])
    assert search.found == {order.service_id: "a request of this run"}
    # A memo of two digits stands in any path, and names none of them.
    for short in (order.service_id[4:6], "v2", "or"):
        assert said(support.look(short))[Place.REQUESTS] == ("nothing", "no")


# What was not found


async def test_older_and_unknown_here_cannot_be_told_from_one_that_never_was(
    support: SupportDesk,
) -> None:
    order = await support.make()
    support.market.clock.advance(timedelta(hours=49).total_seconds())
    verdicts = set()
    places = [Place.JOURNAL, Place.REQUESTS, Place.SERVICE, Place.LISTS]
    for text in (order.service_id, UNKNOWN):
        search = await support.find(text)
        assert search.found == {}
        assert [one.place for one in search.searched] == places
        assert said(search)[SERVICE] == ("nothing", "404, for this partner")
        assert said(search)[LISTS] == ("nothing", "none of 0, 1 read")
        assert f"We do not find the order {text}:" in search.reply
        assert "the order id" not in search.reply
        assert search.next == "you: ask the customer for the transaction hash of the payment"
        assert f"  {search.pasted.readings[0].called}: {text}" in search.escalation
        verdicts.add(search.verdict)
    assert verdicts == {
        "No order of this partner of the last 48 hours. It is older, belongs to another partner,"
        " or never existed: the service answers the same for all three."
    }


async def test_who_may_not_read_lists_says_so(market: Market) -> None:
    async with support_desk(market, Credentials.read_only("partner-first")) as support:
        order = await support.make()
        found = await support.find(order.service_id)
        assert found.found == {order.service_id: "order id"}
        search = support.look(UNKNOWN)
        assert search.next_cost[0] == 1
        assert await support.spend(search) == 1
        assert said(search)[LISTS] == ("not asked", "a partner id alone may not read lists")
        assert "was not searched completely" in search.verdict
        address = support.look(str(order.receiver_address))
        assert (address.next_cost, len(address.found)) == (None, 1)
    async with support_desk(market, Credentials.read_only("partner-second")) as foreign:
        # What this home knows already is known whoever asks.
        assert foreign.look(order.service_id).found
        theirs = await foreign.find((await foreign.make("0.6")).service_id)
        assert theirs.found == {}
        assert said(theirs)[SERVICE] == ("nothing", "404, for this partner")


# A service that fails in the middle


FAILURES = ("403", "404", "429", "500", "503", "no answer", "half an answer")


def failing(name: str, request: httpx2.Request) -> httpx2.Response:
    if name == "no answer":
        raise httpx2.RemoteProtocolError("server disconnected", request=request)
    if name == "half an answer":
        return httpx2.Response(200, content=b'{"orders": [', request=request)
    body, wait = {"message": "no", "code": "X"}, {"retry-after": "30"}
    return httpx2.Response(int(name), headers=wait, json=body, request=request)


def on_second_page(name: str) -> After:
    """The list has three pages, and the second is not to be had."""

    def after(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        if request.url.params.get("page", "1") != "1":
            return failing(name, request)
        return changed(response, lambda body: body.replace(b'"totalPages":1', b'"totalPages":3'))

    return on("GET /v2/orders", after)


@pytest.mark.parametrize("failure", FAILURES)
async def test_a_failure_in_a_sweep_keeps_what_was_read_and_names_the_rest(
    support: SupportDesk, failure: str
) -> None:
    order = await support.make()
    support.market.network.after = on_second_page(failure)
    search = support.look(NOBODY)
    await support.spend(search)
    assert said(search)[LISTS] == ("nothing", "none of 1 so far, 1 read")
    assert search.next_cost[0] == 2
    assert search.verdict == "", "it goes on"

    await support.go_on(search)
    answer, why = said(search)[LISTS]
    assert answer == "failed"
    assert why.endswith("after 1 read; the rest was not searched")
    assert search.verdict.startswith("Not found so far. Orders of the last 48 h gave no whole")
    # What the first page had is known from here on, and the page can be asked for once more.
    assert support.look(order.service_id).found
    support.market.network.after = None
    await support.spend(search)
    assert said(search)[LISTS][0] == "nothing"
    assert "belongs to another partner" in search.verdict


@pytest.mark.parametrize("failure", [name for name in FAILURES if name != "404"])
async def test_a_failure_by_id_keeps_what_was_found_before_it(
    support: SupportDesk, failure: str
) -> None:
    order, second = await support.make(), await support.make("0.6")

    def after(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        late = request.url.path.endswith(second.service_id)
        return failing(failure, request) if late else response

    search = support.look(f"{order.service_id} and {second.service_id}")
    support.market.network.after = after

    await support.go_on(search)
    assert list(search.found) == [order.service_id]
    answer, why = said(search)[SERVICE]
    assert answer == "failed"
    assert why.startswith("an order of this partner; ")
    assert second.service_id[:6] in why


async def test_orders_that_cannot_be_read_are_not_taken_for_none(support: SupportDesk) -> None:
    await support.make()

    def foreign(body: bytes) -> bytes:
        return body.replace(b'"serviceId":"', b'"serviceId":"../')

    support.market.network.after = on("GET /v2/orders", lambda _, told: changed(told, foreign))
    search = await support.find(NOBODY)
    answer, why = said(search)[LISTS]
    assert (answer, why.endswith("1 could not be read")) == ("failed", True)
    assert search.verdict.startswith("Not found so far.")


async def test_a_journal_that_takes_nothing_more_hides_no_order(
    support: SupportDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = await support.make()
    other = await support.make("0.4321")
    path = support.market.settings.places.journal
    full = sqlite3.connect(path, isolation_level=None)
    full.execute(
        "CREATE TRIGGER full BEFORE INSERT ON orders"
        " BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
    )
    by_id = await support.find(order.service_id)
    assert by_id.found == {order.service_id: "order id"}
    listed = await support.find("0.4321 btc")
    assert listed.found == {other.service_id: "amount"}
    for service_id in (order.service_id, other.service_id):
        facts = facts_of(support.desk, service_id)
        assert SupportCase.of(facts).reply
    full.close()


async def test_a_journal_that_cannot_be_read_is_named_and_the_service_is_asked(
    support: SupportDesk,
) -> None:
    order = await support.make()
    path = support.market.settings.places.journal
    gone = sqlite3.connect(path, isolation_level=None)
    gone.execute("ALTER TABLE orders RENAME TO elsewhere")
    search = support.look(f"{order.service_id} {HASH}")
    assert said(search)[JOURNAL][0] == "failed"
    await support.spend(search)
    assert search.found == {order.service_id: "order id"}
    gone.close()
