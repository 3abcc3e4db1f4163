"""The programs and instructions we sign: each class is one shape, built and read in the same place.

Amounts are integers of base units. A reader takes an instruction only in the exact form that
``build`` gives; another layout, a further account or unused bytes make it ``Unknown``. Which
accounts sign or are written is a matter of the whole message (``transaction``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

SYSTEM = Pubkey.from_string("11111111111111111111111111111111")
TOKEN = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
TOKEN_2022 = Pubkey.from_string("TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb")
TOKEN_ACCOUNTS = Pubkey.from_string("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
"""Creates the one token account of an owner and a mint whose address everybody can derive."""
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
"""They deploy programs."""

TOKEN_PROGRAMS = frozenset({TOKEN, TOKEN_2022})


def token_account(owner: Pubkey, mint: Pubkey, program: Pubkey = TOKEN) -> Pubkey:
    """Where an owner holds a token: the derived address of its associated token account."""
    address, _ = Pubkey.find_program_address(
        [bytes(owner), bytes(program), bytes(mint)], TOKEN_ACCOUNTS
    )
    return address


@dataclass(frozen=True)
class Transfer:
    """Lamports from one account to another (System, 2)."""

    source: Pubkey
    destination: Pubkey
    lamports: int

    def build(self) -> Instruction:
        accounts = [_signing(self.source, True), _written(self.destination)]
        return Instruction(SYSTEM, _u32(2) + _u64(self.lamports), accounts)

    @classmethod
    def read(cls, program: Pubkey, data: bytes, accounts: Sequence[Pubkey]) -> Transfer:
        source, destination = accounts
        return cls(source, destination, _number(data[4:12]))


@dataclass(frozen=True)
class AdvanceNonce:
    """Uses up a durable nonce (System, 4): signatures beside it never expire."""

    nonce: Pubkey
    hashes: Pubkey
    authority: Pubkey

    def build(self) -> Instruction:
        accounts = [_written(self.nonce), _read(self.hashes), _signing(self.authority, False)]
        return Instruction(SYSTEM, _u32(4), accounts)

    @classmethod
    def read(cls, program: Pubkey, data: bytes, accounts: Sequence[Pubkey]) -> AdvanceNonce:
        nonce, hashes, authority = accounts
        return cls(nonce, hashes, authority)


@dataclass(frozen=True)
class TransferChecked:
    """Tokens between token accounts (Token, 12). ``owner`` of the source signs; mint and
    decimals are checked by the program."""

    source: Pubkey
    mint: Pubkey
    destination: Pubkey
    owner: Pubkey
    units: int
    decimals: int
    program: Pubkey = TOKEN

    def build(self) -> Instruction:
        accounts = [
            _written(self.source),
            _read(self.mint),
            _written(self.destination),
            _signing(self.owner, False),
        ]
        return Instruction(
            self.program, b"\x0c" + _u64(self.units) + bytes([self.decimals]), accounts
        )

    @classmethod
    def read(cls, program: Pubkey, data: bytes, accounts: Sequence[Pubkey]) -> TransferChecked:
        source, mint, destination, owner = accounts
        return cls(source, mint, destination, owner, _number(data[1:9]), data[9], program)


@dataclass(frozen=True)
class InitializeMint:
    """A new mint (Token, 20: InitializeMint2), whose account exists already."""

    mint: Pubkey
    decimals: int
    authority: Pubkey
    freezer: Pubkey | None = None
    program: Pubkey = TOKEN

    def build(self) -> Instruction:
        freezer = b"\0" if self.freezer is None else b"\1" + bytes(self.freezer)
        data = b"\x14" + bytes([self.decimals]) + bytes(self.authority) + freezer
        return Instruction(self.program, data, [_written(self.mint)])

    @classmethod
    def read(cls, program: Pubkey, data: bytes, accounts: Sequence[Pubkey]) -> InitializeMint:
        (mint,) = accounts
        freezer = _key(data[35:67]) if data[34] else None
        return cls(mint, data[1], _key(data[2:34]), freezer, program)


@dataclass(frozen=True)
class MintTo:
    """New tokens into a token account (Token, 7)."""

    mint: Pubkey
    destination: Pubkey
    authority: Pubkey
    units: int
    program: Pubkey = TOKEN

    def build(self) -> Instruction:
        accounts = [
            _written(self.mint),
            _written(self.destination),
            _signing(self.authority, False),
        ]
        return Instruction(self.program, b"\x07" + _u64(self.units), accounts)

    @classmethod
    def read(cls, program: Pubkey, data: bytes, accounts: Sequence[Pubkey]) -> MintTo:
        mint, destination, authority = accounts
        return cls(mint, destination, authority, _number(data[1:9]), program)


@dataclass(frozen=True)
class Revoke:
    """Nobody may take from a token account any more (Token, 5); its owner signs."""

    source: Pubkey
    owner: Pubkey
    program: Pubkey = TOKEN

    def build(self) -> Instruction:
        return Instruction(
            self.program, b"\x05", [_written(self.source), _signing(self.owner, False)]
        )

    @classmethod
    def read(cls, program: Pubkey, data: bytes, accounts: Sequence[Pubkey]) -> Revoke:
        source, owner = accounts
        return cls(source, owner, program)


@dataclass(frozen=True)
class CreateTokenAccount:
    """The derived token account of an owner, paid by ``payer``; nothing when it exists already
    (Associated Token Account, 1)."""

    payer: Pubkey
    owner: Pubkey
    mint: Pubkey
    program: Pubkey = TOKEN

    @property
    def account(self) -> Pubkey:
        return token_account(self.owner, self.mint, self.program)

    def build(self) -> Instruction:
        accounts = [
            _signing(self.payer, True),
            _written(self.account),
            _read(self.owner),
            _read(self.mint),
            _read(SYSTEM),
            _read(self.program),
        ]
        return Instruction(TOKEN_ACCOUNTS, b"\1", accounts)

    @classmethod
    def read(cls, program: Pubkey, data: bytes, accounts: Sequence[Pubkey]) -> CreateTokenAccount:
        payer, _, owner, mint, _, tokens = accounts
        if tokens not in TOKEN_PROGRAMS:
            raise ValueError("no token program")
        return cls(payer, owner, mint, tokens)


@dataclass(frozen=True)
class Memo:
    """A text in the transaction; ``signers`` vouch for it."""

    text: str
    signers: tuple[Pubkey, ...] = ()

    def build(self) -> Instruction:
        return Instruction(MEMO, self.text.encode(), [_signing(key, False) for key in self.signers])

    @classmethod
    def read(cls, program: Pubkey, data: bytes, accounts: Sequence[Pubkey]) -> Memo:
        return cls(data.decode(), tuple(accounts))


@dataclass(frozen=True)
class ComputeLimit:
    """The most compute units the transaction may use (ComputeBudget, 2)."""

    units: int

    def build(self) -> Instruction:
        return Instruction(COMPUTE_BUDGET, b"\2" + _u32(self.units), [])

    @classmethod
    def read(cls, program: Pubkey, data: bytes, accounts: Sequence[Pubkey]) -> ComputeLimit:
        return cls(_number(data[1:]))


@dataclass(frozen=True)
class ComputePrice:
    """Millionths of a lamport for each compute unit of the limit (ComputeBudget, 3)."""

    micro_lamports: int

    def build(self) -> Instruction:
        return Instruction(COMPUTE_BUDGET, b"\3" + _u64(self.micro_lamports), [])

    @classmethod
    def read(cls, program: Pubkey, data: bytes, accounts: Sequence[Pubkey]) -> ComputePrice:
        return cls(_number(data[1:]))


@dataclass(frozen=True)
class Unknown:
    """An instruction of another program or in another form."""

    program: Pubkey
    data: bytes
    accounts: tuple[Pubkey, ...]


Known = (
    Transfer
    | AdvanceNonce
    | TransferChecked
    | InitializeMint
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
    b"\x14": InitializeMint.read,
}

_READERS: dict[Pubkey, tuple[int, dict[bytes, _Reader]]] = {
    SYSTEM: (4, {b"\2\0\0\0": Transfer.read, b"\4\0\0\0": AdvanceNonce.read}),
    TOKEN: (1, _TOKEN_READERS),
    TOKEN_2022: (1, _TOKEN_READERS),
    TOKEN_ACCOUNTS: (1, {b"\1": CreateTokenAccount.read}),
    MEMO: (0, {b"": Memo.read}),
    COMPUTE_BUDGET: (1, {b"\2": ComputeLimit.read, b"\3": ComputePrice.read}),
}
"""By program: how many bytes name the instruction, and who reads it."""


def read_instruction(program: Pubkey, data: bytes, accounts: Sequence[Pubkey]) -> Known | Unknown:
    """What an instruction does; ``Unknown`` unless it is exactly what ``build`` gives."""
    width, readers = _READERS.get(program, (0, {}))
    reader = readers.get(data[:width])
    unknown = Unknown(program, data, tuple(accounts))
    if reader is None:
        return unknown
    try:
        found = reader(program, data, accounts)
        built = found.build()
    except (ValueError, IndexError, OverflowError):
        return unknown
    same = built.data == data and [meta.pubkey for meta in built.accounts] == list(accounts)
    return found if same else unknown


def _signing(key: Pubkey, written: bool) -> AccountMeta:
    return AccountMeta(key, is_signer=True, is_writable=written)


def _written(key: Pubkey) -> AccountMeta:
    return AccountMeta(key, is_signer=False, is_writable=True)


def _read(key: Pubkey) -> AccountMeta:
    return AccountMeta(key, is_signer=False, is_writable=False)


def _u32(number: int) -> bytes:
    return number.to_bytes(4, "little")


def _u64(number: int) -> bytes:
    return number.to_bytes(8, "little")


def _key(data: bytes) -> Pubkey:
    # The library ends the thread for another length, by an exception that nobody catches.
    if len(data) != Pubkey.LENGTH:
        raise ValueError("no key")
    return Pubkey.from_bytes(data)


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")
