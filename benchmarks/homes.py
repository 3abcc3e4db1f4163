"""Homes for the measured desks: empty, or with many tokens and orders on disk and no service."""

from __future__ import annotations

import json
import random
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from swapdesk.clock import SystemClock
from swapdesk.flows.catalog.catalog_file import CatalogFile
from swapdesk.flows.catalog.token_safety import row_of
from swapdesk.flows.journal.journal import Journal
from swapdesk.paths import Home
from swapdesk.sandbox.world_generator import build_catalog
from swapdesk.settings import place_of_url
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.encoding.ids import new_order_id
from swapdesk.wire.orders import DisplayStatus, Order
from swapdesk.wire.tokens import Token

NOWHERE = "http://127.0.0.1:9/v2"
"""A port on which nothing listens: the desk works from its journal alone."""

DESK = [sys.executable, "-m", "swapdesk"]
BARE = [sys.executable, "-m", "benchmarks.bare"]


def offline_environment(home: Path) -> dict[str, str]:
    """A live profile whose service is not there, so that only the desk itself is measured."""
    return {
        "HOME": str(home),
        "SWAPDESK_HOME": str(home),
        "SWAPDESK_API_URL": NOWHERE,
        "SWAPDESK_API_KEY": "benchmark",
        "SWAPDESK_API_SECRET": "benchmark",
    }


def fill_journal(home: Path, orders: int) -> None:
    """Write ``orders`` open orders into the journal of the offline profile."""
    rng = random.Random(orders)
    now = datetime.now(UTC)
    places = Home.at(home).profile(place_of_url(NOWHERE))
    journal = Journal.open(places.journal, SystemClock())
    states = list(DisplayStatus)[:8]
    journal.orders.record(
        (
            Order(
                service_id=new_order_id(rng),
                created=now - timedelta(seconds=rng.randrange(3600)),
                expires=now + timedelta(seconds=600 + number),
                deposit_address="bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4",
                display_status=rng.choice(states),
                anonymous=rng.random() < 0.3,
                in_amount=Decimal(rng.randrange(1, 10**9)).scaleb(-6),
                in_symbol="BTC",
                out_amount=Decimal(rng.randrange(1, 10**9)).scaleb(-6),
                out_symbol="ETH",
                eta=Decimal(14),
                swap_name="Halyard",
            ),
            "list",
            False,
        )
        for number in range(orders)
    )
    journal.close()


def fill_catalog(home: Path, count: int, *, url: str = NOWHERE) -> None:
    """Write a fresh list of ``count`` tokens into the token cache of the offline profile."""
    now = datetime.now(UTC)
    chains, tokens = build_catalog(1, count, now)
    # As a service lists them.
    tokens.sort(key=lambda token: row_of(token, now).order)
    file = CatalogFile.open(Home.at(home).profile(place_of_url(url)).catalog)
    generation = file.begin(now)
    for start in range(0, count, 100):
        some = tokens[start : start + 100]
        file.add_tokens(generation, [(token, _without_chain(token)) for token in some], now)
    file.add_chains(generation, [(chain.short_name, encode_json(chain)) for chain in chains])
    for _ in file.finish(generation, now):
        pass
    file.close()


def _without_chain(token: Token) -> bytes:
    body = json.loads(encode_json(token), parse_float=Decimal)
    del body["chainData"]
    return encode_json(body)
