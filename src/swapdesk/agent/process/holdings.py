"""What an account has on a chain, who may take what of it, and the payloads that change that.

Allowances stand on a token itself, or in Permit2 with an end. The known contracts are asked, and
whoever the chain's events name; what no event tells is not found, and then ``complete`` is False.
On Solana the delegates of token accounts may take. Every token account names its own, so nothing
is overlooked. A smart account has an address and what it holds.

Built here are the end of an allowance, the withdrawal out of a smart account, and the transfer
that pays an order's deposit on Solana, out of what was promised. Each is a proposal: the gate
reads it as if a stranger had made it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from swapdesk.agent.gate.case import AccountFactory
from swapdesk.agent.gate.words import NO_FACTORY
from swapdesk.agent.process.chains import (
    TOKEN_PROGRAMS,
    answers_of,
    asking,
    contract_decimals,
    program_of,
    token_accounts,
    token_program,
    units_in,
    words_in,
)
from swapdesk.agent.process.request import AgentRefusal
from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata import erc20, permit2
from swapdesk.chain.calldata.erc20 import BALANCE_OF, TRANSFER
from swapdesk.chain.calldata.method import CalldataError
from swapdesk.chain.deployments import (
    ENTRY_POINT,
    PERMIT2,
    SANDBOX_ACCOUNT,
    SANDBOX_ACCOUNT_FACTORY,
    VenueContract,
)
from swapdesk.chain.rpc.evm import Call, EvmClient, Request, balance_of, calling, code_at
from swapdesk.chain.rpc.evm_answers import (
    EvmError,
    EvmRefused,
    Log,
    items,
    octets,
    read_head,
    read_log,
)
from swapdesk.chain.rpc.solana import read_delegations, read_holdings
from swapdesk.chain.smart_account import (
    CREATE_ACCOUNT,
    DEPOSIT_OF,
    NO_SALT,
    WITHDRAW_TO,
    InnerCall,
    account_address,
    encode_batch,
)
from swapdesk.wallet.accounts import (
    COIN_DECIMALS,
    ChainLink,
    Kind,
    WalletPlace,
    has_smart_accounts,
)
from swapdesk.wallet.holdings import (
    Allowance,
    Allowances,
    Balance,
    Balances,
    CallData,
    SmartAccount,
    SolanaDraft,
)
from swapdesk.wallet.promise import Asset, DepositPromise, Promise, TakenOut
from swapdesk.wallet.protocol import RefusalCode as Code

if TYPE_CHECKING:
    from solders.instruction import Instruction
    from solders.pubkey import Pubkey

    from swapdesk.chain.rpc.solana import SolanaClient


async def evm_balances(
    client: EvmClient, link: ChainLink, genesis: str | None, account: str, assets: Sequence[Asset]
) -> Balances:
    """Raises AgentRefusal when the node does not answer or is of another chain."""
    coin = balance_of(account)
    asked = [coin if one.contract is None else _holding(one, account) for one in assets]
    answers = await answers_of(client, link, genesis, asked)
    held = [_held(one, answer) for one, answer in zip(assets, answers, strict=True)]
    return Balances(
        link.name,
        account,
        await _counted(client, link, genesis, list(zip(assets, held, strict=True))),
    )


async def _counted(
    client: EvmClient,
    link: ChainLink,
    genesis: str | None,
    held: Sequence[tuple[Asset, int | None]],
) -> tuple[Balance, ...]:
    """Balances in the units of each token's own contract. One that does not say how many decimals
    it has was not read: its amount would be whatever a list makes of it."""
    asked = [one.contract for one, units in held if one.contract is not None and units]
    told = await contract_decimals(client, link, genesis, asked) if asked else []
    decimals: dict[str | None, int | None] = dict(zip(asked, told, strict=True))
    decimals[None] = COIN_DECIMALS[Kind.EVM]
    return tuple(_balance(one, units, decimals.get(one.contract)) for one, units in held)


def _balance(asset: Asset, units: int | None, decimals: int | None) -> Balance:
    if not units:
        return Balance(asset, units)
    return Balance(asset, None) if decimals is None else Balance(_by(asset, decimals), units)


def _by(asset: Asset, decimals: int) -> Asset:
    return replace(asset, decimals=decimals)


async def solana_balances(
    link: ChainLink, genesis: str | None, account: str, assets: Sequence[Asset]
) -> Balances:
    """Of the coin and of all token accounts of the owner together. Raises AgentRefusal."""
    held: dict[str, int] = {}
    decimals: dict[str | None, int | None] = {None: COIN_DECIMALS[Kind.SOLANA]}
    async with asking(link, genesis) as client:
        lamports = await client.balance(account)
        for told in await token_accounts(client, account):
            for one in read_holdings(told):
                held[one.mint] = held.get(one.mint, 0) + one.units
                decimals[one.mint] = one.decimals
    return Balances(
        link.name,
        account,
        tuple(
            _balance(
                one,
                lamports if one.contract is None else held.get(one.contract, 0),
                decimals.get(one.contract),
            )
            for one in assets
        ),
    )


TRANSFER_GAS = 21_000
FEE_ROOM = 2
"""Times the fee of now: prices rise until it is signed, and an exchange may take its deposits by a
contract."""


async def payment_fee(client: EvmClient) -> int | None:
    """What a payment in the coin takes by the node's own figures; None where it states none."""
    try:
        return FEE_ROOM * TRANSFER_GAS * (await client.fees()).most
    except EvmError:
        return None


async def solana_payment_fee(link: ChainLink, genesis: str | None) -> int:
    """The signature, and what an account keeps that is not emptied. Raises AgentRefusal."""
    from swapdesk.chain.solana import LAMPORTS_PER_SIGNATURE

    async with asking(link, genesis) as client:
        return await client.rent_exemption(0) + FEE_ROOM * LAMPORTS_PER_SIGNATURE


def _held(asset: Asset, answer: object) -> int | None:
    if asset.contract is None:
        return units_in(answer)
    words = words_in(answer)
    return None if words is None else words[0]


def _holding(asset: Asset, account: str) -> Request:
    return calling(Call(asset.contract or "", erc20.BALANCE_OF.call(account)))


LOG_ADDRESSES = 100
"""Contracts of one question for events."""
MOST_PAIRS = 1_000
"""Approvals that are looked at; somebody may fill the events with more."""

_APPROVED = "0x" + keccak(b"Approval(address,address,uint256)").hex()
_GRANTED = (
    "0x" + keccak(b"Approval(address,address,address,uint160,uint48)").hex(),
    "0x" + keccak(b"Permit(address,address,address,uint160,uint48,uint48)").hex(),
)
"""Permit2's: by a transaction of the owner, and by what the owner signed."""
_LAST_SECOND = 253_402_300_799


class _Pair(Struct, frozen=True):
    """Who may have been allowed which token, and whether Permit2 keeps it."""

    token: str
    spender: str
    granted: bool = False

    def request(self, owner: str) -> Request:
        if self.granted:
            data = permit2.ALLOWANCE.call(owner, self.token, self.spender)
            return calling(Call(PERMIT2, data))
        return calling(Call(self.token, erc20.ALLOWANCE.call(owner, self.spender)))


async def evm_allowances(
    client: EvmClient,
    link: ChainLink,
    genesis: str | None,
    account: str,
    tokens: Sequence[Asset],
    venues: Sequence[VenueContract],
    spenders: Sequence[str],
) -> Allowances:
    """Raises AgentRefusal when the node does not answer or is of another chain."""
    by_contract = {checksummed(one.contract): one for one in tokens if one.contract is not None}
    names = {one.address: one.provider for one in venues}
    known = dict.fromkeys((*names, *map(checksummed, spenders)))
    told, complete = await _told(client, link, genesis, account, list(by_contract))
    pairs = [_Pair(token, one) for token in by_contract for one in (*known, PERMIT2)]
    if not complete:
        # Permit2 tells every grant by an event, so that nobody has to be asked who is not told.
        pairs += [_Pair(token, one, granted=True) for token in by_contract for one in known]
    pairs = list(dict.fromkeys(pairs + told))
    if len(pairs) > MOST_PAIRS:
        # What the chain told comes first: it was really given once.
        pairs, complete = list(dict.fromkeys(told + pairs))[:MOST_PAIRS], False
    asked = [Request("eth_getBlockByNumber", ("latest", False))]
    block, *answers = await answers_of(
        client, link, genesis, asked + [one.request(account) for one in pairs]
    )
    try:
        now = read_head(block).timestamp
    except EvmError:
        raise AgentRefusal(
            Code.CHAIN_UNREACHABLE, f"{link.name}: it tells no newest block"
        ) from None
    found = []
    for pair, answer in zip(pairs, answers, strict=True):
        words = words_in(answer, 3 if pair.granted else 1)
        if answer == "0x":
            # No contract stands there, or one without allowances: nobody can take anything.
            continue
        if words is None:
            complete = False
        elif words[0] and not (pair.granted and words[1] < now):
            found.append(_allowance(pair, words, by_contract[pair.token], names))
    allowed = list(dict.fromkeys(one.token.contract or "" for one in found))
    told_decimals = await contract_decimals(client, link, genesis, allowed) if allowed else []
    decimals = dict(zip(allowed, told_decimals, strict=True))
    counted = tuple(
        replace(one, token=_told_by(one.token, decimals[one.token.contract or ""])) for one in found
    )
    return Allowances(link.name, account, counted, complete)


def _told_by(token: Asset, decimals: int | None) -> Asset:
    """An allowance is told whatever its token says of itself: then in base units."""
    if decimals is None:
        return replace(token, decimals=0, symbol=f"base units of {token.symbol}")
    return _by(token, decimals)


def _allowance(
    pair: _Pair, words: tuple[int, ...], token: Asset, names: dict[str, str]
) -> Allowance:
    units, most = words[0], permit2.UNLIMITED if pair.granted else erc20.UNLIMITED
    ends = None
    if pair.granted:
        ends = datetime.fromtimestamp(min(words[1], _LAST_SECOND), UTC)
    venue = names.get(pair.spender)
    return Allowance(token, pair.spender, units, units >= most, venue, pair.granted, ends)


def revocation(token: str, spender: str, *, granted: bool = False) -> CallData:
    """The call that ends an allowance, of the token or in Permit2. Raises AgentRefusal for what
    is no address."""
    try:
        erc20.BALANCE_OF.call(token)
        if granted:
            data = permit2.APPROVE.call(token, spender, 0, 0)
            return CallData(PERMIT2, "0x" + data.hex())
        data = erc20.APPROVE.call(spender, 0)
        return CallData(checksummed(token), "0x" + data.hex())
    except ValueError:
        raise AgentRefusal(Code.BAD_REQUEST, "a token and a spender are addresses") from None


async def _told(
    client: EvmClient, link: ChainLink, genesis: str | None, account: str, tokens: list[str]
) -> tuple[list[_Pair], bool]:
    """Everybody whom the chain's events tell as allowed by the account, and whether it told
    all of them."""
    owner = "0x" + "00" * 12 + account[2:].lower()
    asked = [
        _logs(tokens[at : at + LOG_ADDRESSES], _APPROVED, owner)
        for at in range(0, len(tokens), LOG_ADDRESSES)
    ]
    asked.append(_logs([PERMIT2], list(_GRANTED), owner))
    found: dict[_Pair, None] = {}
    complete, mine = True, set(tokens)
    for answer in await answers_of(client, link, genesis, asked):
        try:
            if isinstance(answer, EvmRefused):
                raise answer
            logs = [read_log(one) for one in items(answer)]
        except EvmError:
            complete = False
            continue
        for log in logs:
            pair = _pair(log, owner)
            if pair is not None and pair.token in mine:
                found[pair] = None
    return list(found), complete


def _logs(contracts: list[str], event: str | list[str], owner: str) -> Request:
    wanted = {
        "address": contracts,
        "topics": [event, owner],
        "fromBlock": "0x0",
        "toBlock": "latest",
    }
    return Request("eth_getLogs", (wanted,))


def _pair(log: Log, owner: str) -> _Pair | None:
    """Whom an event of this owner is about; None for any other."""
    topics = log.topics
    if len(topics) < 3 or topics[1] != owner:
        return None
    last = [checksummed("0x" + topic[-40:]) for topic in topics[2:]]
    contract = checksummed(log.address)
    if len(topics) == 3 and topics[0] == _APPROVED:
        return _Pair(contract, last[0])
    if len(topics) == 4 and topics[0] in _GRANTED and contract == PERMIT2:
        return _Pair(last[0], last[1], granted=True)
    return None


_UNLIMITED = (1 << 64) - 1


async def solana_allowances(
    link: ChainLink,
    genesis: str | None,
    account: str,
    tokens: Sequence[Asset],
    makers: Sequence[tuple[str, str]],
) -> Allowances:
    """Of the token accounts of these tokens. Raises AgentRefusal when the node does not answer or
    is of another chain."""
    by_mint = {one.contract: one for one in tokens if one.contract is not None}
    venues = {key: provider for provider, key in makers}
    async with asking(link, genesis) as client:
        told = await token_accounts(client, account)
        found = [one for each in told for one in read_delegations(each)]
    allowances = tuple(
        Allowance(
            _by(by_mint[one.mint], one.decimals),
            one.delegate,
            one.units,
            one.units == _UNLIMITED,
            venues.get(one.delegate),
        )
        for one in found
        if one.units and one.mint in by_mint
    )
    return Allowances(link.name, account, allowances, complete=True)


async def solana_revocation(
    link: ChainLink, genesis: str | None, account: str, token: str
) -> SolanaDraft:
    """The transaction that ends every delegation of a token. Raises AgentRefusal as above, and
    for a token of which the account holds none."""
    from base64 import b64encode

    from solders.hash import Hash
    from solders.message import MessageV0
    from solders.pubkey import Pubkey

    from swapdesk.chain.solana import Revoke, token_account, unsigned

    async with asking(link, genesis) as client:
        newest = await client.latest_blockhash()
        program = await token_program(client, token)
    owner, programs = Pubkey.from_string(account), Pubkey.from_string(program)
    source = token_account(owner, Pubkey.from_string(token), programs)
    message = MessageV0.try_compile(
        owner, [Revoke(source, owner, programs).build()], [], Hash.from_string(newest.blockhash)
    )
    raw = b64encode(bytes(unsigned(message))).decode()
    return SolanaDraft(raw, newest.last_height)


def account_factory(place: WalletPlace) -> AccountFactory | None:
    """Who makes the smart accounts of a profile; nobody is known for a live one."""
    if not has_smart_accounts(live=place.live):
        return None
    return AccountFactory(SANDBOX_ACCOUNT_FACTORY, SANDBOX_ACCOUNT)


def _factory(place: WalletPlace) -> AccountFactory:
    found = account_factory(place)
    if found is None:
        raise AgentRefusal(Code.NO_SMART_ACCOUNTS, NO_FACTORY)
    return found


def _address(place: WalletPlace, owner: str) -> str:
    factory = _factory(place)
    return account_address(owner, factory=factory.address, implementation=factory.implementation)


async def smart_account(
    place: WalletPlace,
    client: EvmClient,
    link: ChainLink,
    genesis: str | None,
    owner: str,
    assets: Sequence[Asset],
) -> SmartAccount:
    """Read in one batch. Raises AgentRefusal when the node does not answer or is of another
    chain."""
    address = _address(place, owner)
    asked = [
        code_at(address),
        calling(Call(ENTRY_POINT, DEPOSIT_OF.call(address))),
        *(
            balance_of(address)
            if one.contract is None
            else calling(Call(one.contract, BALANCE_OF.call(address)))
            for one in assets
        ),
    ]
    code, prepaid, *told = await answers_of(client, link, genesis, asked)
    held = [_units(one, answer) for one, answer in zip(assets, told, strict=True)]
    return SmartAccount(
        link.name,
        owner,
        address,
        await _counted(client, link, genesis, list(zip(assets, held, strict=True))),
        (words_in(prepaid) or (None,))[0],
        None if _code(code, link) else _deployment(place, owner),
    )


def withdrawal(place: WalletPlace, promise: Promise) -> CallData:
    """What the owner of a promise calls to be paid what it says. Raises AgentRefusal for a
    promise without a withdrawal."""
    whole, owner = promise.withdrawal, promise.account
    if whole is None:
        raise AgentRefusal(Code.BAD_REQUEST, "nothing was confirmed that could be taken out")
    try:
        calls = [_payment(owner, one) for one in whole.taken]
        if whole.prepaid:
            calls.append(InnerCall(ENTRY_POINT, 0, WITHDRAW_TO.call(owner, whole.prepaid)))
        data = encode_batch(calls)
    except CalldataError as error:
        raise AgentRefusal(Code.BAD_REQUEST, str(error)) from None
    return CallData(_address(place, owner), f"0x{data.hex()}")


def _payment(owner: str, one: TakenOut) -> InnerCall:
    if one.asset.contract is None:
        return InnerCall(owner, one.units)
    return InnerCall(one.asset.contract, 0, TRANSFER.call(owner, one.units))


def _deployment(place: WalletPlace, owner: str) -> CallData:
    return CallData(_factory(place).address, f"0x{CREATE_ACCOUNT.call(owner, NO_SALT).hex()}")


def _units(asset: Asset, answer: object) -> int | None:
    if asset.contract is None:
        return units_in(answer)
    words = words_in(answer)
    return None if words is None else words[0]


def _code(answer: object, link: ChainLink) -> bytes:
    try:
        if isinstance(answer, EvmRefused):
            raise answer
        return octets(answer)
    except EvmError as error:
        raise AgentRefusal(Code.CHAIN_UNREACHABLE, f"{link.name}: {error}") from None


async def solana_deposit(link: ChainLink, genesis: str | None, promise: Promise) -> SolanaDraft:
    """Over the newest blockhash, the account pays the fee. The memo is the order's, else its id:
    two payments that are alike are never one transaction. Raises AgentRefusal when the node does
    not answer or is of another chain, and for what cannot be paid."""
    from solders.hash import Hash
    from solders.message import MessageV0

    from swapdesk.chain.solana import Memo, unsigned

    deposit = promise.deposit
    if deposit is None or promise.chain_id is not None:
        raise AgentRefusal(Code.BAD_REQUEST, "no deposit on Solana was promised")
    owner, payee = _key(promise.account), _key(deposit.address)
    async with asking(link, genesis) as client:
        paying = await _paying(client, promise, deposit, owner, payee)
        newest = await client.latest_blockhash()
    instructions = [*paying, Memo(deposit.tag or deposit.order_id).build()]
    message = MessageV0.try_compile(owner, instructions, [], Hash.from_string(newest.blockhash))
    return SolanaDraft(b64encode(bytes(unsigned(message))).decode(), newest.last_height)


async def _paying(
    client: SolanaClient,
    promise: Promise,
    deposit: DepositPromise,
    owner: Pubkey,
    payee: Pubkey,
) -> list[Instruction]:
    """The transfer; the token account of the deposit address is opened where there may be none,
    unless the address is a token account itself."""
    from swapdesk.chain.solana import (
        CreateTokenAccount,
        Transfer,
        TransferChecked,
        token_account,
    )

    if promise.sell.contract is None:
        return [Transfer(owner, payee, deposit.units).build()]
    mint = _key(promise.sell.contract)
    program = _key(await token_program(client, promise.sell.contract))
    holds_tokens = await program_of(client, deposit.address) in TOKEN_PROGRAMS
    transfer = TransferChecked(
        token_account(owner, mint, program),
        mint,
        payee if holds_tokens else token_account(payee, mint, program),
        owner,
        deposit.units,
        promise.sell.decimals,
        program,
    ).build()
    if holds_tokens:
        return [transfer]
    return [CreateTokenAccount(owner, payee, mint, program).build(), transfer]


def _key(address: str) -> Pubkey:
    from solders.pubkey import Pubkey

    try:
        return Pubkey.from_string(address)
    except ValueError:
        raise AgentRefusal(Code.BAD_REQUEST, "this is no address of Solana") from None
