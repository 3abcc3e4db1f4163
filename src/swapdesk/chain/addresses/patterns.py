"""The service's own pattern for addresses: a second filter that can only narrow.

A pattern is text from a server (``addressValidation`` and the like, contract 5.1). It
runs in pydantic's Rust engine, in linear time and with a size limit on the compiled form;
Python's ``re`` would hang on ``^([a-z]+)*$``. A pattern that engine refuses (lookaround,
backreference) leaves the decision to the local decoder.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from swapdesk.chain.addresses.decoding import check_address
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS
from swapdesk.chain.addresses.verdict import AddressVerdict, with_article

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

MAX_PATTERN = 512
MAX_INPUT = 256
UNSUPPORTED = (
    "The service's own rule for addresses cannot be read here. The local check alone decided."
)


class ServerPattern:
    """A pattern from the service, matched against a whole text. Never raises on any pattern."""

    def __init__(self, pattern: str) -> None:
        usable = len(pattern) <= MAX_PATTERN and _is_printable(pattern)
        self._validator = _compiled(pattern) if usable else None

    @property
    def supported(self) -> bool:
        return self._validator is not None

    def matches(self, text: str) -> bool | None:
        """Whether the whole of ``text`` fits; None when the pattern is unsupported.

        A text over 256 characters, or with anything but printable ASCII, never fits.
        """
        if self._validator is None:
            return None
        if len(text) > MAX_INPUT or not _is_printable(text):
            return False
        # isinstance_python answers in a bool, without building an error that repeats the text.
        return self._validator.isinstance_python(text)


def check_recipient(
    kind: str,
    text: str,
    server_pattern: ServerPattern | str | None,
    *,
    chain_name: str | None = None,
    symbol: str | None = None,
    contracts: Collection[str] = (),
) -> AddressVerdict:
    """The decoder's verdict, narrowed by the service's pattern (none when empty or None).

    The pattern is asked about the normalized spelling, which is the one to send. A refusal
    has the code ``pattern``; an unsupported pattern adds a warning.
    """
    verdict = check_address(kind, text, chain_name=chain_name, symbol=symbol, contracts=contracts)
    if not verdict.ok or not server_pattern:
        return verdict
    pattern = ServerPattern(server_pattern) if isinstance(server_pattern, str) else server_pattern
    fits = pattern.matches(verdict.normalized)
    if fits is None:
        return replace(verdict, warnings=(*verdict.warnings, UNSUPPORTED))
    if fits:
        return verdict
    chain = chain_name or ADDRESS_KINDS[kind].chain
    reason = f"This is {with_article(chain)} address, but the service does not take this form."
    return AddressVerdict(False, kind, "pattern", reason)


def _is_printable(text: str) -> bool:
    return all(" " <= character <= "~" for character in text)


@lru_cache(maxsize=32)
def _compiled(pattern: str) -> SchemaValidator | None:
    """The wrapped pattern, or None. It must also compile bare: ``a)|(?:.*`` closes the wrap."""
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
        return SchemaValidator(
            core_schema.str_schema(
                pattern=f"^(?:{pattern})$", regex_engine="rust-regex", strict=True
            )
        )
    except SchemaError:
        return None
