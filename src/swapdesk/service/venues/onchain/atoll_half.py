"""One transaction of two parties on Solana, which the maker has signed and the user has not.

All of it happens or nothing: the maker's payment, the user's payment, and where it is missing
the token account that the maker pays into, at the user's cost. The user pays the fee.
"""

from __future__ import annotations

from dataclasses import dataclass

from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from swapdesk.chain.solana.instructions import (
    ComputeLimit,
    ComputePrice,
    CreateTokenAccount,
    Memo,
    Transfer,
    TransferChecked,
)
from swapdesk.chain.solana.programs import token_account
from swapdesk.chain.solana.transaction import PACKET_BYTES, packet_size, read_transaction
from swapdesk.service.venues.onchain.atoll_terms import MICRO_LAMPORTS, UNITS


@dataclass(frozen=True)
class Paid:
    """``units`` of a mint of the token program, of SOL for None."""

    mint: str | None
    units: int
    decimals: int


@dataclass(frozen=True)
class Half:
    """What both parties agree on. ``memo`` makes it another message than every other swap."""

    owner: str
    receiver: str
    sold: Paid
    bought: Paid
    memo: str


def half_signed(half: Half, blockhash: str, seed: bytes) -> bytes:
    """The transaction with the signature of the key of ``seed``, the user's place empty.

    Raises ValueError when it is larger than a packet, or the maker swaps with itself.
    """
    maker = Keypair.from_seed(seed)
    owner = Pubkey.from_string(half.owner)
    if owner == maker.pubkey():
        raise ValueError("the maker does not swap with itself")
    message = MessageV0.try_compile(
        owner, _instructions(half, owner, maker.pubkey()), [], Hash.from_string(blockhash)
    )
    if packet_size(message) > PACKET_BYTES:
        raise ValueError("the swap does not fit into one transaction")
    signed = to_bytes_versioned(message)
    signatures = [
        maker.sign_message(signed) if key == maker.pubkey() else Signature.default()
        for key in message.account_keys[: message.header.num_required_signatures]
    ]
    return bytes(VersionedTransaction.populate(message, signatures))


def maker_address(seed: bytes) -> str:
    """The address of the key of ``seed``."""
    return str(Keypair.from_seed(seed).pubkey())


def account_names(raw: bytes) -> list[str]:
    """The accounts of a transaction in their order."""
    return [str(key) for key in read_transaction(raw).message.account_keys]


def signed_by_payer(raw: bytes, signature: str) -> bool:
    """Whether it is the payer's signature of exactly this transaction."""
    message = read_transaction(raw).message
    try:
        given = Signature.from_string(signature)
    except ValueError:
        return False
    return given.verify(message.account_keys[0], to_bytes_versioned(message))


def _instructions(half: Half, owner: Pubkey, maker: Pubkey) -> list[Instruction]:
    receiver = Pubkey.from_string(half.receiver)
    made = [ComputeLimit(UNITS).build(), ComputePrice(MICRO_LAMPORTS).build()]
    if half.bought.mint is not None:
        mint = Pubkey.from_string(half.bought.mint)
        made.append(CreateTokenAccount(owner, receiver, mint).build())
    made += [
        _payment(half.bought, maker, receiver),
        _payment(half.sold, owner, maker),
        Memo(half.memo).build(),
    ]
    return made


def _payment(paid: Paid, source: Pubkey, destination: Pubkey) -> Instruction:
    if paid.mint is None:
        return Transfer(source, destination, paid.units).build()
    mint = Pubkey.from_string(paid.mint)
    return TransferChecked(
        token_account(source, mint),
        mint,
        token_account(destination, mint),
        source,
        paid.units,
        paid.decimals,
    ).build()
