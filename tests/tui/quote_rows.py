"""Rows a live service may answer with and the one of the tests does not: on-chain, fixed, odd."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import httpx2

from flows.faulty_network import After, on

ALDER: dict[str, Any] = {
    "quoteId": "a" * 24,
    "type": "standard",
    "swap": "aa",
    "swapName": "Alder",
    "duration": 14,
    "amountIn": 0.5,
    "amountOut": 14.524108,
    "netAmountOut": 14.524108,
    "amountOutUsd": 48090.19,
}
TWO_LEGS: dict[str, Any] = {
    "quoteId": "b" * 24,
    "type": "private",
    "duration": 27,
    "amountIn": 0.5,
    "amountOut": 14.461204,
    "amountOutUsd": 47881.9,
}
MERIDIAN: dict[str, Any] = {
    "quoteId": "d" * 24,
    "type": "dex",
    "swap": "me",
    "swapName": "Meridian",
    "duration": 9,
    "gas": 1240000,
    "gasUsd": 4.10,
    "amountIn": 0.5,
    "amountOut": 14.52779,
    "amountOutUsd": 48102.39,
    "feeUsd": 61.12,
    "bridgeFeeUsd": 12.40,
    "netAmountOut": 14.509331,
    "filtered": False,
    "supportsSignatures": True,
    "appliedApiMarkup": 0,
    "fixed": False,
}
ISTHMUS = MERIDIAN | {
    "quoteId": "e" * 24,
    "swap": "is",
    "swapName": "Isthmus",
    "amountOut": 14.45,
    "netAmountOut": 14.45,
    "feeUsd": 70.18,
    "gasUsd": None,
    "supportsSignatures": False,
    "requiresApproval": True,
}
SUNK = MERIDIAN | {
    "quoteId": "f" * 24,
    "swap": "su",
    "swapName": "Sunk",
    "amountOut": 0.01,
    "amountOutUsd": 33.11,
    "feeUsd": 61.12,
    "netAmountOut": -0.00846,
}
FATHOM = {
    "type": "dex",
    "swap": "fa",
    "swapName": "Fathom",
    "filtered": True,
    "filteredReason": "price_impact",
}
BASALT = {
    "type": "dex",
    "swap": "ba",
    "swapName": "Basalt",
    "filtered": False,
    "error": "the pool of this pair is paused by its owner until a vote of its members ends, and"
    " nobody can say today when that will be; ask again in a week or choose another route",
}
FIXED = {
    "quoteId": "c" * 24,
    "type": "standard",
    "swap": "aa",
    "swapName": "Alder",
    "duration": 16,
    "amountIn": 0.5,
    "amountOut": 14.498,
    "netAmountOut": 14.498,
    "amountOutUsd": 48003.7,
    "fixed": True,
    "validUntil": "2026-11-20T14:12:11Z",
    "requiresRefundAddress": True,
}


def quotes_with(*rows: dict[str, Any]) -> After:
    """Two centralized routes and these, on every ask."""
    return only_these(ALDER, TWO_LEGS, *rows)


def only_these(*rows: dict[str, Any]) -> After:
    """These rows alone, on every ask."""
    return on("GET /v2/quotes", lambda request, _: _answer(request, rows))


def fixed_are(*rows: dict[str, Any]) -> After:
    """These rows alone where fixed rates are asked for, the service's own elsewhere."""

    def fixed(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
        return _answer(request, rows) if "fixed" in request.url.params else response

    return on("GET /v2/quotes", fixed)


def _answer(request: httpx2.Request, rows: Sequence[dict[str, Any]]) -> httpx2.Response:
    given = [{k: v for k, v in row.items() if v is not None} for row in rows]
    body = json.dumps({"quotes": given, "total": len(given)}).encode()
    headers = {"content-type": "application/json"}
    return httpx2.Response(200, headers=headers, content=body, request=request)
