"""Security scans: a token is looked at when it is selected, and again once its verdict is stale.

A quote or ``GET /minMax`` selects its tokens; the answer never waits for the scan (spec: Token,
TokenSecurityScan).
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import Protocol

from swapdesk.clock import Clock
from swapdesk.service.catalog import Catalog
from swapdesk.service.venues.wrappers import within
from swapdesk.wire.tokens import ScanResult, Token, TokenSecurityScan, UnscannedReason

SCAN_SECONDS = 10.0
RETRY_AFTER = timedelta(minutes=5)
"""How long the verdict of a scan that did not come about stands."""

logger = logging.getLogger(__name__)


class Scanner(Protocol):
    """A screening provider."""

    async def scan(self, token: Token) -> TokenSecurityScan:
        """The verdict now, ``expires_at`` included."""
        ...


class TokenScans:
    """Keeps the verdicts in the catalogue; without a scanner nothing is ever scanned."""

    def __init__(self, catalog: Catalog, scanner: Scanner | None, clock: Clock) -> None:
        self._catalog = catalog
        self._scanner = scanner
        self._clock = clock
        self._under_way: dict[str, asyncio.Task[None]] = {}

    def selected(self, *tokens: Token) -> None:
        """Have the tokens scanned that have no verdict, or a stale one."""
        if self._scanner is None:
            return
        for token in tokens:
            verdict = token.security_scan
            fresh = verdict is not None and verdict.expires_at > self._clock.now()
            if not fresh and token.id not in self._under_way:
                task = asyncio.create_task(self._looked_at(self._scanner, token))
                self._under_way[token.id] = task

    async def _looked_at(self, scanner: Scanner, token: Token) -> None:
        try:
            await self._scan(scanner, token)
        finally:
            del self._under_way[token.id]

    async def _scan(self, scanner: Scanner, token: Token) -> None:
        try:
            verdict = await within(self._clock, SCAN_SECONDS, scanner.scan(token))
        except TimeoutError:
            verdict = self._unscanned(UnscannedReason.TIMEOUT, "The scan took longer than 10 s.")
        except Exception:
            # A provider may fail in any way; screening is fail-open and says so.
            logger.exception("scan of token %s failed", token.id)
            verdict = self._unscanned(UnscannedReason.PROVIDER_ERROR, "The scan failed.")
        self._catalog.put_scan(token.id, verdict)

    def _unscanned(self, reason: UnscannedReason, detail: str) -> TokenSecurityScan:
        now = self._clock.now()
        return TokenSecurityScan(
            result_type=ScanResult.UNSCANNED,
            unscanned_reason=reason,
            unscanned_detail=detail,
            scanned_at=now,
            expires_at=now + RETRY_AFTER,
        )
