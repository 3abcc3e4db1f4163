"""What a kind of address is: one object that holds everything that depends on it.

A new kind is a module with an :class:`AddressKind` and a row in ``kinds``. Nothing else asks for
the name of a kind: checks, memos, payment links, explorers, look-alikes, the display and the
sandbox's addresses are read from the object.

A verdict names the place and the reason of a fault. It never proposes a corrected character: a
proposal that is accepted unseen is a payment to a stranger.
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
    """How much a text of a form proves about itself.

    A kind that proves less is never named for a text that a stronger kind reads, and a text that
    proves no more than ``ANY_WORD`` is taken for an address only if one was asked for.
    """

    ANY_WORD = 0
    """Nearly any word has this form: a name without a checksum."""
    SHAPE = 1
    """Length and alphabet fit. A typing error is not seen."""
    CHECKSUM = 2


class Verdict(Struct, frozen=True):
    """The answer about one text, an address or a memo, on one kind of chain.

    The ``code`` of an address is one of valid, empty, character, length, checksum, prefix,
    other_chain, unsafe, pattern, unknown_kind; of a memo one of valid, none, missing, waived,
    waiver, unused, character, length, range. ``reason`` is a sentence for the screen. ``position``
    counts characters from 1. ``normalized`` is the one spelling to send, empty unless ``ok``; all
    spellings of an account share ``account``. ``warnings`` never block. ``doubt`` needs consent
    before a payment: how the payment may be lost, or why a memo may not be the one that was given
    out; empty for none. ``proves`` is how sure it is that the text is such an address.
    """

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
    """An address of its kind: its canonical spelling and what was proven.

    ``network`` names the chain where the chains of one kind have addresses of their own.
    ``account`` is given where one account has several spellings, ``proves`` where this form proves
    another amount than the kind's others. ``doubt`` is as in the verdict.
    """

    normalized: str
    noun: str = "address"
    proof: str = "checksum correct"
    warnings: tuple[str, ...] = ()
    network: str | None = None
    account: str = ""
    proves: Proof | None = None
    doubt: str = ""


class AddressProblem(ValueError):
    """Why a text is no address of a kind.

    ``clause`` ends the sentence "Not a Bitcoin address: ..."; with ``whole`` it is the complete
    message.
    """

    def __init__(
        self, code: str, clause: str, position: int | None = None, *, whole: bool = False
    ) -> None:
        super().__init__(clause)
        self.code = code
        self.clause = clause
        self.position = position
        self.whole = whole

    def sentence(self, chain: str) -> str:
        """The message for a chain's name: ``Not a Bitcoin address: character 23 is ...``."""
        if self.whole:
            return self.clause
        return f"Not {with_article(chain)} address: {self.clause}."


def with_article(name: str) -> str:
    """``a Bitcoin``, ``an Ethereum``, ``an XRP``: abbreviations are read letter by letter."""
    spelled = name[:2].isupper() and name[:1] in "AEFHILMNORSX"
    return f"{'an' if spelled or name[:1] in 'AEIOaeio' else 'a'} {name}"


NO_CHECKSUM = (
    "This spelling carries no checksum, so a typing error cannot be seen. Compare every group."
)
UNLISTED = (
    "The beginnings of this chain's addresses are not known here. "
    "Compare it with another address of the chain."
)
"""For an address on a chain whose own mark is not known."""
BURNED = "This is a burn address. What is sent to it is lost."


def wrong_checksum(position: int | None = None) -> AddressProblem:
    """``position`` is the one character that explains it, where the code can tell."""
    sentence = CHECKSUM_SENTENCE
    if position is not None:
        sentence = f"{sentence} Look at character {position}."
    return AddressProblem("checksum", sentence, position, whole=True)


def burned() -> AddressProblem:
    return AddressProblem("unsafe", BURNED, whole=True)


def refuse_burned(payload: bytes) -> None:
    """Raises AddressProblem if the payee would be nothing but zeros."""
    if not any(payload):
        raise burned()


def system_account() -> AddressProblem:
    return AddressProblem(
        "unsafe", "This address belongs to the chain itself. Nobody holds its key.", whole=True
    )


def wrong_length(length: int, expected: str) -> AddressProblem:
    return AddressProblem("length", f"it has {length:,} characters instead of {expected}")


def require_length(length: int, allowed: Collection[int]) -> None:
    """Raises AddressProblem for a length that is none of these."""
    if length not in allowed:
        of_range = f"{min(allowed)} to {max(allowed)}"
        of_few = " or ".join(map(str, allowed))
        raise wrong_length(length, of_range if isinstance(allowed, range) else of_few)


def wrong_start(expected: str) -> AddressProblem:
    return AddressProblem("prefix", f"it does not start with {expected}", 1)


def require_alphabet(text: str, alphabet: str, name: str, start: int = 0) -> None:
    """Raises AddressProblem at the first character from index ``start`` outside ``alphabet``."""
    outside = text[start:].lstrip(alphabet)
    if outside:
        place = len(text) - len(outside) + 1
        raise AddressProblem(
            "character", f'character {place} is "{outside[0]}", which {name} never uses', place
        )


MAX_MEMO_ID = 2**64 - 1


class Network(Struct, frozen=True):
    """One of several chains of a kind, told apart by the beginning of their addresses.

    ``mark`` is the bech32 prefix or the SS58 number; ``names`` are further names, folded.
    ``pattern`` is published for this chain if it differs from the kind's.
    """

    mark: str | int
    name: str
    needs: str
    names: frozenset[str] = frozenset()
    pattern: str = ""


class MemoRule(Struct, frozen=True):
    """What a payment carries beside its address (contract 5.4).

    With ``largest`` it is a number of digits alone. A number up to ``largest_id`` is a memo id, any
    other text memo text. ``per_client``: an exchange has one address for all clients and a memo for
    each.
    """

    label: str
    longest: int = 64
    largest: int | None = None
    largest_id: int | None = None
    per_client: bool = False


class UnpaidForm(Struct, frozen=True):
    """A form that no payout goes to, recognised so that it can be named. ``when_asked``: also where
    an address of the same kind is asked for, whose own reader has no better sentence."""

    called: str
    matches: Callable[[str], bool]
    when_asked: bool = True


class PaymentRequest(Struct, frozen=True):
    """What a payment link is made of. ``units`` are base units of the token; ``contract`` and
    ``memo`` are None for none, ``symbol`` is the token's code on the chain."""

    address: str
    amount: Decimal
    units: int
    contract: str | None
    memo: str | None
    symbol: str
    chain_id: int | None


class PaymentLink(Struct, frozen=True):
    """The text of a link. It carries the amount, and with ``memo`` the memo, too."""

    text: str
    memo: bool = False


def plain_amount(amount: Decimal) -> str:
    """Digits without exponent and without trailing zeros: ``0.5``, ``2500``."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def link_query(*pairs: tuple[str, str | None]) -> str:
    """Percent-encoded throughout; the specifications count ``+`` as itself, not a space."""
    return "&".join(f"{name}={quote(value, safe='')}" for name, value in pairs if value is not None)


LinkWriter = Callable[[PaymentRequest], PaymentLink | None]
"""None for a payment that its links cannot say."""


class LinkForm(Struct, frozen=True):
    """Payment links of one scheme: what they begin with, and the names of their parameters.

    ``begin`` is empty where such links are read and not written. ``amount`` is in whole tokens,
    ``units`` in base units. Without a name for contracts no token can be paid: a wallet would send
    as much of the coin. The first name of a ``memo`` is the one to write. ``address`` is the
    parameter that holds the address where the path does not; ``path`` stands before the address,
    or in its place.
    """

    begin: str = ""
    amount: str = "amount"
    units: str = ""
    memo: tuple[str, ...] = ()
    contract: str = ""
    symbol: str = ""
    address: str = ""
    path: str = ""
    coin_only: bool = False
    """A contract is read and not written."""

    def write(self, payment: PaymentRequest) -> PaymentLink | None:
        """The link in the form of BIP 21; None for a payment that it cannot say."""
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
    """The octets of a hash in 64 hexadecimal digits; None for any other text."""
    return bytes.fromhex(text) if len(text) == 64 and _HASH.fullmatch(text) else None


def marked_hash(text: str) -> bytes | None:
    """As :func:`bare_hash`, also behind ``0x``, which people leave out."""
    match = _HASH.fullmatch(text)
    return bytes.fromhex(match[1]) if match is not None else None


def in_hexadecimal(octets: bytes) -> tuple[str, ...]:
    return (octets.hex(),)


def behind_0x(octets: bytes) -> tuple[str, ...]:
    return f"0x{octets.hex()}", octets.hex()


def in_capitals(octets: bytes) -> tuple[str, ...]:
    return (octets.hex().upper(),)


class AddressKind(Struct, frozen=True, kw_only=True):
    """A kind of address: how it is read, how sentences speak of it, and what goes with it.

    ``name`` is the chain's ``kind`` (contract 5.1), ``chain`` the chain it is called after,
    ``called`` a noun phrase (``a Bitcoin address``); ``needs`` ends "BTC on Bitcoin needs ...".
    ``shape`` is the pattern that a service publishes; it may only narrow.
    """

    name: str
    chain: str
    called: str
    needs: str
    proof: Proof = Proof.CHECKSUM
    shape: str

    read: Callable[[str], ParsedAddress]
    """Raises AddressProblem."""
    read_unlisted: Callable[[str], ParsedAddress] | None = None
    """Reads for a chain of the kind whose own mark is not known here."""
    colon_after: tuple[str, ...] = ()
    """Beginnings, in lower case, after which the form itself has a colon."""
    unpaid: tuple[UnpaidForm, ...] = ()
    is_secret: Callable[[str], bool] = lambda _: False
    """True for a private key of this chain."""
    networks: tuple[Network, ...] = ()
    """Chains with marks of their own, the main one first."""

    marks: tuple[str, ...] = ()
    """Beginnings, in lower case, behind which case has no meaning; every address of the form
    has one. Look-alikes are compared without it, and no weaker kind reads a text that begins
    with it."""
    is_name: Callable[[str], bool] | None = None
    """True for a name of words: shown in one piece, compared as it is drawn."""

    opens_with: Decimal = Decimal(0)
    """The least of the coin that a new account has to get."""
    takes_token: str = ""
    """What an account has to do before it takes a token; empty for nothing."""

    memo: MemoRule | None = None
    links: Mapping[str, LinkForm] = {}
    """The schemes of payment links, in lower case, with the forms of their links."""
    write_link: LinkWriter | None = None
    """Writes payment links whose form is none of ``links``."""
    namespace: str = ""
    """Of CAIP-2; ``eip155`` is read by itself, since it has an id for each chain."""
    explorers: tuple[str, ...] = ()
    """Hosts of public block explorers."""

    contract_shape: str = r"^$"
    """The pattern of token contracts; by default none match. On the XRP Ledger and Stellar the
    issuer of a token stands for its contract."""
    contract_account: Callable[[str], str] = lambda text: text
    """What all spellings of a contract share."""

    generate: Callable[[bytes, str | int], str]
    """An address from 32 bytes and the mark of a network, if the kind has networks. Nobody holds
    its key."""
    generate_contract: Callable[[str, bytes], str] = lambda address, _: address
    """A token's contract from a generated address and its seed."""
    hash_bytes: int = 32
    hash_called: str = ""
    """A noun phrase if it is no transaction hash of the chain: ``a Solana signature``."""
    read_hash: Callable[[str], bytes | None] = bare_hash
    """A transaction's hash in any spelling in use; None for any other text."""
    spell_hash: Callable[[bytes], tuple[str, ...]] = in_hexadecimal
    """The spellings in use, the chain's own first."""

    @property
    def link_writer(self) -> LinkWriter | None:
        """Writes payment links of the kind; None where there are none."""
        written = (form.write for form in self.links.values() if form.begin)
        return self.write_link or next(written, None)


HEXADECIMAL = "0123456789abcdefABCDEF"


def require_start(text: str, *beginnings: str) -> None:
    """Raises AddressProblem for a text that begins with none of these."""
    if not text.startswith(beginnings):
        *others, last = beginnings
        raise wrong_start(f"{', '.join(others)} or {last}" if others else last)


def expand(seed: bytes, purpose: str, size: int) -> bytes:
    """Bytes of a generated address: the same seed and purpose, the same bytes."""
    return hashlib.shake_256(purpose.encode("ascii") + b"\0" + seed).digest(size)
