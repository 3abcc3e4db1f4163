"""The smart account of an owner: its place, what it holds, and how the owner gets that out."""

from __future__ import annotations

from collections.abc import Sequence

from swapdesk.agent.gate.case import AccountFactory
from swapdesk.agent.gate.words import NO_FACTORY
from swapdesk.agent.process.chain_answers import answers_of, units_in, words_in
from swapdesk.agent.process.refusal import Refusal
from swapdesk.chain.calldata.erc20 import BALANCE_OF, TRANSFER
from swapdesk.chain.calldata.method import CalldataError
from swapdesk.chain.deployments import ENTRY_POINT, SANDBOX_ACCOUNT, SANDBOX_ACCOUNT_FACTORY
from swapdesk.chain.rpc.evm import Call, EvmClient, balance_of, calling, code_at
from swapdesk.chain.rpc.evm_answers import EvmError, EvmRefused, octets
from swapdesk.chain.user_operation.entry_point import DEPOSIT_OF, WITHDRAW_TO
from swapdesk.chain.user_operation.smart_account import (
    CREATE_ACCOUNT,
    NO_SALT,
    InnerCall,
    account_address,
    encode_batch,
)
from swapdesk.wallet.holdings import Balance, CallData, SmartAccount
from swapdesk.wallet.place import ChainLink, WalletPlace, has_smart_accounts
from swapdesk.wallet.promise import Asset, Promise, TakenOut
from swapdesk.wallet.protocol import RefusalCode as Code


def account_factory(place: WalletPlace) -> AccountFactory | None:
    """Who makes the smart accounts of a profile; nobody is known for a live one."""
    if not has_smart_accounts(live=place.live):
        return None
    return AccountFactory(SANDBOX_ACCOUNT_FACTORY, SANDBOX_ACCOUNT)


def _factory(place: WalletPlace) -> AccountFactory:
    found = account_factory(place)
    if found is None:
        raise Refusal(Code.NO_SMART_ACCOUNTS, NO_FACTORY)
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
    """Read in one batch. Raises Refusal when the node does not answer or is of another chain."""
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
    code, prepaid, *held = await answers_of(client, link, genesis, asked)
    return SmartAccount(
        link.name,
        owner,
        address,
        tuple(Balance(one, _units(one, answer)) for one, answer in zip(assets, held, strict=True)),
        (words_in(prepaid) or (None,))[0],
        None if _code(code, link) else _deployment(place, owner),
    )


def withdrawal(place: WalletPlace, promise: Promise) -> CallData:
    """What the owner of a promise calls to be paid what it says. Raises Refusal for a promise
    without a withdrawal."""
    whole, owner = promise.withdrawal, promise.account
    if whole is None:
        raise Refusal(Code.BAD_REQUEST, "nothing was confirmed that could be taken out")
    try:
        calls = [_payment(owner, one) for one in whole.taken]
        if whole.prepaid:
            calls.append(InnerCall(ENTRY_POINT, 0, WITHDRAW_TO.call(owner, whole.prepaid)))
        data = encode_batch(calls)
    except CalldataError as error:
        raise Refusal(Code.BAD_REQUEST, str(error)) from None
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
        raise Refusal(Code.CHAIN_UNREACHABLE, f"{link.name}: {error}") from None
