"""Who may take what of an account on Solana: the delegates of its token accounts.

Every token account tells its own, so nothing is overlooked. A delegation ends by one instruction
of the owner, in a transaction that is built here and judged like any other.
"""

from __future__ import annotations

from collections.abc import Sequence

from swapdesk.agent.process.solana_asking import asking, token_accounts, token_program
from swapdesk.chain.rpc.solana_answers import read_delegations
from swapdesk.wallet.holdings import Allowance, Allowances, SolanaDraft
from swapdesk.wallet.place import ChainLink
from swapdesk.wallet.promise import Asset

_UNLIMITED = (1 << 64) - 1


async def solana_allowances(
    link: ChainLink,
    genesis: str | None,
    account: str,
    tokens: Sequence[Asset],
    makers: Sequence[tuple[str, str]],
) -> Allowances:
    """Of the token accounts of these tokens. Raises Refusal when the node does not answer or is
    of another chain."""
    by_mint = {one.contract: one for one in tokens if one.contract is not None}
    venues = {key: provider for provider, key in makers}
    async with asking(link, genesis) as client:
        told = await token_accounts(client, account)
        found = [one for each in told for one in read_delegations(each)]
    allowances = tuple(
        Allowance(
            by_mint[one.mint],
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
    """The transaction that ends every delegation of a token. Raises Refusal as above, and for a
    token of which the account holds none."""
    from base64 import b64encode

    from solders.hash import Hash
    from solders.message import MessageV0
    from solders.pubkey import Pubkey

    from swapdesk.chain.solana.instructions import Revoke
    from swapdesk.chain.solana.programs import token_account
    from swapdesk.chain.solana.transaction import unsigned

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
