"""From a path and a method to a row of the operations table, and nothing else.

No redirects: a trailing slash is another path (contract 1.3). HEAD and
OPTIONS are not offered; like every method without a row they answer 405 with ``Allow``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from swapdesk.service.errors import ServiceError
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.operation import Operation


@dataclass(frozen=True)
class Found:
    """A row, and the path parameters as they were sent."""

    operation: Operation
    parameters: list[tuple[str, str]]


@dataclass(frozen=True)
class _Template:
    segments: tuple[str, ...]
    by_method: dict[str, Operation]

    def match(self, segments: tuple[str, ...]) -> list[tuple[str, str]] | None:
        if len(segments) != len(self.segments):
            return None
        parameters = []
        for wanted, sent in zip(self.segments, segments, strict=True):
            if wanted.startswith("{"):
                if not sent:
                    return None
                parameters.append((wanted[1:-1], sent))
            elif wanted != sent:
                return None
        return parameters


class Router:
    """Routes under ``prefix``; a literal segment wins over a parameter."""

    def __init__(self, operations: Iterable[Operation], prefix: str) -> None:
        self._prefix = prefix
        by_path: dict[str, dict[str, Operation]] = {}
        for operation in operations:
            methods = by_path.setdefault(operation.path, {})
            if operation.method in methods:
                raise ValueError(f"{operation.method} {operation.path} stands twice in the table")
            methods[operation.method] = operation
        self._literal = {path: methods for path, methods in by_path.items() if "{" not in path}
        templates = [
            _Template(tuple(path.split("/")[1:]), methods)
            for path, methods in by_path.items()
            if path not in self._literal
        ]
        self._templates = sorted(
            templates, key=lambda template: sum(s.startswith("{") for s in template.segments)
        )

    def find(self, method: str, path: str) -> Found:
        """The row of a request. Raises NOT_FOUND, or METHOD_NOT_ALLOWED with ``Allow``."""
        prefix, rest = path[: len(self._prefix)], path[len(self._prefix) :]
        if prefix == self._prefix and rest.startswith("/"):
            methods = self._literal.get(rest)
            if methods is not None:
                return Found(_row(methods, method), [])
            segments = tuple(rest.split("/")[1:])
            for template in self._templates:
                parameters = template.match(segments)
                if parameters is not None:
                    return Found(_row(template.by_method, method), parameters)
        raise ServiceError(ErrorCode.NOT_FOUND, "There is nothing at this path.")


def _row(by_method: dict[str, Operation], method: str) -> Operation:
    operation = by_method.get(method)
    if operation is None:
        allowed = ", ".join(sorted(by_method))
        raise ServiceError(
            ErrorCode.METHOD_NOT_ALLOWED,
            f"This path answers {allowed}.",
            headers={"allow": allowed},
        )
    return operation
