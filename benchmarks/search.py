"""What one search of 20,000 tokens takes, in process, against a walk over prepared strings."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from benchmarks.report import Case
from swapdesk.flows.catalog.search import search
from swapdesk.flows.catalog.token_list import TokenList, TokenRow
from swapdesk.flows.catalog.token_safety import row_of
from swapdesk.sandbox.world_generator import build_catalog

TOKENS = 20_000
MOST_SECONDS = 0.005
_WALKED = 50
"""Hits of the walk, which are numbers; the desk makes whole rows."""
QUERIES = (
    "u", "us", "usd", "usdc", "e", "et", "eth", "eth m", "eth moon", "dogc", "slna", "moonz",
    "moon inu", "ethereum", "wrapped bitcoin", "0x7a", "usdc.base", "isdc",
)  # fmt: skip
"""Prefixes as they are typed, words, slips of the fingers and the beginning of a contract."""


def run(rounds: int) -> list[Case]:
    """The least time of ``rounds`` for each query; median and worst over the queries."""
    now = datetime.now(UTC)
    _, tokens = build_catalog(1, TOKENS, now)
    rows = sorted((row_of(token, now) for token in tokens), key=lambda row: row.order)
    listed = TokenList.of(rows)
    walk = _walk(rows)
    desk: dict[str, float] = dict.fromkeys(QUERIES, 1e9)
    same: dict[str, float] = dict.fromkeys(QUERIES, 1e9)
    base: dict[str, float] = dict.fromkeys(QUERIES, 1e9)
    for _ in range(rounds):
        for query in QUERIES:
            desk[query] = min(desk[query], _seconds(lambda text: search(listed, text), query))
            same[query] = min(
                same[query], _seconds(lambda text: search(listed, text, limit=_WALKED), query)
            )
            base[query] = min(base[query], _seconds(walk, query))
    median, slowest = statistics.median(desk.values()), max(desk.values())
    count = len(QUERIES)
    return [
        Case("search, median query", "desk", "limit", median, MOST_SECONDS, 1.0, count=count),
        Case("search, worst query", "desk", "limit", slowest, MOST_SECONDS, 1.0, count=count),
        Case(
            "50 hits, median against a walk",
            "desk",
            "walk",
            statistics.median(same.values()),
            statistics.median(base.values()),
            1.0,
            count=count,
        ),
    ]


def _seconds(find: Callable[[str], object], query: str) -> float:
    begin = time.process_time_ns()
    find(query)
    return (time.process_time_ns() - begin) / 1e9


def _walk(rows: Sequence[TokenRow]) -> Callable[[str], list[int]]:
    """Ranked substrings: exact symbols, symbols and names that begin so, the rest; 50 at most."""
    keys = [row.text_key for row in rows]
    symbols = [row.symbol_key for row in rows]
    names = [row.name.lower() for row in rows]

    def find(query: str) -> list[int]:
        exact, begins, named, rest = [], [], [], []
        for at, key in enumerate(keys):
            if query in key:
                symbol = symbols[at]
                if symbol == query:
                    exact.append(at)
                elif symbol.startswith(query):
                    begins.append(at)
                elif names[at].startswith(query):
                    named.append(at)
                else:
                    rest.append(at)
        return (exact + begins + named + rest)[:_WALKED]

    return find
