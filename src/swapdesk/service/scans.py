"""Security scans of tokens, made when a request for quotes or limits names a token without a valid
verdict. The answer never waits for the scan (contract 5.13)."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from typing import Protocol

from swapdesk.clock import Clock
from swapdesk.service.catalog import ServiceCatalog
from swapdesk.service.store.database import StoreUnavailable
from swapdesk.service.store.store import Store
from swapdesk.service.venues.registry import within
from swapdesk.wire.encoding.codec import CodecError, decode, encode_json
from swapdesk.wire.tokens import ScanResult, Token, TokenSecurityScan, UnscannedReason

SCAN_SECONDS = 10.0
RETRY_AFTER = timedelta(minutes=5)
"""Time after which a token may be scanned again if its scan failed."""
CLAIM = timedelta(seconds=2 * SCAN_SECONDS)
"""Time for which a scan is reserved for the process that began it. Then another may scan."""

logger = logging.getLogger(__name__)


class TokenScanner(Protocol):
    async def scan(self, token: Token) -> TokenSecurityScan:
        """Scans the token; returns the verdict with the time until which it is valid
        (``expires_at``)."""
        ...


class TokenScans:
    """Scans tokens for security and shares the verdicts among processes. If ``scanner`` is None,
    nothing is scanned. An expired verdict is used until there is a newer verdict; ``expires_at``
    shows its age."""

    def __init__(
        self, catalog: ServiceCatalog, store: Store, scanner: TokenScanner | None, clock: Clock
    ) -> None:
        self._catalog = catalog
        self._store = store
        self._scanner = scanner
        self._clock = clock
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._ends: dict[str, int] = {}
        """When the verdicts read from the store expire, by token id, in microseconds since 1970."""

    async def catch_up(self) -> None:
        """Takes over the verdicts that other processes and earlier runs have stored. Raises
        StoreUnavailable."""
        for token_id, written, ends in await self._store.scans.newer(self._ends):
            self._ends[token_id] = ends
            self._take_up(token_id, written)

    def selected(self, *tokens: Token) -> None:
        """Begins a scan of each token whose verdict is missing or expired; does nothing without a
        scanner."""
        if self._scanner is None:
            return
        for token in tokens:
            verdict = token.security_scan
            fresh = verdict is not None and verdict.expires_at > self._clock.now()
            if not fresh and token.id not in self._under_way:
                task = asyncio.create_task(self._looked_at(self._scanner, token))
                self._under_way[token.id] = task

    async def _looked_at(self, scanner: TokenScanner, token: Token) -> None:
        try:
            now = self._clock.now()
            written, claimed = await self._store.scans.claim(token.id, now, now + CLAIM)
            if written is not None:
                self._take_up(token.id, written)
            if claimed:
                verdict = await self._scan(scanner, token)
                self._catalog.put_scan(token.id, verdict)
                await self._store.scans.save(token.id, encode_json(verdict), verdict.expires_at)
        except StoreUnavailable as unavailable:
            logger.warning("scan of token %s: %s", token.id, unavailable)
        finally:
            del self._under_way[token.id]

    def _take_up(self, token_id: str, written: bytes) -> None:
        token = self._catalog.token(token_id)
        if token is None:
            return
        try:
            verdict = decode(TokenSecurityScan, written, side="service")
        except CodecError as error:
            logger.warning("stored verdict of token %s: %s", token_id, error)
            return
        verdict_held = token.security_scan
        if verdict_held is None or verdict_held.scanned_at < verdict.scanned_at:
            self._catalog.put_scan(token.id, verdict)

    async def _scan(self, scanner: TokenScanner, token: Token) -> TokenSecurityScan:
        try:
            return await within(self._clock, SCAN_SECONDS, scanner.scan(token))
        except TimeoutError:
            return self._unscanned(UnscannedReason.TIMEOUT, "The scan took longer than 10 s.")
        except Exception:
            # A provider may fail in any way; screening is fail-open and says so.
            logger.exception("scan of token %s failed", token.id)
            return self._unscanned(UnscannedReason.PROVIDER_ERROR, "The scan failed.")

    def _unscanned(self, reason: UnscannedReason, detail: str) -> TokenSecurityScan:
        now = self._clock.now()
        return TokenSecurityScan(
            result_type=ScanResult.UNSCANNED,
            unscanned_reason=reason,
            unscanned_detail=detail,
            scanned_at=now,
            expires_at=now + RETRY_AFTER,
        )
