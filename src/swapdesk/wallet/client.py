"""The wallet agent as the desk sees it: one typed method for everything that it may be asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from swapdesk.secret import Secret, SecretBytes
from swapdesk.wallet.accounts import (
    Account,
    Accounts,
    ImportChoice,
    KeyOrigin,
    Kind,
    UnusableKey,
    WalletPlace,
)
from swapdesk.wallet.agent_process import AGENT, AgentProcess
from swapdesk.wallet.encoding import S, from_json, payload_from_json, payload_to_json, to_json
from swapdesk.wallet.holdings import Allowances, Balances, CallData, SmartAccount, SolanaDraft
from swapdesk.wallet.own_digest import held_against
from swapdesk.wallet.promise import Asset, Payload, Promise
from swapdesk.wallet.protocol import AgentGone, AgentOperation
from swapdesk.wallet.review import Review
from swapdesk.wallet.spending import PolicyStatus, SpendingPolicy
from swapdesk.wallet.transactions import Signature, SignedTransaction


class WalletClient:
    """One agent with the wallet of one profile. ``accounts`` are as last heard of.

    Every request raises AgentGone when the process ended, and Refused (WrongPassphrase
    among it) when the agent says no. Every method may be cancelled.
    """

    def __init__(self, agent: AgentProcess, accounts: Accounts) -> None:
        self._agent = agent
        self.accounts = accounts

    @classmethod
    async def start(
        cls,
        place: WalletPlace,
        *,
        on_locked: Callable[[], None] = lambda: None,
        program: Sequence[str] = AGENT,
    ) -> WalletClient:
        """Start an agent and open a wallet in it; its keys stay locked.

        ``on_locked`` is called when the agent drops the keys by itself. Raises AgentMissing
        when none can be started, and Refused for a wallet that is not safe to open.
        """
        begun: list[WalletClient] = []

        def dropped() -> None:
            for client in begun:
                client._dropped()
            on_locked()

        agent = await AgentProcess.start(dropped, program)
        try:
            told = await agent.ask(AgentOperation.OPEN, {"place": to_json(place)})
            begun.append(cls(agent, from_json(Accounts, told)))
        except BaseException:
            await agent.close()
            raise
        return begun[0]

    def _dropped(self) -> None:
        known = self.accounts
        self.accounts = Accounts(known.accounts, known.unusable, (), known.read_only)

    @property
    def pid(self) -> int:
        return self._agent.pid

    @property
    def gone(self) -> AgentGone | None:
        """Why there is no agent any more; None while there is one."""
        return self._agent.gone

    async def close(self) -> None:
        """End the agent; its keys are gone with it."""
        await self._agent.close()

    async def _told(self, kind: type[S], operation: AgentOperation, **arguments: Any) -> S:
        return from_json(kind, await self._agent.ask(operation, arguments))

    # Keys

    async def read_accounts(self) -> Accounts:
        self.accounts = await self._told(Accounts, AgentOperation.ACCOUNTS)
        return self.accounts

    async def unlock(
        self, passphrase: Secret, addresses: Sequence[str] | None = None
    ) -> tuple[UnusableKey, ...]:
        """Open all keys, or those of ``addresses``; those that did not open and why.

        Raises WrongPassphrase when none opened."""
        arguments = {"addresses": None if addresses is None else list(addresses)}
        answer = await self._agent.ask(AgentOperation.UNLOCK, arguments, passphrase=passphrase)
        self.accounts = from_json(Accounts, answer["accounts"])
        return tuple(from_json(UnusableKey, one) for one in answer["closed"])

    async def lock(self) -> Accounts:
        self.accounts = await self._told(Accounts, AgentOperation.LOCK)
        return self.accounts

    async def create(self, kind: Kind, name: str, passphrase: Secret) -> Account:
        """A new key, unlocked. The first one sets the pass phrase of the wallet."""
        arguments = {"kind": kind, "name": name}
        return await self._added(
            await self._agent.ask(AgentOperation.CREATE, arguments, passphrase=passphrase)
        )

    async def _added(self, answer: Any) -> Account:
        await self.read_accounts()
        address = from_json(Account, answer).address
        return next(one for one in self.accounts.accounts if one.address == address)

    async def preview(
        self,
        kind: Kind,
        origin: KeyOrigin,
        material: Secret,
        *,
        paths: Sequence[str | None] | None = None,
        file_passphrase: Secret | None = None,
    ) -> tuple[ImportChoice, ...]:
        """The addresses that ``material`` leads to, for a mnemonic one for each path (the ones
        in use when None). Nothing is kept."""
        arguments = {"kind": kind, "origin": origin, "paths": paths and list(paths)}
        answer = await self._agent.ask(
            AgentOperation.PREVIEW, arguments, material=material, file_passphrase=file_passphrase
        )
        return tuple(from_json(ImportChoice, one) for one in answer)

    async def import_key(
        self,
        choice: ImportChoice,
        origin: KeyOrigin,
        name: str,
        material: Secret,
        passphrase: Secret,
        *,
        file_passphrase: Secret | None = None,
    ) -> Account:
        """Keep the key of a choice that was seen; refused when the material leads elsewhere."""
        arguments = {
            "kind": choice.kind,
            "origin": origin,
            "path": choice.path,
            "address": choice.address,
            "name": name,
        }
        answer = await self._agent.ask(
            AgentOperation.IMPORT,
            arguments,
            material=material,
            passphrase=passphrase,
            file_passphrase=file_passphrase,
        )
        return await self._added(answer)

    async def export(self, address: str, phrase: str, passphrase: Secret) -> SecretBytes:
        """The key in plain: 0x-hex, or the numbers of solana-keygen. ``phrase`` is what
        ``accounts.export_phrase`` asks to be typed. The caller wipes the answer."""
        frame = await self._agent.frame(
            AgentOperation.EXPORT, {"address": address, "phrase": phrase}, passphrase=passphrase
        )
        return frame.secrets["key"]

    async def rename(self, address: str, name: str) -> Account:
        answer = await self._agent.ask(AgentOperation.RENAME, {"address": address, "name": name})
        return await self._added(answer)

    async def set_clock(self, offset: float) -> None:
        """Sandbox time ahead of the wall in seconds; without effect on a live profile."""
        await self._agent.ask(AgentOperation.CLOCK, {"offset": offset})

    # What may be signed at most

    async def policy(self) -> PolicyStatus:
        """The spending policy, and how much of each limit is used."""
        return await self._told(PolicyStatus, AgentOperation.POLICY)

    async def set_policy(
        self, policy: SpendingPolicy, passphrase: Secret | None = None
    ) -> PolicyStatus:
        """Put a policy in the place of the one there is. Refused (PASSPHRASE_NEEDED) without the
        pass phrase for one that is not tighter in every respect."""
        answer = await self._agent.ask(
            AgentOperation.SET_POLICY, {"policy": to_json(policy)}, passphrase=passphrase
        )
        return from_json(PolicyStatus, answer)

    # Looking at chains, for which nothing has to be open

    async def balances(
        self, address: str, chain: str, assets: Sequence[Asset], *, fee: bool = False
    ) -> Balances:
        """What an account of the wallet has on a chain of its kind, with ``fee`` also what one
        payment in the coin takes. Refused when the node does not answer or is of another chain."""
        return await self._told(
            Balances,
            AgentOperation.BALANCES,
            address=address,
            chain=chain,
            assets=[to_json(one) for one in assets],
            fee=fee,
        )

    async def allowances(self, address: str, chain: str, tokens: Sequence[Asset]) -> Allowances:
        """Who may take which of ``tokens``; refused as ``balances``."""
        return await self._told(
            Allowances,
            AgentOperation.ALLOWANCES,
            address=address,
            chain=chain,
            assets=[to_json(one) for one in tokens],
        )

    async def revocation(self, token: str, spender: str, *, permit2: bool = False) -> CallData:
        """The call that ends an allowance, to be reviewed and signed as any other payload."""
        return await self._told(
            CallData, AgentOperation.REVOCATION, token=token, spender=spender, permit2=permit2
        )

    async def solana_revocation(self, address: str, chain: str, token: str) -> SolanaDraft:
        """The transaction that lets nobody take a token any more; refused as ``balances``."""
        return await self._told(
            SolanaDraft,
            AgentOperation.SOLANA_REVOCATION,
            address=address,
            chain=chain,
            token=token,
        )

    async def solana_deposit(self, promise: Promise) -> SolanaDraft:
        """The transaction that pays the deposit of a promise, to be reviewed and signed as any
        other payload; refused as ``balances``, and for a promise without a deposit."""
        return await self._told(
            SolanaDraft, AgentOperation.SOLANA_DEPOSIT, promise=to_json(promise)
        )

    async def smart_account(
        self, address: str, chain: str, assets: Sequence[Asset]
    ) -> SmartAccount:
        """What the smart account of an account has on a chain; refused as ``balances``, and where
        no factory of smart accounts is known."""
        return await self._told(
            SmartAccount,
            AgentOperation.SMART_ACCOUNT,
            address=address,
            chain=chain,
            assets=[to_json(one) for one in assets],
        )

    async def withdrawal(self, promise: Promise) -> CallData:
        """The call by which an account has its smart account pay it what a promise says, to be
        reviewed and signed as any other payload."""
        return await self._told(CallData, AgentOperation.WITHDRAWAL, promise=to_json(promise))

    # Signing

    async def review(
        self, payload: Payload, promise: Promise, *, replaces: str | None = None
    ) -> Review:
        """What the agent makes of a payload. ``replaces`` is the hash of a transaction whose
        nonce it takes, for a higher fee."""
        review = await self._told(
            Review,
            AgentOperation.REVIEW,
            payload=payload_to_json(payload),
            promise=to_json(promise),
            replaces=replaces,
        )
        return held_against(review, payload)

    async def bump(self, hash_: str, gas_units: int) -> tuple[Payload, Review]:
        """What the agent makes of the same call on the nonce of a transaction that waits, for a
        higher fee: judged against the promise that it was signed under, of which only the most
        that gas may cost is raised to ``gas_units`` (of the native coin). The call is as the
        agent's records have it."""
        answer = await self._agent.ask(AgentOperation.BUMP, {"hash": hash_, "gas": gas_units})
        payload = payload_from_json(answer["payload"])
        return payload, held_against(from_json(Review, answer["review"]), payload)

    async def sign(
        self, review: Review, phrase: str | None = None
    ) -> Signature | SignedTransaction:
        """Sign what was reviewed. A transaction is written down and not sent yet."""
        arguments = {"review": review.id, "digest": review.digest, "phrase": phrase}
        answer = await self._agent.ask(AgentOperation.SIGN, arguments)
        if answer["kind"] == "signature":
            return from_json(Signature, answer["signature"])
        return from_json(SignedTransaction, answer["transaction"])

    async def transactions(self, intent_id: str | None = None) -> tuple[SignedTransaction, ...]:
        """What was signed, for one intent or ever, in that order."""
        found: list[SignedTransaction] = []
        after: int | None = 0
        while after is not None:
            arguments = {"intent": intent_id, "after": after}
            page = await self._agent.ask(AgentOperation.TRANSACTIONS, arguments)
            found += [from_json(SignedTransaction, one) for one in page["transactions"]]
            after = page["after"]
        return tuple(found)

    async def broadcast(self, hash_: str) -> SignedTransaction:
        """Send the bytes that were signed; the same ones however often."""
        return await self._told(SignedTransaction, AgentOperation.BROADCAST, hash=hash_)

    async def resolve(self, hash_: str, *, resend: bool = True) -> SignedTransaction:
        """What became of a transaction. One that the chain does not have is sent again, unless
        ``resend`` is False."""
        return await self._told(
            SignedTransaction, AgentOperation.RESOLVE, hash=hash_, resend=resend
        )

    async def abandon(self, hash_: str) -> SignedTransaction:
        """Give up a transaction that was never sent."""
        return await self._told(SignedTransaction, AgentOperation.ABANDON, hash=hash_)
