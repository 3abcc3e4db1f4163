"""Answers what the desk asks. Every request is a task; signatures are given one at a time."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable

from swapdesk.agent.keys.derivation import MAX_N
from swapdesk.agent.process import chain_requests, deliveries, key_requests, signing_requests
from swapdesk.agent.process.arguments import Answer
from swapdesk.agent.process.opened import OpenedWallet
from swapdesk.agent.process.pipe import DeskPipe
from swapdesk.agent.process.refusal import Refusal
from swapdesk.agent.transactions.file import RecordsUnavailable
from swapdesk.paths import UnsafePlace
from swapdesk.wallet.encoding import MessageError, from_json, to_json
from swapdesk.wallet.place import WalletPlace
from swapdesk.wallet.protocol import VERSION, Event, Frame, FrameError, Operation
from swapdesk.wallet.protocol import RefusalCode as Code

MAX_WAITING = 256

Handler = Callable[[OpenedWallet, Frame], Awaitable[Answer]]

OPERATIONS: dict[Operation, Handler] = {
    Operation.ACCOUNTS: key_requests.accounts,
    Operation.UNLOCK: key_requests.unlock,
    Operation.LOCK: key_requests.lock,
    Operation.CREATE: key_requests.create,
    Operation.PREVIEW: key_requests.preview,
    Operation.IMPORT: key_requests.import_,
    Operation.EXPORT: key_requests.export,
    Operation.RENAME: key_requests.rename,
    Operation.CLOCK: key_requests.set_clock,
    Operation.REVIEW: signing_requests.review,
    Operation.BUMP: signing_requests.bump,
    Operation.SIGN: signing_requests.sign,
    Operation.BROADCAST: deliveries.broadcast,
    Operation.ABANDON: deliveries.abandon,
    Operation.RESOLVE: deliveries.resolve,
    Operation.TRANSACTIONS: deliveries.transactions,
    Operation.BALANCES: chain_requests.balances,
    Operation.ALLOWANCES: chain_requests.allowances,
    Operation.REVOCATION: chain_requests.revocation,
    Operation.SOLANA_REVOCATION: chain_requests.solana_revocation,
    Operation.SOLANA_DEPOSIT: chain_requests.solana_deposit,
    Operation.SMART_ACCOUNT: chain_requests.smart_account,
    Operation.WITHDRAWAL: chain_requests.withdrawal,
}
"""What may be asked once a wallet is open; OPEN itself is the service's."""


class AgentService:
    """One desk's agent, from its first frame to the end of the pipe. ``cost`` is scrypt's n of
    new key files."""

    def __init__(self, pipe: DeskPipe, *, cost: int = MAX_N) -> None:
        self._pipe = pipe
        self._cost = cost
        self._opened: OpenedWallet | None = None
        self._tasks: set[asyncio.Task[None]] = set()

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
            if type(frame.head.get("id")) is not int:
                frame.head["id"] = None
                raise Refusal(Code.BAD_REQUEST, "a request is known by a whole number")
            done, secrets = await self._done(frame)
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
            try:
                self._pipe.say({"id": frame.head.get("id"), "done": done}, secrets)
            except FrameError:
                words = "the answer is larger than the wallet agent can tell"
                self._refuse(frame, Refusal(Code.DEFECT, words))
            for secret in secrets.values():
                secret.wipe()
        finally:
            for secret in frame.secrets.values():
                secret.wipe()

    async def _done(self, frame: Frame) -> Answer:
        try:
            operation = Operation(str(frame.head.get("do")))
        except ValueError:
            raise Refusal(Code.BAD_REQUEST, "an operation that is not known here") from None
        opened = self._opened
        if operation is Operation.OPEN:
            return self._open(frame)
        if opened is None:
            raise Refusal(Code.BAD_REQUEST, "no wallet was opened")
        opened.idle.used()
        return await OPERATIONS[operation](opened, frame)

    def _open(self, frame: Frame) -> Answer:
        if self._opened is not None:
            raise Refusal(Code.BAD_REQUEST, "a wallet is open already")
        place = from_json(WalletPlace, frame.head.get("place"))
        self._opened = OpenedWallet(place, self._say_locked, cost=self._cost)
        return to_json(self._opened.told()), {}

    def _say_locked(self) -> None:
        self._pipe.say({"event": Event.LOCKED})

    def _refuse(self, frame: Frame, refusal: Refusal) -> None:
        said = {
            "code": refusal.code,
            "words": refusal.words,
            "findings": [to_json(one) for one in refusal.findings],
        }
        self._pipe.say({"id": frame.head.get("id"), "refused": said})


def _place_of(error: BaseException) -> str:
    """The type of a defect and the line of ours it came from; its words could quote a secret."""
    trace, place = error.__traceback__, "?"
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if f"{os.sep}swapdesk{os.sep}" in name:
            place = f"{os.path.basename(name)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__} at {place}"
