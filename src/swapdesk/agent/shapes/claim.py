"""The claim of a payload: its decoded content, each value with its meaning, and the token movements
that follow from it.

A shape is a known form of a call, a document or an instruction. The gate's rules use meanings and
never look at the bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct, field

Meaning = Literal[
    "domain",  # Name, version or salt of the contract that will check the signature.
    "chain",
    "contract",  # The contract that checks the signature or is called.
    "method",
    "owner",
    "spender",  # Who may take the token afterwards.
    "allowed units",
    "sold token",
    "sold units",
    "fee units",  # Taken beside what is sold, in the token sold.
    "value",  # Native coin sent along with a call that sells a token.
    "bought token",
    "least units",
    "receiver",  # Who gets what is bought.
    "destination",  # The EVM id of the chain that is paid out on.
    "payee",  # Who gets a plain transfer.
    "begins",
    "ends",  # Unix seconds after which the signature or call is worth nothing.
    "allowance ends",
    "nonce",
    "partial",  # Whether an order may be filled in part.
    "tag",  # The memo of a payment.
    "fee payer",
    "co-signer",
    "network fee",  # What the payload itself offers for its execution, in native units.
    "fee part",  # What that is reckoned from; its bound holds this too.
    "counterparty",  # Who is paid and pays in a swap of two parties.
    "rent payee",  # The owner of a token account that is opened at our cost.
    "rent token",  # The token of such an account.
    "smart account",  # The account whose operation it is; its owner signs.
    "account factory",  # Who makes the smart account that does not stand yet.
    "salt",  # Which of the smart accounts that a factory makes for one owner.
    "lifetime",  # The blockhash a Solana transaction is bound to.
    "route",  # A token passed on the way; the least that arrives bounds what it can cost.
    "permit",  # A part of a permit that the owner signed before, or zero for none.
    "proof",  # What the chain itself holds against what it knows; without its match the call fails.
    "label",  # Nothing that moves money hangs on it.
    "unknown",
]
"""What a field of a payload states. Every meaning except label, fee part and unknown is compared
with the promise by some rule of the gate."""


Value = int | bool | str | bytes


class PayloadRefused(ValueError):
    """Raised for a payload that cannot be judged. ``code`` is the permanent name of the reason."""

    def __init__(self, code: str, words: str) -> None:
        super().__init__(words)
        self.code = code
        self.words = words


Act = Literal[
    "allow",  # Somebody may take a token later.
    "order",  # Somebody may take a token if they give another.
    "swap",  # One token goes and another comes, at once.
    "pay",  # Tokens go to somebody.
    # The smart account of the owner makes several payments, all or none; on Solana the
    # account itself does, in one transaction.
    "bundle",
    "deploy",  # A smart account is made; nothing moves but the gas.
    "withdraw",  # A smart account makes payments because its owner calls it.
    "nothing",  # A nonce is used up, and nothing moves but the gas.
    "unknown",
]
"""What the signed payload does when it is executed."""


Target = Literal[
    "token",  # The token sold itself.
    "permit2",
    "venue",  # A contract of the venue of the quote, of one of the shape's roles.
    "payee",  # No contract: who is paid is called with no data.
    "factory",  # Who makes smart accounts.
    "smart account",
    "entry point",  # The EntryPoint of ERC-4337, of the operation's release.
    "any",
]
"""The kind of contract that checks or executes a payload."""


NonceKind = Literal[
    "none",
    "sequence",  # EIP-2612: ``nonces(owner)`` of the token is the next one.
    "permit2 allowance",  # The next one is kept for owner, token and spender.
    "permit2 bitmap",  # Unordered: one bit for each.
    "settlement",  # ``nonceUsed(owner, nonce)`` of the settlement contract.
    "authorization",  # EIP-3009: ``authorizationState(authorizer, nonce)`` of the token.
]
"""Where the chain records that a signature was used."""


class ClaimField(Struct, frozen=True):
    """One field of a payload. ``label`` is its screen name, unique in the claim. Amounts are in
    base units, times in Unix seconds."""

    path: str
    label: str
    meaning: Meaning
    value: Value


class Outflow(Struct, frozen=True):
    """An amount that leaves or may be taken, in base units of ``token`` (None: the native coin).
    ``payee`` is None unless the payload makes several payments, each to a named payee."""

    token: str | None
    units: int
    field: ClaimField
    payee: str | None = None


class Claim(Struct, frozen=True):
    """The decoded content of a payload: its fields and their effects."""

    shape: str
    act: Act
    title: str
    contract: str | None
    """The contract that is called, or that checks the signature; None on Solana."""
    chain_id: int | None
    """None if the payload names no chain."""
    content: bytes
    """Bytes that identify what is signed: the digest of typed data, for other payloads a hash of
    everything that they fix."""
    fields: tuple[ClaimField, ...]
    target: Target
    roles: frozenset[str] = frozenset()
    outflows: tuple[Outflow, ...] = ()
    """The amounts that are sold or paid."""
    allowed: tuple[Outflow, ...] = ()
    """The amounts that may be taken later."""
    limitless: int | None = None
    """The number by which tokens mean an unlimited allowance."""
    bought: str | None = None
    """The contract of the token bought, None for the native coin. It only has a meaning if a field
    of the payload states the least amount bought."""
    nonce_kind: NonceKind = "none"
    typed: bool = False
    solana: bool = False
    domain_separator: bytes | None = None
    signed_first: frozenset[str] = field(default_factory=frozenset)
    """On Solana, the addresses of the other required signers whose valid signatures are present
    already."""

    def of(self, *meanings: Meaning) -> Iterator[ClaimField]:
        """Yields the fields with one of these meanings, in the order of the payload."""
        return (field for field in self.fields if field.meaning in meanings)

    def first(self, *meanings: Meaning) -> ClaimField | None:
        return next(self.of(*meanings), None)

    def numbers(self, meaning: Meaning) -> Iterator[tuple[ClaimField, int]]:
        for item in self.of(meaning):
            if isinstance(item.value, int) and not isinstance(item.value, bool):
                yield item, item.value

    def texts(self, meaning: Meaning) -> Iterator[tuple[ClaimField, str]]:
        for item in self.of(meaning):
            if isinstance(item.value, str):
                yield item, item.value

    @property
    def revokes(self) -> bool:
        """True if the payload only ends allowances."""
        return (
            self.act == "allow"
            and bool(self.allowed)
            and all(allowance.units == 0 for allowance in self.allowed)
        )


Meanings = Mapping[str, tuple[Meaning, str]]
"""Maps the path of a field to its meaning and label. Paths have no indexes of list items
(``details[].amount``)."""


class Shape(Struct, frozen=True):
    """A known form of payload. A payload with a field outside ``fields`` is refused.
    ``sells_contract`` is True if the token sold is the called contract, ``sells_native`` if the
    native coin is sold."""

    name: str
    title: str
    act: Act
    target: Target
    fields: Meanings
    roles: frozenset[str] = frozenset()
    nonce_kind: NonceKind = "none"
    limitless: int | None = None
    sells_contract: bool = False
    sells_native: bool = False


_LEAVES: tuple[Meaning, ...] = ("sold units", "fee units")


def moves_of(
    fields: Sequence[ClaimField], shape: Shape, contract: str | None
) -> tuple[tuple[Outflow, ...], tuple[Outflow, ...], str | None]:
    """Returns the values of ``outflows``, ``allowed`` and ``bought`` for a Claim. ``contract`` is
    the contract that is called or that checks the signature. Raises TypeError if an amount is not a
    number."""
    tokens = [field.value for field in fields if field.meaning == "sold token"]
    token = contract if shape.sells_contract else (tokens[0] if tokens else None)
    # A missing token does not mean the chain's coin: only a shape can say that.
    sold = None if shape.sells_native else str(token)
    allowed = [field for field in fields if field.meaning == "allowed units"]
    taken = tokens if len(tokens) == len(allowed) else [token] * len(allowed)
    bought = next((field.value for field in fields if field.meaning == "bought token"), None)
    return (
        (
            *(Outflow(sold, _units(field), field) for field in fields if field.meaning in _LEAVES),
            *(Outflow(None, _units(field), field) for field in fields if field.meaning == "value"),
        ),
        tuple(
            Outflow(str(of), _units(field), field) for of, field in zip(taken, allowed, strict=True)
        ),
        bought if isinstance(bought, str) else None,
    )


def _units(field: ClaimField) -> int:
    if not isinstance(field.value, int) or isinstance(field.value, bool):
        raise TypeError(f"{field.path} is no amount")
    return field.value
