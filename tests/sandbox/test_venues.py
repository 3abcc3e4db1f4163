"""The simulated exchanges: a market of pure prices, prices in both directions, promises, moods, and
legs at a real node.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rows import each_row
from sampling import examples
from swapdesk.chain.addresses.kinds import derive_address
from swapdesk.chain.rpc.ledger import LedgerClient
from swapdesk.clock import ManualClock, SystemClock
from swapdesk.sandbox.exchange import (
    FIXED_VALID,
    SimulatedExchange,
    closed,
    given_at,
    rate_name,
)
from swapdesk.sandbox.market import (
    PAYOUT_CONFIRMATIONS,
    PAYOUT_DECIMALS,
    Market,
    book_of,
    limits_of,
    minutes_of,
)
from swapdesk.sandbox.node.node import Node, NodeApp
from swapdesk.sandbox.tables import (
    ASSETS,
    CHAIN_ROWS,
    VENUE_ROWS,
    ChainRow,
    VenueRow,
)
from swapdesk.sandbox.world import (
    INTERMEDIARIES,
    WorldToken,
    build_chains,
    build_tokens,
    find_token,
    seed_bytes,
    trades,
    world_tokens,
)
from swapdesk.service.venues.adapter import (
    FLOATING,
    DepositAddressesInUse,
    LegOrder,
    Rejected,
    Terms,
    Transient,
    Unavailable,
    VenueQuote,
)
from swapdesk.wire.orders import LegStatus
from swapdesk.wire.tokens import Token

NOON = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
VENUES = {row.name: row for row in VENUE_ROWS}
BTC, ETH = find_token("bitcoin", "BTC"), find_token("ethereum", "ETH")
HALF = Decimal("0.5")


def test_a_price_is_a_function_of_seed_and_time() -> None:
    assert Market(7).prices(NOON) == Market(7).prices(NOON)
    assert Market(7).price("BTC", NOON) != Market(8).price("BTC", NOON)
    assert Market(7).price("BTC", NOON) != Market(7).price("BTC", NOON + timedelta(minutes=5))


def test_prices_stay_within_their_swing_and_move_smoothly() -> None:
    """Pairs of minutes of one day, all of them at full size."""
    market = Market(7)
    for minute in range(0, 1500, 1500 // examples(500, part=10)):
        before = market.prices(NOON + timedelta(minutes=minute))
        now = market.prices(NOON + timedelta(minutes=minute + 1))
        for code, price in now.items():
            asset = ASSETS[code]
            widest = asset.price * asset.swing / 10_000
            assert abs(price - asset.price) <= widest * Decimal("1.000001")
            # A minute is a seventh of the fastest knot: far less than the whole swing.
            assert abs(price - before[code]) <= widest * Decimal("0.25")


def amount_out(
    market: Market,
    venue: VenueRow,
    token_in: WorldToken,
    token_out: WorldToken,
    amount: Decimal,
    at: datetime,
) -> Decimal:
    return book_of(market, venue, token_in, token_out, at).bought(amount)


def test_quotes_are_pure_and_stand_for_ten_seconds() -> None:
    halyard = VENUES["Halyard"]
    first = amount_out(Market(7), halyard, BTC, ETH, HALF, NOON)
    assert first == amount_out(Market(7), halyard, BTC, ETH, HALF, NOON + timedelta(seconds=9))
    assert first != amount_out(Market(7), halyard, BTC, ETH, HALF, NOON + timedelta(seconds=10))
    assert first != amount_out(Market(8), halyard, BTC, ETH, HALF, NOON)


def test_exchanges_differ_and_take_their_spread() -> None:
    market = Market(7)
    mid = HALF * market.price("BTC", NOON) / market.price("ETH", NOON)
    outs = {
        row.name: amount_out(market, row, BTC, ETH, HALF, NOON)
        for row in VENUE_ROWS
        if trades(row, BTC) and trades(row, ETH)
    }
    assert len(set(outs.values())) == len(outs)
    assert all(mid * Decimal("0.97") < out < mid for out in outs.values())


def test_payouts_fit_the_token_for_every_pair_of_decimals() -> None:
    market, cobalt = Market(7), VENUES["Cobalt"]
    tokens = [token for token in world_tokens().values() if trades(cobalt, token)]
    assert {token.row.decimals for token in tokens} >= {0, 6, 8, 9, 12, 18, 24}
    for token in tokens:
        bounds = limits_of(cobalt, token)
        assert 0 < bounds.minimum < bounds.maximum
        for amount in (bounds.minimum, bounds.maximum):
            assert -int(amount.as_tuple().exponent) <= token.row.decimals
        if token is not ETH:
            out = amount_out(market, cobalt, ETH, token, Decimal("0.5"), NOON)
            assert out > 0
            assert -int(out.as_tuple().exponent) <= min(8, token.row.decimals)


@each_row("speed", [1, 10, 30, 60, 600])
def test_estimates_are_in_the_time_of_the_clients(speed: int) -> None:
    """What a faster world needs less of is estimated as less, and always as more than it needs."""
    pairs = [
        (find_token(*one), find_token(*other))
        for one in (("bitcoin", "BTC"), ("solana", "SOL"), ("ethereum", "ETH"))
        for other in (("monero", "XMR"), ("solana", "SOL"), ("base", "ETH"))
        if one != other
    ]
    for row in VENUE_ROWS:
        for one, other in pairs:
            needed = Decimal(row.exchange_seconds) / speed
            needed += _seconds(one.chain, one.chain.confirmations, speed)
            needed += _seconds(other.chain, PAYOUT_CONFIRMATIONS, speed)
            told = minutes_of(row, one, other, Decimal(speed)) * 60
            at_once = minutes_of(row, one, other) * 60
            assert needed < told <= at_once / speed + 2 * needed + 5
            assert speed == 1 or told < at_once


def _seconds(chain: ChainRow, confirmations: int, speed: int) -> Decimal:
    pace = speed if chain.beat == "world" else 1
    return Decimal(chain.block_ms * confirmations) / 1000 / pace


def test_orders_are_quick_at_speed_30() -> None:
    """The slowest pair of chains at the slowest exchange, with 4 s of polling to spare."""
    speed, polling = 30, 4
    slowest = max(Decimal(row.exchange_seconds) / speed for row in VENUE_ROWS)
    arrive = max(_seconds(row, row.confirmations, speed) for row in CHAIN_ROWS)
    leave = max(_seconds(row, PAYOUT_CONFIRMATIONS, speed) for row in CHAIN_ROWS)
    assert arrive + slowest + leave + polling <= 30
    middle = max(
        _seconds(find_token(*place).chain, find_token(*place).chain.confirmations, speed)
        for place in INTERMEDIARIES
    )
    assert arrive + slowest + middle + slowest + leave + 2 * polling <= 60


MARKET = Market(7)
FIXED = Terms(fixed=True)
RECEIVE = Terms(fixed=True, receive=True)
TOKENS = {token.id: token for token in build_tokens(build_chains(), NOON)}
TRADED = {
    row.name: [token for token in world_tokens().values() if trades(row, token)]
    for row in VENUE_ROWS
}
STABLE = [find_token("ethereum", symbol) for symbol in ("USDC", "USDT", "DAI")]


def wire(chain: str, symbol: str) -> Token:
    return TOKENS[find_token(chain, symbol).token_id]


def unit(token: WorldToken) -> Decimal:
    return Decimal(1).scaleb(-min(PAYOUT_DECIMALS, token.row.decimals))


@st.composite
def questions(draw: st.DrawFn) -> tuple[VenueRow, WorldToken, WorldToken, Decimal, datetime]:
    """A venue, a pair it trades, an amount within its bounds and a moment."""
    row = draw(st.sampled_from([row for row in VENUE_ROWS if row.fixed_spread is not None]))
    token_in, token_out = draw(
        st.lists(st.sampled_from(TRADED[row.name]), min_size=2, max_size=2, unique=True)
    )
    bounds = limits_of(row, token_in)
    share = Decimal(draw(st.integers(0, 10**6))) / 10**6
    amount = bounds.minimum + (bounds.maximum - bounds.minimum) * share
    amount = amount.quantize(unit(token_in))
    moment = NOON + timedelta(seconds=draw(st.integers(0, 10**6)))
    return row, token_in, token_out, amount, moment


_MARKUPS = st.decimals(0, 4, places=2)


@settings(max_examples=examples(150), deadline=None)
@given(questions(), _MARKUPS, st.booleans())
def test_the_reverse_of_a_price_is_its_inverse_to_the_last_unit(
    question: tuple[VenueRow, WorldToken, WorldToken, Decimal, datetime],
    markup: Decimal,
    fixed: bool,
) -> None:
    row, token_in, token_out, amount, moment = question
    book = book_of(MARKET, row, token_in, token_out, moment, Terms(fixed, markup=markup))
    bought = book.bought(amount)
    assume(bought > 0)
    needed = book.needed(bought)
    assert needed <= amount
    assert book.bought(needed) == bought
    if needed > unit(token_in):
        assert book.bought(needed - unit(token_in)) < bought


@settings(max_examples=examples(100), deadline=None)
@given(questions(), st.integers(1, 10**7))
def test_more_sent_buys_no_less_and_more_received_costs_no_less(
    question: tuple[VenueRow, WorldToken, WorldToken, Decimal, datetime], more: int
) -> None:
    row, token_in, token_out, amount, moment = question
    book = book_of(MARKET, row, token_in, token_out, moment, FIXED)
    assert book.bought(amount + more * unit(token_in)) >= book.bought(amount)
    wanted = book.bought(amount) + unit(token_out)
    least, most = book.needed(wanted), book.needed(wanted + unit(token_out))
    assert least is not None
    assert most is None or most >= least > amount


@settings(max_examples=examples(100), deadline=None)
@given(questions(), _MARKUPS)
def test_markup_takes_its_percent_of_what_is_bought(
    question: tuple[VenueRow, WorldToken, WorldToken, Decimal, datetime], markup: Decimal
) -> None:
    row, token_in, token_out, amount, moment = question
    plain = book_of(MARKET, row, token_in, token_out, moment).bought(amount)
    marked = book_of(MARKET, row, token_in, token_out, moment, Terms(markup=markup)).bought(amount)
    exact = plain * (100 - markup) / 100
    assert exact - unit(token_out) < marked < exact + unit(token_out)


def test_a_fixed_rate_costs_more_than_a_floating_one() -> None:
    pair = find_token("bitcoin", "BTC"), find_token("ethereum", "ETH")
    for row in VENUE_ROWS:
        if row.fixed_spread is None or not all(trades(row, token) for token in pair):
            continue
        floating = book_of(MARKET, row, *pair, NOON).bought(Decimal("0.5"))
        assert book_of(MARKET, row, *pair, NOON, FIXED).bought(Decimal("0.5")) < floating


def test_a_book_holds_only_so_much() -> None:
    kestrel, (one, other, _) = VENUES["Kestrel"], STABLE
    book = book_of(MARKET, kestrel, one, other, NOON)
    assert book.needed(kestrel.depth) is None
    assert book.needed(kestrel.depth / 2) is not None


def test_what_is_traded_thinly_pays_less_and_takes_less() -> None:
    cobalt = VENUES["Cobalt"]
    usdc = find_token("ethereum", "USDC")
    thin = find_token("ethereum", "OCEAN")
    assert trades(cobalt, thin)
    assert limits_of(cobalt, thin).maximum * Decimal("0.2410") < 2000
    dollars = Decimal(50_000)
    book = book_of(MARKET, cobalt, usdc, thin, NOON)
    mid = dollars * book.price_in / book.price_out
    assert book.bought(dollars) < mid * Decimal("0.92")


def test_an_exchange_is_closed_three_minutes_of_twenty() -> None:
    fathom = VENUES["Fathom"]
    shut = [closed(fathom, NOON + timedelta(minutes=minute)) for minute in range(120)]
    assert sum(shut) == 18
    assert shut[:20] == shut[20:40] == shut[100:]
    # The three minutes lie together, seen as a ring.
    assert sum(shut[minute] != shut[minute - 1] for minute in range(1, 21)) == 2
    assert not any(closed(VENUES["Halyard"], NOON + timedelta(minutes=m)) for m in range(60))


def test_the_name_of_a_rate_tells_when_it_was_given() -> None:
    at = NOON + timedelta(milliseconds=123)
    name = rate_name(7, "hy", ("a", "b"), (Decimal("0.50"), Decimal(1)), FIXED, at)
    assert given_at(name) == at
    assert name == rate_name(7, "hy", ("a", "b"), (Decimal("0.5"), Decimal("1.0")), FIXED, at)
    marked = Terms(fixed=True, markup=Decimal(1))
    for other in (
        rate_name(8, "hy", ("a", "b"), (Decimal("0.5"), Decimal(1)), FIXED, at),
        rate_name(7, "cb", ("a", "b"), (Decimal("0.5"), Decimal(1)), FIXED, at),
        rate_name(7, "hy", ("b", "a"), (Decimal("0.5"), Decimal(1)), FIXED, at),
        rate_name(7, "hy", ("a", "b"), (Decimal("0.5"), Decimal(2)), FIXED, at),
        rate_name(7, "hy", ("a", "b"), (Decimal("0.5"), Decimal(1)), RECEIVE, at),
        rate_name(7, "hy", ("a", "b"), (Decimal("0.5"), Decimal(1)), marked, at),
    ):
        assert other != name
    for text in ("", "hy", "hy--00", "hy-1-" + "g" * 20, name + "0", name.upper()):
        assert given_at(text) is None


# At a node


class Bench:
    """Exchanges over a node in this process, with a clock that is moved."""

    def __init__(self, ledger: LedgerClient, node: Node, now: datetime, name: str) -> None:
        self.clock = _Instant(now)
        self.ledger = ledger
        self.node = node
        self._name = name
        self._keys = 0

    def exchange(self, name: str, clock: ManualClock | None = None) -> SimulatedExchange:
        row = VENUES[name]
        market = Market(self.node.seed)
        return SimulatedExchange(row, market, clock or self.clock, self.ledger, lambda: Decimal(1))

    def leg(self, quote: VenueQuote, pair: tuple[Token, Token], **more: Any) -> LegOrder:
        self._keys += 1
        token_in, token_out = pair
        kind = token_out.chain_data.kind
        values = {
            "key": f"{self._name}{self._keys}:in",
            "payout_address": derive_address(kind, seed_bytes("test", self._keys)),
            "payout_tag": None,
            "refund_address": None,
            "refund_tag": None,
            "expires": self.clock.now() + timedelta(hours=1),
            "rate": quote.rate,
            **more,
        }
        return LegOrder(
            token_in=token_in,
            token_out=token_out,
            amount_in=quote.amount_in,
            amount_out=quote.amount_out,
            **values,
        )


class _Instant(ManualClock):
    """Sleeping takes no time."""

    async def sleep(self, seconds: float) -> None:
        return None


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Node, SystemClock]]:
    """A node and its clock, shared: its time goes on from test to test."""
    clock = SystemClock()
    node = Node(tmp_path_factory.mktemp("node") / "node.db", clock, seed=7)
    yield node, clock
    node.close()


@pytest.fixture
async def bench(
    world: tuple[Node, SystemClock], request: pytest.FixtureRequest
) -> AsyncIterator[Bench]:
    node, clock = world
    transport = httpx2.ASGITransport(app=NodeApp(node, "token"))
    async with LedgerClient("http://127.0.0.1/", "token", transport=transport) as ledger:
        yield Bench(ledger, node, clock.now(), request.node.name)


BTC_ETH = wire("bitcoin", "BTC"), wire("ethereum", "ETH")


async def priced(venue: SimulatedExchange, amount: Decimal, terms: Terms) -> VenueQuote:
    quote = await venue.quote(*BTC_ETH, amount, terms)
    assert isinstance(quote, VenueQuote), quote
    return quote


async def test_terms_an_exchange_does_not_know_are_unavailable(bench: Bench) -> None:
    for name, terms in (
        ("Juniper", FIXED),
        ("Kestrel", Terms(markup=Decimal(1))),
        ("Halyard", Terms(receive=True)),
    ):
        venue = bench.exchange(name)
        answer = await venue.quote(*BTC_ETH, HALF, terms)
        assert isinstance(answer, Unavailable)
        quote = await bench.exchange(name).quote(*BTC_ETH, HALF)
        assert isinstance(quote, VenueQuote)
        with pytest.raises(Rejected):
            await venue.open(bench.leg(quote, BTC_ETH, terms=terms))


@pytest.mark.parametrize("terms", [FIXED, RECEIVE, replace(RECEIVE, markup=Decimal("1.25"))])
async def test_a_fixed_rate_is_kept_to_the_last_second(bench: Bench, terms: Terms) -> None:
    halyard = bench.exchange("Halyard")
    amount = Decimal("7.123456789") if terms.receive else HALF
    quote = await priced(halyard, amount, terms)
    assert (quote.amount_out if terms.receive else quote.amount_in) == amount
    assert (
        timedelta(0)
        <= bench.clock.now() + FIXED_VALID - quote.valid_until
        < timedelta(milliseconds=1)
    )
    bench.clock.advance(599)
    later = await priced(halyard, amount, terms)
    assert (later.amount_in, later.amount_out) != (quote.amount_in, quote.amount_out)
    # Another process, which never saw the quote, keeps the promise.
    opened = await bench.exchange("Halyard").open(bench.leg(quote, BTC_ETH, terms=terms))
    assert (opened.amount_in, opened.amount_out) == (quote.amount_in, quote.amount_out)
    bench.clock.advance(1.001)
    with pytest.raises(Rejected, match="expired"):
        await halyard.open(bench.leg(quote, BTC_ETH, terms=terms))


async def test_an_opened_promise_is_found_by_its_key_after_it_ended(bench: Bench) -> None:
    halyard = bench.exchange("Halyard")
    quote = await priced(halyard, HALF, FIXED)
    leg = bench.leg(quote, BTC_ETH, terms=FIXED, payout_wallet=3)
    first = await halyard.open(leg)
    assert bench.node.accounts.rows.by_key("hy", leg.key)["payout_wallet"] == 3
    bench.clock.advance(3600)
    assert await halyard.open(leg) == first


async def test_a_deposit_after_the_deadline_is_told_to_be_held(bench: Bench) -> None:
    halyard = bench.exchange("Halyard")
    leg = bench.leg(await priced(halyard, HALF, FLOATING), BTC_ETH)
    opened = await halyard.open(leg)
    paid = {"key": leg.key, "token": BTC_ETH[0].id, "address": opened.address, "units": "50000000"}
    await bench.ledger.call("clock_set", advance=Decimal(7200))
    await bench.ledger.call("faucet_pay", **paid)
    await bench.ledger.call("clock_set", advance=Decimal(7200))
    told = await halyard.report(leg.key)
    assert (told.status, told.deposit_arrived, told.held) == (LegStatus.EXPIRED, True, True)


async def test_a_promise_is_for_its_amounts_pair_and_terms(bench: Bench) -> None:
    halyard = bench.exchange("Halyard")
    quote = await priced(halyard, HALF, FIXED)
    leg = bench.leg(quote, BTC_ETH, terms=FIXED)
    better = replace(leg, amount_out=leg.amount_out + Decimal("0.00000001"))
    marked = await priced(halyard, HALF, replace(FIXED, markup=Decimal(2)))
    for false in (
        better,
        replace(leg, amount_in=Decimal("0.4")),
        replace(leg, rate=None),
        replace(leg, rate="hy-1-" + "0" * 20),
        replace(leg, rate=marked.rate),
        replace(leg, terms=replace(FIXED, markup=Decimal(2))),
        replace(leg, token_out=wire("base", "ETH")),
    ):
        with pytest.raises(Rejected):
            await halyard.open(false)
    with pytest.raises(Rejected):
        await bench.exchange("Cobalt").open(leg)
    assert await halyard.find(leg.key) is None


async def test_the_amount_to_receive_is_bounded_by_what_is_sent(bench: Bench) -> None:
    halyard = bench.exchange("Halyard")
    low = await halyard.quote(*BTC_ETH, Decimal("0.0001"), RECEIVE)
    assert isinstance(low, Unavailable)
    assert low.reason.startswith("below minimum: this route takes 0.00020")
    high = await halyard.quote(*BTC_ETH, Decimal(1000), RECEIVE)
    assert isinstance(high, Unavailable)
    assert high.reason.startswith("above maximum")
    assert high.limits is not None
    beyond = await halyard.quote(*BTC_ETH, Decimal(10**9), RECEIVE)
    assert isinstance(beyond, Unavailable)
    assert beyond.limits == high.limits


async def test_what_it_does_not_trade_or_not_so_much_of(bench: Bench) -> None:
    halyard, btc, tide = bench.exchange("Halyard"), BTC_ETH[0], wire("arbitrum", "TIDE")
    assert isinstance(await halyard.quote(btc, tide, Decimal(1)), Unavailable)
    assert (halyard.limits(btc, tide), halyard.supports(btc, btc)) == (None, False)
    assert await halyard.report("nobody:in") is None
    quote = await priced(halyard, HALF, FLOATING)
    with pytest.raises(Rejected, match="out of bounds"):
        await halyard.open(replace(bench.leg(quote, BTC_ETH), amount_in=Decimal("0.00001")))


async def test_markup_of_the_quote_is_in_what_is_opened(bench: Bench) -> None:
    halyard = bench.exchange("Halyard")
    terms = Terms(markup=Decimal(4))
    quote = await priced(halyard, HALF, terms)
    plain = await priced(halyard, HALF, FLOATING)
    assert quote.amount_out < plain.amount_out * Decimal("0.9601")
    opened = await halyard.open(bench.leg(quote, BTC_ETH, terms=terms))
    assert opened.amount_out == quote.amount_out


async def test_a_closed_exchange_neither_prices_nor_opens(bench: Bench) -> None:
    fathom = bench.exchange("Fathom")
    row = VENUES["Fathom"]
    while closed(row, bench.clock.now()):
        bench.clock.advance(60)
    quote = await priced(fathom, HALF, FIXED)
    kept = bench.leg(quote, BTC_ETH, terms=FIXED)
    opened = await fathom.open(kept)
    while not closed(row, bench.clock.now()):
        bench.clock.advance(60)
    with pytest.raises(Transient, match="closed"):
        await fathom.quote(*BTC_ETH, HALF)
    with pytest.raises(Transient, match="closed"):
        await fathom.open(bench.leg(quote, BTC_ETH))
    assert await fathom.find(kept.key) == opened
    assert await fathom.open(kept) == opened


async def test_a_refund_address_where_one_is_needed(bench: Bench) -> None:
    quay = bench.exchange("Quay")
    quote = await priced(quay, HALF, FLOATING)
    with pytest.raises(Rejected, match="refund address"):
        await quay.open(bench.leg(quote, BTC_ETH))
    back = derive_address("bitcoin", seed_bytes("test", "back"))
    await quay.open(bench.leg(quote, BTC_ETH, refund_address=back))


async def test_static_addresses_are_two_per_chain_and_come_back(bench: Bench) -> None:
    saxby = bench.exchange("Saxby")
    quote = await priced(saxby, HALF, FLOATING)
    legs = [bench.leg(quote, BTC_ETH) for _ in range(2)]
    first, second = [await saxby.open(leg) for leg in legs]
    assert first.address != second.address
    third = bench.leg(quote, BTC_ETH)
    with pytest.raises(DepositAddressesInUse):
        await saxby.open(third)
    assert await saxby.open(legs[0]) == first
    eth_btc = await saxby.quote(BTC_ETH[1], BTC_ETH[0], Decimal(5))
    assert isinstance(eth_btc, VenueQuote)
    other = await saxby.open(bench.leg(eth_btc, (BTC_ETH[1], BTC_ETH[0])))
    assert other.address not in (first.address, second.address)
    await bench.ledger.call("clock_set", advance=Decimal(7200))
    assert (await saxby.open(third)).address == first.address


async def test_a_memo_or_an_address_for_each(bench: Bench) -> None:
    xrp_eth = wire("xrp", "XRP"), BTC_ETH[1]
    opened = {}
    for name in ("Halyard", "Quay"):
        venue = bench.exchange(name)
        quote = await venue.quote(*xrp_eth, Decimal(1000))
        assert isinstance(quote, VenueQuote)
        back = derive_address("xrp", seed_bytes("test", "back"))
        opened[name] = [
            await venue.open(bench.leg(quote, xrp_eth, refund_address=back)) for _ in range(2)
        ]
    one, other = opened["Halyard"]
    assert one.address == other.address
    assert one.tag is not None
    assert one.tag != other.tag
    one, other = opened["Quay"]
    assert one.address != other.address
    assert one.tag is other.tag is None
