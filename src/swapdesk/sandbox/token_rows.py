"""The tokens of the sandbox: an asset on a chain, with the decimals it has there.

Contracts are those of the real chains where they are well known, so that a desk shows what
its user would see in life; all others are derived and belong to nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from swapdesk.sandbox.tables import read_table

Seen = Literal["", "fresh", "stale"]
"""How the world begins: never selected, scanned a short while ago, or scanned long ago."""


@dataclass(frozen=True)
class TokenRow:
    """One token. ``asset`` is its key in ASSETS, None when nothing prices it.

    ``verdict`` is what a scan finds: ``benign``, ``warning``, ``malicious`` or the reason why
    it finds nothing (contract 5.12). ``token_id`` is set where the public service's
    own id is known (contract 17.9).
    """

    chain: str
    symbol: str
    name: str
    decimals: int
    asset: str | None
    address: str | None = None
    native: bool = False
    enabled: bool = True
    unverified: bool = False
    traded: bool = True
    on_chain: bool = True
    verdict: str = "benign"
    seen: Seen = ""
    warning: str = ""
    description: str | None = None
    token_id: str | None = None
    price: str | None = None


_SEEN: dict[str, Seen] = {"": "", "fresh": "fresh", "stale": "stale"}


def _token(line: dict[str, str]) -> TokenRow:
    flags = line["flags"].split()
    return TokenRow(
        chain=line["chain"],
        symbol=line["symbol"],
        name=line["name"],
        decimals=int(line["decimals"]),
        asset=line["asset"] or None,
        address=line["contract"] or None,
        native="native" in flags,
        enabled="disabled" not in flags,
        unverified="unverified" in flags,
        traded="untraded" not in flags,
        on_chain="off-chain" not in flags,
        verdict=line["verdict"],
        seen=_SEEN[line["seen"]],
        warning=line["warning"],
        description=line["description"] or None,
        token_id=line["id"] or None,
        price=line["price"] or None,
    )


HONEST_ROWS: tuple[TokenRow, ...] = tuple(map(_token, read_table("tokens.tsv")))
