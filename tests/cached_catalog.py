"""The chains and tokens of a service in the file of a profile, as a connected desk leaves them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from swapdesk.flows.catalog.catalog_file import CatalogFile
from swapdesk.wire.chains import Chain
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.tokens import Token


def cache_catalog(
    path: Path, now: datetime, chains: Iterable[Chain], *steps: Iterable[Token]
) -> None:
    """``steps`` are the tokens that came together."""
    file = CatalogFile.open(path)
    generation = file.begin(now)
    for tokens in steps:
        stored = [(token, encode_json(_without_chain(token))) for token in tokens]
        file.add_tokens(generation, stored, now)
    file.add_chains(generation, [(one.short_name, encode_json(one)) for one in chains])
    for _ in file.finish(generation, now):
        pass
    file.close()


def _without_chain(token: Token) -> dict[str, Any]:
    """Chains are listed beside the tokens."""
    body: dict[str, Any] = json.loads(encode_json(token), parse_float=Decimal)
    del body["chainData"]
    return body
