"""Functions that put amounts, times and addresses into words."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Context, Decimal

from swapdesk.chain.addresses.display import grouped
from swapdesk.wallet.accounts import COIN_DECIMALS, Kind
from swapdesk.wallet.promise import Asset
from swapdesk.wallet.spending import plain_amount
from swapdesk.wire.encoding.text import safe_text

LONGEST_TEXT = 2_000
"""The most characters of a text that are shown. A longer text is cut there and ends with an
ellipsis."""

NO_FACTORY = (
    "This profile has no smart accounts: the contract that makes them is known in the sandbox"
    " alone."
)
ONE_BY_ONE = "Let these orders expire unpaid, and swap each row by itself."
"""What the user can do if no bundle can be signed. Paying the deposits one by one is impossible,
because the desk does not show the deposit addresses of a batch."""

COIN = Asset("of the chain's coin", COIN_DECIMALS[Kind.EVM], None)
"""The native coin of any EVM chain. The gate knows chains by id but not the symbols of their
coins."""
SOL = Asset("SOL", COIN_DECIMALS[Kind.SOLANA], None)

_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44}", re.ASCII)
_EXACT = Context(prec=200)
LAST_SECOND = 253_402_300_799
"""The last second of 31 December 9999, in Unix seconds. Later times cannot be written as a date."""


def amount(units: int, asset: Asset) -> str:
    """Returns an amount, given in base units, as whole tokens with every significant digit, like
    ``1,000.5 USDC``."""
    whole = Decimal(units).scaleb(-asset.decimals, _EXACT)
    return f"{plain_amount(whole)} {asset.symbol}"


def moment(seconds: int, now: datetime) -> str:
    """Returns a time (Unix seconds) and how far it is from ``now``, like ``14:22:11, 19m 41s
    left``."""
    if not 0 <= seconds <= LAST_SECOND:
        return "no end"
    then = datetime.fromtimestamp(seconds, UTC)
    left = seconds - int(now.timestamp())
    style = "%H:%M:%S" if then.date() == now.astimezone(UTC).date() else "%Y-%m-%d %H:%M:%S"
    return f"{then.strftime(style)}, {_duration(left)}"


def _duration(seconds: int) -> str:
    if seconds < 0:
        return "past"
    if seconds < 3600:
        return f"{seconds // 60}m {seconds % 60:02}s"
    if seconds < 86_400:
        return f"{seconds // 3600}h {seconds % 3600 // 60:02}m"
    return f"{seconds // 86_400}d {seconds % 86_400 // 3600}h"


def plain(value: int | bool | str | bytes) -> str:
    """Returns the value as text, with addresses and bytes in groups of four characters and control
    characters made visible."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return grouped("0x" + value.hex()) if value else "0x"
    if isinstance(value, int):
        return str(value)
    if _ADDRESS.fullmatch(value):
        return grouped(value)
    return safe_text(value, LONGEST_TEXT)
