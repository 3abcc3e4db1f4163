"""The definition of a kind of address: one object with everything that depends on the kind.

A new kind is a module with an :class:`AddressKind` and a row in ``kinds``. No other code tests for
the name of a kind: checks, memos, payment links, explorers, look-alikes, the display and the
sandbox's addresses are read from the object.

A verdict names the place and the reason of a fault. It never proposes a corrected character,
because a person who accepts a wrong proposal pays a stranger.
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
    """How strongly a text's form shows that the text is an address of a kind.

    A text that is an address of two kinds is named after the kind with the stronger proof. If the
    proof is only ``ANY_WORD``, the text counts as an address only if an address of that kind was
    asked for.
    """

    ANY_WORD = 0
    """Nearly every word has this form, because it is a name without a checksum."""
    SHAPE = 1
    """Length and alphabet fit, but a typing error would not be detected."""
    CHECKSUM = 2


class Verdict(Struct, frozen=True):
    """The result of checking one text, an address or a memo, for one kind of chain.

    The ``code`` of an address is one of valid, empty, character, length, checksum, prefix,
    other_chain, unsafe, pattern, unknown_kind; of a memo one of valid, none, missing, waived,
    waiver, unused, character, length, range. ``reason`` is a sentence for the screen. ``position``
    counts characters from 1. ``normalized`` is the one spelling to send, empty unless ``ok``.
    ``account`` is the same for all spellings of an account.

    ``warnings`` never block a payment. A ``doubt`` needs the user's consent before a payment: it
    says how the payment may be lost, or why a memo may not be the one that was given out. It is
    empty if there is none. ``proves`` says how strongly the text's form shows that it is such an
    address.
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
    """An address that the reader of its kind accepted: its canonical spelling and what was proven.

    ``network`` names the chain if each chain of the kind has addresses of its own. ``account`` is
    set if one account has several spellings. ``proves`` is set if this form proves more or less
    than the other forms of the kind. ``doubt`` is a sentence as in :class:`Verdict`.
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
    """Raised if a text is not an address of a kind. ``code`` and ``position`` are those of
    :class:`Verdict`.

    ``clause`` says why, as the end of the sentence "Not a Bitcoin address: ...". If ``whole`` is
    True, ``clause`` is the complete message.
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
        """Returns the message for the user, with the name of the chain: ``Not a Bitcoin address:
        character 23 is ...``."""
        if self.whole:
            return self.clause
        return f"Not {with_article(chain)} address: {self.clause}."


def with_article(name: str) -> str:
    """Returns the name with its indefinite article: ``a Bitcoin``, ``an Ethereum``, ``an XRP``.
    Abbreviations are read letter by letter."""
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
    """Returns the problem to raise for a wrong checksum. ``position`` is the position, counted from
    1, of a single wrong character that explains the checksum; None if no such character is
    known."""
    sentence = CHECKSUM_SENTENCE
    if position is not None:
        sentence = f"{sentence} Look at character {position}."
    return AddressProblem("checksum", sentence, position, whole=True)


def burned() -> AddressProblem:
    return AddressProblem("unsafe", BURNED, whole=True)


def refuse_burned(payload: bytes) -> None:
    """Raises AddressProblem if the bytes, the key or hash in an address, are all zero, because
    nobody can spend what is sent there."""
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
    ``alphabet``. ``name`` names the alphabet in the message."""
    outside = text[start:].lstrip(alphabet)
    if outside:
        place = len(text) - len(outside) + 1
        raise AddressProblem(
            "character", f'character {place} is "{outside[0]}", which {name} never uses', place
        )


MAX_MEMO_ID = 2**64 - 1


class Network(Struct, frozen=True):
    """One of several chains of a kind whose addresses begin differently. ``mark`` is the bech32
    prefix or the SS58 number with which its addresses begin. ``names`` are further names of the
    chain, case-folded. ``pattern`` is the published pattern of its addresses, empty if it is that
    of the kind."""

    mark: str | int
    name: str
    needs: str
    names: frozenset[str] = frozenset()
    pattern: str = ""


class MemoRule(Struct, frozen=True):
    """The rules for the memo that a payment carries besides its address (contract 5.4).

    If ``largest`` is set, the memo is a number up to ``largest``. If ``largest_id`` is set, a whole
    number up to ``largest_id`` is a memo id, and any other text is memo text. ``per_client`` is
    True if exchanges use one address for all clients and give each client a memo.
    """

    label: str
    longest: int = 64
    largest: int | None = None
    largest_id: int | None = None
    per_client: bool = False


class UnpaidForm(Struct, frozen=True):
    """A form of address that no payout goes to. It is recognised so that a message can name it.

    If ``when_asked`` is False, the form is not named to a user who was asked for an address of this
    kind, because the reader of the kind has a better message.
    """

    called: str
    matches: Callable[[str], bool]
    when_asked: bool = True


class PaymentRequest(Struct, frozen=True):
    """The payment that a link is written for. ``amount`` is in whole tokens and ``units`` in base
    units. ``contract`` is None for the chain's coin, ``memo`` is None if there is none, and
    ``symbol`` is the token's code on the chain."""

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
    """Returns a query string of the pairs whose value is not None, with every value
    percent-encoded. A space is not written as ``+``, because the specifications read ``+`` as a
    plus sign."""
    return "&".join(f"{name}={quote(value, safe='')}" for name, value in pairs if value is not None)


LinkWriter = Callable[[PaymentRequest], PaymentLink | None]
"""A function that writes a payment link. It returns None if such a link cannot express the payment,
for example because the payment is in a token."""


class LinkForm(Struct, frozen=True):
    """The form of the payment links of one URI scheme.

    ``begin`` is how they begin; if it is empty, such links are read but not written. ``path`` is
    the word that precedes the address in the path or stands in its place. The other fields are
    names of parameters: ``amount`` for whole tokens, ``units`` for base units, ``address`` for an
    address that is not in the path. A written link uses the first name in ``memo``. If ``contract``
    is empty, links cannot name a token, so none is written for a token.
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
    """Returns the bytes of a hash written as 64 hexadecimal digits, with or without ``0x``, which
    people often leave out. None for any other text."""
    match = _HASH.fullmatch(text)
    return bytes.fromhex(match[1]) if match is not None else None


def in_hexadecimal(octets: bytes) -> tuple[str, ...]:
    return (octets.hex(),)


def behind_0x(octets: bytes) -> tuple[str, ...]:
    return f"0x{octets.hex()}", octets.hex()


def in_capitals(octets: bytes) -> tuple[str, ...]:
    return (octets.hex().upper(),)


class AddressKind(Struct, frozen=True, kw_only=True):
    """A kind of address: its reader, its names in sentences, and everything else that depends on
    the kind.

    ``name`` is the chain's ``kind`` (contract 5.1), ``chain`` the name of its main chain,
    ``called`` a noun phrase (``a Bitcoin address``). ``needs`` is the end of "BTC on Bitcoin needs
    ...". ``shape`` is the pattern that a service publishes; it may refuse addresses that the reader
    accepts.
    """

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
    """Reads addresses of chains whose prefix or number is not known to this program. None if all
    chains of the kind are read by ``read``."""
    colon_after: tuple[str, ...] = ()
    """Beginnings, in lower case, that are part of an address together with the colon after them,
    such as ``bitcoincash`` or TON's ``0``. A text with any other beginning before a colon counts as
    a link."""
    unpaid: tuple[UnpaidForm, ...] = ()
    is_secret: Callable[[str], bool] = lambda _: False
    """Returns True for a private key of a chain of this kind."""
    networks: tuple[Network, ...] = ()
    """The chains of this kind that have an address prefix or number of their own, the main chain
    first."""

    marks: tuple[str, ...] = ()
    """Beginnings, in lower case, of the kind's addresses. An address with such a beginning means
    the same in upper and lower case. The beginnings are skipped when look-alikes are compared. A
    text with such a beginning is never read as an address of a kind that proves less."""
    is_name: Callable[[str], bool] | None = None
    """Returns True for a name made of words, which is shown in one piece and compared by its look.
    None if the kind has no names."""

    opens_with: Decimal = Decimal(0)
    """The smallest amount of the coin, in whole coins, that a new account has to receive."""
    takes_token: str = ""
    """A sentence that says what the owner of an account has to do before the account can receive a
    token. Empty if nothing has to be done."""

    memo: MemoRule | None = None
    links: Mapping[str, LinkForm] = {}
    """The URI schemes of the kind's payment links, in lower case, each with the form of its
    links."""
    write_link: LinkWriter | None = None
    """Writes the payment links that none of the forms in ``links`` can express. None if there are
    no such links."""
    namespace: str = ""
    """The CAIP-2 namespace of this kind, such as ``bip122``. Empty for EVM chains: their
    identifiers (``eip155``) contain a chain id and are read by other code."""
    explorers: tuple[str, ...] = ()
    """Hosts of public block explorers."""

    contract_shape: str = r"^$"
    """The pattern of token contracts. By default it matches nothing. On the XRP Ledger and Stellar
    it matches the issuer of a token, which takes the place of a contract."""
    contract_account: Callable[[str], str] = lambda text: text
    """Returns a text that is the same for all spellings of a contract."""

    generate: Callable[[bytes, str | int], str]
    """Makes an address from 32 bytes; no private key exists for the address. The second argument is
    the ``mark`` of a network if the kind has networks, and an empty text if it has none."""
    generate_contract: Callable[[str, bytes], str] = lambda address, _: address
    """Makes a token's contract from a generated address and the seed of that address."""
    hash_bytes: int = 32
    hash_called: str = ""
    """What a transaction hash of this kind is called, such as ``a Solana signature``. If empty, it
    is called "a ... transaction hash" with the name of the chain."""
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
    """Returns ``size`` pseudorandom bytes, from which a generated address is made. They depend only
    on ``seed`` and ``purpose``."""
    return hashlib.shake_256(purpose.encode("ascii") + b"\0" + seed).digest(size)
