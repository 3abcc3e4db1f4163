"""The keys of one profile: encrypted on disk, open while they are used."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from swapdesk.agent.keys.key_file import (
    MAX_N,
    Derivation,
    KeyDirectory,
    KeyFile,
    Scrypt,
    is_name,
    short_name,
    write_key,
)
from swapdesk.agent.keys.material import (
    PUBLISHED_ADDRESSES,
    PUBLISHED_WORDS,
    KeyMaterial,
    address_of,
)
from swapdesk.agent.spending.policy_file import PolicyKeeper
from swapdesk.secret import SecretBytes
from swapdesk.wallet.accounts import SANDBOX_PROFILE, Account, Kind, UnusableKey
from swapdesk.wallet.protocol import Refused
from swapdesk.wallet.spending import SpendingPolicy

if TYPE_CHECKING:
    from swapdesk.agent.signers import EvmSigner, SolanaSigner

S = TypeVar("S", bound="EvmSigner | SolanaSigner")

MAX_PASSPHRASE = 1024


class Wallet:
    """The wallet of a profile, with the private keys that are unlocked. ``loaded`` waits until the
    chain libraries are imported. The caller has to wipe every pass phrase that it passes in."""

    def __init__(
        self,
        directory: KeyDirectory,
        profile: str,
        policy: PolicyKeeper,
        *,
        loaded: Callable[[], Awaitable[None]],
        cost: int = MAX_N,
    ) -> None:
        self._loaded = loaded
        self._directory = directory
        self._profile = profile
        self._policy = policy
        self._cost = cost
        self._open: dict[str, EvmSigner | SolanaSigner] = {}
        self._held: dict[str, Account] = {}
        """The accounts of the open keys, kept so that their files need not be read again."""
        # Each derivation holds 256 MiB, so at most one runs for each processor.
        self._threads = ThreadPoolExecutor(min(4, os.cpu_count() or 1), "derivation")

    @property
    def live(self) -> bool:
        return self._profile != SANDBOX_PROFILE

    @property
    def unlocked(self) -> tuple[str, ...]:
        return tuple(sorted(self._open))

    def accounts(self) -> tuple[tuple[Account, ...], tuple[UnusableKey, ...]]:
        files, unusable = self._directory.read()
        return tuple(file.account for file in files), unusable

    def account(self, address: str) -> Account:
        if address in self._held:
            return self._held[address]
        for account in self.accounts()[0]:
            if account.address == address:
                return account
        raise Refused("no_account", "there is no such account in this wallet")

    # Open and closed

    async def unlock(
        self, passphrase: SecretBytes, addresses: Iterable[str] | None
    ) -> tuple[UnusableKey, ...]:
        """Opens the key files of ``addresses``, or all key files if None. Returns the keys that did
        not open, with reasons. Raises Refused if no key opened."""
        wanted = None if addresses is None else set(addresses)
        files, unusable = self._directory.read()
        files = tuple(f for f in files if wanted is None or f.account.address in wanted)
        if not files:
            words = unusable[0].reason if unusable else "there is no account to unlock"
            raise Refused("unsafe_files" if unusable else "no_account", words)
        _check_passphrase(passphrase)
        outcomes, _ = await asyncio.gather(
            asyncio.gather(*(self._try(file, passphrase) for file in files)),
            self._open_policy(passphrase),
        )
        closed: list[UnusableKey] = []
        for file, outcome in zip(files, outcomes, strict=True):
            if isinstance(outcome, str):
                closed.append(UnusableKey(file.account.address, outcome))
            elif self.live and file.account.address in PUBLISHED_ADDRESSES:
                outcome.wipe()
                closed.append(UnusableKey(file.account.address, PUBLISHED_WORDS))
            else:
                self._hold(file.account, outcome)
        if len(closed) == len(files):
            raise _why_none(closed)
        return tuple(closed)

    async def _try(self, file: KeyFile, passphrase: SecretBytes) -> SecretBytes | str:
        key = await self._derived(file.derivation, passphrase)
        await self._loaded()
        return _open(file, key)

    def _derived(
        self, derivation: Derivation, passphrase: SecretBytes
    ) -> asyncio.Future[SecretBytes]:
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._threads, derivation.derive, passphrase)

    async def _open_policy(self, passphrase: SecretBytes) -> None:
        derivation = self._policy.derivation()
        if derivation is not None:
            held, sealed = derivation
            self._policy.open(held, sealed, await self._derived(sealed.derivation, passphrase))

    async def seal_policy(self, policy: SpendingPolicy, passphrase: SecretBytes) -> None:
        """Sets the spending policy and seals it with the pass phrase. Raises Refused if the pass
        phrase is wrong or the policy cannot be written."""
        files, _ = self._directory.read()
        if not files:
            raise Refused("no_account", "a wallet without accounts has no pass phrase")
        _check_passphrase(passphrase)
        scrypt = Scrypt.fresh(self._cost)
        key, outcome = await asyncio.gather(
            self._derived(scrypt, passphrase), self._try(files[0], passphrase)
        )
        if isinstance(outcome, str):
            key.wipe()
            raise _why_none([UnusableKey(files[0].account.address, outcome)])
        outcome.wipe()
        try:
            self._policy.write_sealed(policy, key, scrypt)
        except OSError as error:
            raise Refused("unsafe_files", f"the policy cannot be kept: {error}") from None

    def _hold(self, account: Account, secret: SecretBytes) -> None:
        old = self._open.pop(account.address, None)
        if old is not None:
            old.drop()
        self._open[account.address] = _signer(account, secret)
        self._held[account.address] = account

    def lock(self) -> None:
        self._held.clear()
        while self._open:
            self._open.popitem()[1].drop()

    def signer(self, address: str, kind: type[S]) -> S:
        """Returns the unlocked private key of an account. Raises Refused if the key is locked or
        not of the class ``kind``."""
        signer = self._open.get(address)
        if signer is None:
            self.account(address)
            raise Refused("locked", "the wallet is locked")
        if not isinstance(signer, kind):
            raise Refused("no_account", "the account is of another kind of chain")
        return signer

    # New keys

    async def add(
        self, material: KeyMaterial, name: str, passphrase: SecretBytes, now: datetime
    ) -> Account:
        """Encrypts and stores a private key and unlocks it. Raises Refused if the account exists or
        the existing keys have another pass phrase. If storing fails, the secret in ``material`` is
        wiped."""
        try:
            account = self._new_account(material, name, now)
            files, _ = self._directory.read()
            if any(file.account.address == account.address for file in files):
                raise Refused("account_exists", "this account is in the wallet already")
            _check_passphrase(passphrase)
            scrypt = Scrypt.fresh(self._cost)
            derive = self._derived(scrypt, passphrase)
            if files:
                # The file that costs least, checked beside the derivation of the new key.
                key, outcome, _ = await asyncio.gather(
                    derive, self._try(files[0], passphrase), self._open_policy(passphrase)
                )
                if isinstance(outcome, str):
                    key.wipe()
                    raise Refused("wrong_passphrase", "this is not the pass phrase of the wallet")
                outcome.wipe()
            else:
                key = await derive
            content = write_key(account, material.secret, key, scrypt)
            key.wipe()
            self._keep(account, content)
            self._hold(account, material.secret)
        except BaseException:
            material.secret.wipe()
            raise
        return account

    def _new_account(self, material: KeyMaterial, name: str, now: datetime) -> Account:
        if self.live and material.address in PUBLISHED_ADDRESSES:
            raise Refused("published_key", PUBLISHED_WORDS)
        if name and not is_name(name):
            raise Refused("bad_request", "a name has 1 to 32 printable characters")
        return Account(
            address=material.address,
            kind=material.kind,
            name=name or short_name(material.address),
            profile=self._profile,
            origin=material.origin,
            path=material.path,
            created=now.replace(microsecond=0),
        )

    def _keep(self, account: Account, content: bytes) -> None:
        try:
            self._directory.add(account, content)
        except FileExistsError:
            raise Refused("account_exists", "there is a file of this account already") from None
        except OSError as error:
            raise Refused("unsafe_files", f"the key cannot be kept: {error}") from None

    def rename(self, address: str, name: str) -> Account:
        account = self.account(address)
        if not is_name(name):
            raise Refused("bad_request", "a name has 1 to 32 printable characters")
        try:
            self._directory.rename(account.address, name)
        except OSError as error:
            raise Refused("unsafe_files", f"the name cannot be kept: {error}") from None
        self._held.pop(address, None)
        return self.account(address)

    async def reveal(self, address: str, passphrase: SecretBytes) -> tuple[Account, SecretBytes]:
        """Returns the account and its private key, read from the key file. Raises Refused if the
        pass phrase does not open the file."""
        files, _ = self._directory.read()
        file = next((file for file in files if file.account.address == address), None)
        if file is None:
            raise Refused("no_account", "there is no such account in this wallet")
        outcome = await self._try(file, passphrase)
        if isinstance(outcome, str):
            raise _why_none([UnusableKey(address, outcome)])
        return file.account, outcome


_WRONG = "the pass phrase does not open it"


def _open(file: KeyFile, key: SecretBytes) -> SecretBytes | str:
    try:
        secret = file.open(key)
    except Refused as refused:
        return _WRONG if refused.code == "wrong_passphrase" else refused.words
    finally:
        key.wipe()
    if address_of(file.account.kind, secret) != file.account.address:
        secret.wipe()
        return "the key inside is of another account"
    return secret


def _why_none(closed: list[UnusableKey]) -> Refused:
    if all(key.reason == _WRONG for key in closed):
        return Refused("wrong_passphrase", "wrong pass phrase")
    reason = next(key.reason for key in closed if key.reason != _WRONG)
    return Refused("published_key" if reason == PUBLISHED_WORDS else "key_file", reason)


def _signer(account: Account, secret: SecretBytes) -> EvmSigner | SolanaSigner:
    from swapdesk.agent.signers import EvmSigner, SolanaSigner

    of_kind = EvmSigner if account.kind is Kind.EVM else SolanaSigner
    return of_kind(account.address, secret)


def _check_passphrase(passphrase: SecretBytes) -> None:
    if not 0 < len(passphrase) <= MAX_PASSPHRASE:
        raise Refused("wrong_passphrase", "a pass phrase is needed")
