"""Answers what the desk asks. Every request is a task; signatures are given one at a time."""

from __future__ import annotations

import asyncio
import importlib
import os
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swapdesk.agent.keys.derivation import MAX_N, KeyFileRefused
from swapdesk.agent.keys.directory import KeyDirectory, WalletLock
from swapdesk.agent.keys.keystore_v3 import WrongPassword
from swapdesk.agent.keys.material import (
    SUGGESTED,
    KeyMaterial,
    KeyRefused,
    fresh,
    from_keygen,
    from_keystore,
    from_mnemonic,
    from_raw,
)
from swapdesk.agent.process.idle import IdleLock
from swapdesk.agent.process.refusal import Refusal
from swapdesk.agent.process.wallet import Wallet
from swapdesk.agent.transactions.file import RecordsFile, RecordsUnavailable
from swapdesk.agent.transactions.records import Records
from swapdesk.clock import SystemClock
from swapdesk.paths import UnsafePlace
from swapdesk.secret import SecretBytes
from swapdesk.wallet.accounts import Account, Accounts, ImportChoice, Kind, Origin, export_phrase
from swapdesk.wallet.encoding import MessageError, from_json, payload_from_json, to_json
from swapdesk.wallet.holdings import MAX_ASSETS
from swapdesk.wallet.place import ChainLink, WalletPlace
from swapdesk.wallet.promise import Asset, Promise
from swapdesk.wallet.protocol import VERSION, Event, Frame, Operation
from swapdesk.wallet.protocol import RefusalCode as Code
from swapdesk.wallet.transactions import SignedTransaction, TransactionState

if TYPE_CHECKING:
    from swapdesk.agent.process.chains import Chains
    from swapdesk.agent.process.pipe import DeskPipe
    from swapdesk.agent.process.reviewing import Reviewing
    from swapdesk.agent.transactions.delivery import EvmDelivery
    from swapdesk.agent.transactions.solana_delivery import SolanaDelivery

MAX_WAITING = 256
_HASH = re.compile(r"0x[0-9a-f]{64}|[1-9A-HJ-NP-Za-km-z]{64,88}", re.ASCII)


@dataclass
class _Opened:
    """What a desk opened: everything of one profile."""

    place: WalletPlace
    clock: SystemClock
    wallet: Wallet
    lock: WalletLock
    records: Records
    writable: bool
    idle: IdleLock
    chains: Chains | None = None
    reviewing: Reviewing | None = None


Answer = tuple[Any, dict[str, SecretBytes]]


class AgentService:
    """One desk's agent, from its first frame to the end of the pipe. ``cost`` is scrypt's n of
    new key files."""

    def __init__(self, pipe: DeskPipe, *, cost: int = MAX_N) -> None:
        self._pipe = pipe
        self._cost = cost
        self._opened: _Opened | None = None
        self._one_at_a_time = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._warm: asyncio.Task[None] | None = None
        self._warm_web3: asyncio.Task[Any] | None = None
        self._operations: dict[Operation, Callable[[Frame], Awaitable[Answer]]] = {
            Operation.OPEN: self._open,
            Operation.ACCOUNTS: self._accounts,
            Operation.UNLOCK: self._unlock,
            Operation.LOCK: self._lock,
            Operation.CREATE: self._create,
            Operation.PREVIEW: self._preview,
            Operation.IMPORT: self._import,
            Operation.EXPORT: self._export,
            Operation.RENAME: self._rename,
            Operation.CLOCK: self._set_clock,
            Operation.REVIEW: self._review,
            Operation.SIGN: self._sign,
            Operation.BROADCAST: self._broadcast,
            Operation.ABANDON: self._abandon,
            Operation.RESOLVE: self._resolve,
            Operation.TRANSACTIONS: self._transactions,
            Operation.BALANCES: self._balances,
            Operation.ALLOWANCES: self._allowances,
            Operation.REVOCATION: self._revocation,
        }

    async def run(self) -> None:
        self._pipe.start()
        self._pipe.say({"event": Event.READY, "version": VERSION, "pid": os.getpid()})
        while True:
            frame = await self._pipe.next()
            if len(self._tasks) >= MAX_WAITING:
                self._refuse(frame, Refusal(Code.BAD_REQUEST, "too many requests at once"))
                continue
            task = asyncio.create_task(self._answer(frame))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, frame: Frame) -> None:
        try:
            try:
                operation = Operation(str(frame.head.get("do")))
            except ValueError:
                raise Refusal(Code.BAD_REQUEST, "an operation that is not known here") from None
            if self._opened is not None:
                self._opened.idle.used()
            done, secrets = await self._operations[operation](frame)
        except Refusal as refusal:
            self._refuse(frame, refusal)
        except RecordsUnavailable as unavailable:
            self._refuse(frame, Refusal(Code.RECORDS, str(unavailable)))
        except UnsafePlace as unsafe:
            self._refuse(frame, Refusal(Code.UNSAFE_FILES, str(unsafe)))
        except MessageError as error:
            self._refuse(frame, Refusal(Code.BAD_REQUEST, str(error)))
        except Exception as error:  # noqa: BLE001  a defect in one request ends no other
            words = f"a defect of the wallet agent ({type(error).__name__}); nothing was signed"
            os.write(2, f"{_place_of(error)}\n".encode())
            self._refuse(frame, Refusal(Code.DEFECT, words))
        else:
            self._pipe.say({"id": frame.head.get("id"), "done": done}, secrets)
            for secret in secrets.values():
                secret.wipe()
        finally:
            for secret in frame.secrets.values():
                secret.wipe()

    def _refuse(self, frame: Frame, refusal: Refusal) -> None:
        said = {
            "code": refusal.code,
            "words": refusal.words,
            "findings": [to_json(one) for one in refusal.findings],
        }
        self._pipe.say({"id": frame.head.get("id"), "refused": said})

    # The wallet

    async def _open(self, frame: Frame) -> Answer:
        if self._opened is not None:
            raise Refusal(Code.BAD_REQUEST, "a wallet is open already")
        place = from_json(WalletPlace, frame.head.get("place"))
        directory = Path(place.directory)
        if not directory.is_absolute():
            raise Refusal(Code.BAD_REQUEST, "the directory of keys must be an absolute path")
        keys = KeyDirectory(directory, place.profile)
        lock = WalletLock(keys.path)
        writable = lock.take()
        clock = SystemClock(0.0 if place.live else max(0.0, place.clock_offset))
        wallet = Wallet(keys, place.profile, loaded=self._loaded, cost=self._cost)
        records = Records(RecordsFile(keys.path, writable=writable))
        idle = IdleLock(clock, place.auto_lock_seconds, self._idle_lock)
        self._opened = _Opened(place, clock, wallet, lock, records, writable, idle)
        told = self._told()
        # What signs is imported while somebody types the pass phrase or a key is derived: the
        # derivation leaves the interpreter to others.
        self._warm = self._warm or asyncio.create_task(self._load())
        return told, {}

    async def _load(self) -> None:
        await asyncio.to_thread(load_signing)
        if any(link.kind is Kind.EVM for link in self._now.place.chains):
            # Needed by the first question to a node, and by no signature.
            load = asyncio.to_thread(importlib.import_module, "web3")
            self._warm_web3 = asyncio.create_task(load)

    @property
    def _now(self) -> _Opened:
        if self._opened is None:
            raise Refusal(Code.BAD_REQUEST, "no wallet was opened")
        return self._opened

    def _told(self) -> Any:
        opened = self._now
        accounts, unusable = opened.wallet.accounts()
        told = Accounts(accounts, unusable, opened.wallet.unlocked, not opened.writable)
        return to_json(told)

    async def _accounts(self, frame: Frame) -> Answer:
        return self._told(), {}

    async def _unlock(self, frame: Frame) -> Answer:
        opened = self._now
        addresses = frame.head.get("addresses")
        if addresses is not None and not _is_texts(addresses):
            raise Refusal(Code.BAD_REQUEST, "addresses must be a list of texts")
        result = await opened.wallet.unlock(_secret(frame, "passphrase"), addresses)
        opened.idle.start()
        closed = [to_json(one) for one in result.closed]
        return {"accounts": self._told(), "opened": list(result.addresses), "closed": closed}, {}

    async def _lock(self, frame: Frame) -> Answer:
        self._close_keys()
        return self._told(), {}

    def _close_keys(self) -> None:
        opened = self._now
        opened.wallet.lock()
        if opened.reviewing is not None:
            opened.reviewing.forget()

    def _idle_lock(self) -> None:
        if self._now.wallet.unlocked:
            self._close_keys()
            self._pipe.say({"event": Event.LOCKED})

    async def _create(self, frame: Frame) -> Answer:
        self._for_writing()
        kind = _enum(Kind, frame, "kind")
        await self._loaded()
        material = fresh(kind)
        return await self._add(frame, material)

    async def _add(self, frame: Frame, material: KeyMaterial) -> Answer:
        opened = self._now
        name = _text(frame, "name", empty=True)
        account = await opened.wallet.add(
            material, name, _secret(frame, "passphrase"), opened.clock.now()
        )
        opened.idle.start()
        return to_json(account), {}

    async def _preview(self, frame: Frame) -> Answer:
        kind, origin = _enum(Kind, frame, "kind"), _enum(Origin, frame, "origin")
        paths = frame.head.get("paths") or list(SUGGESTED[kind])
        if not isinstance(paths, list) or not 0 < len(paths) <= 32:
            raise Refusal(Code.BAD_REQUEST, "paths must be a list of up to 32")
        chosen = paths if origin is Origin.MNEMONIC else [None]
        choices = []
        for path in chosen:
            material = await self._material(frame, kind, origin, path)
            choices.append(to_json(ImportChoice(kind, material.address, material.path)))
            material.secret.wipe()
        return choices, {}

    async def _import(self, frame: Frame) -> Answer:
        self._for_writing()
        kind, origin = _enum(Kind, frame, "kind"), _enum(Origin, frame, "origin")
        material = await self._material(frame, kind, origin, frame.head.get("path"))
        if material.address != _text(frame, "address"):
            material.secret.wipe()
            raise Refusal(
                Code.NOT_CONFIRMED, f"it leads to {material.address}, which was not confirmed"
            )
        return await self._add(frame, material)

    async def _material(
        self, frame: Frame, kind: Kind, origin: Origin, path: object
    ) -> KeyMaterial:
        material = _secret(frame, "material")
        if path is not None and not isinstance(path, str):
            raise Refusal(Code.BAD_REQUEST, "a path is a text")
        of_kind = {Origin.RAW: Kind.EVM, Origin.KEYSTORE: Kind.EVM, Origin.KEYGEN: Kind.SOLANA}
        if of_kind.get(origin, kind) is not kind:
            raise Refusal(Code.BAD_KEY, f"no {kind} key comes from there")
        await self._loaded()
        try:
            if origin is Origin.MNEMONIC:
                return await asyncio.to_thread(from_mnemonic, material, kind, path)
            if origin is Origin.RAW:
                return from_raw(material)
            if origin is Origin.KEYGEN:
                return from_keygen(material)
            if origin is Origin.KEYSTORE:
                theirs = _secret(frame, "file_passphrase")
                return await asyncio.to_thread(from_keystore, material, theirs)
        except WrongPassword:
            raise Refusal(
                Code.WRONG_PASSPHRASE, "the file does not open with this pass phrase"
            ) from None
        except KeyFileRefused as refused:
            raise Refusal(Code.KEY_FILE, str(refused)) from None
        except KeyRefused as refused:
            raise Refusal(Code.BAD_KEY, str(refused)) from None
        raise Refusal(Code.BAD_REQUEST, "such a key cannot be imported")

    async def _export(self, frame: Frame) -> Answer:
        address = _text(frame, "address")
        passphrase = _secret(frame, "passphrase")
        if _text(frame, "phrase") != export_phrase(address):
            raise Refusal(Code.NOT_CONFIRMED, "the phrase that had to be typed was not")
        account, secret = await self._now.wallet.reveal(address, passphrase)
        return to_json(account), {"key": _exported(account.kind, secret)}

    async def _rename(self, frame: Frame) -> Answer:
        self._for_writing()
        account = self._now.wallet.rename(_text(frame, "address"), _text(frame, "name"))
        return to_json(account), {}

    async def _set_clock(self, frame: Frame) -> Answer:
        opened = self._now
        offset = frame.head.get("offset")
        if not isinstance(offset, int | float) or isinstance(offset, bool):
            raise Refusal(Code.BAD_REQUEST, "the offset of the clock is a number of seconds")
        if not opened.place.live:
            opened.clock.advance_to(float(offset))
        return opened.clock.offset, {}

    def _for_writing(self) -> _Opened:
        """The wallet is ours alone; the other desk may have ended since it was not."""
        opened = self._now
        if opened.writable:
            return opened
        if not opened.lock.take():
            raise Refusal(Code.READ_ONLY, "another desk has this wallet; this one only looks")
        opened.records.close()
        opened.records = Records(RecordsFile(Path(opened.place.directory), writable=True))
        opened.writable = True
        opened.reviewing = None
        return opened

    # Signing

    def _reviewing(self) -> Reviewing:
        opened = self._now
        if opened.reviewing is None:
            from swapdesk.agent.process.reviewing import Reviewing

            opened.reviewing = Reviewing(
                opened.place, opened.wallet, self._chains(), opened.records, opened.clock
            )
        return opened.reviewing

    def _chains(self) -> Chains:
        opened = self._now
        if opened.chains is None:
            from swapdesk.agent.process.chains import Chains

            opened.chains = Chains(opened.place.chains)
        return opened.chains

    async def _review(self, frame: Frame) -> Answer:
        payload = payload_from_json(frame.head.get("payload"))
        promise = from_json(Promise, frame.head.get("promise"))
        replaces = frame.head.get("replaces")
        if replaces is not None:
            replaces = _hash_of(frame, "replaces")
        await self._loaded()
        review = await self._reviewing().review(payload, promise, replaces)
        return to_json(review), {}

    async def _sign(self, frame: Frame) -> Answer:
        self._for_writing()
        phrase = frame.head.get("phrase")
        if phrase is not None and not isinstance(phrase, str):
            raise Refusal(Code.BAD_REQUEST, "a phrase is a text")
        await self._loaded()
        async with self._one_at_a_time:
            signed = await self._reviewing().sign(
                _text(frame, "review"), _text(frame, "digest"), phrase
            )
        kind = "transaction" if isinstance(signed, SignedTransaction) else "signature"
        return {"kind": kind, kind: to_json(signed)}, {}

    async def _loaded(self) -> None:
        if self._warm is not None:
            await self._warm

    # Looking at chains

    def _looked_at(self, frame: Frame) -> tuple[Account, ChainLink, list[Asset]]:
        account = self._now.wallet.account(_text(frame, "address"))
        link = self._chains().link(_text(frame, "chain"), account.kind)
        asked = frame.head.get("assets")
        if not isinstance(asked, list) or len(asked) > MAX_ASSETS:
            raise Refusal(Code.BAD_REQUEST, f"assets are a list of up to {MAX_ASSETS}")
        return account, link, [from_json(Asset, one) for one in asked]

    async def _balances(self, frame: Frame) -> Answer:
        account, link, assets = self._looked_at(frame)
        await self._loaded()
        from swapdesk.agent.process.holdings import evm_balances, solana_balances

        genesis = self._now.records.genesis(link.name)
        if account.kind is Kind.SOLANA:
            return to_json(await solana_balances(link, genesis, account.address, assets)), {}
        client = self._chains().evm(link)
        return to_json(await evm_balances(client, link, genesis, account.address, assets)), {}

    async def _allowances(self, frame: Frame) -> Answer:
        account, link, tokens = self._looked_at(frame)
        if account.kind is not Kind.EVM:
            raise Refusal(Code.OTHER_CHAIN, "there are no such allowances on Solana")
        await self._loaded()
        from swapdesk.agent.process.holdings import evm_allowances
        from swapdesk.chain.deployments import SANDBOX_VENUES

        place = self._now.place
        allowances = await evm_allowances(
            self._chains().evm(link),
            link,
            self._now.records.genesis(link.name),
            account.address,
            tokens,
            () if place.live else SANDBOX_VENUES,
            place.spenders,
        )
        return to_json(allowances), {}

    async def _revocation(self, frame: Frame) -> Answer:
        await self._loaded()
        from swapdesk.agent.process.holdings import revocation

        return to_json(revocation(_text(frame, "token"), _text(frame, "spender"))), {}

    # Transactions

    async def _transactions(self, frame: Frame) -> Answer:
        intent = frame.head.get("intent")
        if intent is not None:
            intent = _text(frame, "intent")
        return [to_json(one) for one in self._now.records.transactions(intent)], {}

    async def _broadcast(self, frame: Frame) -> Answer:
        one = self._transaction(frame)
        async with self._one_at_a_time:
            return to_json(await self._delivery(one).send(one)), {}

    async def _resolve(self, frame: Frame) -> Answer:
        one = self._transaction(frame)
        async with self._one_at_a_time:
            return to_json(await self._delivery(one).resolve(one)), {}

    async def _abandon(self, frame: Frame) -> Answer:
        one = self._transaction(frame)
        records = self._now.records
        given_up = records.move(
            one.hash, TransactionState.ABANDONED, among=frozenset({TransactionState.SIGNED})
        )
        if not given_up:
            raise Refusal(Code.UNRESOLVED, "it was sent, so it cannot be given up any more")
        return to_json(records.find(one.hash) or one), {}

    def _transaction(self, frame: Frame) -> SignedTransaction:
        opened = self._for_writing()
        one = opened.records.find(_hash_of(frame, "hash"))
        if one is None:
            raise Refusal(Code.NO_TRANSACTION, "this wallet signed no such transaction")
        return one

    def _delivery(self, one: SignedTransaction) -> EvmDelivery | SolanaDelivery:
        chains = self._chains()
        if one.nonce is None:
            from swapdesk.agent.transactions.solana_delivery import SolanaDelivery

            link = chains.link(one.chain, Kind.SOLANA)
            return SolanaDelivery(chains.solana(link), self._now.records)
        from swapdesk.agent.transactions.delivery import EvmDelivery

        link = chains.link(one.chain, Kind.EVM)
        return EvmDelivery(chains.evm(link), self._now.records, link.confirmations)


def load_signing() -> None:
    """Import everything that judging and signing needs, in one thread and before any other
    imports it: packages that import each other in a circle fail when two threads begin at
    different ends."""
    for name in (
        "coincurve",
        "eth_account.messages",
        "swapdesk.agent.process.reviewing",
        "swapdesk.agent.signers.solana",
    ):
        importlib.import_module(name)


def _exported(kind: Kind, secret: SecretBytes) -> SecretBytes:
    """As other programs read it: 0x-hex, or the 64 numbers of solana-keygen."""
    if kind is Kind.EVM:
        text = SecretBytes(b"0x" + secret.reveal().hex().encode())
    else:
        from solders.keypair import Keypair

        text = SecretBytes(Keypair.from_seed(bytes(secret.reveal())).to_json().encode())
    secret.wipe()
    return text


def _secret(frame: Frame, name: str) -> SecretBytes:
    secret = frame.secrets.get(name)
    if secret is None or not len(secret):
        raise Refusal(Code.BAD_REQUEST, f"{name} is missing")
    return secret


def _text(frame: Frame, name: str, *, empty: bool = False) -> str:
    value = frame.head.get(name, "" if empty else None)
    if not isinstance(value, str) or len(value) > 1024 or not (value or empty):
        raise Refusal(Code.BAD_REQUEST, f"{name} is missing")
    return value


def _hash_of(frame: Frame, name: str) -> str:
    value = _text(frame, name)
    if _HASH.fullmatch(value) is None:
        raise Refusal(Code.BAD_REQUEST, f"{name} is no hash of a transaction")
    return value


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _enum(kind: Any, frame: Frame, name: str) -> Any:
    try:
        return kind(_text(frame, name))
    except ValueError:
        raise Refusal(Code.BAD_REQUEST, f"{name} is none that is known here") from None


def _place_of(error: BaseException) -> str:
    """The type of a defect and the line of ours it came from; its words could quote a secret."""
    trace, place = error.__traceback__, "?"
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if f"{os.sep}swapdesk{os.sep}" in name:
            place = f"{os.path.basename(name)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__} at {place}"
