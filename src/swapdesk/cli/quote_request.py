"""What the command line asks quotes for."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from swapdesk.cli.quote_options import RouteWish


@dataclass(frozen=True)
class QuoteArguments:
    """What the command line asks for. ``both``: floating rates beside the fixed ones.
    ``account`` would sign an on-chain swap, by name or address."""

    amount: str
    sell: str
    buy: str
    types: tuple[str, ...]
    providers: tuple[str, ...]
    wish: RouteWish
    both: bool
    preset: str | None
    explain: bool
    slippage: Decimal | None = None
    account: str | None = None
