"""When a call is sent again: reading calls only, few times, and never many at once."""

from __future__ import annotations

import random
from collections.abc import Callable

from msgspec import Struct

from swapdesk.client.errors import (
    ApiError,
    ClientError,
    NoAnswer,
    RateLimited,
    ServiceFailed,
    Unreachable,
)


class RetryPolicy(Struct, frozen=True):
    """Bounds in seconds; ``attempts`` counts the first one."""

    attempts: int = 3
    base: float = 0.5
    cap: float = 20.0
    longest_retry_after: float = 60.0
    reading: float = 30.0
    """How long all attempts at one reading call may take together, without the waits between."""

    def wait(
        self, error: ClientError, attempt: int, *, writes: bool, rng: random.Random
    ) -> float | None:
        """Seconds to wait before attempt ``attempt + 1``, or None to give up.

        A write is repeated once, after a 429 that says when: the one refusal that is both
        definite and temporary. ``Retry-After`` is never undercut.
        """
        told = error.retry_after if isinstance(error, ApiError) else None
        if told is not None and told > self.longest_retry_after:
            return None
        if writes:
            return told if isinstance(error, RateLimited) and attempt == 1 else None
        if attempt >= self.attempts:
            return None
        if not isinstance(error, Unreachable | NoAnswer | RateLimited | ServiceFailed):
            return None
        # The jitter grows 1, 2, ... times the base, so that 0.5 s is the first wait's bound.
        jitter = rng.uniform(0.0, min(self.cap, self.base * 2.0 ** (attempt - 1)))
        return jitter if told is None else told + jitter


class Repeat(Struct, frozen=True):
    """A call that is about to be sent again: it will be attempt ``attempt`` of at most ``of``,
    after ``wait`` seconds, because of ``error``."""

    attempt: int
    of: int
    wait: float
    error: ClientError


OnRepeat = Callable[[Repeat], bool]
"""Told before the wait; False gives up, and the call ends with its error."""


class RetryBudget:
    """A shared allowance: each call earns a tenth of a retry, each retry costs one.

    When a service is down, this keeps a busy desk from tripling its load.
    """

    def __init__(self, *, share: float = 0.1, reserve: float = 10.0) -> None:
        self._share = share
        self._most = reserve
        self.left = reserve

    def earn(self) -> None:
        self.left = min(self._most, self.left + self._share)

    def spend(self) -> bool:
        """Take one retry; False when none is left."""
        if self.left < 1.0:
            return False
        self.left -= 1.0
        return True
