"""How the desk writes numbers, times and addresses, for the terminal and for the commands.

Plain strings in, plain strings out: no colour, no widget, no locale. Amounts are exact
``Decimal`` values; only what is drawn is rounded, never what is stored or copied.
"""

from __future__ import annotations

from swapdesk.chain.addresses.display import differing_groups, wrapped_address
from swapdesk.chain.addresses.display import grouped as grouped_address
from swapdesk.chain.addresses.display import groups as address_groups
from swapdesk.chain.addresses.display import short as short_address
from swapdesk.chain.addresses.display import ungrouped as ungrouped_address
from swapdesk.clock import IsoTime, iso
from swapdesk.flows.notation.amounts import (
    MINUS,
    NOTHING,
    about_amount,
    align_on_point,
    copied_amount,
    counted,
    difference,
    exact_amount,
    percent,
    rate_both_ways,
    table_amount,
    tracker_amount,
    trimmed,
    usd,
    usd_market,
)
from swapdesk.flows.notation.times import (
    EXPIRED,
    Elapsed,
    Moment,
    age,
    as_of,
    clock_time,
    countdown,
    date,
    day,
    duration,
    elapsed,
    expected,
    expected_minutes,
    short_clock,
    written_seconds,
)

__all__ = [
    "EXPIRED",
    "MINUS",
    "NOTHING",
    "Elapsed",
    "IsoTime",
    "Moment",
    "about_amount",
    "address_groups",
    "age",
    "align_on_point",
    "as_of",
    "clock_time",
    "copied_amount",
    "countdown",
    "counted",
    "date",
    "day",
    "difference",
    "differing_groups",
    "duration",
    "elapsed",
    "exact_amount",
    "expected",
    "expected_minutes",
    "grouped_address",
    "iso",
    "percent",
    "rate_both_ways",
    "short_address",
    "short_clock",
    "table_amount",
    "tracker_amount",
    "trimmed",
    "ungrouped_address",
    "usd",
    "usd_market",
    "wrapped_address",
    "written_seconds",
]
