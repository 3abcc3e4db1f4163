"""Frames a client sends, and what is wrong with them (contract 11.3 to 11.5)."""

from __future__ import annotations

from swapdesk.wire.encoding.codec import CodecError, decode_json, validate
from swapdesk.wire.encoding.dialect import VENDOR_NAMES
from swapdesk.wire.events import MAX_FRAME_BYTES, ClientFrame, StreamError

_TYPES = ("subscribe", "unsubscribe", "ping")
_ID_NAMES = ("serviceIds", *VENDOR_NAMES["serviceIds"])


class FrameProblem(Exception):
    """A frame that is answered with an error."""

    def __init__(self, code: StreamError, message: str, ids: list[str] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.ids = ids


def client_frame(message: object) -> ClientFrame:
    text = message.get("text") if isinstance(message, dict) else None
    if not isinstance(text, str):
        raise FrameProblem(StreamError.INVALID_MESSAGE, "A message is a text frame.")
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > MAX_FRAME_BYTES:
        raise FrameProblem(
            StreamError.INVALID_MESSAGE, f"A message has at most {MAX_FRAME_BYTES} bytes."
        )
    try:
        value = decode_json(data, max_bytes=MAX_FRAME_BYTES)
    except CodecError as error:
        raise FrameProblem(StreamError.INVALID_JSON, f"The message {error}.") from None
    if not isinstance(value, dict):
        raise FrameProblem(StreamError.INVALID_MESSAGE, "A message is a JSON object.")
    kind = value.get("type")
    # Numbers are texts of their own class here; they are not a type that could be unknown.
    if type(kind) is str and kind not in _TYPES:
        raise FrameProblem(
            StreamError.UNKNOWN_TYPE, "The types are subscribe, unsubscribe and ping."
        )
    if any(name in value and value[name] is None for name in _ID_NAMES):
        # Without the member it means all orders; null may be a slip, and is never read as that.
        raise FrameProblem(StreamError.INVALID_MESSAGE, "serviceIds is a list, or left out.")
    try:
        return validate(ClientFrame, value, side="service")
    except CodecError as error:
        raise FrameProblem(StreamError.INVALID_MESSAGE, str(error)) from None
