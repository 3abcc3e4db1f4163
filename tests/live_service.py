"""A service that answers in the forms of the recordings of the public service.

A sandbox behind a proxy: its answers in the vendor dialect, and where the specification leaves the
form open, as it was recorded (``corpus/live_shapes.jsonl``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from cli.lying_service import rewriting_service
from swapdesk.wire.encoding.codec import decode_json, encode_json
from swapdesk.wire.encoding.dialect import Dialect
from swapdesk.wire.encoding.numbers import NO_BOUND

RATE_ID = "eyJyYXRlIjoi" * 18
_TOKEN = ("hasBundler", "priority", "securityScan", "modified")
_CHAIN = ("modified", "hashUrl", "icon", "created", "shortNameV1", "enabled")
_DEX_ROW = ("amountIn", "gas", "gasUsd", "feeUsd")


class Recorded:
    """``health`` is the body of the answer to ``GET /health``."""

    def __init__(self, health: bytes = b'{"ok":true}') -> None:
        self.health = health
        self._turns = count()

    def body(self, method: str, path: str, status: int, body: bytes) -> bytes:
        place = path.partition("?")[0].removeprefix("/v2")
        if place == "/health":
            return self.health
        if status >= 400 or place == "/openapi.json":
            return body
        told = Dialect.VENDOR.names(decode_json(body, max_bytes=len(body)))
        return encode_json(self._reshaped(told))

    def frame(self, frame: bytes) -> bytes:
        return encode_json(self._reshaped(Dialect.VENDOR.names(decode_json(frame))))

    def _reshaped(self, told: Any) -> Any:
        if isinstance(told, list):
            return [self._reshaped(one) for one in told]
        if not isinstance(told, dict):
            return told
        told = {name: self._reshaped(held) for name, held in told.items()}
        if "quoteId" in told and "type" in told:
            return self._row(told)
        if "chainData" in told:
            return _without(told, _TOKEN)
        if "addressValidation" in told:
            return _without(told, _CHAIN)
        if "houdiniId" in told and "metadata" in told:
            del told["metadata"]
        return told

    def _row(self, row: dict[str, Any]) -> dict[str, Any]:
        if row["type"] == "dex":
            return _without(row, _DEX_ROW)
        row["max"] = NO_BOUND
        if row.get("fixed"):
            return row | {"rateId": RATE_ID}
        del row["validUntil"]
        row.pop("netAmountOut", None)
        return row | {"rateId": (None, "")[next(self._turns) % 2]}


def _without(told: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: held for name, held in told.items() if name not in names}


@contextmanager
def live_service(url: str, health: bytes = b'{"ok":true}') -> Iterator[str]:
    """The address of such a service in front of the one at ``url``."""
    recorded = Recorded(health)
    rewrite: Callable[[str, str, int, bytes], bytes] = recorded.body
    with rewriting_service(url, rewrite, recorded.frame) as live:
        yield live
