"""Execution that is bounded in time: py-evm takes a minute for what fills a block elsewhere.

A loop needs jumps and calls, so that those look at the clock now and then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eth.vm.forks.prague.computation import PragueComputation
from eth.vm.forks.prague.state import PragueState

_LOOK_EVERY = 1_024
_JUMPS, _CALLS = (0x56, 0x57), (0xF0, 0xF1, 0xF2, 0xF4, 0xF5, 0xFA)
_COST_OF_CALL = 64


class TooLong(Exception):
    """An execution ran out of time."""


def _looking(run: Callable[..., Any], cost: int) -> Callable[..., Any]:
    def opcode(computation: Any) -> Any:
        computation.state.tick(cost)
        return run(computation=computation)

    return opcode


def _opcode(code: int, run: Any) -> Any:
    if code in _JUMPS:
        return _looking(run, 1)
    return _looking(run, _COST_OF_CALL) if code in _CALLS else run


class BoundedComputation(PragueComputation):
    """Looks at the clock at jumps and calls."""

    opcodes: Any = {  # noqa: RUF012 (py-evm's own table is one)
        code: _opcode(code, run) for code, run in PragueComputation.opcodes.items()
    }


class BoundedState(PragueState):
    """``limit`` sets when an execution ends, in the seconds of ``monotonic``."""

    computation_class = BoundedComputation
    _monotonic: Callable[[], float] | None = None
    _until = 0.0
    _ticks = 0

    def limit(self, monotonic: Callable[[], float], seconds: float) -> None:
        self._monotonic = monotonic
        self._until = monotonic() + seconds

    def tick(self, cost: int) -> None:
        """Raises TooLong."""
        self._ticks += cost
        if self._ticks >= _LOOK_EVERY:
            self._ticks = 0
            if self._monotonic is not None and self._monotonic() > self._until:
                raise TooLong
