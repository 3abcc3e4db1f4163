"""Checks recipient and refund addresses locally; no rule of a server can make the check accept
more.

The service's pattern (``addressValidation``, contract 5.1) is a second filter. It runs in
pydantic's Rust engine, in linear time; an unsupported pattern is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from swapdesk.chain.addresses.kind import (
    HEXADECIMAL,
    AddressKind,
    AddressProblem,
    ParsedAddress,
    Proof,
    Verdict,
    with_article,
)
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS, kinds_by_proof, network_of
from swapdesk.wire.encoding.readers import character_in_words

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator


MAX_LENGTH = 256

_PLAIN = re.compile("[!-~]*")
_SECRET = (
    "This looks like a private key or a transaction hash, not an address. "
    "Never paste a private key."
)


def check_address(
    kind: str,
    text: str,
    *,
    chain_name: str | None = None,
    symbol: str | None = None,
    contracts: Collection[str] = (),
) -> Verdict:
    """Checks whether ``text``, exactly as written, is an address that can receive ``symbol`` on
    ``chain_name``. Never raises. Token contracts in ``contracts`` are refused. An unknown ``kind``
    gives the code ``unknown_kind``."""
    address_kind = ADDRESS_KINDS.get(kind)
    if address_kind is None:
        chain = chain_name or "this chain"
        return Verdict(False, "unknown_kind", f"Addresses of {chain} cannot be checked here.")
    chain = chain_name or address_kind.chain
    try:
        _require_plain(text, address_kind)
        reading = _reader(address_kind, chain_name)(text)
        _refuse_network(address_kind, reading, chain_name, symbol)
        _refuse_better_proof(address_kind, text, reading, chain, symbol)
        _refuse_contract(address_kind, reading.normalized, contracts)
    except AddressProblem as problem:
        return _refusal(address_kind, text, problem, chain, symbol)
    return Verdict(
        True,
        "valid",
        f"{chain_name or reading.network or chain} {reading.noun}, {reading.proof}",
        None,
        reading.warnings,
        reading.normalized,
        reading.account or reading.normalized,
        _proof(address_kind, reading),
        reading.doubt,
    )


def _reader(kind: AddressKind, chain_name: str | None) -> Callable[[str], ParsedAddress]:
    unlisted = chain_name is not None and network_of(kind.name, chain_name) is None
    return kind.read_unlisted if unlisted and kind.read_unlisted else kind.read


def same_address(kind: str, text: str, other: str) -> bool:
    """Returns whether two texts are addresses of the same account in any spelling. A text that is
    no valid address equals only itself."""
    first, second = check_address(kind, text), check_address(kind, other)
    if first.ok and second.ok:
        return first.account == second.account
    return text == other


def _refuse_network(
    kind: AddressKind, reading: ParsedAddress, chain_name: str | None, symbol: str | None
) -> None:
    wanted = network_of(kind.name, chain_name)
    if wanted is None or reading.network == wanted.name:
        return
    phrase = _called(kind, reading)
    sentence = _of_another_chain(phrase, kind, chain_name or kind.chain, symbol)
    raise AddressProblem("other_chain", sentence, whole=True)


def _proof(kind: AddressKind, reading: ParsedAddress) -> Proof:
    return kind.proof if reading.proves is None else reading.proves


def _refuse_better_proof(
    asked: AddressKind, text: str, reading: ParsedAddress, chain: str, symbol: str | None
) -> None:
    """Raises AddressProblem if the text fits another kind of address better than ``asked``, the
    expected kind. For example, 32 bytes of base58 can be a Solana or an Osmosis address."""
    if asked.proof is Proof.CHECKSUM:
        return
    phrase = recognise(text, asked, kinds_by_proof(asked.proof))
    if not phrase and _proof(asked, reading) is Proof.ANY_WORD:
        phrase = _mistyped(text)
    if phrase:
        sentence = _of_another_chain(phrase, asked, chain, symbol)
        raise AddressProblem("other_chain", sentence, whole=True)


def _mistyped(text: str) -> str:
    """Returns a phrase such as ``a Bitcoin address with a typing error``; empty if the text
    resembles no address."""
    for kind in kinds_by_proof(Proof.ANY_WORD):
        read = _read_as(kind, text)
        mistyped = isinstance(read, AddressProblem) and read.code == "checksum"
        if mistyped or text.lower().startswith(kind.marks):
            return f"{kind.called} with a typing error"
    return ""


def _read_as(kind: AddressKind, text: str) -> ParsedAddress | AddressProblem:
    try:
        return kind.read(text)
    except AddressProblem as problem:
        if problem.code == "unsafe" and problem.whole:
            return ParsedAddress(text)
        return problem


def _of_another_chain(phrase: str, asked: AddressKind, chain: str, symbol: str | None) -> str:
    network = network_of(asked.name, chain)
    subject = f"{symbol} on {chain}" if symbol else chain
    return f"This is {phrase}. {subject} needs {network.needs if network else asked.needs}."


def _require_plain(text: str, kind: AddressKind) -> None:
    if not text:
        raise AddressProblem("empty", "No address yet.", whole=True)
    if len(text) > MAX_LENGTH:
        raise AddressProblem(
            "length", f"it has {len(text):,} characters, and no address has more than {MAX_LENGTH}"
        )
    for place, character in enumerate(() if _PLAIN.fullmatch(text) else text, start=1):
        if not "!" <= character <= "~":
            raise AddressProblem(
                "unsafe",
                f"character {place} is {character_in_words(character)}, which no address uses",
                place,
            )
    before, colon, _ = text.partition(":")
    if colon and before.lower() not in kind.colon_after:
        place = len(before) + 1
        raise AddressProblem("unsafe", "it is a link. Paste the address alone", place)


def _refuse_contract(kind: AddressKind, address: str, contracts: Collection[str]) -> None:
    account = kind.contract_account(address)
    if account in _accounts(kind.name, frozenset(contracts)):
        raise AddressProblem(
            "unsafe",
            "This is the contract of a token, not a wallet. What is sent to it is lost.",
            whole=True,
        )


@lru_cache(maxsize=64)
def _accounts(kind: str, contracts: frozenset[str]) -> frozenset[str]:
    account = ADDRESS_KINDS[kind].contract_account
    return frozenset(account(contract) for contract in contracts)


def _refusal(
    asked: AddressKind, text: str, problem: AddressProblem, chain: str, symbol: str | None
) -> Verdict:
    code, reason, position = problem.code, problem.sentence(chain), problem.position
    if code not in ("empty", "unsafe", "other_chain") and len(text) <= MAX_LENGTH:
        if secret := secret_warning(text):
            code, reason, position = "unsafe", secret, None
        elif phrase := recognise(text, asked):
            code, position = "other_chain", None
            reason = _of_another_chain(phrase, asked, chain, symbol)
    return Verdict(False, code, reason, position)


def recognise(text: str, asked: AddressKind, kinds: Collection[AddressKind] | None = None) -> str:
    """Returns a noun phrase (``a Bitcoin address``) if the text is an address of a kind other than
    ``asked``, otherwise an empty text. ``kinds`` limits the kinds that are tried; None means
    all."""
    others = kinds_by_proof() if kinds is None else kinds
    for kind in others:
        if kind.name == asked.name:
            continue
        reading = _read_as(kind, text)
        if isinstance(reading, ParsedAddress) and _proof(kind, reading) is not Proof.ANY_WORD:
            return _called(kind, reading)
    for kind in ADDRESS_KINDS.values():
        for form in kind.unpaid:
            if (form.when_asked or kind.name != asked.name) and form.matches(text):
                return form.called
    return ""


def _called(kind: AddressKind, reading: ParsedAddress) -> str:
    if reading.network is None or reading.network == kind.chain:
        return kind.called
    return f"{with_article(reading.network)} address"


def secret_warning(text: str) -> str:
    """Returns a warning if the text looks like a private key, which must not be stored or sent;
    otherwise an empty text."""
    digits = text.removeprefix("0x")
    if len(digits) == 64 and set(digits) <= set(HEXADECIMAL):
        return _secret_or_address(text)
    if any(kind.is_secret(text) for kind in ADDRESS_KINDS.values()):
        return _SECRET
    return ""


def _secret_or_address(text: str) -> str:
    called = [
        kind.called
        for kind in ADDRESS_KINDS.values()
        if kind.proof is not Proof.CHECKSUM and isinstance(_read_as(kind, text), ParsedAddress)
    ]
    if not called:
        return _SECRET
    *others, last = ["a private key", "a transaction hash", *called]
    return f"This is {', '.join(others)} or {last}. Never paste a private key."


MAX_PATTERN = 512
MAX_INPUT = 256
UNSUPPORTED = (
    "The service's own rule for addresses cannot be read here. The local check alone decided."
)


def pattern_fits(pattern: str, text: str) -> bool | None:
    """Returns whether the whole text matches a pattern from the service; None for an unsupported
    pattern. Never raises. Texts longer than 256 characters or outside printable ASCII never
    match."""
    usable = len(pattern) <= MAX_PATTERN and _is_printable(pattern)
    validator = _compiled(pattern) if usable else None
    if validator is None:
        return None
    if len(text) > MAX_INPUT or not _is_printable(text):
        return False
    # isinstance_python answers in a bool, without building an error that repeats the text.
    return validator.isinstance_python(text)


def check_recipient(
    kind: str,
    text: str,
    server_pattern: str | None,
    *,
    chain_name: str | None = None,
    symbol: str | None = None,
    contracts: Collection[str] = (),
) -> Verdict:
    """Checks like :func:`check_address`, and also refuses an address whose normalized spelling does
    not match the service's pattern (code ``pattern``). An empty pattern refuses nothing. An
    unsupported pattern only adds a warning."""
    verdict = check_address(kind, text, chain_name=chain_name, symbol=symbol, contracts=contracts)
    if not verdict.ok or not server_pattern:
        return verdict
    fits = pattern_fits(server_pattern, verdict.normalized)
    if fits is None:
        return replace(verdict, warnings=(*verdict.warnings, UNSUPPORTED))
    if fits:
        return verdict
    chain = chain_name or ADDRESS_KINDS[kind].chain
    reason = f"This is {with_article(chain)} address, but the service does not take this form."
    return Verdict(False, "pattern", reason)


def _is_printable(text: str) -> bool:
    return text.isascii() and text.isprintable()


@lru_cache(maxsize=32)
def _compiled(pattern: str) -> SchemaValidator | None:
    """Returns a validator for the whole text, or None for an invalid or unsupported pattern."""
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
