"""The handlers of requests that need a node or the chain libraries, one function for each request.
Balances and allowances can be read while the wallet is locked.

An allowance is recorded by the token itself, or with an expiry by the contract Permit2. The
allowances of the known contracts are read, and those of every spender that the chain's events name.
If the node does not return all events, a spender may be missed, and ``complete`` is False. On
Solana every token account names the one delegate that may take its tokens, so none is missed.

Three payloads are built here from the promise: the end of an allowance, the withdrawal from a smart
account, and the transfer that pays an order's deposit on Solana. The gate judges each as if a
stranger had made it. Payloads are also reviewed and signed here, and signed transactions are sent
and looked up.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from solders.hash import Hash
from solders.instruction import Instruction
from solders.message import MessageV0
from solders.pubkey import Pubkey

from swapdesk.acts import State
from swapdesk.agent.gate.words import LAST_SECOND, NO_FACTORY
from swapdesk.agent.process.chains import (
    TOKEN_PROGRAMS,
    Chains,
    program_of,
    token_accounts,
    token_program,
    told,
    words_in,
)
from swapdesk.agent.process.request import (
    Answer,
    AnyText,
    Assets,
    Text,
    TransactionHash,
    Whole,
    argument,
    promised,
)
from swapdesk.agent.process.wallet_session import Handler, OpenedWallet
from swapdesk.agent.transactions.delivery import EvmDelivery, SolanaDelivery
from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.chain.calldata import erc20, permit2
from swapdesk.chain.calldata.erc20 import BALANCE_OF, TRANSFER
from swapdesk.chain.calldata.method import CalldataError
from swapdesk.chain.deployments import ENTRY_POINT, PERMIT2, SANDBOX_ACCOUNT_FACTORY, SANDBOX_VENUES
from swapdesk.chain.node_http import NodeError
from swapdesk.chain.rpc.evm import (
    Call,
    EvmClient,
    Log,
    Request,
    balance_of,
    calling,
    code_at,
    items,
    octets,
    quantity,
    read_head,
    read_log,
)
from swapdesk.chain.rpc.solana import (
    Blockhash,
    SolanaClient,
    read_delegations,
    read_holdings,
)
from swapdesk.chain.smart_account import (
    CREATE_ACCOUNT,
    DEPOSIT_OF,
    NO_SALT,
    WITHDRAW_TO,
    InnerCall,
    account_address,
    encode_batch,
)
from swapdesk.chain.solana import (
    LAMPORTS_PER_SIGNATURE,
    CreateTokenAccount,
    Memo,
    Revoke,
    Transfer,
    TransferChecked,
    token_account,
    unsigned,
)
from swapdesk.wallet.accounts import (
    COIN_DECIMALS,
    Account,
    ChainLink,
    Kind,
    WalletPlace,
    has_smart_accounts,
)
from swapdesk.wallet.answers import (
    Allowance,
    Allowances,
    Balance,
    Balances,
    SignedTransaction,
    SmartAccount,
)
from swapdesk.wallet.promise import (
    Asset,
    DepositPromise,
    Promise,
    Purpose,
    SolanaPayload,
    TransactionPayload,
)
from swapdesk.wallet.protocol import (
    AgentOperation,
    Frame,
    Refused,
    payload_from_json,
    payload_to_json,
    to_json,
)


def _looked_at(opened: OpenedWallet, frame: Frame) -> tuple[Account, ChainLink]:
    account = opened.keys.account(argument(frame, "address", Text))
    return account, opened.chains.link(argument(frame, "chain", Text), account.kind)


def _require_solana(account: Account, link: ChainLink) -> None:
    if account.kind is not Kind.SOLANA:
        raise Refused("other_chain", f"{link.name} is no chain of Solana's kind")


# What is held


async def balances(opened: OpenedWallet, frame: Frame) -> Answer:
    account, link = _looked_at(opened, frame)
    asked, chains = argument(frame, "assets", Assets), opened.chains
    wants_fee = frame.head.get("fee") is True
    if account.kind is Kind.SOLANA:
        held = await _solana_balances(chains, link, account.address, asked)
        fee = await _solana_payment_fee(chains, link) if wants_fee else None
    else:
        held, _ = await evm_balances(chains, link, account.address, asked)
        fee = await payment_fee(chains.evm(link)) if wants_fee else None
    return to_json(Balances(held, fee)), {}


async def evm_balances(
    chains: Chains, link: ChainLink, account: str, assets: Sequence[Asset], *more: Request
) -> tuple[tuple[Balance, ...], list[Any]]:
    """Returns the balances, and all answers of the node, those to ``more`` first. A balance is None
    if the token's contract does not state its decimals. Raises Refused if the node does not
    answer."""
    asked = [
        balance_of(account)
        if asset.contract is None
        else calling(Call(asset.contract, BALANCE_OF.call(account)))
        for asset in assets
    ]
    answers = await chains.answers(link, [*more, *asked])
    held = [
        told(quantity, answer) if asset.contract is None else (words_in(answer) or (None,))[0]
        for asset, answer in zip(assets, answers[len(more) :], strict=True)
    ]
    counted = [
        asset.contract
        for asset, units in zip(assets, held, strict=True)
        if asset.contract is not None and units
    ]
    by_chain = await chains.decimals(link, counted) if counted else []
    decimals: dict[str | None, int | None] = dict(zip(counted, by_chain, strict=True))
    decimals[None] = COIN_DECIMALS[Kind.EVM]
    read = zip(assets, held, strict=True)
    return tuple(_balance(o, units, decimals.get(o.contract)) for o, units in read), answers


def _balance(asset: Asset, units: int | None, decimals: int | None) -> Balance:
    if not units:
        return Balance(asset, units)
    if decimals is None:
        return Balance(asset, None)
    return Balance(replace(asset, decimals=decimals), units)


async def _solana_balances(
    chains: Chains, link: ChainLink, account: str, assets: Sequence[Asset]
) -> tuple[Balance, ...]:
    held: dict[str | None, int] = {}
    decimals: dict[str | None, int] = {None: COIN_DECIMALS[Kind.SOLANA]}
    async with chains.asking(link) as client:
        held[None] = await client.balance(account)
        for holder in await token_accounts(client, account):
            for holding in read_holdings(holder):
                held[holding.mint] = held.get(holding.mint, 0) + holding.units
                decimals[holding.mint] = holding.decimals
    return tuple(
        _balance(asset, held.get(asset.contract, 0), decimals.get(asset.contract))
        for asset in assets
    )


TRANSFER_GAS = 21_000
FEE_ROOM = 2
"""The factor by which a payment's present fee is multiplied for the amount to reserve. Prices may
rise before the signature, and an exchange may receive deposits through a contract, which needs more
gas."""


async def payment_fee(client: EvmClient) -> int | None:
    """Returns the network fee to reserve for one payment in the native coin, in wei, with a margin.
    None if the node states no fees."""
    try:
        return FEE_ROOM * TRANSFER_GAS * (await client.fees()).most
    except NodeError:
        return None


async def _solana_payment_fee(chains: Chains, link: ChainLink) -> int:
    async with chains.asking(link) as client:
        return await client.rent_exemption(0) + FEE_ROOM * LAMPORTS_PER_SIGNATURE


async def smart_account(opened: OpenedWallet, frame: Frame) -> Answer:
    """Answers with an account's smart account: balances, deposit in the EntryPoint, and whether it
    exists."""
    account, link = _looked_at(opened, frame)
    if account.kind is not Kind.EVM:
        raise Refused("other_chain", f"there are no smart accounts on {link.name}")
    owner = account.address
    address = _smart_account(opened.place, owner)
    held, (code, prepaid, *_) = await evm_balances(
        opened.chains,
        link,
        address,
        argument(frame, "assets", Assets),
        code_at(address),
        calling(Call(ENTRY_POINT, DEPOSIT_OF.call(address))),
    )
    standing = told(octets, code)
    if standing is None:
        words = f"{link.name}: it does not tell what stands at the smart account"
        raise Refused("chain_unreachable", words)
    deployment = _calling(
        Purpose.DEPLOY, SANDBOX_ACCOUNT_FACTORY, CREATE_ACCOUNT.call(owner, NO_SALT)
    )
    account_there = SmartAccount(
        address,
        held,
        (words_in(prepaid) or (None,))[0],
        None if standing else deployment,
    )
    return to_json(account_there), {}


def _smart_account(place: WalletPlace, owner: str) -> str:
    if not has_smart_accounts(live=place.live):
        raise Refused("no_smart_accounts", NO_FACTORY)
    return account_address(owner)


async def withdrawal(opened: OpenedWallet, frame: Frame) -> Answer:
    """Answers with the unsigned call by which a smart account pays its owner the confirmed amounts.
    Raises Refused without a confirmed withdrawal."""
    promise = promised(frame)
    owner, whole = opened.keys.account(promise.account).address, promise.withdrawal
    if whole is None:
        raise Refused("bad_request", "nothing was confirmed that could be taken out")
    try:
        calls = [
            InnerCall(owner, payment.units)
            if payment.asset.contract is None
            else InnerCall(payment.asset.contract, 0, TRANSFER.call(owner, payment.units))
            for payment in whole.taken
        ]
        if whole.prepaid:
            calls.append(InnerCall(ENTRY_POINT, 0, WITHDRAW_TO.call(owner, whole.prepaid)))
        data = encode_batch(calls)
    except CalldataError as error:
        raise Refused("bad_request", str(error)) from None
    account = _smart_account(opened.place, owner)
    return to_json(_calling(Purpose.WITHDRAW, account, data)), {}


def _calling(purpose: Purpose, to: str, data: bytes) -> TransactionPayload:
    return TransactionPayload(purpose, to, f"0x{data.hex()}", 0)


# What others may take

LOG_ADDRESSES = 100
"""The most contracts in one query for events."""
MOST_PAIRS = 1_000
"""The most approvals that are checked for one account. Strangers may write more into the chain's
events."""

_APPROVED = "0x" + keccak(b"Approval(address,address,uint256)").hex()
_GRANTED = (
    "0x" + keccak(b"Approval(address,address,address,uint160,uint48)").hex(),
    "0x" + keccak(b"Permit(address,address,address,uint160,uint48,uint48)").hex(),
)
"""The events of Permit2 for an approval by a transaction of the owner and for an approval by a
signature."""


class _Pair(Struct, frozen=True):
    """A token and a spender that may have an allowance for it. ``granted`` is True for an allowance
    in the contract Permit2, False for one in the token's own contract."""

    token: str
    spender: str
    granted: bool = False

    def request(self, owner: str) -> Request:
        if self.granted:
            data = permit2.ALLOWANCE.call(owner, self.token, self.spender)
            return calling(Call(PERMIT2, data))
        return calling(Call(self.token, erc20.ALLOWANCE.call(owner, self.spender)))


async def allowances(opened: OpenedWallet, frame: Frame) -> Answer:
    account, link = _looked_at(opened, frame)
    if account.kind is Kind.SOLANA:
        makers = {key: provider for provider, key in opened.place.makers}
        allowed = await _solana_allowances(
            opened.chains, link, account, argument(frame, "assets", Assets), makers
        )
    else:
        allowed = await _evm_allowances(
            opened, link, account.address, argument(frame, "assets", Assets)
        )
    return to_json(allowed), {}


async def _evm_allowances(
    opened: OpenedWallet, link: ChainLink, account: str, tokens: Sequence[Asset]
) -> Allowances:
    chains, place = opened.chains, opened.place
    by_contract = {
        checksummed(token.contract): token for token in tokens if token.contract is not None
    }
    names = {} if place.live else {venue.address: venue.provider for venue in SANDBOX_VENUES}
    given, complete = await _told(chains, link, account, list(by_contract))
    pairs = [_Pair(token, spender) for token in by_contract for spender in (*names, PERMIT2)]
    if not complete:
        # Permit2 emits an event for every grant, so other spenders need not be asked about.
        pairs += [_Pair(token, name, granted=True) for token in by_contract for name in names]
    pairs = list(dict.fromkeys(pairs + given))
    if len(pairs) > MOST_PAIRS:
        # Pairs from events come first: those were really approved once.
        pairs, complete = list(dict.fromkeys(given + pairs))[:MOST_PAIRS], False
    asked = [Request("eth_getBlockByNumber", ("latest", False))]
    block, *answers = await chains.answers(link, asked + [pair.request(account) for pair in pairs])
    head = told(read_head, block)
    if head is None:
        raise Refused("chain_unreachable", f"{link.name}: it tells no newest block")
    allowed_pairs = []
    for pair, answer in zip(pairs, answers, strict=True):
        words = words_in(answer, 3 if pair.granted else 1)
        if answer == "0x":
            # No contract is there, or one without allowances: nobody can take anything.
            continue
        if words is None:
            complete = False
        elif words[0] and not (pair.granted and words[1] < head.timestamp):
            allowed_pairs.append((pair, words))
    allowed = list(dict.fromkeys(pair.token for pair, _ in allowed_pairs))
    counted = await chains.decimals(link, allowed) if allowed else []
    counted_by = dict(zip(allowed, counted, strict=True))
    allowed_by = tuple(
        _allowance(pair, words, _told_by(by_contract[pair.token], counted_by[pair.token]), names)
        for pair, words in allowed_pairs
    )
    return Allowances(allowed_by, complete)


def _told_by(token: Asset, decimals: int | None) -> Asset:
    """Returns the token with ``decimals``. If they are None, returns it with 0 decimals and a
    symbol that says base units."""
    if decimals is None:
        return replace(token, decimals=0, symbol=f"base units of {token.symbol}")
    return replace(token, decimals=decimals)


def _allowance(
    pair: _Pair, words: tuple[int, ...], token: Asset, names: dict[str, str]
) -> Allowance:
    units, most = words[0], permit2.UNLIMITED if pair.granted else erc20.UNLIMITED
    ends = None
    if pair.granted:
        ends = datetime.fromtimestamp(min(words[1], LAST_SECOND), UTC)
    venue = names.get(pair.spender)
    return Allowance(token, pair.spender, units, units >= most, venue, pair.granted, ends)


async def _told(
    chains: Chains, link: ChainLink, account: str, tokens: list[str]
) -> tuple[list[_Pair], bool]:
    owner = "0x" + "00" * 12 + account[2:].lower()
    asked = [
        _logs(tokens[at : at + LOG_ADDRESSES], _APPROVED, owner)
        for at in range(0, len(tokens), LOG_ADDRESSES)
    ]
    asked.append(_logs([PERMIT2], list(_GRANTED), owner))
    pairs: dict[_Pair, None] = {}
    complete, mine = True, set(tokens)
    for answer in await chains.answers(link, asked):
        logs = told(_read_logs, answer)
        complete = complete and logs is not None
        for log in logs or ():
            pair = _pair(log, owner)
            if pair is not None and pair.token in mine:
                pairs[pair] = None
    return list(pairs), complete


def _read_logs(answer: Any) -> list[Log]:
    return [read_log(item) for item in items(answer)]


def _logs(contracts: list[str], event: str | list[str], owner: str) -> Request:
    wanted = {
        "address": contracts,
        "topics": [event, owner],
        "fromBlock": "0x0",
        "toBlock": "latest",
    }
    return Request("eth_getLogs", (wanted,))


def _pair(log: Log, owner: str) -> _Pair | None:
    """Returns the token and spender of an approval event. None unless the event is an approval by
    ``owner``, an address in the form of an event topic."""
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


async def _solana_allowances(
    chains: Chains,
    link: ChainLink,
    account: Account,
    tokens: Sequence[Asset],
    makers: dict[str, str],
) -> Allowances:
    """Returns the delegations of the account's token accounts for these tokens. ``makers`` maps
    providers' Solana keys to provider codes."""
    by_mint = {token.contract: token for token in tokens if token.contract is not None}
    async with chains.asking(link) as client:
        token_list = await token_accounts(client, account.address)
        delegations = [
            delegation for holder in token_list for delegation in read_delegations(holder)
        ]
    allowances = tuple(
        Allowance(
            replace(by_mint[delegation.mint], decimals=delegation.decimals),
            delegation.delegate,
            delegation.units,
            delegation.units == _UNLIMITED,
            makers.get(delegation.delegate),
        )
        for delegation in delegations
        if delegation.units and delegation.mint in by_mint
    )
    return Allowances(allowances, complete=True)


# What ends them, and what pays a deposit


async def revocation(opened: OpenedWallet, frame: Frame) -> Answer:
    """Answers with the unsigned call that ends an allowance in the token's contract, or in
    Permit2."""
    token, spender = argument(frame, "token", Text), argument(frame, "spender", Text)
    try:
        erc20.BALANCE_OF.call(token)
        if frame.head.get("permit2", False) is True:
            to, data = PERMIT2, permit2.APPROVE.call(token, spender, 0, 0)
        else:
            to, data = checksummed(token), erc20.APPROVE.call(spender, 0)
    except ValueError:
        raise Refused("bad_request", "a token and a spender are addresses") from None
    return to_json(_calling(Purpose.REVOKE, to, data)), {}


async def solana_revocation(opened: OpenedWallet, frame: Frame) -> Answer:
    """Answers with the unsigned transaction that ends every delegation of a token. Raises Refused
    if there is none."""
    account, link = _looked_at(opened, frame)
    _require_solana(account, link)
    async with opened.chains.asking(link) as client:
        newest = await client.latest_blockhash()
        token = argument(frame, "token", Text)
        program = Pubkey.from_string(await token_program(client, token))
    owner = Pubkey.from_string(account.address)
    source = token_account(owner, Pubkey.from_string(token), program)
    return _unsigned(Purpose.REVOKE, owner, [Revoke(source, owner, program).build()], newest)


async def solana_deposit(opened: OpenedWallet, frame: Frame) -> Answer:
    """Answers with the unsigned Solana transaction that pays an order's confirmed deposit. If the
    order has no memo, its id becomes the memo, so that no two payments are the same transaction."""
    promise = promised(frame)
    account = opened.keys.account(promise.account)
    link, deposit = opened.chains.link(promise.chain, account.kind), promise.deposit
    _require_solana(account, link)
    if deposit is None or promise.chain_id is not None:
        raise Refused("bad_request", "no deposit on Solana was promised")
    owner, payee = _key(promise.account), _key(deposit.address)
    async with opened.chains.asking(link) as client:
        paying = await _paying(client, promise, deposit, owner, payee)
        newest = await client.latest_blockhash()
    memo = Memo(deposit.tag or deposit.order_id).build()
    return _unsigned(Purpose.DEPOSIT, owner, [*paying, memo], newest)


def _unsigned(
    purpose: Purpose, owner: Pubkey, instructions: list[Instruction], newest: Blockhash
) -> Answer:
    hash_ = Hash.from_string(newest.blockhash)
    message = MessageV0.try_compile(owner, instructions, [], hash_)
    raw = b64encode(bytes(unsigned(message))).decode()
    return to_json(SolanaPayload(purpose, raw, newest.last_height)), {}


async def _paying(
    client: SolanaClient,
    promise: Promise,
    deposit: DepositPromise,
    owner: Pubkey,
    payee: Pubkey,
) -> list[Instruction]:
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
    try:
        return Pubkey.from_string(address)
    except ValueError:
        raise Refused("bad_request", "this is no address of Solana") from None


# What is signed and sent


async def review(opened: OpenedWallet, frame: Frame) -> Answer:
    payload = payload_from_json(frame.head.get("payload"))
    promise = promised(frame)
    replaces = argument(frame, "replaces", TransactionHash | None)
    return to_json(await opened.reviewing.review(payload, promise, replaces)), {}


async def bump(opened: OpenedWallet, frame: Frame) -> Answer:
    hash_, gas_units = argument(frame, "hash", TransactionHash), argument(frame, "gas", Whole)
    opened.require_writing()
    payload, review = await opened.reviewing.bump(hash_, gas_units)
    return {"payload": payload_to_json(payload), "review": to_json(review)}, {}


async def sign(opened: OpenedWallet, frame: Frame) -> Answer:
    opened.require_writing()
    phrase = argument(frame, "phrase", AnyText | None)
    async with opened.one_at_a_time:
        signed = await opened.reviewing.sign(
            argument(frame, "review", Text), argument(frame, "digest", Text), phrase
        )
    kind = "transaction" if isinstance(signed, SignedTransaction) else "signature"
    return {"kind": kind, kind: to_json(signed)}, {}


async def broadcast(opened: OpenedWallet, frame: Frame) -> Answer:
    transaction = _signed(opened, frame)
    async with opened.one_at_a_time:
        return to_json(await _delivery(opened, transaction).send(transaction)), {}


async def resolve(opened: OpenedWallet, frame: Frame) -> Answer:
    transaction, resend = _signed(opened, frame), frame.head.get("resend", True) is not False
    async with opened.one_at_a_time:
        return to_json(await _delivery(opened, transaction).resolve(transaction, resend=resend)), {}


async def abandon(opened: OpenedWallet, frame: Frame) -> Answer:
    transaction = _signed(opened, frame)
    records = opened.records
    if not records.move(transaction.hash, State.REFUSED, "ABANDONED", among=(State.PREPARED,)):
        raise Refused("unresolved", "it was sent, so it cannot be given up any more")
    return to_json(records.find(transaction.hash) or transaction), {}


def _signed(opened: OpenedWallet, frame: Frame) -> SignedTransaction:
    opened.require_writing()
    transaction = opened.records.find(argument(frame, "hash", TransactionHash))
    if transaction is None:
        raise Refused("no_transaction", "this wallet signed no such transaction")
    return transaction


def _delivery(opened: OpenedWallet, transaction: SignedTransaction) -> EvmDelivery | SolanaDelivery:
    chains = opened.chains
    if transaction.nonce is None:
        link = chains.link(transaction.chain, Kind.SOLANA)
        return SolanaDelivery(chains.solana(link), opened.records)
    link = chains.link(transaction.chain, Kind.EVM)
    return EvmDelivery(chains.evm(link), opened.records, link.confirmations)


CHAIN_OPERATIONS: dict[AgentOperation, Handler] = {
    "balances": balances,
    "allowances": allowances,
    "revocation": revocation,
    "solana_revocation": solana_revocation,
    "solana_deposit": solana_deposit,
    "smart_account": smart_account,
    "withdrawal": withdrawal,
    "review": review,
    "bump": bump,
    "sign": sign,
    "broadcast": broadcast,
    "resolve": resolve,
    "abandon": abandon,
}
