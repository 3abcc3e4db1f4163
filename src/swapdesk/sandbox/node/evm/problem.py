"""What a JSON-RPC answer says when it cannot say what was asked, with geth's codes."""

from __future__ import annotations

from enum import IntEnum


class Code(IntEnum):
    BAD_JSON = -32700
    BAD_REQUEST = -32600
    NO_METHOD = -32601
    BAD_PARAMS = -32602
    INTERNAL = -32603
    REFUSED = -32000
    """Anything the node understood and does not do."""
    LIMIT = -32005
    """More than one call may take or return."""
    REVERTED = 3
    """The contract said no; ``data`` is what it returned."""


class Problem(Exception):
    """An error object of JSON-RPC."""

    def __init__(self, message: str, code: IntEnum = Code.REFUSED, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data

    def as_json(self) -> dict[str, object]:
        shown: dict[str, object] = {"code": int(self.code), "message": str(self)}
        if self.data is not None:
            shown["data"] = self.data
        return shown
