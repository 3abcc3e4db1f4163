"""What a check of an address says, and how the desk words it.

A verdict names the place and the reason. It never proposes a corrected character: a
proposal that is accepted without looking is a payment to a stranger.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

CHECKSUM_SENTENCE = "The checksum of this address is wrong. Paste it again from where it came from."


class Proof(IntEnum):
    """How much a text of a form proves about itself.

    A kind that proves less is never named for a text that a stronger kind reads, and a text
    that proves no more than ``ANY_WORD`` is never taken for an address unless it was asked for.
    """

    ANY_WORD = 0
    """Nearly any word has this form: a name without a checksum."""
    SHAPE = 1
    """Length and alphabet fit. A typing error is not seen."""
    CHECKSUM = 2


@dataclass(frozen=True)
class AddressVerdict:
    """The answer about one text on one kind of chain.

    ``code`` is one of valid, empty, character, length, checksum, prefix, other_chain, unsafe,
    pattern, unknown_kind. ``reason`` is a sentence for the screen. ``position`` counts
    characters from 1. ``normalized`` is the one spelling to send, empty unless ``ok``;
    ``account`` is what two spellings of one account share. ``warnings`` are sentences that
    never block. ``proves`` is how sure it is that the text is such an address.
    """

    ok: bool
    kind: str
    code: str
    reason: str
    position: int | None = None
    warnings: tuple[str, ...] = ()
    normalized: str = ""
    account: str = ""
    proves: Proof = Proof.CHECKSUM


@dataclass(frozen=True)
class Reading:
    """A text that is an address of its kind: its canonical spelling and what was proven.

    ``network`` names the chain where the chains of one kind differ in their addresses.
    ``account`` is given where one account has several good spellings. ``proves`` is set where
    this form proves another amount than the kind's others.
    """

    normalized: str
    noun: str = "address"
    proof: str = "checksum correct"
    warnings: tuple[str, ...] = ()
    network: str | None = None
    account: str = ""
    proves: Proof | None = None


class AddressProblem(ValueError):
    """Why a text is no address of a kind.

    ``clause`` ends the sentence "Not a Bitcoin address: ..." unless ``whole`` is set, when
    it is the complete message.
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
"""Said of an address on a chain of a kind whose mark is not known."""
BURNED = "This is a burn address. What is sent to it is lost."


def wrong_checksum(position: int | None = None) -> AddressProblem:
    """``position`` is the one character that explains it, where the code can tell."""
    sentence = CHECKSUM_SENTENCE
    if position is not None:
        sentence = f"{sentence} Look at character {position}."
    return AddressProblem("checksum", sentence, position, whole=True)


def burned() -> AddressProblem:
    return AddressProblem("unsafe", BURNED, whole=True)


def system_account() -> AddressProblem:
    return AddressProblem(
        "unsafe", "This address belongs to the chain itself. Nobody holds its key.", whole=True
    )


def wrong_length(length: int, expected: str) -> AddressProblem:
    return AddressProblem("length", f"it has {length:,} characters instead of {expected}")


def wrong_start(expected: str) -> AddressProblem:
    return AddressProblem("prefix", f"it does not start with {expected}", 1)


def require_alphabet(text: str, alphabet: str, name: str, start: int = 0) -> None:
    """Raise AddressProblem at the first character from index ``start`` outside ``alphabet``."""
    for index in range(start, len(text)):
        if text[index] not in alphabet:
            place = index + 1
            raise AddressProblem(
                "character", f'character {place} is "{text[index]}", which {name} never uses', place
            )
