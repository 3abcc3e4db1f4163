"""A table whose rows are one test: each is tried, and all that fail are told with their rows.

A test for each row takes longer to begin and to report than most rows take; rows that need what
they change anew, as a journal, are still ``parametrize``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest


def each_row(
    names: str | Sequence[str],
    rows: Iterable[Any],
    ids: Callable[[Any], object] = repr,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """As ``pytest.mark.parametrize``; ``ids`` says how a value is told."""
    columns = names.replace(",", " ").split() if isinstance(names, str) else names
    given = list(rows)
    # Without this an empty table would pass, and a mark would be lost.
    if not given or any(getattr(row, "marks", ()) for row in given):
        raise ValueError(f"rows of {names}: there are none, or one has a mark")
    # A row of several values may be a ``pytest.param``.
    table = [getattr(row, "values", row) if len(columns) > 1 else (row,) for row in given]

    @contextmanager
    def trying(row: Sequence[Any], failed: list[BaseException]) -> Iterator[dict[str, Any]]:
        try:
            yield dict(zip(columns, row, strict=True))
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001
            error.add_note("in the row " + ", ".join(str(ids(value)) for value in row))
            failed.append(error)

    def told(failed: list[BaseException]) -> None:
        if failed:
            raise BaseExceptionGroup(f"{len(failed)} of {len(table)} rows", failed)

    def decorated(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def every(**fixtures: Any) -> None:
            failed: list[BaseException] = []
            for row in table:
                with trying(row, failed) as values:
                    test(**fixtures, **values)
            told(failed)

        @functools.wraps(test)
        async def every_awaited(**fixtures: Any) -> None:
            failed: list[BaseException] = []
            for row in table:
                with trying(row, failed) as values:
                    await test(**fixtures, **values)
            told(failed)

        made = every_awaited if inspect.iscoroutinefunction(test) else every
        signature = inspect.signature(test)
        others = [one for name, one in signature.parameters.items() if name not in columns]
        made.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return made

    return decorated
