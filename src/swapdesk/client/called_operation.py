"""Which operation of the table a method and a path are."""

from __future__ import annotations

from swapdesk.client.errors import RequestRefused
from swapdesk.wire.encoding.ids import safe_segment
from swapdesk.wire.encoding.text import UnsafeText
from swapdesk.wire.operation import Operation
from swapdesk.wire.operations import OPERATIONS


def find_operation(method: str, path: str) -> tuple[Operation, dict[str, str]]:
    """The row of a method and a path like ``/v2/orders/abc`` and its path values."""
    wanted = path.removeprefix("/v2") if path == "/v2" or path.startswith("/v2/") else path
    segments = wanted.split("/")
    for operation in OPERATIONS:
        template = operation.path.split("/")
        if operation.method != method.upper() or len(template) != len(segments):
            continue
        values: dict[str, str] = {}
        for expected, segment in zip(template, segments, strict=True):
            if not expected.startswith("{"):
                if expected != segment:
                    break
                continue
            try:
                safe_segment(segment)
            except UnsafeText as error:
                raise RequestRefused(f"{operation.path}: {error}") from None
            values[expected[1:-1]] = segment
        else:
            return operation, values
    raise RequestRefused("the API has no operation with this method and path")
