"""Honest Solana transactions, and dishonest ones made from their instructions."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from datetime import timedelta

from msgspec.structs import replace
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageAddressTableLookup, MessageHeader, MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from agent.gate_world import GENESIS, NOW, World, changes
from agent.honest import Honest
from swapdesk.agent.gate.case import Policy
from swapdesk.chain.solana import (
    SYSTEM,
    TOKEN,
    TOKEN_2022,
    TOKEN_ACCOUNTS,
    AdvanceNonce,
    ComputeLimit,
    ComputePrice,
    CreateTokenAccount,
    Memo,
    MintTo,
    Revoke,
    Transfer,
    TransferChecked,
    token_account,
)
from swapdesk.wallet.promise import Asset, DepositPromise, Promise, Purpose, SolanaPayload

ALICE, MAKER, THIEF = (Keypair.from_seed(bytes([i]) * 32) for i in (1, 2, 3))
ME, MAKERS_KEY, MALLORY = ALICE.pubkey(), MAKER.pubkey(), THIEF.pubkey()
DEPOSIT = Keypair.from_seed(bytes([4]) * 32).pubkey()
MINT = Pubkey.from_string("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
OTHER_MINT = Pubkey.from_string("Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB")
BLOCKHASH = Hash(bytes(range(32)))
SOL = Asset("SOL", 9, None)
USDC = Asset("USDC", 6, str(MINT))
UNITS = 250_000_000
LEAST, QUOTED = 49_000_000, 50_000_000
FEES = 3_000_000

POLICY = Policy(str(ME), None, GENESIS, makers=frozenset({("at", str(MAKERS_KEY))}))


def promise(sell: Asset, buy: Asset, deposit: DepositPromise | None = None) -> Promise:
    return Promise(
        intent_id="i-1",
        account=str(ME),
        chain="sol",
        chain_id=None,
        sell=sell,
        sell_units=UNITS,
        buy=buy,
        chain_out="sol",
        least_units=LEAST,
        quoted_units=QUOTED,
        recipient=str(ME),
        venue="at",
        quote_id="q-1",
        valid_until=NOW + timedelta(minutes=5),
        gas_units=FEES,
        deposit=deposit,
    )


def serialized(instructions, makers=(), *, payer=ME, legacy=False, signed=True, lookups=()) -> str:
    """The transaction in base64, signed by its makers and not by us."""
    if legacy:
        message = Message.new_with_blockhash(instructions, payer, BLOCKHASH)
    else:
        message = MessageV0.try_compile(payer, instructions, list(lookups), BLOCKHASH)
    return with_signatures(message, makers if signed else ())


def with_signatures(message, makers) -> str:
    from solders.message import to_bytes_versioned

    keys = message.account_keys[: message.header.num_required_signatures]
    known = {maker.pubkey(): maker.sign_message(to_bytes_versioned(message)) for maker in makers}
    signatures = [known.get(key, Signature.default()) for key in keys]
    return b64encode(bytes(VersionedTransaction.populate(message, signatures))).decode()


def _deposit(tag: str | None) -> DepositPromise:
    return DepositPromise("o-1", str(DEPOSIT), tag, UNITS, NOW + timedelta(hours=1), str(ME))


def _payment(instructions, promised: Promise, sold: Asset, **how) -> Honest:
    moved = [(str(ME), sold, -UNITS), (str(DEPOSIT), sold, UNITS), (str(ME), SOL, -10_000)]
    payload = SolanaPayload(Purpose.DEPOSIT, serialized(instructions, **how))
    return Honest(payload, promised, World(changes(*moved)), POLICY)


def _swap(instructions, promised: Promise, sold: Asset, bought: Asset) -> Honest:
    moved = [(str(ME), sold, -UNITS), (str(ME), bought, QUOTED), (str(ME), SOL, -15_000)]
    payload = SolanaPayload(Purpose.SWAP, serialized(instructions, [MAKER]))
    return Honest(payload, promised, World(changes(*moved)), POLICY)


def tokens(owner: Pubkey, to: Pubkey, units: int, mint=MINT, decimals=6, program=TOKEN):
    return TransferChecked(
        token_account(owner, mint, program),
        mint,
        token_account(to, mint, program),
        owner,
        units,
        decimals,
        program,
    ).build()


END = [Revoke(token_account(ME, MINT), ME).build()]
BUDGET = [ComputeLimit(100_000).build(), ComputePrice(1_000).build()]
PAY_SOL = [Transfer(ME, DEPOSIT, UNITS).build()]
PAY_TOKENS = [CreateTokenAccount(ME, DEPOSIT, MINT).build(), tokens(ME, DEPOSIT, UNITS)]
BUY_TOKENS = [
    *BUDGET,
    CreateTokenAccount(ME, ME, MINT).build(),
    tokens(MAKERS_KEY, ME, QUOTED),
    Transfer(ME, MAKERS_KEY, UNITS).build(),
    Memo("o-1").build(),
]
SELL_TOKENS = [
    *BUDGET,
    tokens(ME, MAKERS_KEY, UNITS),
    Transfer(MAKERS_KEY, ME, QUOTED).build(),
]

HONEST: dict[str, Honest] = {
    "sol": _payment(PAY_SOL, promise(SOL, USDC, _deposit(None)), SOL),
    "sol, legacy": _payment(PAY_SOL, promise(SOL, USDC, _deposit(None)), SOL, legacy=True),
    "sol with memo": _payment(
        [*BUDGET, *PAY_SOL, Memo("12345").build()], promise(SOL, USDC, _deposit("12345")), SOL
    ),
    "tokens": _payment(PAY_TOKENS, promise(USDC, SOL, _deposit(None)), USDC),
    "buy tokens": _swap(BUY_TOKENS, promise(SOL, USDC), SOL, USDC),
    "sell tokens": _swap(SELL_TOKENS, promise(USDC, SOL), USDC, SOL),
    "end an allowance": Honest(
        SolanaPayload(Purpose.REVOKE, serialized(END)),
        replace(
            promise(USDC, USDC),
            sell_units=0,
            least_units=0,
            quoted_units=0,
            venue=None,
            quote_id=None,
        ),
        World(changes((str(ME), SOL, -5_000))),
        POLICY,
    ),
}


def _raw(program: Pubkey, data: bytes, *accounts: Pubkey, signer: Pubkey = ME) -> Instruction:
    metas = [AccountMeta(one, one == signer, True) for one in accounts]
    return Instruction(program, data, metas)


STRANGE = {
    "transfer to a thief": Transfer(ME, MALLORY, 1).build(),
    "tokens to a thief": tokens(ME, MALLORY, 1),
    "other tokens to a thief": tokens(ME, MALLORY, 1, OTHER_MINT),
    "tokens of the newer program": tokens(ME, MALLORY, 1, program=TOKEN_2022),
    "durable nonce": AdvanceNonce(MALLORY, MINT, ME).build(),
    "delegate": _raw(TOKEN, b"\x04" + b"\xff" * 8, token_account(ME, MINT), MALLORY, ME),
    "new owner": _raw(TOKEN, b"\x06\x02\x01" + bytes(MALLORY), token_account(ME, MINT), ME),
    "revocation": Revoke(token_account(ME, MINT), ME).build(),
    "close": _raw(TOKEN, b"\x09", token_account(ME, MINT), MALLORY, ME),
    "burn": _raw(TOKEN, b"\x08" + b"\1" * 8, token_account(ME, MINT), MINT, ME),
    "unchecked transfer": _raw(
        TOKEN, b"\x03" + b"\1" * 8, token_account(ME, MINT), token_account(MALLORY, MINT), ME
    ),
    "assign": _raw(SYSTEM, b"\1\0\0\0" + bytes(MALLORY), ME),
    "create account": _raw(SYSTEM, b"\0\0\0\0" + b"\1" * 16 + bytes(MALLORY), ME, MALLORY),
    "another program": _raw(MALLORY, b"\1", ME, DEPOSIT),
    "another program without accounts": Instruction(MALLORY, b"", []),
    "transfer with tail": Instruction(
        SYSTEM,
        bytes(PAY_SOL[0].data) + b"\0",
        [AccountMeta(ME, True, True), AccountMeta(DEPOSIT, False, True)],
    ),
    "mint": MintTo(MINT, token_account(ME, MINT), ME, 1).build(),
    "new mint": Instruction(
        TOKEN, b"\x14\6" + bytes(ME) + b"\0", [AccountMeta(MALLORY, False, True)]
    ),
    "account for a thief": CreateTokenAccount(ME, MALLORY, MINT).build(),
    "account for the maker": CreateTokenAccount(ME, MAKERS_KEY, MINT).build(),
    "account of another token": CreateTokenAccount(ME, ME, OTHER_MINT).build(),
    "account not derived": _raw(TOKEN_ACCOUNTS, b"\1", ME, MALLORY, ME, MINT, SYSTEM, TOKEN),
    "heap": Instruction(
        Pubkey.from_string("ComputeBudget111111111111111111111111111111"),
        b"\1" + b"\0\0\4\0",
        [],
    ),
    "price twice": ComputePrice(2).build(),
    "dear price": ComputePrice(10**12).build(),
    "memo signed by a thief": Memo("x", (MALLORY,)).build(),
}


def _pays(one: Instruction) -> tuple[Pubkey, int] | None:
    """Whose money a transfer moves, and how much."""
    data = bytes(one.data)
    if one.program_id == SYSTEM:
        return one.accounts[0].pubkey, int.from_bytes(data[4:12], "little")
    if one.program_id == TOKEN and len(one.accounts) == 4:
        return one.accounts[3].pubkey, int.from_bytes(data[1:9], "little")
    return None


def _harms(one: Instruction, changed: Instruction | None, swap: bool, place: int = -1) -> bool:
    """Whether a thief gains: an account that is opened or not, and what others pay us from and
    how much more of it, harm nobody."""
    if changed is not None and place == 2 and changed.accounts[2].pubkey == DEPOSIT:
        # A venue may name a token account as its deposit address.
        return False
    if one.program_id == TOKEN_ACCOUNTS:
        return changed is not None and place != 0
    pays = _pays(one)
    if not swap or pays is None:
        return True
    payer, units = pays
    if payer != ME and changed is None:
        # Paid twice by the other side; left out, nothing arrives at all.
        return place == _LEFT_OUT
    if payer != ME and changed is not None and one.program_id == TOKEN and place == 0:
        return False
    now = _pays(changed) if changed is not None else None
    if now is None or now[1] == units or bytes(one.data)[:1] != bytes(changed.data)[:1]:
        return True
    return now[1] > UNITS if payer == ME else now[1] < LEAST


_LEFT_OUT = -2


def _changes(name: str, instructions) -> Iterator[tuple[str, list[Instruction]]]:
    for what, extra in STRANGE.items():
        # A second statement of the fee only where one stands already.
        stated = any(bytes(one.data)[:1] == b"\3" and not one.accounts for one in instructions)
        if what == "price twice" and not stated:
            continue
        for place in (0, len(instructions)):
            yield f"{what} at {place}", [*instructions[:place], extra, *instructions[place:]]
    swap = HONEST[name].payload.purpose is Purpose.SWAP
    for i, one in enumerate(instructions):
        if one.accounts and _harms(one, None, swap, _LEFT_OUT):
            yield f"without {i}", [*instructions[:i], *instructions[i + 1 :]]
        if one.accounts and _harms(one, None, swap):
            yield f"twice {i}", [*instructions, one]
        for j, account in enumerate(one.accounts):
            for stranger in (MALLORY, MAKERS_KEY, DEPOSIT, MINT, OTHER_MINT, ME, SYSTEM):
                if stranger != account.pubkey:
                    metas = list(one.accounts)
                    metas[j] = AccountMeta(stranger, account.is_signer, account.is_writable)
                    changed = Instruction(one.program_id, bytes(one.data), metas)
                    if _harms(one, changed, swap, j):
                        yield (
                            f"account {i}.{j}={stranger}",
                            [*instructions[:i], changed, *instructions[i + 1 :]],
                        )
        data = bytes(one.data)
        for place in range(len(data)):
            for filled in (0x00, 0xFF, data[place] ^ 1):
                if filled != data[place] and one.accounts:
                    spoilt = data[:place] + bytes([filled]) + data[place + 1 :]
                    changed = Instruction(one.program_id, spoilt, list(one.accounts))
                    if _harms(one, changed, swap):
                        yield (
                            f"byte {i}.{place}={filled}",
                            [*instructions[:i], changed, *instructions[i + 1 :]],
                        )


_INSTRUCTIONS = {
    "sol": PAY_SOL,
    "sol with memo": [*BUDGET, *PAY_SOL, Memo("12345").build()],
    "tokens": PAY_TOKENS,
    "buy tokens": BUY_TOKENS,
    "sell tokens": SELL_TOKENS,
    "end an allowance": END,
}


def dishonest() -> Iterator[tuple[str, Honest]]:
    """Beside the promise of the honest transaction and its simulation. All who have to sign
    beside us have: the thief too."""
    for name, instructions in _INSTRUCTIONS.items():
        honest = HONEST[name]

        def made(text: str, honest: Honest = honest) -> Honest:
            return replace(honest, payload=replace(honest.payload, transaction=text))

        for what, changed in _changes(name, instructions):
            try:
                yield f"{name}: {what}", made(serialized(changed, [MAKER, THIEF]))
            except ValueError:
                continue
        yield f"{name}: payer", made(serialized(instructions, [MAKER, THIEF], payer=MALLORY))
        yield f"{name}: half", made(honest.payload.transaction[:-8])
        yield f"{name}: no base64", made("!" + honest.payload.transaction)
        yield f"{name}: empty", made("")
        yield f"{name}: longer", made(b64encode(b"\0" * 1300).decode())
        yield f"{name}: lookups", made(_with_lookup(instructions))
        for purpose in Purpose:
            if purpose is not honest.payload.purpose:
                yield (
                    f"{name}: for {purpose}",
                    replace(honest, payload=replace(honest.payload, purpose=purpose)),
                )
        if honest.payload.purpose is Purpose.SWAP:
            yield f"{name}: unsigned by the maker", made(serialized(instructions, signed=False))
            other = serialized([*instructions, Memo("y").build()], [MAKER])
            yield f"{name}: signature of another message", made(_moved(instructions, other))
            for fields in ({"recipient": str(MALLORY)}, {"venue": "xx"}, {"venue": None}):
                yield (
                    f"{name}: promised {fields}",
                    replace(honest, promise=replace(honest.promise, **fields)),
                )


def _with_lookup(instructions) -> str:
    message = MessageV0.try_compile(ME, instructions, [], BLOCKHASH)
    table = MessageAddressTableLookup(MALLORY, b"\0", b"")
    looking = MessageV0(
        MessageHeader(
            message.header.num_required_signatures,
            message.header.num_readonly_signed_accounts,
            message.header.num_readonly_unsigned_accounts,
        ),
        message.account_keys,
        BLOCKHASH,
        message.instructions,
        [table],
    )
    return with_signatures(looking, [MAKER])


def _moved(instructions, other: str) -> str:
    from base64 import b64decode

    foreign = VersionedTransaction.from_bytes(b64decode(other))
    message = MessageV0.try_compile(ME, instructions, [], BLOCKHASH)
    return b64encode(
        bytes(VersionedTransaction.populate(message, list(foreign.signatures)))
    ).decode()
