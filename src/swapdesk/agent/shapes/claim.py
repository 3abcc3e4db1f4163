"""What a payload lets others do, read field by field and not yet judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from swapdesk.agent.shapes.meaning import Meaning

Value = int | bool | str | bytes


class PayloadRefused(ValueError):
    """A payload that says nothing that could be judged. ``code`` names the reason for ever."""

    def __init__(self, code: str, words: str) -> None:
        super().__init__(words)
        self.code = code
        self.words = words


class Act(StrEnum):
    """What happens once the payload is signed."""

    ALLOW = "allow"
    """Somebody may take a token later."""
    ORDER = "order"
    """Somebody may take a token if they give another."""
    SWAP = "swap"
    """One token goes and another comes, at once."""
    PAY = "pay"
    """Tokens go to somebody."""
    BUNDLE = "bundle"
    """The smart account of the owner makes several payments, all or none; on Solana the account
    itself does, in one transaction."""
    DEPLOY = "deploy"
    """A smart account is made; nothing moves but the gas."""
    WITHDRAW = "withdraw"
    """A smart account makes payments because its owner calls it."""
    NOTHING = "nothing"
    """A nonce is used up, and nothing moves but the gas."""
    UNKNOWN = "unknown"


class Target(StrEnum):
    """Which contract has to check or execute a payload of a shape."""

    TOKEN = "token"
    """The token sold itself."""
    PERMIT2 = "permit2"
    VENUE = "venue"
    """A contract of the venue of the quote, of one of the shape's roles."""
    PAYEE = "payee"
    """No contract: who is paid is called with no data."""
    FACTORY = "factory"
    """Who makes smart accounts."""
    SMART_ACCOUNT = "smart account"
    ENTRY_POINT = "entry point"
    """The EntryPoint of ERC-4337, of the operation's release."""
    ANY = "any"


class NonceKind(StrEnum):
    """Where the chain keeps whether a signature was used."""

    NONE = "none"
    SEQUENCE = "sequence"
    """EIP-2612: ``nonces(owner)`` of the token is the next one."""
    PERMIT2_ALLOWANCE = "permit2 allowance"
    """The next one is kept for owner, token and spender."""
    PERMIT2_BITMAP = "permit2 bitmap"
    """Unordered: one bit for each."""
    SETTLEMENT = "settlement"
    """``nonceUsed(owner, nonce)`` of the settlement contract."""
    AUTHORIZATION = "authorization"
    """EIP-3009: ``authorizationState(authorizer, nonce)`` of the token."""


@dataclass(frozen=True)
class ClaimField:
    """One field: ``path`` is its place in the payload, ``label`` its name on the screen, unique
    in the claim. Addresses are text with their checksum, amounts base units, times seconds."""

    path: str
    label: str
    meaning: Meaning
    value: Value


@dataclass(frozen=True)
class Outflow:
    """``units`` of ``token`` that leave or may be taken; ``field`` is where it stands.

    ``token`` is None for the native coin.
    """

    token: str | None
    units: int
    field: ClaimField


@dataclass(frozen=True)
class Claim:
    """A payload in fields, with what follows from its shape.

    ``contract`` is None on Solana, ``chain_id`` None where the payload names no chain.
    ``outflows`` are what is sold or paid, ``allowed`` what may be taken later, of which
    ``limitless`` is the number that tokens take for no bound. ``bought`` is the token that
    comes back, None for the native coin; it means nothing without a LEAST_UNITS field.
    ``content`` is the digest of typed data and else a hash of all that the payload fixes.
    """

    shape: str
    act: Act
    title: str
    contract: str | None
    chain_id: int | None
    content: bytes
    fields: tuple[ClaimField, ...]
    target: Target
    roles: frozenset[str] = frozenset()
    outflows: tuple[Outflow, ...] = ()
    allowed: tuple[Outflow, ...] = ()
    limitless: int | None = None
    bought: str | None = None
    nonce_kind: NonceKind = NonceKind.NONE
    typed: bool = False
    solana: bool = False
    domain_separator: bytes | None = None
    signed_first: frozenset[str] = field(default_factory=frozenset)
    """Solana: the other required signers whose signature is there and right."""

    def of(self, *meanings: Meaning) -> Iterator[ClaimField]:
        """The fields of these meanings, in the order of the payload."""
        return (one for one in self.fields if one.meaning in meanings)

    def numbers(self, meaning: Meaning) -> Iterator[tuple[ClaimField, int]]:
        """Fields of a meaning whose value is a number."""
        for one in self.of(meaning):
            if isinstance(one.value, int) and not isinstance(one.value, bool):
                yield one, one.value

    def texts(self, meaning: Meaning) -> Iterator[tuple[ClaimField, str]]:
        """Fields of a meaning whose value is text, such as an address."""
        for one in self.of(meaning):
            if isinstance(one.value, str):
                yield one, one.value

    @property
    def revokes(self) -> bool:
        """Whether all it does is to allow nothing."""
        return (
            self.act is Act.ALLOW
            and bool(self.allowed)
            and all(one.units == 0 for one in self.allowed)
        )
