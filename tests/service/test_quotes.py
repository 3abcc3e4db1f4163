"""Rows of a quote answer: what they say, how they are sorted, how they are kept."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from rows import each_row
from service.http_calls import small_service
from service.price_venue import COPY_OF_XMR, MONERO, XMR, PriceVenue
from service.quote_calls import asked, quotes, refusal, stored_quote, with_stored
from service.quote_fields import check_fields
from service.world import (
    AS_SECOND,
    BTC,
    CHAINS,
    ETH,
    FIRST,
    INTERMEDIARIES,
    SECOND,
    SOL,
    TOKENS,
    UNPRICED,
    XRP,
)
from swapdesk.clock import ManualClock
from swapdesk.service.access import Caller
from swapdesk.service.handlers import ServiceParts
from swapdesk.service.quoting.bounds import KEPT_SECONDS
from swapdesk.service.quoting.pricing import PRIVATE_ROWS
from swapdesk.service.quoting.rows import QUOTE_VALID
from swapdesk.service.store.records import RouteChoice
from swapdesk.service.venues.adapter import CentralizedVenue, VenueTraits
from swapdesk.wire.encoding.numbers import plain, quantize
from swapdesk.wire.quotes import PrivateSendQuery, Quote, QuoteQuery


async def test_standard_and_private_rows(api: httpx2.AsyncClient) -> None:
    rows = await quotes(api, asked())
    standard = [row for row in rows if row.type == "standard"]
    private = [row for row in rows if row.type == "private"]
    assert [row.swap for row in standard] == ["aa", "bb", "cc"]
    assert len(private) == 6
    for row in rows:
        assert row.error is None
        assert row.amount_in == Decimal("0.5")
        assert row.net_amount_out == row.amount_out
        assert row.amount_out_usd is not None
        assert row.fee_usd is None
        assert row.amount_in_usd is None
        assert row.min <= Decimal("0.5") <= row.max
        assert not row.fixed
    assert standard[0].swap_name == "Venue aa"
    assert standard[0].amount_out == Decimal("9.959666666666666666")
    assert standard[0].duration == standard[0].provider_eta == 10


@pytest.mark.parametrize(
    "more", [{}, {"fixed": "true"}, {"fixed": "true", "amountType": "receive"}]
)
async def test_a_row_has_the_fields_of_the_contract(
    api: httpx2.AsyncClient,
    clock: ManualClock,
    venue_list: list[PriceVenue],
    more: dict[str, str],
) -> None:
    for venue in venue_list if more else ():
        venue.traits = VenueTraits(fixed=True)
        venue.rates_until = clock.now() + timedelta(seconds=300)
    answer = await api.get("/quotes", params=asked(**more))
    rows = json.loads(answer.text, parse_float=Decimal)["quotes"]
    assert {row["type"] for row in rows} == {"standard", "private"}
    assert any(row["fixed"] for row in rows) == bool(more)
    check_fields(rows)


async def test_numbers_have_no_padding(api: httpx2.AsyncClient) -> None:
    pair = {"tokenIdFrom": ETH.id, "tokenIdTo": BTC.id}
    for path, parameters in (("/quotes", asked("0.5", ETH.id, BTC.id)), ("/minMax", pair)):
        body = (await api.get(path, params=parameters)).text
        assert not re.search(r"[0-9]\.[0-9]*0[,}]", body)


FIGURES = {
    "quoteId",
    "amountIn",
    "amountOut",
    "netAmountOut",
    "amountOutUsd",
    "amountInUsd",
    "rateId",
}
"""What differs between routes by what they pay; everything else would tell venues apart."""


@pytest.mark.parametrize(
    ("path", "more", "told"),
    [
        ("/quotes", {}, 6),
        ("/quotes", {"fixed": "true"}, 6),
        ("/quotes", {"fixed": "true", "amountType": "receive"}, 6),
        ("/quotes", {"inLegIncludedSwaps": "cc"}, 2),
        ("/quotes", {"useXmr": "true"}, 1),
        ("/quotes", {"amount": "0.00021", "fixed": "true", "types": ["private", "standard"]}, 1),
        ("/quotes/private-send", {"fixed": "true"}, 6),
    ],
)
async def test_no_figure_of_a_private_row_tells_one_venue_from_another(
    api: httpx2.AsyncClient,
    clock: ManualClock,
    venue_list: list[PriceVenue],
    path: str,
    more: dict[str, Any],
    told: int,
) -> None:
    """Bounds, duration and end are the pair's on every row, also on one without a price."""
    for place, venue in enumerate(venue_list):
        venue.least, venue.most = venue.least + 3 * place, venue.most + 1_000 * place
        venue.minutes = Decimal("4.1") + 3 * place
        venue.traits = VenueTraits(fixed=True)
        venue.rates_until = clock.now() + timedelta(seconds=300 + 50 * place)
    # By itself it takes amounts that are not enough for a private route.
    venue_list[2].least = Decimal(3)
    private_send = path != "/quotes"
    parameters = {**asked(types="private"), **more}
    if private_send:
        parameters = {"amount": "0.5", "from": BTC.id, **more}
    body = (await api.get(path, params=parameters)).json()
    rows = [row for row in body["quotes"] if row["type"] == "private"]
    assert len(rows) == told, body
    alike = [{name: row[name] for name in row.keys() - FIGURES} for row in rows]
    assert alike == [alike[0]] * told
    # Between the second and the third venue both legs take at most 7.1 and 10.1 minutes.
    assert alike[0]["duration"] == 18
    if not private_send:
        pair = {"tokenIdFrom": BTC.id, "tokenIdTo": ETH.id}
        bounds = (await api.get("/minMax", params=pair)).json()["private"]
        assert (alike[0]["min"], alike[0]["max"]) == (bounds["min"], bounds["max"])


async def test_private_route_has_two_venues_and_the_best_hop(
    api: httpx2.AsyncClient, service: ServiceParts
) -> None:
    rows = await quotes(api, asked(types="private"))
    pairs = set()
    for row, stored in await with_stored(service, rows):
        first, second = stored.legs
        assert first != second
        pairs.add(stored.legs)
        assert stored.middle_token_id in (XRP.id, SOL.id)
        assert stored.middle_amount is not None
        assert stored.minutes == row.duration
        other = XRP if stored.middle_token_id == SOL.id else SOL
        alternative = await over(service, stored.legs, other.id)
        assert stored.amount_out >= alternative
    assert len(pairs) == len(rows)


async def over(service: ServiceParts, legs: tuple[str, ...], middle_id: str) -> Decimal:
    """What half a BTC pays over this hop, computed leg by leg."""
    middle = service.catalog.token(middle_id)
    first, second = (service.venues.by_code(code) for code in legs)
    into: Any = await first.quote(BTC, middle, Decimal("0.5"))
    out: Any = await second.quote(middle, ETH, into.amount_out)
    return quantize(out.amount_out, ETH.decimals, up=False)


async def test_private_rows_are_bounded(clock: ManualClock, store: Any) -> None:
    many = [PriceVenue(f"v{n}", fee=Decimal(n) / 1000) for n in range(1, 8)]
    parts = small_service(clock, store, venues=many)
    caller = Caller(FIRST, FIRST.keys[0])
    query = QuoteQuery.model_validate(asked(types=["private"]))
    answer = await parts.engine.quotes(caller, query)
    assert len(answer.quotes) == PRIVATE_ROWS == 24
    best = await parts.engine.best_legs(BTC, ETH, Decimal("0.5"), "private")
    assert answer.quotes[0].amount_out == best.amount_out
    assert set(best.legs) == {"v1", "v2"}


async def test_quotes_are_stored_for_their_partner(
    api: httpx2.AsyncClient, service: ServiceParts, clock: ManualClock
) -> None:
    (row, *_) = await quotes(api, asked(types="standard"))
    stored = await stored_quote(service, row.quote_id)
    assert (stored.purpose, stored.route, stored.legs) == ("exchange", "standard", ("aa",))
    assert (stored.amount_in, stored.amount_out) == (row.amount_in, row.amount_out)
    assert stored.amount_in_usd == 30000
    assert stored.expires == row.valid_until == clock.now() + QUOTE_VALID
    assert await service.store.quotes.get(SECOND.partner_id, row.quote_id) is None


async def test_quote_ids_are_drawn_anew(api: httpx2.AsyncClient) -> None:
    first = await quotes(api, asked())
    second = await quotes(api, asked())
    drawn = [row.quote_id for row in first + second]
    assert len(set(drawn)) == len(drawn)
    assert drawn != sorted(str(one) for one in drawn)


@pytest.mark.proves("input get_quotes types")
@each_row(
    ("types", "found"),
    [
        ("standard", {"standard"}),
        ("private", {"private"}),
        (["standard", "private"], {"standard", "private"}),
        (["standard", "dex"], {"standard"}),
        ("dex", set()),
    ],
)
async def test_types(api: httpx2.AsyncClient, types: Any, found: set[str]) -> None:
    assert {row.type for row in await quotes(api, asked(types=types))} == found


@pytest.mark.proves("input get_quotes sort", "input get_quotes sortOrder")
@each_row(
    ("sort", "attribute"),
    [
        ("amountOut", "amount_out"),
        ("amountOutUsd", "amount_out_usd"),
        ("amountIn", "amount_in"),
        ("duration", "duration"),
    ],
)
async def test_sorting(api: httpx2.AsyncClient, cc: PriceVenue, sort: str, attribute: str) -> None:
    cc.failing = True
    ascending = await quotes(api, asked(types="standard", sort=sort, sortOrder="asc"))
    descending = await quotes(api, asked(types="standard", sort=sort))
    for rows, reverse in ((ascending, False), (descending, True)):
        assert [row.swap for row in rows if row.error] == ["cc"]
        assert rows[-1].error == "this route could not be priced"
        values = [getattr(row, attribute) for row in rows[:-1]]
        assert values == sorted(values, reverse=reverse)
    default = await quotes(api, asked(types="standard"))
    assert [row.swap for row in default] == ["aa", "bb", "cc"]


async def test_rows_without_the_sorted_figure_come_after_the_others(
    api: httpx2.AsyncClient,
) -> None:
    rows = await quotes(api, asked("1", ETH.id, UNPRICED.id, sort="amountOutUsd"))
    assert rows
    assert {row.amount_out_usd for row in rows} == {None}


@pytest.mark.proves(
    "input get_quotes slippage",
    "input get_quotes senderAddress",
    "input get_quotes receiverAddress",
    "input get_quotes refundAddress",
    "input get_private_send_quotes refundAddress",
)
@each_row(
    ("path", "name"),
    [
        ("/quotes", "slippage"),
        ("/quotes", "senderAddress"),
        ("/quotes", "receiverAddress"),
        ("/quotes", "refundAddress"),
        ("/quotes/private-send", "refundAddress"),
    ],
)
async def test_inputs_without_effect_on_centralized_routes(
    api: httpx2.AsyncClient, path: str, name: str
) -> None:
    """They are for DEX routes, or for the create: no row differs and none is left out."""
    pair = {"amount": "0.5", "from": BTC.id} | ({"to": ETH.id} if path == "/quotes" else {})

    async def rows(**more: str) -> list[Any]:
        found = (await api.get(path, params=pair | more)).json()["quotes"]
        return [{key: row[key] for key in row.keys() - {"quoteId"}} for row in found]

    plainly = await rows()
    assert len(plainly) == (9 if path == "/quotes" else 6)
    for value in ("0", "0.5", "100") if name == "slippage" else ("0x" + "ab" * 20, "a" * 200):
        assert await rows(**{name: value}) == plainly, value


async def test_required_parameters(api: httpx2.AsyncClient) -> None:
    body = await refusal(api, "/quotes", {})
    assert body["fields"] == {name: {"message": "is required"} for name in ("amount", "from", "to")}


@pytest.mark.parametrize("end", ["min", "max"])
async def test_what_another_partner_asked_before_changes_no_quote(
    api: httpx2.AsyncClient,
    clock: ManualClock,
    aa: PriceVenue,
    bb: PriceVenue,
    cc: PriceVenue,
    end: str,
) -> None:
    """On both sides of the limits that are stated; the second leg takes either amount."""
    cc.enabled = False
    bb.trades = frozenset({"BTC", "XRP", "SOL"})
    aa.trades = frozenset({"ETH", "XRP", "SOL"})
    aa.least, aa.most = Decimal(50), Decimal(100_000)
    pair = {"tokenIdFrom": BTC.id, "tokenIdTo": ETH.id}
    stated = (await api.get("/minMax", params=pair, headers=AS_SECOND)).json()["private"]
    clock.advance(KEPT_SECONDS + 1)
    outward = {"min": Decimal(-1), "max": Decimal(1)}[end]
    limit = Decimal(str(stated[end]))
    amounts = [limit - outward.scaleb(-8), limit + outward.scaleb(-8)]

    async def answers() -> list[Any]:
        found = []
        for amount in amounts:
            answer = await api.get("/quotes", params=asked(plain(amount), types="private"))
            body = answer.json()
            found.append(body.get("code") or [row["amountOut"] for row in body["quotes"]])
        return found

    cold = await answers()
    assert cold[0]
    assert cold[1] == {"min": "AMOUNT_TOO_LOW", "max": "QUOTE_OVER_LIMIT"}[end]
    assert (await api.get("/minMax", params=pair, headers=AS_SECOND)).status_code == 200
    assert await answers() == cold


# Which providers a route may use, and over what it may hop (contract 6.15 to 6.17)


FILTERS = (
    "inLegIncludedSwaps",
    "inLegExcludedSwaps",
    "outLegIncludedSwaps",
    "outLegExcludedSwaps",
)


async def legs_of(service: ServiceParts, rows: list[Quote]) -> set[tuple[str, ...]]:
    return {stored.legs for _, stored in await with_stored(service, rows)}


@pytest.mark.proves("input get_quotes swaps")
async def test_swaps_allow_and_leave_private_routes_out(
    api: httpx2.AsyncClient, service: ServiceParts
) -> None:
    rows = await quotes(api, asked(swaps=["bb", "cc"]))
    assert [(row.type, row.swap) for row in rows] == [("standard", "bb"), ("standard", "cc")]
    stored = await stored_quote(service, rows[0].quote_id)
    assert stored.choice == RouteChoice(swaps=("bb", "cc"))
    assert await quotes(api, asked(swaps="bb", types="private")) == []


@each_row("codes", ["zz", ["aa", "zz"], "AA"])
async def test_unknown_codes_are_refused(api: httpx2.AsyncClient, codes: Any) -> None:
    for name in ("swaps", *FILTERS):
        body = await refusal(api, "/quotes", {**asked(), name: codes})
        wrong = codes[-1] if isinstance(codes, list) else codes
        assert body["fields"] == {
            name: {"message": f"'{wrong}' is no provider code", "value": codes}
        }
    for name in FILTERS:
        parameters = {"amount": "0.5", "from": BTC.id, name: codes}
        await refusal(api, "/quotes/private-send", parameters, field=name)


@each_row(
    "more",
    [
        {"useXmr": "true"},
        {"rotatePayoutWallets": "true", "deviationThreshold": "0"},
        *({name: "bb"} for name in FILTERS),
    ],
    ids=lambda more: next(iter(more)),
)
async def test_wishes_for_private_routes_change_no_standard_row(
    api: httpx2.AsyncClient, more: dict[str, str]
) -> None:
    async def rows(**wished: str) -> list[dict[str, Any]]:
        found = await quotes(api, asked(types="standard", **wished))
        return [row.model_dump(exclude={"quote_id"}) for row in found]

    assert await rows(**more) == await rows() != []


async def test_a_provider_that_is_not_routing(api: httpx2.AsyncClient, aa: PriceVenue) -> None:
    """It cannot be asked for; to exclude it is harmless."""
    aa.enabled = False
    body = await refusal(api, "/quotes", asked(swaps="aa"))
    assert body["fields"] == {
        "swaps": {"message": "'aa' is a provider that is not routing", "value": "aa"}
    }
    assert len(await quotes(api, asked(types="private", inLegExcludedSwaps="aa"))) == 2


@pytest.mark.proves(
    "input get_quotes inLegIncludedSwaps",
    "input get_quotes inLegExcludedSwaps",
    "input get_quotes outLegIncludedSwaps",
    "input get_quotes outLegExcludedSwaps",
    "input get_private_send_quotes inLegIncludedSwaps",
    "input get_private_send_quotes inLegExcludedSwaps",
    "input get_private_send_quotes outLegIncludedSwaps",
    "input get_private_send_quotes outLegExcludedSwaps",
)
@each_row(
    ("filters", "wanted"),
    [
        ({"inLegIncludedSwaps": "aa"}, {("aa", "bb"), ("aa", "cc")}),
        ({"inLegExcludedSwaps": ["aa", "bb"]}, {("cc", "aa"), ("cc", "bb")}),
        ({"outLegIncludedSwaps": ["cc"]}, {("aa", "cc"), ("bb", "cc")}),
        ({"outLegExcludedSwaps": ["cc", "aa"]}, {("aa", "bb"), ("cc", "bb")}),
        ({"inLegIncludedSwaps": "aa", "outLegExcludedSwaps": "bb"}, {("aa", "cc")}),
        (
            {"inLegIncludedSwaps": ["aa", "bb"], "inLegExcludedSwaps": "bb"},
            {("aa", "bb"), ("aa", "cc")},
        ),
    ],
)
async def test_filters_of_the_legs(
    api: httpx2.AsyncClient,
    service: ServiceParts,
    filters: dict[str, Any],
    wanted: set[tuple[str, ...]],
) -> None:
    rows = await quotes(api, asked(types="private", **filters))
    assert await legs_of(service, rows) == wanted
    standard = await quotes(api, asked(types="standard", **filters))
    assert {row.swap for row in standard} == {"aa", "bb", "cc"}, "ignored by standard routes"
    parameters = {"amount": "0.5", "from": BTC.id, **filters}
    sends = (await api.get("/quotes/private-send", params=parameters)).json()["quotes"]
    assert len(sends) == len(wanted)


@each_row(
    "filters",
    [
        {"inLegIncludedSwaps": "aa", "inLegExcludedSwaps": "aa"},
        {"inLegIncludedSwaps": "aa", "outLegIncludedSwaps": "aa"},
        {"outLegExcludedSwaps": ["aa", "bb", "cc"]},
    ],
)
async def test_filters_that_leave_nobody_say_so(
    api: httpx2.AsyncClient, filters: dict[str, Any]
) -> None:
    (row,) = await quotes(api, asked(types="private", **filters))
    assert row.error == "no exchange is left for both legs by the leg filters"
    assert row.quote_id is None
    rows = await quotes(api, asked(**filters))
    assert [row.type for row in rows] == ["standard"] * 3 + ["private"]
    parameters = {"amount": "0.5", "from": BTC.id, **filters}
    assert (await api.get("/quotes/private-send", params=parameters)).json()["quotes"] == []


# The hop


def hopping(
    clock: ManualClock, store: Any, intermediaries: tuple[str, ...]
) -> tuple[ServiceParts, Caller]:
    venues: list[CentralizedVenue] = [
        PriceVenue("aa"),
        PriceVenue("bb"),
        PriceVenue("cc", traits=VenueTraits(requires_refund_address=True)),
    ]
    parts = small_service(
        clock,
        store,
        venues=venues,
        chains=[*CHAINS, MONERO],
        tokens=[*TOKENS, COPY_OF_XMR, XMR],
        intermediaries=intermediaries,
    )
    return parts, Caller(FIRST, FIRST.keys[0])


async def middles(parts: ServiceParts, caller: Caller, **more: Any) -> set[str]:
    query = QuoteQuery.model_validate(asked(types=["private"], **more))
    answer = await parts.engine.quotes(caller, query)
    found = set()
    for row, stored in await with_stored(parts, answer.quotes):
        if row.quote_id is None:
            found.add(str(row.error))
            continue
        assert stored.middle_token_id is not None
        found.add(stored.middle_token_id)
    return found


@pytest.mark.proves("input get_quotes useXmr", "input get_private_send_quotes useXmr")
async def test_xmr_pins_the_hop(clock: ManualClock, store: Any) -> None:
    parts, caller = hopping(clock, store, (*INTERMEDIARIES, COPY_OF_XMR.id, XMR.id))
    assert await middles(parts, caller, useXmr="true") == {XMR.id}
    for more in ({}, {"useXmr": "false"}):
        assert await middles(parts, caller, **more) <= {
            *INTERMEDIARIES,
            COPY_OF_XMR.id,
            XMR.id,
        }
    send = PrivateSendQuery.model_validate({"amount": "0.5", "from": BTC.id, "useXmr": "true"})
    sent = await parts.engine.private_send(caller, send)
    for _, stored in await with_stored(parts, sent.quotes):
        assert stored.middle_token_id == XMR.id
        assert stored.choice.use_xmr is True
    choice = RouteChoice(use_xmr=True)
    best = await parts.engine.best_legs(BTC, SOL, Decimal("0.5"), "private", choice=choice)
    assert best.middle_token_id == XMR.id


@pytest.mark.parametrize("ends", [{}, {"to": XMR.id}])
async def test_no_route_over_xmr_says_so(
    clock: ManualClock, store: Any, ends: dict[str, str]
) -> None:
    hops = INTERMEDIARIES if not ends else (*INTERMEDIARIES, XMR.id)
    parts, caller = hopping(clock, store, hops)
    found = await middles(parts, caller, useXmr="true", **ends)
    assert found == {"no route passes through XMR"}


async def test_a_route_says_when_it_needs_a_refund_address(clock: ManualClock, store: Any) -> None:
    """The venue that takes the deposit decides; between the legs nobody has such an address."""
    parts, caller = hopping(clock, store, INTERMEDIARIES)
    query = QuoteQuery.model_validate(asked())
    needs: dict[tuple[str, ...], bool | None] = {}
    for row, stored in await with_stored(parts, (await parts.engine.quotes(caller, query)).quotes):
        assert stored.requires_refund_address == row.requires_refund_address
        needs[stored.legs] = row.requires_refund_address
    assert len(needs) == 7
    assert not any(legs[1:] == ("cc",) for legs in needs)
    assert {legs for legs, needed in needs.items() if needed} == {
        ("cc",),
        ("cc", "aa"),
        ("cc", "bb"),
    }


# Rows that must not be used


async def test_a_route_that_loses_too_much_is_filtered(
    api: httpx2.AsyncClient, service: ServiceParts, aa: PriceVenue, bb: PriceVenue
) -> None:
    """30 % of the dollars may go, not more; filtered rows stand between usable and unpriced."""
    aa.fee, aa.network = Decimal("0.31"), Decimal(0)
    bb.failing = True
    rows = await quotes(api, asked(types="standard"))
    assert [(row.swap, row.filtered, bool(row.error)) for row in rows] == [
        ("cc", False, False),
        ("aa", True, False),
        ("bb", False, True),
    ]
    assert rows[1].filtered_reason == "price_impact"
    assert rows[0].filtered_reason is None
    stored = await stored_quote(service, rows[1].quote_id)
    assert stored.filtered
    excluded = frozenset({("cc",), ("bb",)})
    none = await service.engine.best_legs(BTC, ETH, Decimal("0.5"), "standard", exclude=excluded)
    assert none is None
    aa.fee = Decimal("0.30")
    rows = await quotes(api, asked(types="standard"))
    assert not any(row.filtered for row in rows)


async def test_filtered_private_sends_are_left_out(
    api: httpx2.AsyncClient, aa: PriceVenue, bb: PriceVenue, cc: PriceVenue
) -> None:
    for venue in (aa, bb, cc):
        venue.fee = Decimal("0.2")
    rows = await quotes(api, asked(types="private"))
    assert rows
    assert all(row.filtered for row in rows)
    parameters = {"amount": "0.5", "from": BTC.id}
    assert (await api.get("/quotes/private-send", params=parameters)).json() == {
        "total": 0,
        "quotes": [],
    }
