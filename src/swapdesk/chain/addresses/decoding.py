"""Check a recipient or refund address: the local gate, which no server rule can widen."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection
from functools import lru_cache

from swapdesk.chain.addresses import ton
from swapdesk.chain.addresses.networks import network_of
from swapdesk.chain.addresses.recognition import (
    FAMILIES,
    Family,
    called,
    recognise,
    secret_warning,
)
from swapdesk.chain.addresses.verdict import AddressProblem, AddressVerdict, Reading

KINDS: tuple[str, ...] = (
    "evm",
    "sol",
    "bitcoin",
    "ltc",
    "xmr",
    "xrp",
    "xlm",
    "ton",
    "tron",
    "sui",
    "doge",
    "ada",
    "dot",
    "cosmos",
    "bch",
    "dash",
    "algo",
)
"""Kinds of chains whose addresses are decoded here (``kind``, contract 5.1)."""

MAX_LENGTH = 256

_PLAIN = re.compile("[!-~]*")
_NAMED = {" ": "a space", "\n": "a line break", "\r": "a line break", "\t": "a tab"}


def check_address(
    kind: str,
    text: str,
    *,
    chain_name: str | None = None,
    symbol: str | None = None,
    contracts: Collection[str] = (),
) -> AddressVerdict:
    """Is ``text`` an address a payout of ``symbol`` on ``chain_name`` can go to?

    Nothing is trimmed or repaired. ``chain_name`` also decides whose prefix an address must
    have where the chains of a kind differ (Cosmos, Polkadot). ``contracts`` are token
    contracts of the chain, refused as recipients. A kind not in KINDS gives ``unknown_kind``
    and is not ok. Never raises on any text.
    """
    family = FAMILIES.get(kind)
    if family is None:
        chain = chain_name or "this chain"
        return AddressVerdict(
            False, kind, "unknown_kind", f"Addresses of {chain} cannot be checked here."
        )
    chain = chain_name or family.chain
    try:
        _require_plain(text, family)
        reading = _reader(family, chain_name)(text)
        _refuse_network(family, reading, chain_name, symbol)
        _refuse_better_proof(family, text, chain, symbol)
        _refuse_contract(kind, reading.normalized, contracts)
    except AddressProblem as problem:
        return _refusal(family, text, problem, chain, symbol)
    return AddressVerdict(
        True,
        kind,
        "valid",
        f"{chain_name or reading.network or chain} {reading.noun}, {reading.proof}",
        None,
        reading.warnings,
        reading.normalized,
        reading.account or reading.normalized,
    )


def _reader(family: Family, chain_name: str | None) -> Callable[[str], Reading]:
    """A chain of a name not known here may have any prefix that its kind of chain takes."""
    unlisted = chain_name is not None and network_of(family.kind, chain_name) is None
    return family.read_unlisted if unlisted and family.read_unlisted else family.read


def same_address(kind: str, one: str, other: str) -> bool:
    """True when both texts are one account: in another case, or in another form of the chain."""
    first, second = check_address(kind, one), check_address(kind, other)
    if first.ok and second.ok:
        return first.account == second.account
    return one == other


def _refuse_network(
    family: Family, reading: Reading, chain_name: str | None, symbol: str | None
) -> None:
    wanted = network_of(family.kind, chain_name)
    if wanted is None or reading.network == wanted.name:
        return
    found = called(family, reading)
    sentence = _of_another_chain(found, family, chain_name or family.chain, symbol)
    raise AddressProblem("other_chain", sentence, whole=True)


def _refuse_better_proof(family: Family, text: str, chain: str, symbol: str | None) -> None:
    found = None if family.checksummed else recognise(text, family.kind, checksummed=True)
    if found is not None:
        sentence = _of_another_chain(found, family, chain, symbol)
        raise AddressProblem("other_chain", sentence, whole=True)


def _of_another_chain(found: str, family: Family, chain: str, symbol: str | None) -> str:
    network = network_of(family.kind, chain)
    subject = f"{symbol} on {chain}" if symbol else chain
    return f"This is {found}. {subject} needs {network.needs if network else family.needs}."


def _require_plain(text: str, family: Family) -> None:
    if not text:
        raise AddressProblem("empty", "No address yet.", whole=True)
    if len(text) > MAX_LENGTH:
        raise AddressProblem(
            "length", f"it has {len(text):,} characters, and no address has more than {MAX_LENGTH}"
        )
    for place, character in enumerate(() if _PLAIN.fullmatch(text) else text, start=1):
        if not "!" <= character <= "~":
            raise AddressProblem(
                "unsafe", f"character {place} is {_named(character)}, which no address uses", place
            )
    before, colon, _ = text.partition(":")
    if colon and before.lower() not in family.colon_after:
        place = len(before) + 1
        raise AddressProblem("unsafe", "it is a link. Paste the address alone", place)


def _named(character: str) -> str:
    """A name in words: the character itself never reaches a screen."""
    if character in _NAMED:
        return _NAMED[character]
    name = unicodedata.name(character, "")
    point = f"U+{ord(character):04X}"
    return f"{point} ({name.lower()})" if name else point


def _refuse_contract(kind: str, address: str, contracts: Collection[str]) -> None:
    if _account(kind, address) in _accounts(kind, frozenset(contracts)):
        raise AddressProblem(
            "unsafe",
            "This is the contract of a token, not a wallet. What is sent to it is lost.",
            whole=True,
        )


@lru_cache(maxsize=64)
def _accounts(kind: str, contracts: frozenset[str]) -> frozenset[str]:
    """Of all contracts of a chain, which stay the same for many addresses."""
    return frozenset(_account(kind, contract) for contract in contracts)


def _account(kind: str, text: str) -> str:
    """What the spellings of a contract share; cheap, for a chain has many. Sui's are of a type."""
    if kind == "ton":
        found = ton.decode(text)
        return found[2].hex() if found is not None else text
    return text.lower().partition("::")[0] if text.startswith("0x") else text


def _refusal(
    family: Family, text: str, problem: AddressProblem, chain: str, symbol: str | None
) -> AddressVerdict:
    code, reason, position = problem.code, problem.sentence(chain), problem.position
    if code not in ("empty", "unsafe", "other_chain") and len(text) <= MAX_LENGTH:
        secret = secret_warning(text)
        found = recognise(text, family.kind) if secret is None else None
        if secret is not None:
            code, reason, position = "unsafe", secret, None
        elif found is not None:
            code, position = "other_chain", None
            reason = _of_another_chain(found, family, chain, symbol)
    return AddressVerdict(False, family.kind, code, reason, position)
