"""Blocks by time: how high the chain is, and which blockhashes are good."""

from __future__ import annotations

import hashlib
import hmac
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from swapdesk.sandbox.node.solana.terms import SKIPPED_SLOTS, SLOT_MS, WINDOW


@dataclass(frozen=True)
class Instant:
    """One look at the chain's time: block height, slot, and seconds since 1970."""

    height: int
    slot: int
    seconds: int


class Slots:
    """``now_ms`` is sandbox time; the chain began at ``began_ms`` with block ``first``.

    Never runs backward, also not below ``reached``, the height that was stored last. May be
    asked by any thread.
    """

    def __init__(
        self, now_ms: Callable[[], int], *, began_ms: int, first: int, reached: int
    ) -> None:
        self._now_ms = now_ms
        self._began_ms = began_ms
        self._first = first
        self._reached = max(first, reached)
        self._executing: int | None = None
        self._lock = threading.Lock()

    def now(self) -> Instant:
        with self._lock:
            return self._now()

    @contextmanager
    def executing(self) -> Iterator[Instant]:
        """The block of a transaction, to which something is added until this ends. By one thread
        alone."""
        with self._lock:
            at = self._now()
            self._executing = at.height
        try:
            yield at
        finally:
            with self._lock:
                self._executing = None

    @property
    def sealed(self) -> int:
        """The newest block to which nothing is added any more."""
        with self._lock:
            height = self._now().height
            return (height if self._executing is None else self._executing) - 1

    def _now(self) -> Instant:
        now = self._now_ms()
        self._reached = max(self._reached, self._first + (now - self._began_ms) // SLOT_MS)
        return Instant(self._reached, self._reached + SKIPPED_SLOTS, now // 1000)


class Blockhashes:
    """One hash for each block, the same after a restart; known while it is good."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._heights: dict[bytes, int] = {}
        self._newest = -1

    def latest(self, height: int) -> tuple[bytes, int]:
        """The newest hash and the last height at which it is good."""
        return self._hash(height), height + WINDOW

    def is_good(self, blockhash: bytes, height: int) -> bool:
        """Whether a transaction with this hash may be executed at this height."""
        self._follow(height)
        return blockhash in self._heights

    def _follow(self, height: int) -> None:
        oldest = max(0, height - WINDOW)
        if oldest > self._newest:
            self._heights.clear()
        for each in range(max(oldest, self._newest + 1), height + 1):
            self._heights[self._hash(each)] = each
        # In the order of heights, so that the oldest come first.
        for known, at in list(self._heights.items()):
            if at >= oldest:
                break
            del self._heights[known]
        self._newest = max(self._newest, height)

    def _hash(self, height: int) -> bytes:
        purpose = b"solana blockhash\0" + height.to_bytes(8, "big")
        return hmac.new(self._key, purpose, hashlib.sha256).digest()
