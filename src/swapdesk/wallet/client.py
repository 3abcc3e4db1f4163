"""The desk's client of the wallet agent: it starts and ends the agent's process, exchanges frames
with it, and has one typed method for each request.

Start the agent from the main thread's event loop, because the operating system ends the agent
together with the thread that started it. A request may be cancelled, but the agent may carry it out
nevertheless; the agent's records show whether it did.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from swapdesk.certificates import VARIABLE, authorities
from swapdesk.installation import install, missing
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
from swapdesk.wallet.answers import (
    Allowances,
    Balances,
    Review,
    RuleFinding,
    Signature,
    SignedTransaction,
    SmartAccount,
)
from swapdesk.wallet.own_digest import held_against
from swapdesk.wallet.promise import Asset, Payload, Promise, SolanaPayload, TransactionPayload
from swapdesk.wallet.protocol import (
    PREFIX_BYTES,
    REFUSALS,
    VERSION,
    AgentGone,
    AgentMissing,
    AgentOperation,
    Frame,
    FrameError,
    MessageError,
    RefusalCode,
    Refused,
    S,
    WrongPassphrase,
    decode_frame,
    encode_frame,
    frame_sizes,
    from_json,
    payload_from_json,
    payload_to_json,
)
from swapdesk.wallet.spending import PolicyStatus, SpendingPolicy

AGENT = ("-I", "-m", "swapdesk.agent")
"""Arguments that start the agent isolated: without PYTHONPATH, user site packages, or the working
directory on the import path."""

START_SECONDS = 20.0
STOP_SECONDS = 2.0
_SAID_LINES = 20
_COULD_BE_SECRET = re.compile(r"[0-9A-Za-z+/=_-]{20,}")


class WalletClient:
    """One agent process with the wallet of one profile. ``gone`` is the error that ended the agent,
    None while it runs. Requests may raise AgentGone if the process ended, and Refused if the agent
    refuses or cannot read the chain."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        requests: asyncio.StreamWriter,
        answers: asyncio.StreamReader,
        on_locked: Callable[[], None],
    ) -> None:
        self._process = process
        self._requests = requests
        self._answers = answers
        self._on_locked = on_locked
        self._waiting: dict[int, asyncio.Future[Frame]] = {}
        self._last_id = 0
        self._ready: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._said: deque[str] = deque(maxlen=_SAID_LINES)
        self.gone: AgentGone | None = None
        self.accounts = Accounts((), (), (), read_only=True)
        self._hearing = asyncio.create_task(self._hear(), name="wallet agent")
        self._draining = asyncio.create_task(self._drain(), name="wallet agent's complaints")

    @classmethod
    async def start(
        cls,
        place: WalletPlace,
        *,
        on_locked: Callable[[], None] = lambda: None,
        program: Sequence[str] = AGENT,
    ) -> WalletClient:
        """Starts an agent and opens the wallet, with all keys locked. ``on_locked`` is called when
        the agent locks the keys without a request. Raises AgentMissing if no agent could be
        started, Refused if the wallet is not safe to open."""
        agent = await cls._started(on_locked, program)
        try:
            await agent._is_ready()
            agent.accounts = await agent._told(Accounts, "open", place=place)
        except BaseException:
            await agent.close()
            raise
        return agent

    @classmethod
    async def _started(cls, on_locked: Callable[[], None], program: Sequence[str]) -> WalletClient:
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("the wallet agent is started from the main thread")
        with contextlib.ExitStack() as opened:
            try:
                asking, asked = map(opened.enter_context, socket.socketpair())
                hearing, telling = map(opened.enter_context, socket.socketpair())
                process = await asyncio.create_subprocess_exec(
                    sys.executable,
                    *program,
                    str(os.getpid()),
                    start_new_session=True,
                    cwd="/",
                    env=_environment(),
                    stderr=asyncio.subprocess.PIPE,
                    stdout=telling.fileno(),
                    stdin=asked.fileno(),
                )
            except OSError as error:
                raise AgentMissing(f"the wallet agent could not be started: {error}") from None
            agent = cls(process, *await _streams(asking.dup(), hearing.dup()), on_locked)
        return agent

    async def _is_ready(self) -> None:
        try:
            async with asyncio.timeout(START_SECONDS):
                ready = await asyncio.shield(self._ready)
        except TimeoutError:
            raise AgentMissing("the wallet agent did not become ready") from None
        except AgentGone as gone:
            raise _not_started(gone) from None
        if ready.head.get("version") != VERSION:
            raise AgentMissing("the wallet agent is of another version of swapdesk")

    @property
    def pid(self) -> int:
        return self._process.pid

    async def close(self) -> None:
        self._requests.close()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        await asyncio.gather(self._hearing, self._draining, return_exceptions=True)

    # The conversation

    async def ask(self, operation: AgentOperation, /, **arguments: Any) -> Any:
        """Sends a request and returns its result. A Secret is sent as raw bytes."""
        return (await self.frame(operation, **arguments)).head["done"]

    async def frame(self, operation: AgentOperation, /, **arguments: Any) -> Frame:
        """Sends a request like ``ask``, but returns the whole answer with its secrets, which the
        caller has to wipe."""
        if self.gone is not None:
            raise self.gone
        self._last_id += 1
        number = self._last_id
        answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            await self._say({"id": number, "do": operation, **arguments})
            frame = await answer
        finally:
            self._waiting.pop(number, None)
        refused = frame.head.get("refused")
        if refused is not None:
            raise _refusal(refused)
        if "done" not in frame.head:
            raise AgentGone("the wallet agent answered something else than it should")
        return frame

    async def _say(self, head: Mapping[str, Any]) -> None:
        held = {
            name: SecretBytes.of(value) for name, value in head.items() if isinstance(value, Secret)
        }
        plain = {name: value for name, value in head.items() if name not in held}
        try:
            frame = encode_frame(to_builtins(plain), held)
        except FrameError as error:
            for secret in held.values():
                secret.wipe()
            raise Refused("bad_request", str(error)) from None
        try:
            self._requests.write(frame)
        finally:
            frame[:] = bytes(len(frame))
            for secret in held.values():
                secret.wipe()
        with contextlib.suppress(ConnectionError):
            await self._requests.drain()

    async def _hear(self) -> None:
        try:
            while True:
                size, head = frame_sizes(await self._answers.readexactly(PREFIX_BYTES))
                body = bytearray(await self._answers.readexactly(size))
                self._heard(decode_frame(body, head))
                # The caller takes the answer first: it was true before the next event.
                await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, ConnectionError):
            words = None
        except Exception as error:  # noqa: BLE001 (unread, the rest of the pipe means nothing)
            detail = str(error) if isinstance(error, FrameError) else type(error).__name__
            words = f"the wallet agent cannot be understood: {detail}"
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        code = await self._process.wait()
        self._requests.close()
        await asyncio.wait([self._draining], timeout=STOP_SECONDS)
        self._end(words or _how_it_ended(code))

    def _heard(self, frame: Frame) -> None:
        event = frame.head.get("event")
        if event == "ready":
            if not self._ready.done():
                self._ready.set_result(frame)
        elif event == "locked":
            self.accounts = replace(self.accounts, unlocked=())
            self._on_locked()
        else:
            # The caller may have been cancelled; then nobody waits for the answer.
            waiting = self._waiting.get(frame.head.get("id", 0))
            if waiting is not None and not waiting.done():
                waiting.set_result(frame)

    def _end(self, words: str) -> None:
        self.gone = AgentGone(words, tuple(self._said))
        for future in (self._ready, *self._waiting.values()):
            if not future.done():
                future.set_exception(self.gone)
        # Marks the exception as retrieved: nobody may be waiting for ``ready`` any more.
        self._ready.exception()

    async def _drain(self) -> None:
        stderr = self._process.stderr
        while stderr is not None and (chunk := await stderr.read(4096)):
            for line in chunk.decode("ascii", "replace").splitlines():
                self._said.append(_COULD_BE_SECRET.sub("***", line[:200]))

    async def _told(self, kind: type[S], operation: AgentOperation, /, **arguments: Any) -> S:
        return from_json(kind, await self.ask(operation, **arguments))

    # Keys

    async def read_accounts(self) -> Accounts:
        self.accounts = await self._told(Accounts, "accounts")
        return self.accounts

    async def unlock(
        self, passphrase: Secret, addresses: Sequence[str] | None = None
    ) -> tuple[UnusableKey, ...]:
        """Unlocks the keys of ``addresses``, or all keys if None. Returns the keys that did not
        open, with reasons. If no key opened, raises WrongPassphrase or another Refused."""
        answer = await self.ask("unlock", addresses=addresses, passphrase=passphrase)
        self.accounts = from_json(Accounts, answer["accounts"])
        return tuple(from_json(UnusableKey, key) for key in answer["closed"])

    async def lock(self) -> Accounts:
        self.accounts = await self._told(Accounts, "lock")
        return self.accounts

    async def create(self, kind: Kind, name: str, passphrase: Secret) -> Account:
        """Creates a private key and returns its account, unlocked. The first key sets the wallet's
        pass phrase; later keys need the same pass phrase."""
        return await self._added("create", kind=kind, name=name, passphrase=passphrase)

    async def _added(self, operation: AgentOperation, /, **arguments: Any) -> Account:
        address = (await self._told(Account, operation, **arguments)).address
        await self.read_accounts()
        return next(account for account in self.accounts.accounts if account.address == address)

    async def preview(
        self,
        kind: Kind,
        origin: KeyOrigin,
        material: Secret,
        *,
        paths: Sequence[str | None] | None = None,
        file_passphrase: Secret | None = None,
    ) -> tuple[ImportChoice, ...]:
        """Returns the addresses that can be imported from ``material`` (a mnemonic, raw key or key
        file). Stores nothing. ``paths`` None means the usual derivation paths; ``file_passphrase``
        opens a key file."""
        answer = await self.ask(
            "preview",
            kind=kind,
            origin=origin,
            paths=paths,
            material=material,
            file_passphrase=file_passphrase,
        )
        return tuple(from_json(ImportChoice, choice) for choice in answer)

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
        """Stores the private key for a ``choice`` returned by ``preview``. Raises Refused if
        ``material`` leads to a different address."""
        return await self._added(
            "import",
            kind=choice.kind,
            origin=origin,
            path=choice.path,
            address=choice.address,
            name=name,
            material=material,
            passphrase=passphrase,
            file_passphrase=file_passphrase,
        )

    async def export(self, address: str, phrase: str, passphrase: Secret) -> SecretBytes:
        """Returns the plain private key: 0x-hex for EVM, the numbers of solana-keygen for Solana.
        ``phrase`` has to equal ``accounts.export_phrase(address)``. The caller has to wipe the
        result."""
        frame = await self.frame("export", address=address, phrase=phrase, passphrase=passphrase)
        return frame.secrets["key"]

    async def rename(self, address: str, name: str) -> Account:
        return await self._added("rename", address=address, name=name)

    async def set_clock(self, offset: float) -> None:
        """Tells the agent by how many seconds sandbox time is ahead. Has no effect in a live
        profile."""
        await self.ask("clock", offset=offset)

    # What may be signed at most

    async def policy(self) -> PolicyStatus:
        """Returns the wallet's spending policy and how much of each of its limits is used."""
        return await self._told(PolicyStatus, "policy")

    async def set_policy(
        self, policy: SpendingPolicy, passphrase: Secret | None = None
    ) -> PolicyStatus:
        """Replaces the spending policy. Raises Refused (code ``passphrase_needed``) if
        ``passphrase`` is None and the new policy is in any respect less strict."""
        return await self._told(PolicyStatus, "set_policy", policy=policy, passphrase=passphrase)

    # Looking at chains, for which nothing has to be open

    async def balances(
        self, address: str, chain: str, assets: Sequence[Asset], *, fee: bool = False
    ) -> Balances:
        """Returns the balances of ``assets``. With ``fee``, the result also has the network fee of
        one payment."""
        return await self._told(
            Balances,
            "balances",
            address=address,
            chain=chain,
            assets=assets,
            fee=fee,
        )

    async def allowances(self, address: str, chain: str, tokens: Sequence[Asset]) -> Allowances:
        """Returns the approvals that ``address`` has given."""
        return await self._told(
            Allowances,
            "allowances",
            address=address,
            chain=chain,
            assets=tokens,
        )

    async def revocation(
        self, token: str, spender: str, *, permit2: bool = False
    ) -> TransactionPayload:
        """Returns the unsigned call that ends the approval of ``token`` for ``spender``.
        ``permit2`` is True for an approval given through the contract Permit2."""
        return await self._told(
            TransactionPayload, "revocation", token=token, spender=spender, permit2=permit2
        )

    async def solana_revocation(self, address: str, chain: str, token: str) -> SolanaPayload:
        """Returns the unsigned transaction that ends every approval of ``token``."""
        return await self._told(
            SolanaPayload, "solana_revocation", address=address, chain=chain, token=token
        )

    async def solana_deposit(self, promise: Promise) -> SolanaPayload:
        """Returns the unsigned transaction that pays the confirmed deposit. Raises Refused if none
        was confirmed."""
        return await self._told(SolanaPayload, "solana_deposit", promise=promise)

    async def smart_account(
        self, address: str, chain: str, assets: Sequence[Asset]
    ) -> SmartAccount:
        """Returns the smart account of ``address``, with its balances of ``assets``. Raises Refused
        if ``address`` can have no smart account on this chain."""
        return await self._told(
            SmartAccount,
            "smart_account",
            address=address,
            chain=chain,
            assets=assets,
        )

    async def withdrawal(self, promise: Promise) -> TransactionPayload:
        """Returns the unsigned call that makes a smart account pay its owner the amounts in
        ``promise.withdrawal``."""
        return await self._told(TransactionPayload, "withdrawal", promise=promise)

    # Signing

    async def review(
        self, payload: Payload, promise: Promise, *, replaces: str | None = None
    ) -> Review:
        """Returns the agent's review of a payload. ``replaces`` is the hash of a waiting
        transaction whose nonce the payload reuses; None if it has its own."""
        review = await self._told(
            Review,
            "review",
            payload=payload_to_json(payload),
            promise=promise,
            replaces=replaces,
        )
        return held_against(review, payload)

    async def bump(self, hash_: str, gas_units: int) -> tuple[Payload, Review]:
        """Returns the call of a waiting transaction, and a review of that call with the same nonce
        and a higher fee. Gas may cost the confirmed amount, or ``gas_units`` wei if that is
        higher."""
        answer = await self.ask("bump", hash=hash_, gas=gas_units)
        payload = payload_from_json(answer["payload"])
        return payload, held_against(from_json(Review, answer["review"]), payload)

    async def sign(
        self, review: Review, phrase: str | None = None
    ) -> Signature | SignedTransaction:
        """Signs the reviewed payload. ``phrase`` is the text that the user typed, None if the
        review asks for no text. A returned SignedTransaction is recorded, but not sent yet."""
        answer = await self.ask("sign", review=review.id, digest=review.digest, phrase=phrase)
        if answer["kind"] == "signature":
            return from_json(Signature, answer["signature"])
        return from_json(SignedTransaction, answer["transaction"])

    async def transactions(self, intent_id: str | None = None) -> tuple[SignedTransaction, ...]:
        """Returns the transactions that the wallet signed, oldest first. ``intent_id`` limits them
        to one intent."""
        transactions: list[SignedTransaction] = []
        after: int | None = 0
        while after is not None:
            page = await self.ask("transactions", intent=intent_id, after=after)
            transactions += [
                from_json(SignedTransaction, transaction) for transaction in page["transactions"]
            ]
            after = page["after"]
        return tuple(transactions)

    async def broadcast(self, hash_: str) -> SignedTransaction:
        """Sends the signed transaction with this hash to its chain and returns its record. Every
        call sends the same bytes."""
        return await self._told(SignedTransaction, "broadcast", hash=hash_)

    async def resolve(self, hash_: str, *, resend: bool = True) -> SignedTransaction:
        """Returns the updated record of a transaction. If the chain lacks the transaction, its
        bytes are sent again, unless ``resend`` is False."""
        return await self._told(SignedTransaction, "resolve", hash=hash_, resend=resend)

    async def abandon(self, hash_: str) -> SignedTransaction:
        """Gives up, for good, a signed transaction that was never sent. Returns its record."""
        return await self._told(SignedTransaction, "abandon", hash=hash_)


def _environment() -> dict[str, str]:
    file = authorities()
    return {"LANG": "C.UTF-8", **({VARIABLE: file} if file else {})}


async def _streams(
    asking: socket.socket, hearing: socket.socket
) -> tuple[asyncio.StreamWriter, asyncio.StreamReader]:
    """Returns streams that keep no reference to a frame once it is written, so that the caller can
    wipe the frame."""
    loop = asyncio.get_running_loop()
    answers = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(answers), hearing)
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), asking
    )
    return asyncio.StreamWriter(transport, protocol, None, loop), answers


def _refusal(refused: Any) -> Exception:
    """Returns the exception for a refusal in an answer, AgentGone if the refusal cannot be read. An
    unknown code becomes ``defect``. The code ``defect`` becomes AgentMissing if signing packages
    are missing."""
    try:
        findings = tuple(from_json(RuleFinding, finding) for finding in refused["findings"])
        code, words = refused["code"], str(refused["words"])
    except (MessageError, KeyError, TypeError):
        return AgentGone("the wallet agent answered something else than it should")
    reason: RefusalCode = next((refusal for refusal in REFUSALS if refusal == code), "defect")
    # The agent can list accounts without the packages that make and open keys.
    if reason == "defect" and (lacking := _without_packages()) is not None:
        return lacking
    kind = WrongPassphrase if reason == "wrong_passphrase" else Refused
    return kind(reason, words, findings)


def _how_it_ended(code: int) -> str:
    how = f"was killed (signal {-code})" if code < 0 else f"has ended (code {code})"
    return f"the wallet agent {how}: its keys are gone with it; unlock again"


def _without_packages() -> AgentMissing | None:
    lacking = missing("wallet")
    if not lacking:
        return None
    return AgentMissing(f"signing needs {', '.join(lacking)}", install("wallet"))


def _not_started(gone: AgentGone) -> AgentMissing:
    detail = f" ({gone.said[-1]})" if gone.said else ""
    words = f"the wallet agent could not start: {gone.words}{detail}"
    return _without_packages() or AgentMissing(words)
