"""How tests start a wallet agent: the real program, with key files that are cheap to derive, or one
that kills itself at a moment of signing or sending."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from swapdesk.secret import Secret
from swapdesk.wallet.client import WalletClient

CHEAP = (
    "-I",
    "-c",
    "import sys; from swapdesk.agent.__main__ import main; main(sys.argv[1:], cost=1024)",
)
"""The agent's own entry with a light scrypt for new files; what it reads is bounded as ever."""

PASSPHRASE = Secret("correct horse battery staple")

Start = Callable[..., Awaitable[WalletClient]]


MOMENTS = ("_insert_given", "RecordsFile.COMMIT", "send_raw before", "send_raw after", "SENT")
"""In their order: before anything is written down, once it is, before and after the bytes leave,
and once it stands that a node has them."""
_PROGRAM = """
import os, sys
from swapdesk.agent.__main__ import main
from swapdesk.agent.transactions import records
from swapdesk.chain.rpc.evm import EvmClient

at = {at!r}
def die():
    os.kill(os.getpid(), 9)

insert, move, send = records._insert_given, records.Records.move, EvmClient.send_raw
write, write_given = records.Records.write, records.Records.write_given

def insert_given(*arguments):
    insert(*arguments)
    if at == "_insert_given":
        die()

def written(self, *arguments, **more):
    told = write(self, *arguments, **more)
    if at == "RecordsFile.COMMIT":
        die()
    return told

def document_written(self, *arguments):
    write_given(self, *arguments)
    if at == "RecordsFile.COMMIT":
        die()

async def send_raw(self, raw):
    if at == "send_raw before":
        die()
    told = await send(self, raw)
    if at == "send_raw after":
        die()
    return told

def moved(self, hash_, state, *code, **more):
    done = move(self, hash_, state, *code, **more)
    if at == "SENT" and state.value == "sent":
        die()
    return done

records._insert_given, records.Records.write = insert_given, written
records.Records.write_given = document_written
records.Records.move, EvmClient.send_raw = moved, send_raw
main(sys.argv[1:], cost=1024)
"""


_ALLOWING = """
import sys
from msgspec.structs import replace
from swapdesk.agent.__main__ import main
from swapdesk.agent.process.payload_assessment import Looking
from swapdesk.chain.deployments import MULTICALL3, SANDBOX_VENUES

strict = Looking._policy
allowed = (*SANDBOX_VENUES, *(replace(one, address=MULTICALL3) for one in SANDBOX_VENUES))
Looking._policy = lambda *asked: replace(strict(*asked), venues=allowed)
main(sys.argv[1:], cost=1024)
"""
ALLOWING = ("-I", "-c", _ALLOWING)
"""Another program with the same keys, that lets anybody take a token."""


def dying_at(moment: str) -> tuple[str, ...]:
    """Arguments for the interpreter."""
    return ("-I", "-c", _PROGRAM.format(at=moment))
