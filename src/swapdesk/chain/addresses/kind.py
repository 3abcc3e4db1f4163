"""The definition of a kind of address: one object with everything that depends on the kind. A new
kind needs a module with an :class:`AddressKind` and a row in ``kinds``.

No check proposes a corrected character, because a person who accepts a wrong one pays a stranger.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from enum import IntEnum
from urllib.parse import quote

from msgspec import Struct

CHECKSUM_SENTENCE = "The checksum of this address is wrong. Copy it again from its source."


class Proof(IntEnum):
    """How strongly a text's form shows that it is an address of a kind. If several kinds fit, the
    strongest proof decides. ``ANY_WORD`` counts only for the kind that the caller expects."""

    ANY_WORD = 0
    """Nearly every word has this form, because it is a name without a checksum."""
    SHAPE = 1
    """Length and alphabet fit, but a typing error would not be detected."""
    CHECKSUM = 2


class Verdict(Struct, frozen=True):
    """The result of checking an address or a memo. ``reason`` is a sentence for the screen;
    ``position`` counts characters from 1. Send only ``normalized``, which is empty unless ``ok``.
    ``warnings`` never block a payment; a ``doubt`` needs the user's consent first."""

    ok: bool
    code: str
    reason: str
    position: int | None = None
    warnings: tuple[str, ...] = ()
    normalized: str = ""
    account: str = ""
    proves: Proof = Proof.CHECKSUM
    doubt: str = ""


class ParsedAddress(Struct, frozen=True):
    """An address that the reader of its kind accepted, in canonical spelling. ``network`` names the
    chain if the chains of this kind have different addresses. ``account`` is set if an account has
    several spellings."""

    normalized: str
    noun: str = "address"
    proof: str = "checksum correct"
    warnings: tuple[str, ...] = ()
    network: str | None = None
    account: str = ""
    proves: Proof | None = None
    doubt: str = ""


class AddressProblem(ValueError):
    """Raised if a text is not an address of a kind. ``clause`` ends the sentence "Not a Bitcoin
    address: ...", or is the whole message if ``whole`` is True."""

    def __init__(
        self, code: str, clause: str, position: int | None = None, *, whole: bool = False
    ) -> None:
        super().__init__(clause)
        self.code = code
        self.clause = clause
        self.position = position
        self.whole = whole

    def sentence(self, chain: str) -> str:
        """Returns the message for the user, with the name of the chain: ``Not a Bitcoin address:
        character 23 is ...``."""
        if self.whole:
            return self.clause
        return f"Not {with_article(chain)} address: {self.clause}."


def with_article(name: str) -> str:
    """Returns the name with its indefinite article: ``a Bitcoin``, ``an Ethereum``, ``an XRP``."""
    spelled = name[:2].isupper() and name[:1] in "AEFHILMNORSX"
    return f"{'an' if spelled or name[:1] in 'AEIOaeio' else 'a'} {name}"


NO_CHECKSUM = (
    "This spelling carries no checksum, so a typing error cannot be seen. Compare every group."
)
UNLISTED = (
    "The beginnings of this chain's addresses are not known here. "
    "Compare it with another address of the chain."
)
"""The warning for an address on a chain whose prefix or number is not known to this program."""
BURNED = "This is a burn address. What is sent to it is lost."


def wrong_checksum(position: int | None = None) -> AddressProblem:
    """Returns the problem to raise for a wrong checksum. ``position``, from 1, is the place of the
    wrong character; None if it is not known."""
    sentence = CHECKSUM_SENTENCE
    if position is not None:
        sentence = f"{sentence} Look at character {position}."
    return AddressProblem("checksum", sentence, position, whole=True)


def burned() -> AddressProblem:
    return AddressProblem("unsafe", BURNED, whole=True)


def refuse_burned(payload: bytes) -> None:
    """Raises AddressProblem if the key or hash in an address is all zeros: money sent there is
    lost."""
    if not any(payload):
        raise burned()


def system_account() -> AddressProblem:
    return AddressProblem(
        "unsafe", "This address belongs to the chain itself. Nobody holds its key.", whole=True
    )


def wrong_length(length: int, expected: str) -> AddressProblem:
    return AddressProblem("length", f"it has {length:,} characters instead of {expected}")


def require_length(length: int, allowed: Collection[int]) -> None:
    """Raises AddressProblem if the length of a text is not among the allowed ones."""
    if length not in allowed:
        of_range = f"{min(allowed)} to {max(allowed)}"
        of_few = " or ".join(map(str, allowed))
        raise wrong_length(length, of_range if isinstance(allowed, range) else of_few)


def wrong_start(expected: str) -> AddressProblem:
    return AddressProblem("prefix", f"it does not start with {expected}", 1)


def require_alphabet(text: str, alphabet: str, name: str, start: int = 0) -> None:
    """Raises AddressProblem for the first character, from index ``start``, that is not in
    ``alphabet``. ``name`` is the alphabet's name."""
    outside = text[start:].lstrip(alphabet)
    if outside:
        place = len(text) - len(outside) + 1
        raise AddressProblem(
            "character", f'character {place} is "{outside[0]}", which {name} never uses', place
        )


MAX_MEMO_ID = 2**64 - 1


class Network(Struct, frozen=True):
    """One of several chains of the same kind. Its addresses begin with ``mark``, a bech32 prefix or
    an SS58 number. ``names`` are its other names, case-folded. An empty ``pattern`` stands for the
    kind's pattern."""

    mark: str | int
    name: str
    needs: str
    names: frozenset[str] = frozenset()
    pattern: str = ""


class MemoRule(Struct, frozen=True):
    """The rules for the memo of a payment (contract 5.4). If ``largest`` is set, memos are numbers
    up to it. If ``largest_id`` is set, numbers up to it are memo ids. ``per_client`` means that
    exchanges identify clients by memo."""

    label: str
    longest: int = 64
    largest: int | None = None
    largest_id: int | None = None
    per_client: bool = False


class UnpaidForm(Struct, frozen=True):
    """A form of address that is recognized for messages, but never paid. ``when_asked`` is False if
    the reader of the kind has a better message."""

    called: str
    matches: Callable[[str], bool]
    when_asked: bool = True


class PaymentRequest(Struct, frozen=True):
    """The payment that a link is written for: ``amount`` in whole tokens, ``units`` in base units.
    ``contract`` is None for the chain's coin."""

    address: str
    amount: Decimal
    units: int
    contract: str | None
    memo: str | None
    symbol: str
    chain_id: int | None


class PaymentLink(Struct, frozen=True):
    """The text of a payment link. The link contains the amount and, if ``memo`` is True, the
    memo."""

    text: str
    memo: bool = False


def plain_amount(amount: Decimal) -> str:
    """Returns an amount as digits without exponent and without trailing zeros: ``0.5``,
    ``2500``."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def link_query(*pairs: tuple[str, str | None]) -> str:
    """Returns a query string of the pairs whose value is not None. Spaces are percent-encoded,
    because wallets read ``+`` as a plus sign."""
    return "&".join(f"{name}={quote(value, safe='')}" for name, value in pairs if value is not None)


LinkWriter = Callable[[PaymentRequest], PaymentLink | None]
"""A function that writes a payment link; None if a link cannot express the payment."""


class LinkForm(Struct, frozen=True):
    """The form of the payment links of one URI scheme. If ``begin`` is empty, links are never
    written; if ``contract`` is empty, they cannot name a token. ``amount``, ``units``, ``address``,
    ``contract`` and ``memo`` are names of URL parameters."""

    begin: str = ""
    amount: str = "amount"
    units: str = ""
    memo: tuple[str, ...] = ()
    contract: str = ""
    symbol: str = ""
    address: str = ""
    path: str = ""
    coin_only: bool = False
    """True if links with a contract are only read, never written."""

    def write(self, payment: PaymentRequest) -> PaymentLink | None:
        """Returns a link in the form of BIP 21. None if the link cannot express the payment."""
        if payment.contract is not None and (self.coin_only or not self.contract):
            return None
        amount = (self.amount, plain_amount(payment.amount))
        if self.units:
            amount = (self.units, str(payment.units))
        memo = payment.memo if self.memo else None
        query = link_query(
            amount, (self.contract, payment.contract), (next(iter(self.memo), ""), memo)
        )
        address = payment.address.removeprefix(self.begin)
        return PaymentLink(f"{self.begin}{address}?{query}", memo is not None)


_HASH = re.compile(r"(?:0[xX])?([0-9a-fA-F]{64})")


def bare_hash(text: str) -> bytes | None:
    """Returns the bytes of a hash written as 64 hexadecimal digits. None for any other text."""
    return bytes.fromhex(text) if len(text) == 64 and _HASH.fullmatch(text) else None


def marked_hash(text: str) -> bytes | None:
    """Returns the bytes of a hash written as 64 hexadecimal digits, with or without ``0x``. None
    for any other text."""
    match = _HASH.fullmatch(text)
    return bytes.fromhex(match[1]) if match is not None else None


def in_hexadecimal(octets: bytes) -> tuple[str, ...]:
    return (octets.hex(),)


def behind_0x(octets: bytes) -> tuple[str, ...]:
    return f"0x{octets.hex()}", octets.hex()


def in_capitals(octets: bytes) -> tuple[str, ...]:
    return (octets.hex().upper(),)


class AddressKind(Struct, frozen=True, kw_only=True):
    """A kind of address: its reader, its names in sentences, and all else that depends on the kind
    (contract 5.1). ``shape``, the service's pattern, may refuse addresses that the reader
    accepts."""

    name: str
    chain: str
    called: str
    needs: str
    proof: Proof = Proof.CHECKSUM
    shape: str

    read: Callable[[str], ParsedAddress]
    """Returns the checked address that a text contains. Raises AddressProblem if the text is not an
    address of this kind."""
    read_unlisted: Callable[[str], ParsedAddress] | None = None
    """Reads addresses with an unknown prefix or number; None if ``read`` suffices."""
    colon_after: tuple[str, ...] = ()
    """Lower-case beginnings that belong to an address together with a colon, such as
    ``bitcoincash`` or TON's ``0``. Other texts with a colon count as links."""
    unpaid: tuple[UnpaidForm, ...] = ()
    is_secret: Callable[[str], bool] = lambda _: False
    """Returns True for a private key of a chain of this kind."""
    networks: tuple[Network, ...] = ()
    """The chains of this kind with an address prefix or number of their own, the main chain
    first."""

    marks: tuple[str, ...] = ()
    """Lower-case beginnings of the kind's addresses, whose case does not matter. Comparisons skip
    them, and weaker kinds never claim such texts."""
    is_name: Callable[[str], bool] | None = None
    """Tells whether a text is a name made of words; None for a kind without names."""

    opens_with: Decimal = Decimal(0)
    """The smallest amount of the coin, in whole coins, that a new account has to receive."""
    takes_token: str = ""
    """What an account's owner must do before receiving a token, as a sentence; may be empty."""

    memo: MemoRule | None = None
    links: Mapping[str, LinkForm] = {}
    """The URI schemes of the kind's payment links, in lower case, each with the form of its
    links."""
    write_link: LinkWriter | None = None
    """Writes the payment links that no form in ``links`` can express; None if there are none."""
    namespace: str = ""
    """The CAIP-2 namespace, such as ``bip122``; empty for EVM chains, which are read elsewhere."""
    explorers: tuple[str, ...] = ()
    """Hosts of public block explorers."""

    contract_shape: str = r"^$"
    """The pattern of token contracts, or of token issuers on the XRP Ledger and Stellar. The
    default matches nothing."""
    contract_account: Callable[[str], str] = lambda text: text
    """Returns a text that is the same for all spellings of a contract."""

    generate: Callable[[bytes, str | int], str]
    """Makes an address without a private key from 32 bytes and the network's ``mark`` (empty if the
    kind has no networks)."""
    generate_contract: Callable[[str, bytes], str] = lambda address, _: address
    """Makes a token's contract from a generated address and the seed of that address."""
    hash_bytes: int = 32
    hash_called: str = ""
    """What a transaction hash is called: ``a Solana signature``. Empty for the usual name."""
    read_hash: Callable[[str], bytes | None] = bare_hash
    """Returns the bytes of a transaction hash in any common spelling. None for any other text."""
    spell_hash: Callable[[bytes], tuple[str, ...]] = in_hexadecimal
    """Returns the common spellings of a transaction hash. The first one is the spelling that the
    chain uses."""

    @property
    def link_writer(self) -> LinkWriter | None:
        """The function that writes payment links for this kind. None if no payment links are
        written for it."""
        written = (form.write for form in self.links.values() if form.begin)
        return self.write_link or next(written, None)


HEXADECIMAL = "0123456789abcdefABCDEF"


def require_start(text: str, *beginnings: str) -> None:
    """Raises AddressProblem if the text begins with none of ``beginnings``."""
    if not text.startswith(beginnings):
        *others, last = beginnings
        raise wrong_start(f"{', '.join(others)} or {last}" if others else last)


def expand(seed: bytes, purpose: str, size: int) -> bytes:
    """Returns ``size`` pseudorandom bytes for a generated address, determined by ``seed`` and
    ``purpose``."""
    return hashlib.shake_256(purpose.encode("ascii") + b"\0" + seed).digest(size)
