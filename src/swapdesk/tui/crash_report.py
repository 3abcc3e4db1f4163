"""The text that is printed if a defect stops the desk: where it happened, without any secret and
without local variables."""

from __future__ import annotations

import re
import traceback

from swapdesk.wire.encoding.text import filter_line

REDACTED = "«redacted»"
CLOSING = "The desk stopped by a defect. Orders go on without it and are here at the next start."

_LIMIT = 4_000
_NAMED = re.compile(
    r"(?i)\b(authorization|proxy-authorization|cookie|api[-_ ]?key|api[-_ ]?secret|secret|password"
    r"|passphrase|private[-_ ]?key|mnemonic|seed|(?:control|sandbox)[-_ ]?token)"
    r"(['\"]?\s*[:=]\s*)(?:(['\"]).*?\3|(?:bearer\s+)?[^\s,'\")}\]]+)"
)
_RAW_KEY = re.compile(r"\b(?:0x)?[0-9a-fA-F]{64,}\b")
_PAIR = re.compile(r"(?i)\b(bearer|basic)\s+\S+")


def redacted(text: str) -> str:
    """Returns ``text`` with :data:`REDACTED` in place of secrets: values labelled as a key, token,
    password or similar, and hexadecimal numbers of 64 or more digits."""
    text = _NAMED.sub(rf"\1\2{REDACTED}", text)
    text = _PAIR.sub(rf"\1 {REDACTED}", text)
    return _RAW_KEY.sub(REDACTED, text)


def crash_report(error: BaseException) -> str:
    """Returns the text to print after a crash. If the text of ``error`` contains a private key or a
    recovery phrase, only the type of the error is printed."""
    # Imported on use: a desk that does not crash needs no list of words.
    from swapdesk.flows.support.pasted_secret import secret_in

    report = traceback.TracebackException.from_exception(error, capture_locals=False, limit=-30)
    stack = redacted("".join(report.stack.format()))
    quoted = "".join(report.format_exception_only())
    if secret_in(quoted) is not None:
        quoted = f"{type(error).__name__}: {REDACTED}\n"
    if len(quoted) > _LIMIT:
        quoted = quoted[:_LIMIT] + "…\n"
    rows = (stack + redacted(quoted)).split("\n")
    return "\n".join(filter_line(row) for row in rows) + "\n" + CLOSING
