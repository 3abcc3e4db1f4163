"""Solana transactions: the instructions that are signed here, and reading, measuring and packing of
transactions. Needs ``solders``; the desk never imports it.

An instruction is recognised only if it is exactly what ``build`` gives. A transaction, legacy or
version 0, must be canonical and fit into one packet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from msgspec import Struct
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.message import Message, MessageV0, from_bytes_versioned, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

SYSTEM = Pubkey.from_string("11111111111111111111111111111111")
TOKEN = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
TOKEN_2022 = Pubkey.from_string("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
TOKEN_ACCOUNTS = Pubkey.from_string("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
"""The program of associated token accounts; their addresses can be derived."""
MEMO = Pubkey.from_string("MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr")
COMPUTE_BUDGET = Pubkey.from_string("ComputeBudget111111111111111111111111111111")

LOADERS = frozenset(
    map(
        Pubkey.from_string,
        (
            "BPFLoader1111111111111111111111111111111111",
            "BPFLoader2111111111111111111111111111111111",
            "BPFLoaderUpgradeab1e11111111111111111111111",
            "LoaderV411111111111111111111111111111111111",
        ),
    )
)
"""The programs that deploy other programs."""

TOKEN_PROGRAMS = frozenset({TOKEN, TOKEN_2022})


def token_account(owner: Pubkey, mint: Pubkey, program: Pubkey = TOKEN) -> Pubkey:
    """Returns the address of the owner's associated token account for a mint."""
    address, _ = Pubkey.find_program_address(
        [bytes(owner), bytes(program), bytes(mint)], TOKEN_ACCOUNTS
    )
    return address


class Layout(Struct, frozen=True):
    """The layout of an instruction. ``program`` is None if an instruction's field names the
    program. ``head`` has the first bytes. ``numbers`` maps names to sizes in bytes; ``accounts``
    maps names to (signs, is writable)."""

    program: Pubkey | None
    head: bytes
    accounts: dict[str, tuple[bool, bool]]
    numbers: dict[str, int] = {}


READ, WRITTEN, SIGNING, PAYING = (False, False), (False, True), (True, False), (True, True)


class Laid(Struct, frozen=True):
    """The base class of instructions whose fields are the accounts and numbers in ``LAYOUT``."""

    LAYOUT: ClassVar[Layout]

    def build(self) -> Instruction:
        layout = self.LAYOUT
        accounts = [
            AccountMeta(getattr(self, name), *role) for name, role in layout.accounts.items()
        ]
        numbers = [
            getattr(self, name).to_bytes(size, "little") for name, size in layout.numbers.items()
        ]
        program = layout.program or self.program  # type: ignore[attr-defined]
        return Instruction(program, layout.head + b"".join(numbers), accounts)

    @classmethod
    def read(cls, program: Pubkey, data: bytes, accounts: Sequence[Pubkey]) -> Self:
        layout = cls.LAYOUT
        values: dict[str, Any] = dict(zip(layout.accounts, accounts, strict=True))
        place = len(layout.head)
        for name, size in layout.numbers.items():
            values[name] = _number(data[place : place + size])
            place += size
        if layout.program is None:
            values["program"] = program
        return cls(**values)


class Transfer(Laid, frozen=True):
    """An instruction that transfers lamports from one account to another (System, 2)."""

    LAYOUT = Layout(
        SYSTEM, b"\2\0\0\0", {"source": PAYING, "destination": WRITTEN}, {"lamports": 8}
    )

    source: Pubkey
    destination: Pubkey
    lamports: int


class AdvanceNonce(Laid, frozen=True):
    """An instruction that uses up a durable nonce (System, 4). The signatures of a transaction with
    this instruction never expire."""

    LAYOUT = Layout(SYSTEM, b"\4\0\0\0", {"nonce": WRITTEN, "hashes": READ, "authority": SIGNING})

    nonce: Pubkey
    hashes: Pubkey
    authority: Pubkey


class TransferChecked(Laid, frozen=True):
    """An instruction that transfers tokens (Token, 12). The source's ``owner`` signs; the program
    checks mint and decimals."""

    LAYOUT = Layout(
        None,
        b"\x0c",
        {"source": WRITTEN, "mint": READ, "destination": WRITTEN, "owner": SIGNING},
        {"units": 8, "decimals": 1},
    )

    source: Pubkey
    mint: Pubkey
    destination: Pubkey
    owner: Pubkey
    units: int
    decimals: int
    program: Pubkey = TOKEN


class MintTo(Laid, frozen=True):
    """An instruction that creates new tokens in a token account (Token, 7)."""

    LAYOUT = Layout(
        None,
        b"\x07",
        {"mint": WRITTEN, "destination": WRITTEN, "authority": SIGNING},
        {"units": 8},
    )

    mint: Pubkey
    destination: Pubkey
    authority: Pubkey
    units: int
    program: Pubkey = TOKEN


class Revoke(Laid, frozen=True):
    """An instruction that ends a delegate's right to take tokens from a token account (Token, 5).
    The account's owner signs."""

    LAYOUT = Layout(None, b"\x05", {"source": WRITTEN, "owner": SIGNING})

    source: Pubkey
    owner: Pubkey
    program: Pubkey = TOKEN


class CreateTokenAccount(Struct, frozen=True):
    """An instruction that creates an owner's associated token account at the cost of ``payer``
    (Associated Token Account, 1). It does nothing if the account exists."""

    payer: Pubkey
    owner: Pubkey
    mint: Pubkey
    program: Pubkey = TOKEN

    @property
    def account(self) -> Pubkey:
        return token_account(self.owner, self.mint, self.program)

    def build(self) -> Instruction:
        others = (self.owner, self.mint, SYSTEM, self.program)
        accounts = [AccountMeta(self.payer, *PAYING), AccountMeta(self.account, *WRITTEN)]
        accounts += [AccountMeta(key, *READ) for key in others]
        return Instruction(TOKEN_ACCOUNTS, b"\1", accounts)

    @classmethod
    def read(cls, program: Pubkey, data: bytes, accounts: Sequence[Pubkey]) -> CreateTokenAccount:
        payer, _, owner, mint, _, tokens = accounts
        if tokens not in TOKEN_PROGRAMS:
            raise ValueError("no token program")
        return cls(payer, owner, mint, tokens)


class Memo(Struct, frozen=True):
    """An instruction that adds a text to the transaction. ``signers`` are the accounts that must
    sign it."""

    text: str
    signers: tuple[Pubkey, ...] = ()

    def build(self) -> Instruction:
        signers = [AccountMeta(key, *SIGNING) for key in self.signers]
        return Instruction(MEMO, self.text.encode(), signers)

    @classmethod
    def read(cls, program: Pubkey, data: bytes, accounts: Sequence[Pubkey]) -> Memo:
        return cls(data.decode(), tuple(accounts))


class ComputeLimit(Laid, frozen=True):
    """An instruction that sets the largest number of compute units that the transaction may use
    (ComputeBudget, 2)."""

    LAYOUT = Layout(COMPUTE_BUDGET, b"\2", {}, {"units": 4})

    units: int


class ComputePrice(Laid, frozen=True):
    """An instruction that sets the price of a compute unit in millionths of a lamport
    (ComputeBudget, 3). It is charged for the transaction's whole limit."""

    LAYOUT = Layout(COMPUTE_BUDGET, b"\3", {}, {"micro_lamports": 8})

    micro_lamports: int


class Unknown(Struct, frozen=True):
    """An instruction that this program does not read: of another program, or in another form."""

    program: Pubkey
    data: bytes
    accounts: tuple[Pubkey, ...]


Known = (
    Transfer
    | AdvanceNonce
    | TransferChecked
    | MintTo
    | Revoke
    | CreateTokenAccount
    | Memo
    | ComputeLimit
    | ComputePrice
)

_Reader = Callable[[Pubkey, bytes, Sequence[Pubkey]], Known]

_TOKEN_READERS: dict[bytes, _Reader] = {
    b"\x05": Revoke.read,
    b"\x07": MintTo.read,
    b"\x0c": TransferChecked.read,
}

_READERS: dict[Pubkey, tuple[int, dict[bytes, _Reader]]] = {
    SYSTEM: (4, {b"\2\0\0\0": Transfer.read, b"\4\0\0\0": AdvanceNonce.read}),
    TOKEN: (1, _TOKEN_READERS),
    TOKEN_2022: (1, _TOKEN_READERS),
    TOKEN_ACCOUNTS: (1, {b"\1": CreateTokenAccount.read}),
    MEMO: (0, {b"": Memo.read}),
    COMPUTE_BUDGET: (1, {b"\2": ComputeLimit.read, b"\3": ComputePrice.read}),
}
"""By program: how many bytes at the start of the data identify an instruction, and a reader for
each value of these bytes."""


def read_instruction(program: Pubkey, data: bytes, accounts: Sequence[Pubkey]) -> Known | Unknown:
    """Returns the instruction as an object of its class. Returns ``Unknown`` unless the object
    encodes to exactly the same data and accounts."""
    width, readers = _READERS.get(program, (0, {}))
    reader = readers.get(data[:width])
    unknown = Unknown(program, data, tuple(accounts))
    if reader is None:
        return unknown
    try:
        instruction = reader(program, data, accounts)
        built = instruction.build()
    except (ValueError, IndexError, OverflowError):
        return unknown
    same = built.data == data and [meta.pubkey for meta in built.accounts] == list(accounts)
    return instruction if same else unknown


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")


PACKET_BYTES = 1232
"""Largest number of bytes of a serialized transaction, signatures included."""

AnyMessage = Message | MessageV0


class TransactionRefused(ValueError):
    """Raised for bytes that are not a transaction or message in a form that this program
    accepts."""


def read_transaction(raw: bytes) -> VersionedTransaction:
    """Returns the transaction in these bytes, with empty places for missing signatures. Raises
    TransactionRefused for one that is too large, not canonical or of another version."""
    if len(raw) > PACKET_BYTES:
        raise TransactionRefused(f"{len(raw)} bytes are more than {PACKET_BYTES}")
    try:
        transaction = VersionedTransaction.from_bytes(raw)
        transaction.sanitize()
    except Exception as error:
        # The library raises several kinds of its own.
        raise TransactionRefused("these bytes are no transaction") from error
    if not isinstance(transaction.message, Message | MessageV0):
        raise TransactionRefused("a transaction of this version is not taken")
    if bytes(transaction) != raw:
        raise TransactionRefused("the transaction is not in its plain form")
    return transaction


def read_serialized_message(raw: bytes) -> AnyMessage:
    """Returns the unsigned message in these bytes. Raises TransactionRefused if it is not canonical
    or of another version."""
    try:
        message = from_bytes_versioned(raw)
        if not isinstance(message, Message | MessageV0):
            raise TransactionRefused("a message of this version is not taken")
        unsigned(message).sanitize()
    except TransactionRefused:
        raise
    except Exception as error:
        raise TransactionRefused("these bytes are no message") from error
    if to_bytes_versioned(message) != raw:
        raise TransactionRefused("the message is not in its plain form")
    return message


def unsigned(message: AnyMessage) -> VersionedTransaction:
    """Returns the transaction of a message, with empty places for its signatures."""
    places = message.header.num_required_signatures
    return VersionedTransaction.populate(message, [Signature.default()] * places)


def packet_size(message: AnyMessage) -> int:
    """Returns the number of bytes that the transaction of this message will have with all its
    signatures."""
    return len(bytes(unsigned(message)))


class ReadMessage(Struct, frozen=True):
    """The content of a message. ``payer`` is the first of ``signers`` and pays the fee. ``written``
    are the accounts that the message may change."""

    payer: Pubkey
    signers: tuple[Pubkey, ...]
    written: tuple[Pubkey, ...]
    blockhash: bytes
    instructions: tuple[Known | Unknown, ...]


def read_message(message: AnyMessage) -> ReadMessage:
    """Returns the content of a message. Raises TransactionRefused for a message without signers,
    with lookup tables, or with an instruction on unlisted accounts."""
    if isinstance(message, MessageV0) and message.address_table_lookups:
        raise TransactionRefused("it takes accounts from a lookup table")
    keys, header = message.account_keys, message.header
    signing = header.num_required_signatures
    if not 0 < signing <= len(keys):
        raise TransactionRefused("nobody signs it")
    try:
        instructions = tuple(
            read_instruction(
                keys[instruction.program_id_index],
                bytes(instruction.data),
                [keys[index] for index in bytes(instruction.accounts)],
            )
            for instruction in message.instructions
        )
    except IndexError:
        raise TransactionRefused("it names an account that it does not have") from None
    return ReadMessage(
        payer=keys[0],
        signers=tuple(keys[:signing]),
        written=written_keys(message),
        blockhash=bytes(message.recent_blockhash),
        instructions=instructions,
    )


def written_keys(message: AnyMessage) -> tuple[Pubkey, ...]:
    """Returns the accounts that a message may change, in the sequence of the message."""
    keys, header = message.account_keys, message.header
    signing = header.num_required_signatures
    last_signer = signing - header.num_readonly_signed_accounts
    last_other = len(keys) - header.num_readonly_unsigned_accounts
    return (*keys[:last_signer], *keys[signing:last_other])


LAMPORTS_PER_SIGNATURE = 5_000
_MOST_UNITS = 1_400_000
_UNITS_OF_BUILTIN, _UNITS_OF_PROGRAM = 3_000, 200_000
_BUILTINS = frozenset({SYSTEM, COMPUTE_BUDGET})


def fee_of(message: ReadMessage) -> int:
    """Returns the fee in lamports, which the payer loses even if the message fails. If the message
    sets no limit of compute units, the network's default applies."""
    price = limit = None
    reserved = 0
    for instruction in message.instructions:
        if isinstance(instruction, ComputePrice):
            price = instruction.micro_lamports
        elif isinstance(instruction, ComputeLimit):
            limit = instruction.units
        reserved += _UNITS_OF_BUILTIN if _program(instruction) in _BUILTINS else _UNITS_OF_PROGRAM
    units = min(_MOST_UNITS, reserved if limit is None else limit)
    return LAMPORTS_PER_SIGNATURE * len(message.signers) + -(-(price or 0) * units // 1_000_000)


def _program(instruction: Known | Unknown) -> Pubkey:
    if isinstance(instruction, Unknown):
        return instruction.program
    return instruction.build().program_id


MOST_ROWS = 10
"""Largest number of payments in one transaction, because a person cannot review more."""


class RowTooLarge(ValueError):
    """Raised for a payment that alone is too large for a transaction. ``row`` is the index of the
    payment, from 0."""

    def __init__(self, row: int, size: int) -> None:
        super().__init__(f"payment {row + 1} alone takes {size} of {PACKET_BYTES} bytes")
        self.row = row


def pack(
    payer: Pubkey,
    head: Sequence[Instruction],
    rows: Sequence[Sequence[Instruction]],
    *,
    most: int = MOST_ROWS,
) -> list[range]:
    """Divides ``rows`` (the instructions of one payment each) among transactions, at most ``most``
    rows in each. Returns the range of rows in each transaction. Every transaction also has the
    instructions ``head``. Raises RowTooLarge."""
    packed: list[range] = []
    first = 0
    for row in range(len(rows)):
        size = measure(payer, head, rows[first : row + 1])
        if size > PACKET_BYTES or row - first >= most:
            if row > first:
                packed.append(range(first, row))
                first, size = row, measure(payer, head, rows[row : row + 1])
            if size > PACKET_BYTES:
                raise RowTooLarge(row, size)
    if first < len(rows):
        packed.append(range(first, len(rows)))
    return packed


def measure(
    payer: Pubkey, head: Sequence[Instruction], rows: Sequence[Sequence[Instruction]]
) -> int:
    """Returns the number of bytes of the signed transaction with ``head`` and these rows
    (payments)."""
    instructions = [*head, *(instruction for row in rows for instruction in row)]
    return packet_size(MessageV0.try_compile(payer, instructions, [], Hash.default()))
