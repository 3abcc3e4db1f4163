"""What a desk asks of chains, for which nothing has to be unlocked."""

from __future__ import annotations

from swapdesk.agent.process.arguments import Answer, assets, promised, text
from swapdesk.agent.process.refusal import Refusal
from swapdesk.agent.process.wallet_session import OpenedWallet
from swapdesk.wallet.accounts import Account, Kind
from swapdesk.wallet.encoding import to_json
from swapdesk.wallet.place import ChainLink
from swapdesk.wallet.protocol import Frame
from swapdesk.wallet.protocol import RefusalCode as Code


def _looked_at(opened: OpenedWallet, frame: Frame) -> tuple[Account, ChainLink]:
    account = opened.keys.account(text(frame, "address"))
    return account, opened.chains.link(text(frame, "chain"), account.kind)


async def balances(opened: OpenedWallet, frame: Frame) -> Answer:
    account, link = _looked_at(opened, frame)
    asked = assets(frame)
    await opened.loaded()
    from swapdesk.agent.process.holdings import evm_balances, solana_balances

    genesis = opened.records.genesis(link.name)
    if account.kind is Kind.SOLANA:
        return to_json(await solana_balances(link, genesis, account.address, asked)), {}
    client = opened.chains.evm(link)
    return to_json(await evm_balances(client, link, genesis, account.address, asked)), {}


async def allowances(opened: OpenedWallet, frame: Frame) -> Answer:
    account, link = _looked_at(opened, frame)
    tokens = assets(frame)
    await opened.loaded()
    genesis = opened.records.genesis(link.name)
    if account.kind is Kind.SOLANA:
        from swapdesk.agent.process.holdings import solana_allowances

        makers = opened.place.makers
        delegated = await solana_allowances(link, genesis, account.address, tokens, makers)
        return to_json(delegated), {}
    from swapdesk.agent.process.holdings import evm_allowances
    from swapdesk.chain.deployments import SANDBOX_VENUES

    place = opened.place
    told = await evm_allowances(
        opened.chains.evm(link),
        link,
        genesis,
        account.address,
        tokens,
        () if place.live else SANDBOX_VENUES,
        place.spenders,
    )
    return to_json(told), {}


async def smart_account(opened: OpenedWallet, frame: Frame) -> Answer:
    account, link = _looked_at(opened, frame)
    if account.kind is not Kind.EVM:
        raise Refusal(Code.OTHER_CHAIN, f"there are no smart accounts on {link.name}")
    asked = assets(frame)
    await opened.loaded()
    from swapdesk.agent.process import smart_accounts

    told = await smart_accounts.smart_account(
        opened.place,
        opened.chains.evm(link),
        link,
        opened.records.genesis(link.name),
        account.address,
        asked,
    )
    return to_json(told), {}


async def withdrawal(opened: OpenedWallet, frame: Frame) -> Answer:
    promise = promised(frame)
    opened.keys.account(promise.account)
    await opened.loaded()
    from swapdesk.agent.process import smart_accounts

    return to_json(smart_accounts.withdrawal(opened.place, promise)), {}


async def revocation(opened: OpenedWallet, frame: Frame) -> Answer:
    await opened.loaded()
    from swapdesk.agent.process.holdings import revocation

    granted = frame.head.get("permit2", False) is True
    return to_json(revocation(text(frame, "token"), text(frame, "spender"), granted=granted)), {}


async def solana_revocation(opened: OpenedWallet, frame: Frame) -> Answer:
    account, link = _looked_at(opened, frame)
    if account.kind is not Kind.SOLANA:
        raise Refusal(Code.OTHER_CHAIN, f"{link.name} is no chain of Solana's kind")
    await opened.loaded()
    from swapdesk.agent.process.holdings import solana_revocation

    genesis = opened.records.genesis(link.name)
    return to_json(
        await solana_revocation(link, genesis, account.address, text(frame, "token"))
    ), {}


async def solana_deposit(opened: OpenedWallet, frame: Frame) -> Answer:
    promise = promised(frame)
    account = opened.keys.account(promise.account)
    link = opened.chains.link(promise.chain, account.kind)
    if account.kind is not Kind.SOLANA:
        raise Refusal(Code.OTHER_CHAIN, f"{link.name} is no chain of Solana's kind")
    await opened.loaded()
    from swapdesk.agent.process.solana_deposits import solana_deposit

    return to_json(await solana_deposit(link, opened.records.genesis(link.name), promise)), {}
