"""Who pays a group, and the work on it with everything it needs of a desk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from swapdesk.flows.batch.group_payment import GroupChain, GroupSettling
from swapdesk.flows.batch.group_status import GroupStanding
from swapdesk.flows.batch.group_transactions import GroupWatch
from swapdesk.flows.batch.plan import BatchPlan
from swapdesk.flows.catalog.coin_price import native_coin
from swapdesk.flows.journal.batch_records import JournaledGroup
from swapdesk.flows.transactions.delivery import Pace
from swapdesk.flows.transactions.transactor import Look
from swapdesk.flows.wallet.chain_links import KINDS
from swapdesk.wallet.accounts import Account
from swapdesk.wire.chains import Chain
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.multi import MultiExchangeRequest
from swapdesk.wire.tokens import Token

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk

REFRESH = "you: refresh the token list"


class NotSettled(Exception):
    """This group cannot be paid from here; the text is a sentence for the trader."""

    def __init__(self, code: str, words: str, next_: str) -> None:
        super().__init__(words)
        self.code = code
        self.next = next_


def first_token(desk: Desk, group: JournaledGroup) -> Token:
    """What the first row of a group sells. Raises NotSettled for a group that is not created."""
    if group.multi_id is None:
        raise NotSettled("NOT_CREATED", "This group was not created.", "you: create it")
    request = decode(MultiExchangeRequest, group.body.encode(), side="service")
    token = desk.catalog.token(request.orders[0].from_)
    if token is None:
        said = "The token of this group is not in the desk's list."
        raise NotSettled("TOKEN_NOT_FOUND", said, REFRESH)
    return token


async def group_account(desk: Desk, standing: GroupStanding, named: str) -> Account:
    """The account that pays: the one of the bundle once something of that was signed, else the
    one of this name or address, else the first of the chain. Raises NotSettled and WalletError."""
    chain = first_token(desk, standing.group).chain_data
    wanted = named
    if standing.begun and standing.bundle is not None:
        wanted = standing.bundle.built.account
    return await _account_on(desk, chain, wanted, begun=standing.begun)


async def require_payers(desk: Desk, plan: BatchPlan, named: str) -> None:
    """See that this desk can sign for every group of a plan, before anything of it is created.
    Raises NotSettled and WalletError."""
    for group in plan.groups:
        await _account_on(desk, group.orders[0].token_in.chain_data, named)


async def _account_on(desk: Desk, chain: Chain, wanted: str, *, begun: bool = False) -> Account:
    """``begun``: something of the group was signed, so that it is looked at by whoever asks."""
    wallet = desk.wallet
    if wallet.link(chain.short_name) is None:
        said = f"No node of {chain.name} is connected, so nothing can be signed for it there."
        raise NotSettled("NO_NODES", said, "you: configure a node under rpc")
    await wallet.prepare_sandbox()
    accounts = await wallet.accounts()
    own = [one for one in accounts.accounts if one.kind is KINDS.get(chain.kind)]
    if wanted:
        own = [one for one in own if wanted.lower() in (one.name.lower(), one.address.lower())]
    if not own:
        called = f" {wanted}" if wanted else ""
        said = f"This wallet has no account{called} on {chain.name}."
        raise NotSettled("NO_ACCOUNT", said, "you: swapdesk wallet list shows the accounts")
    if accounts.read_only and not begun:
        said = "Another desk has the wallet."
        raise NotSettled("READ_ONLY", said, "you: close the other desk, or sign there")
    return own[0]


async def settling_of(
    desk: Desk,
    standing: GroupStanding,
    account: Account,
    look: Look,
    *,
    pace: Pace,
    watch: GroupWatch | None = None,
) -> GroupSettling:
    """The work on a group. Raises NotSettled and WalletError."""
    coin = native_coin(desk.catalog, standing.group.chain)
    if coin is None:
        said = "The coin of this chain is not in the desk's list."
        raise NotSettled("TOKEN_NOT_FOUND", said, REFRESH)
    return GroupSettling(
        desk.link.api,
        desk.journal,
        desk.clock,
        await desk.wallet.client(),
        desk.catalog.token,
        GroupChain(coin, coin.price),
        standing.batch_id,
        standing.group,
        account,
        look,
        pace=pace,
        watch=watch,
    )
