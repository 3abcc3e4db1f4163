"""Groups of batches that this run of the desk pays: new ones, and those left open.

Each has a session that whoever shows it looks at; the work goes on without anybody looking, up
to the next question. How far it went is read from the journal and the wallet's records.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from swapdesk.flows.batch.group_signing import GroupSigning, group_id
from swapdesk.flows.batch.settling import GroupChain, GroupSettling
from swapdesk.flows.batch.standing import Until, standings
from swapdesk.flows.batch_log import JournaledGroup
from swapdesk.flows.chain_links import KINDS
from swapdesk.flows.coin_price import native_coin
from swapdesk.flows.dex_payment import Pace
from swapdesk.flows.intent import TokenFacts
from swapdesk.flows.journal_file import JournalUnavailable
from swapdesk.flows.signing_keys import open_keys
from swapdesk.flows.signing_session import Ending
from swapdesk.flows.wallet_words import failure_of_wallet
from swapdesk.flows.wording import NO_JOURNAL, Failure
from swapdesk.wallet.accounts import Account
from swapdesk.wallet.errors import WalletError
from swapdesk.wire.encoding.codec import decode
from swapdesk.wire.multi import MultiExchangeRequest

if TYPE_CHECKING:
    from swapdesk.flows.desk import Desk


class NotSettled(Exception):
    """This group cannot be paid from here; the text is a sentence for the trader."""

    def __init__(self, code: str, words: str, next_: str) -> None:
        super().__init__(words)
        self.code = code
        self.next = next_


class RunningBundles:
    """``changed`` is called with the id of a session after everything that is to be shown."""

    def __init__(
        self,
        desk: Desk,
        changed: Callable[[str], None],
        *,
        pace: Pace = Pace(),  # noqa: B008 - it is frozen
    ) -> None:
        self._desk = desk
        self._changed = changed
        self._pace = pace
        self._sessions: dict[str, GroupSigning] = {}
        self._working: set[str] = set()

    def get(self, batch_id: str, group: int) -> GroupSigning | None:
        return self._sessions.get(group_id(batch_id, group))

    def of_batch(self, batch_id: str) -> list[GroupSigning]:
        """In the order of the groups."""
        found = [one for one in self._sessions.values() if one.batch_id == batch_id]
        return sorted(found, key=lambda one: one.group.number)

    @property
    def open(self) -> list[GroupSigning]:
        """Those that are not over, oldest first."""
        return [one for one in self._sessions.values() if not one.over]

    def working(self, session: GroupSigning) -> bool:
        """Whether a run goes on."""
        return session.id in self._working

    def begin(self, batch_id: str, group: int, account: str = "") -> GroupSigning:
        """The session of a group that was created, the one there is where there is one;
        :meth:`run` does the work. ``account`` is a name or an address, empty for the first of the
        chain. Raises NotSettled, KeyError for no such group, and JournalUnavailable."""
        known = self.get(batch_id, group)
        if known is not None:
            return known
        batch = self._desk.journal.batches.get(batch_id)
        found = batch.groups[group - 1] if batch and 0 < group <= len(batch.groups) else None
        if batch is None or found is None:
            raise KeyError(group_id(batch_id, group))
        return self._session(batch.id, found, account)

    def left_open(self) -> list[GroupSigning]:
        """Sessions for groups of which something was signed and that nobody here works on. Raises
        JournalUnavailable."""
        found = []
        for bundle in self._desk.journal.bundles.open():
            if self.get(bundle.batch_id, bundle.group) is not None:
                continue
            standing = standings(self._desk.journal, bundle.batch_id)[bundle.group - 1]
            if standing.begun:
                found.append(self._session(bundle.batch_id, standing.group, bundle.built.account))
        return found

    def _session(self, batch_id: str, group: JournaledGroup, account: str) -> GroupSigning:
        if group.multi_id is None:
            raise NotSettled("NOT_CREATED", "This group was not created.", "you: create it")
        if group.paid == "one by one":
            said = "The deposits of this group are paid one by one."
            raise NotSettled("ONE_BY_ONE", said, "you: pay each order of it")
        request = decode(MultiExchangeRequest, group.body.encode(), side="service")
        token = self._desk.catalog.token(request.orders[0].from_)
        if token is None:
            said = "The token of this group is not in the desk's list."
            raise NotSettled("TOKEN_NOT_FOUND", said, "you: refresh the token list")
        coin = native_coin(self._desk.catalog, group.chain)
        link = self._desk.wallet.link(group.chain)
        id_ = group_id(batch_id, group.number)
        session = GroupSigning(
            batch_id,
            group,
            TokenFacts.of(token),
            self._desk.journal,
            self._desk.clock,
            lambda: self._changed(id_),
            account=account,
            coin=coin.symbol if coin is not None else "",
            confirmations=link.confirmations if link is not None else 0,
        )
        self._sessions[session.id] = session
        return session

    async def run(self, session: GroupSigning, until: Until) -> Ending | None:
        """Do the work up to ``until``, or go on with it; None while another desk does it, or a
        run goes on here. An ending without a failure says that the group stands there.

        A run that is cancelled leaves the group as the journal has it."""
        if session.id in self._working:
            return None
        self._working.add(session.id)
        session.until = until
        session.started()
        try:
            ending = await self._worked(session, until)
        except WalletError as error:
            failure = failure_of_wallet(error)
            ending = Ending(
                Failure(failure.cause, session.whereabouts, failure.next), failure.code, True
            )
        except NotSettled as error:
            ending = Ending(Failure(str(error), session.whereabouts, error.next), error.code, True)
        except JournalUnavailable:
            ending = Ending(NO_JOURNAL, "NO_JOURNAL", True)
        finally:
            self._working.discard(session.id)
        if ending is None:
            del self._sessions[session.id]
            self._changed(session.id)
            return None
        if ending.failure is None and not session.standing.over:
            # It stands where it was asked to stand, and goes on at the next key.
            ending = Ending(None, ending.code, True, hash=ending.hash)
        session.turn = None
        session.finish(ending)
        return ending

    async def _worked(self, session: GroupSigning, until: Until) -> Ending | None:
        desk = self._desk
        if not desk.journal.batches.adopt(session.batch_id):
            return None
        account = await self._account(session)
        session.wallet = account.name or account.address
        standing = session.standing
        signs = until > Until.BUILT and (standing.bundle is None or not standing.bundle.signatures)
        if signs and not standing.over:
            await open_keys(desk.wallet, account.address, session)
        coin = native_coin(desk.catalog, session.group.chain)
        if coin is None:
            said = "The coin of this chain is not in the desk's list."
            raise NotSettled("TOKEN_NOT_FOUND", said, "you: refresh the token list")
        settling = GroupSettling(
            desk.link.api,
            desk.journal,
            desk.clock,
            await desk.wallet.client(),
            desk.catalog.token,
            GroupChain(coin, coin.price),
            session.batch_id,
            session.group,
            account,
            session.look,
            pace=self._pace,
            watch=session,
        )
        return await settling.advance(until)

    async def _account(self, session: GroupSigning) -> Account:
        """The one that pays: that of the bundle once there is one, else the one that was named,
        else the first of the chain."""
        wallet, chain = self._desk.wallet, session.group.chain
        await wallet.prepare_sandbox()
        accounts = await wallet.accounts()
        name = session.token.chain_name
        if wallet.link(chain) is None:
            said = f"No node of {name} is connected, so nothing can be signed for it there."
            raise NotSettled("NO_NODES", said, "you: configure a node under rpc")
        kind = KINDS.get(session.token.kind)
        own = [one for one in accounts.accounts if one.kind is kind]
        bundle = session.standing.bundle
        begun = bundle is not None and (session.standing.begun or bundle.under_way)
        wanted = bundle.built.account if bundle is not None and begun else session.account
        if wanted:
            own = [one for one in own if wanted in (one.name, one.address)]
        if not own:
            said = f"This wallet has no account {wanted} on {name}.".replace("  ", " ")
            raise NotSettled("NO_ACCOUNT", said, "you: swapdesk wallet new makes one")
        if accounts.read_only and not begun:
            said = "Another desk has the wallet."
            raise NotSettled("READ_ONLY", said, "you: close the other desk, or sign there")
        return own[0]
