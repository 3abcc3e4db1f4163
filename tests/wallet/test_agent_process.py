"""A real agent. Its keys: made, imported, opened, exported, and refused. Its process: how it shuts
itself off, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import signal
import stat
import struct
import subprocess
import sys
import threading
from ast import literal_eval
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account as EthAccount
from eth_account.hdaccount import generate_mnemonic
from eth_account.types import Language
from msgspec.structs import replace
from solders.keypair import Keypair

from corpus import Case, load
from flows.test_tracking import kill
from forked_processes import in_fresh_interpreters
from patience import PATIENCE, eventually
from rows import each_row
from swapdesk.agent.keys.key_file import MAX_N
from swapdesk.agent.transactions.file import RecordsFile
from swapdesk.flows.wallet.wallet_words import failure_of_wallet
from swapdesk.installation import install
from swapdesk.paths import Home, UnsafePlace
from swapdesk.secret import Secret
from swapdesk.wallet.accounts import (
    Account,
    ImportChoice,
    KeyOrigin,
    Kind,
    WalletPlace,
    export_phrase,
)
from swapdesk.wallet.client import AGENT, WalletClient
from swapdesk.wallet.promise import Asset, BundlePromise, Promise, Purpose, TransactionPayload
from swapdesk.wallet.protocol import (
    MAX_FRAME,
    PREFIX_BYTES,
    AgentGone,
    AgentMissing,
    FrameError,
    Refused,
    WrongPassphrase,
    decode_frame,
    encode_frame,
    frame_sizes,
    payload_to_json,
    to_json,
)
from swapdesk.wallet.sandbox_passphrase import FILE, sandbox_passphrase
from wallet.agents import PASSPHRASE, Start
from wallet.refusals import refused

WRONG = Secret("correct horse battery stable")
TEST_PHRASE = Secret("test test test test test test test test test test test junk")


def _mode(path: Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


async def test_a_new_key_is_kept_encrypted_and_opens_with_its_pass_phrase(
    start: Start, keys: Path
) -> None:
    agent = await start()
    made = await agent.create(Kind.EVM, "trading", PASSPHRASE)
    other = await agent.create(Kind.SOLANA, "", PASSPHRASE)
    assert (made.name, made.kind, made.profile, made.origin) == (
        "trading",
        Kind.EVM,
        "sandbox",
        KeyOrigin.CREATED,
    )
    assert _mode(keys) == 0o700
    assert {_mode(keys / one) for one in os.listdir(keys)} == {0o600}
    await agent.close()

    agent = await start()
    assert {one.address for one in agent.accounts.accounts} == {made.address, other.address}
    assert agent.accounts.unlocked == ()
    assert await agent.unlock(PASSPHRASE) == ()
    assert set(agent.accounts.unlocked) == {made.address, other.address}


async def test_a_key_leaves_for_the_typed_phrase_and_the_pass_phrase_as_others_read_it(
    start: Start, keys: Path
) -> None:
    agent = await start()
    made = await agent.create(Kind.EVM, "", PASSPHRASE)
    phrase = export_phrase(made.address)
    with refused("not_confirmed"):
        await agent.export(made.address, "export", PASSPHRASE)
    # The keys are open, and yet it takes the pass phrase.
    with pytest.raises(WrongPassphrase):
        await agent.export(made.address, phrase, WRONG)
    file = json.loads((keys / f"evm-{made.address.lower()}.json").read_bytes())
    opened = EthAccount.from_key(EthAccount.decrypt(file, PASSPHRASE.reveal()))
    assert opened.address == made.address
    key = await agent.export(made.address, phrase, PASSPHRASE)
    assert EthAccount.from_key(key.reveal().decode()).address == made.address
    solana = await agent.create(Kind.SOLANA, "", PASSPHRASE)
    key = await agent.export(solana.address, export_phrase(solana.address), PASSPHRASE)
    assert str(Keypair.from_json(key.reveal().decode()).pubkey()) == solana.address


async def test_a_wrong_pass_phrase_opens_nothing_and_makes_nothing(
    start: Start, keys: Path
) -> None:
    agent = await start()
    made = await agent.create(Kind.EVM, "", PASSPHRASE)
    before = sorted(os.listdir(keys))
    await agent.lock()
    for asked, kind in (
        (agent.unlock(WRONG), WrongPassphrase),
        (agent.create(Kind.EVM, "", WRONG), WrongPassphrase),
        (agent.unlock(PASSPHRASE, ["0x" + "11" * 20]), Refused),
    ):
        with pytest.raises(kind):
            await asked
    assert sorted(os.listdir(keys)) == before
    assert (await agent.read_accounts()).unlocked == ()
    await agent.unlock(PASSPHRASE, [made.address])
    assert agent.accounts.unlocked == (made.address,)


@pytest.mark.parametrize("kind", list(Kind))
async def test_a_mnemonic_is_imported_at_an_address_that_was_shown(
    start: Start, kind: Kind
) -> None:
    agent = await start()
    phrase = Secret(generate_mnemonic(12, Language.ENGLISH))
    choices = await agent.preview(kind, KeyOrigin.MNEMONIC, phrase)
    assert len({one.address for one in choices}) == len(choices) >= 4
    chosen = choices[1]
    made = await agent.import_key(chosen, KeyOrigin.MNEMONIC, "", phrase, PASSPHRASE)
    assert (made.address, made.path, made.origin) == (
        chosen.address,
        chosen.path,
        KeyOrigin.MNEMONIC,
    )
    other = ImportChoice(kind, choices[0].address, chosen.path)
    with refused("not_confirmed"):
        await agent.import_key(other, KeyOrigin.MNEMONIC, "", phrase, PASSPHRASE)


async def test_addresses_of_a_phrase_are_those_of_other_wallets(start: Start) -> None:
    agent = await start()
    evm = await agent.preview(Kind.EVM, KeyOrigin.MNEMONIC, TEST_PHRASE, paths=["m/44'/60'/0'/0/1"])
    assert evm[0].address == "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
    solana = await agent.preview(Kind.SOLANA, KeyOrigin.MNEMONIC, TEST_PHRASE)
    assert [(one.path, one.address[:8]) for one in solana] == [
        ("m/44'/501'/0'/0'", "oeYf6KAJ"),
        ("m/44'/501'/0'", "BtELVjZS"),
        ("m/44'/501'", "9tKf8Q98"),
        (None, "G9r1RYmV"),
    ]


def _keystore(password: str) -> tuple[str, str]:
    made = EthAccount.create()
    return made.address, json.dumps(EthAccount.encrypt(made.key, password, iterations=1024))


async def test_files_of_other_wallets_are_imported(start: Start) -> None:
    agent = await start()
    made, pair, theirs = EthAccount.create(), Keypair(), Secret("theirs")
    address, keystore = _keystore("theirs")
    for kind, origin, content, wanted in (
        (Kind.EVM, KeyOrigin.RAW, made.key.hex(), made.address),
        (Kind.EVM, KeyOrigin.KEYSTORE, keystore, address),
        (Kind.SOLANA, KeyOrigin.KEYGEN, pair.to_json(), str(pair.pubkey())),
    ):
        secret = Secret(content)
        of_file = theirs if origin is KeyOrigin.KEYSTORE else None
        [choice] = await agent.preview(kind, origin, secret, file_passphrase=of_file)
        assert choice == ImportChoice(kind, wanted, None)
        asked = (choice, origin, "", secret, PASSPHRASE)
        assert (await agent.import_key(*asked, file_passphrase=of_file)).origin is origin
        with refused("account_exists"):
            await agent.import_key(*asked, file_passphrase=of_file)
    with pytest.raises(WrongPassphrase):
        await agent.preview(Kind.EVM, KeyOrigin.KEYSTORE, Secret(keystore), file_passphrase=WRONG)
    await agent.lock()
    assert await agent.unlock(PASSPHRASE) == ()
    assert len(agent.accounts.unlocked) == 3


NO_KEYS = [
    (Kind.EVM, KeyOrigin.RAW, "0x" + "0" * 64, "bad_key"),
    (Kind.EVM, KeyOrigin.RAW, "0x" + "f" * 64, "bad_key"),
    (Kind.EVM, KeyOrigin.RAW, "12", "bad_key"),
    (Kind.SOLANA, KeyOrigin.RAW, "11" * 32, "bad_key"),
    (Kind.EVM, KeyOrigin.MNEMONIC, "test " * 12, "bad_key"),
    (Kind.EVM, KeyOrigin.MNEMONIC, "zoo zoo", "bad_key"),
    (Kind.EVM, KeyOrigin.KEYSTORE, "{", "key_file"),
    (Kind.EVM, KeyOrigin.KEYSTORE, '{"version": 4}', "key_file"),
    (Kind.SOLANA, KeyOrigin.KEYGEN, json.dumps([1] * 64), "bad_key"),
    (Kind.SOLANA, KeyOrigin.KEYGEN, json.dumps([256] * 64), "bad_key"),
]


async def test_what_is_no_key_is_refused_without_quoting_it(start: Start) -> None:
    agent = await start()
    for kind, origin, material, code in NO_KEYS:
        with refused(code) as raised:
            await agent.preview(
                kind,
                origin,
                Secret(material),
                file_passphrase=Secret("x"),
                paths=["m/44'/60'/0'/0/0"],
            )
        assert material.split()[0] not in raised.value.words


async def test_a_live_profile_takes_no_key_that_everybody_has(start: Start, tmp_path: Path) -> None:
    live = await start(directory=tmp_path / "live", profile="desk")
    [choice, *_] = await live.preview(Kind.EVM, KeyOrigin.MNEMONIC, TEST_PHRASE)
    with refused("published_key"):
        await live.import_key(choice, KeyOrigin.MNEMONIC, "", TEST_PHRASE, PASSPHRASE)
    sandbox = await start()
    await sandbox.import_key(choice, KeyOrigin.MNEMONIC, "", TEST_PHRASE, PASSPHRASE)


async def _one(agent: Any) -> Account:
    made: Account = await agent.create(Kind.EVM, "", PASSPHRASE)
    await agent.close()
    return made


async def test_a_key_moved_into_another_profile_is_not_used(
    start: Start, keys: Path, tmp_path: Path
) -> None:
    made = await _one(await start())
    name = f"evm-{made.address.lower()}.json"
    live = tmp_path / "live"
    live.mkdir(mode=0o700)
    content = (keys / name).read_bytes()
    (live / name).touch(mode=0o600)
    (live / name).write_bytes(content)
    agent = await start(directory=live, profile="desk")
    assert agent.accounts.accounts == ()
    assert "belongs to the profile 'sandbox'" in agent.accounts.unusable[0].reason

    # Not even when the file is made to say that it belongs here.
    (live / name).write_bytes(content.replace(b'"sandbox"', b'"desk"'))
    [account] = (await agent.read_accounts()).accounts
    assert account.profile == "desk"
    with refused("key_file"):
        await agent.unlock(PASSPHRASE)


async def test_loose_files_links_and_strangers_are_not_opened(start: Start, keys: Path) -> None:
    agent = await start()
    addresses = [(await agent.create(Kind.EVM, "", PASSPHRASE)).address for _ in range(4)]
    await agent.lock()
    files = [keys / f"evm-{one.lower()}.json" for one in addresses]
    files[0].chmod(0o640)
    files[1].chmod(0o604)
    real = files[2].with_name("elsewhere")
    files[2].rename(real)
    files[2].symlink_to(real)
    told = await agent.read_accounts()
    assert {one.file for one in told.unusable} == {one.name for one in files[:3]}
    assert [one.address for one in told.accounts] == [addresses[3]]
    await agent.unlock(PASSPHRASE)
    assert agent.accounts.unlocked == (addresses[3],)
    os.chmod(keys, 0o750)
    with refused("unsafe_files"):
        await agent.unlock(PASSPHRASE)
    os.chmod(keys, 0o700)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
async def test_a_key_file_of_another_user_is_not_opened(start: Start, keys: Path) -> None:
    made = await _one(await start())
    os.chown(keys / f"evm-{made.address.lower()}.json", 12345, -1)
    agent = await start()
    assert "another user" in agent.accounts.unusable[0].reason


async def test_a_second_agent_on_the_same_keys_only_looks(start: Start) -> None:
    first = await start()
    made = await first.create(Kind.EVM, "", PASSPHRASE)
    second = await start()
    assert second.accounts.read_only
    assert [one.address for one in second.accounts.accounts] == [made.address]
    for ask in (
        second.create(Kind.EVM, "", PASSPHRASE),
        second.rename(made.address, "mine"),
        second.broadcast("0x" + "00" * 32),
    ):
        with refused("read_only"):
            await ask
    await first.close()
    renamed = await second.rename(made.address, "mine")
    assert renamed.name == "mine"
    assert not (await second.read_accounts()).read_only


async def test_keys_are_dropped_when_nothing_is_asked(start: Start) -> None:
    dropped = asyncio.Event()
    agent = await start(on_locked=dropped.set, auto_lock_seconds=0.01)
    made = await agent.create(Kind.EVM, "", PASSPHRASE)
    await dropped.wait()
    assert agent.accounts.unlocked == ()
    assert (await agent.read_accounts()).unlocked == ()
    assert made.address == agent.accounts.accounts[0].address


async def test_an_answer_does_not_outlast_the_news_that_came_with_it(start: Start) -> None:
    """Both are read from the pipe at once, which the desk is too busy to do one by one."""
    agent = await start()
    await agent.create(Kind.EVM, "", PASSPHRASE)
    unlocked = to_json(agent.accounts)
    number, asked = agent._last_id + 1, asyncio.create_task(agent.read_accounts())
    await asyncio.sleep(0)
    assert number in agent._waiting
    answer, news = {"id": number, "done": unlocked}, {"event": "locked"}
    agent._answers.feed_data(bytes(encode_frame(answer) + encode_frame(news)))
    await asked
    assert unlocked["unlocked"]
    assert agent.accounts.unlocked == ()


def test_it_is_made_once_kept_private_and_random(tmp_path: Path) -> None:
    places = Home.at(tmp_path / "a").profile("sandbox")
    phrase = sandbox_passphrase(places)
    assert len(phrase.reveal()) >= 40
    assert sandbox_passphrase(places) == phrase
    file = places.root / FILE
    assert file.stat().st_mode & 0o777 == 0o600
    assert sandbox_passphrase(Home.at(tmp_path / "b").profile("sandbox")) != phrase
    file.chmod(0o644)
    with pytest.raises(UnsafePlace):
        sandbox_passphrase(places)


@pytest.fixture
def fresh() -> Iterator[None]:
    """Agents as a desk starts them, from nothing: for what belongs to a process of its own."""
    with in_fresh_interpreters():
        yield


FRESH = pytest.mark.usefixtures("fresh")


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def proc(pid: int, name: str) -> bytes:
    return Path(f"/proc/{pid}/{name}").read_bytes()


@FRESH
@LINUX
async def test_memory_is_closed_and_nobody_is_told_a_secret(
    start: Start, keys: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    agent = await start()
    made = await agent.create(Kind.EVM, "", PASSPHRASE)
    with pytest.raises(WrongPassphrase) as wrong:
        await agent.unlock(Secret("a wrong one that is long"))
    key = await agent.export(made.address, export_phrase(made.address), PASSPHRASE)
    raw = EthAccount.create().key.hex()
    await agent.preview(Kind.EVM, KeyOrigin.RAW, Secret(raw))
    secrets = [PASSPHRASE.reveal(), key.reveal().decode()[2:], raw, "a wrong one that is long"]
    limits = proc(agent.pid, "limits").decode()
    assert re.search(r"Max core file size +0 +0 ", limits)
    # Files of a process that cannot be dumped belong to root, whoever runs it.
    assert os.stat(f"/proc/{agent.pid}/mem").st_uid == 0
    assert os.getsid(agent.pid) == agent.pid
    told = proc(agent.pid, "cmdline") + proc(agent.pid, "environ")
    ignoring = re.search(r"SigIgn:\s*([0-9a-f]+)", proc(agent.pid, "status").decode())
    ignored = int(ignoring[1], 16)
    assert ignored >> (signal.SIGINT - 1) & 1
    await agent.close()
    written = b"".join((keys / one).read_bytes() for one in os.listdir(keys))
    heard = f"{caplog.text} {wrong.value!r} {agent.gone.said} {agent.__dict__}"
    for secret in secrets:
        assert secret.encode() not in told
        assert secret.encode() not in written
        assert secret not in heard


async def test_an_agent_without_its_packages_lists_accounts_and_says_what_is_missing(
    keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra is not installed: neither on the desk's side nor on the agent's."""
    monkeypatch.setitem(sys.modules, "eth_account", None)
    program = (
        "import sys; sys.modules['eth_account'] = None\n"
        "from swapdesk.agent.__main__ import main; main(sys.argv[1:], cost=1024)"
    )
    place = WalletPlace(str(keys), "sandbox")
    agent = await WalletClient.start(place, program=("-I", "-c", program))
    assert agent.accounts.accounts == ()
    with pytest.raises(AgentMissing, match="signing needs eth_account") as lacking:
        await agent.create(Kind.EVM, "", PASSPHRASE)
    assert lacking.value.mend == install("wallet")
    said = failure_of_wallet(lacking.value)
    assert (said.code, said.next) == (
        "WALLET_MISSING",
        f"you: install the extra: {install('wallet')}",
    )
    await agent.close()


async def test_the_agent_is_told_by_which_certificates_nodes_are_trusted(
    keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing else of the environment."""
    monkeypatch.setattr("swapdesk.certificates._chosen", str(tmp_path / "proxy.pem"))
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    told = tmp_path / "environment"
    program = (
        f"import os, sys; open({str(told)!r}, 'w').write(repr(sorted(os.environ.items())))\n"
        "from swapdesk.agent.__main__ import main; main(sys.argv[1:], cost=1024)"
    )
    place = WalletPlace(str(keys), "sandbox")
    agent = await WalletClient.start(place, program=("-I", "-c", program))
    await agent.close()
    given = {name: value for name, value in literal_eval(told.read_text()) if name != "LC_CTYPE"}
    assert given == {"LANG": "C.UTF-8", "SSL_CERT_FILE": str(tmp_path / "proxy.pem")}


_ON_MACOS = """
import ctypes, os, sys
from types import SimpleNamespace
from swapdesk.agent.process.confinement import confine

asked = []
def ptrace(*arguments):
    asked.append(arguments)
    return {answer}

sys.platform = "darwin"
ctypes.CDLL = lambda name, **how: SimpleNamespace(ptrace=ptrace)
try:
    confine(os.getppid())
except OSError as error:
    sys.exit(str(error))
print(*asked)
"""


@each_row(
    ("answer", "outcome"),
    [
        (0, (0, "(31, 0, None, 0)\n", "")),
        (-1, (1, "", "the memory of this process cannot be closed to debuggers\n")),
    ],
)
def test_no_debugger_on_macos_or_no_agent(answer: int, outcome: tuple[int, str, str]) -> None:
    """PT_DENY_ATTACH is asked for, and a system that refuses it gets no keys."""
    program = [sys.executable, "-I", "-c", _ON_MACOS.format(answer=answer)]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=PATIENCE)
    assert (ended.returncode, ended.stdout, ended.stderr) == outcome


@LINUX
async def test_no_other_process_of_the_user_speaks_for_the_desk(start: Start) -> None:
    before = set(os.listdir("/proc/self/fd"))
    agent = await start()
    made = await agent.create(Kind.EVM, "", PASSPHRASE)
    lock = encode_frame({"id": 1 << 40, "do": "lock"})
    for name in set(os.listdir("/proc/self/fd")) - before:
        with suppress(OSError):
            other = os.open(f"/proc/self/fd/{name}", os.O_WRONLY | os.O_NONBLOCK)
            os.write(other, lock)
            os.close(other)
    assert (await agent.read_accounts()).unlocked == (made.address,)


async def test_an_agent_that_is_not_heard_any_more_is_ended(start: Start) -> None:
    agent = await start()
    asked = asyncio.create_task(agent.read_accounts())
    await asyncio.sleep(0)
    assert kill(agent._hearing, "")
    with pytest.raises(AgentGone, match="cannot be understood: Planted"):
        async with asyncio.timeout(PATIENCE):
            await asked
    assert agent.gone is not None


@LINUX
async def test_an_agent_that_ends_is_noticed(start: Start, subtests: pytest.Subtests) -> None:
    agent = await start()
    await agent.create(Kind.EVM, "", PASSPHRASE)
    for number in (signal.SIGKILL, signal.SIGTERM):
        with subtests.test(number=number):
            await agent.unlock(PASSPHRASE)
            os.kill(agent.pid, signal.SIGINT)
            assert (await agent.read_accounts()).accounts
            os.kill(agent.pid, number)
            await eventually(lambda it=agent: it.gone is not None)
            assert "unlock again" in agent.gone.words
            with pytest.raises(AgentGone):
                await agent.lock()
        # What was kept is there for the next one, and the lock is free.
        agent = await start()
        assert not agent.accounts.read_only
        assert len(agent.accounts.accounts) == 1


@FRESH
async def test_a_new_key_is_as_dear_to_guess_as_a_file_may_be(keys: Path) -> None:
    """Of the shipped program itself: that of other tests makes cheap files."""
    agent = await WalletClient.start(WalletPlace(str(keys), "sandbox"))
    await agent.create(Kind.EVM, "", PASSPHRASE)
    await agent.close()
    files = [json.loads((keys / name).read_bytes()) for name in os.listdir(keys) if "json" in name]
    assert [one["crypto"]["kdfparams"]["n"] for one in files if "crypto" in one] == [MAX_N]


@LINUX
async def test_whoever_waits_for_a_killed_agent_is_told(start: Start) -> None:
    agent = await start()
    await agent.create(Kind.EVM, "", PASSPHRASE)
    os.kill(agent.pid, signal.SIGSTOP)
    asked = [asyncio.create_task(agent.unlock(PASSPHRASE)) for _ in range(3)]
    asked.append(asyncio.create_task(agent.lock()))
    await asyncio.sleep(0)
    os.kill(agent.pid, signal.SIGKILL)
    for outcome in await asyncio.gather(*asked, return_exceptions=True):
        assert isinstance(outcome, AgentGone)


async def test_a_request_that_is_cancelled_disturbs_no_other(start: Start) -> None:
    agent = await start()
    await agent.create(Kind.EVM, "", PASSPHRASE)
    for _ in range(20):
        asked = asyncio.create_task(agent.unlock(PASSPHRASE))
        await asyncio.sleep(0)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        assert len((await agent.read_accounts()).accounts) == 1
    await agent.unlock(PASSPHRASE)


_DESK = """
import asyncio, sys
from pathlib import Path
from swapdesk.secret import Secret
from swapdesk.wallet.client import WalletClient
from swapdesk.wallet.accounts import WalletPlace

async def main():
    agent = await WalletClient.start(WalletPlace(sys.argv[1], "sandbox"))
    print(agent.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@FRESH
@LINUX
def test_no_agent_outlives_its_desk(keys: Path) -> None:
    desk = subprocess.Popen(
        [sys.executable, "-c", _DESK, str(keys)], stdout=subprocess.PIPE, text=True
    )
    agent = os.pidfd_open(int(desk.stdout.readline()))
    assert select.select([agent], [], [], 0) == ([], [], [])
    desk.kill()
    desk.wait()
    assert select.select([agent], [], [], PATIENCE) == ([agent], [], [])
    os.close(agent)
    desk.stdout.close()


class Raw:
    """An agent without a client, to be told what no desk would tell it."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *AGENT, *(arguments or (str(os.getpid()),))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def end(self, sent: bytes) -> tuple[int, bytes, bytes]:
        out, err = self.process.communicate(sent, timeout=PATIENCE)
        return self.process.returncode, out, err

    def say(self, head: str) -> None:
        self.process.stdin.write(struct.pack(">II", len(head), len(head)) + head.encode())
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """The head of the next frame."""
        size, head = frame_sizes(self.process.stdout.read(PREFIX_BYTES))
        return decode_frame(bytearray(self.process.stdout.read(size)), head).head


HOSTILE = {
    "no frame at all": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "a gigabyte": struct.pack(">II", 1 << 30, 2),
    "one byte too many": struct.pack(">II", MAX_FRAME + 1, 2),
    "a head beyond its frame": struct.pack(">II", 2, 3) + b"{}",
    "no JSON": struct.pack(">II", 3, 3) + b"{,}",
    "no object": struct.pack(">II", 2, 2) + b"[]",
    "a deep head": struct.pack(">II", 200_000, 200_000) + b"[" * 200_000,
    "secrets that are not there": struct.pack(">II", 23, 23) + b'{"secrets":{"a": 1000}}',
    "secrets of negative length": struct.pack(">II", 21, 21) + b'{"secrets":{"a": -1}}',
    "bytes nobody names": struct.pack(">II", 4, 2) + b"{}xx",
}


@each_row("name", HOSTILE)
def test_what_is_no_frame_is_not_read(name: str) -> None:
    sent = HOSTILE[name]
    with pytest.raises(FrameError):
        decode_frame(bytearray(sent[PREFIX_BYTES:]), frame_sizes(sent[:PREFIX_BYTES])[1])


@each_row("case", load(name="frames"), ids=lambda case: case.id)
def test_a_hostile_frame_ends_the_agent_or_is_answered(case: Case) -> None:
    raw = Raw()
    raw.say(case.text)
    if case.expect.get("ends"):
        code, _, err = raw.end(b"")
        assert code == 3
        assert err.startswith(b"FrameError: ")
        assert err.count(b"\n") == 1
        return
    assert raw.hear()["event"] == "ready"
    answer = raw.hear()
    raw.end(b"")
    assert answer["refused"]["code"] == case.expect["refused"]
    assert answer["id"] == (1 if '"id": 1,' in case.text else None)


@FRESH
def test_an_agent_is_started_by_its_desk_alone() -> None:
    code, out, _ = Raw("1").end(b"")
    assert (code, out) == (4, b"")
    code, out, _ = Raw("desk").end(b"")
    assert (code, out) == (1, b"")


CALL = payload_to_json(TransactionPayload(Purpose.DEPOSIT, "0x" + "11" * 20, "0x", 1))


def odd_promises() -> Iterator[Any]:
    """Promises with numbers and times that nobody can count with."""
    made = Promise(
        intent_id="odd",
        account="0x" + "22" * 20,
        chain="base",
        chain_id=1,
        sell=Asset("A", 18, None),
        sell_units=1,
        buy=Asset("B", 18, None),
        chain_out="base",
        least_units=1,
        quoted_units=1,
        recipient="0x" + "22" * 20,
        venue=None,
        quote_id=None,
        valid_until=datetime(2026, 1, 1, tzinfo=UTC),
        gas_units=1,
    )
    for change in (
        {"valid_until": datetime.max.replace(tzinfo=UTC)},
        {"valid_until": datetime(2026, 1, 1)},
        {"sell_units": 1 << 256},
        {"chain_id": -(1 << 256)},
        {"sell": Asset("A", 10**30, None)},
        {"bundle": BundlePromise("x", 1 << 300, ())},
    ):
        yield to_json(replace(made, **change))


async def test_requests_that_make_no_sense_are_refused_and_harm_nothing(start: Start) -> None:
    agent = await start()
    ask: Any = agent.ask
    for operation, arguments in [
        ("dance", {}),
        ("open", {"place": {}}),
        ("unlock", {}),
        ("create", {"kind": "bitcoin"}),
        ("create", {"kind": "evm", "name": "x" * 33}),
        ("review", {"payload": {"kind": "message"}, "promise": {}}),
        ("review", {"payload": {"kind": "typed_data", "payload": {}}, "promise": {}}),
        ("sign", {"review": "no", "digest": "0x"}),
        ("broadcast", {"hash": "../../etc/passwd"}),
        ("clock", {"offset": "tomorrow"}),
        ("clock", {"offset": 1e308}),
        ("clock", {"offset": -1e308}),
        ("clock", {"offset": 10**400}),
        ("bump", {"hash": "0x" + "11" * 32, "gas": 1 << 256}),
        ("export", {"address": ["x"]}),
    ]:
        with pytest.raises(Refused) as raised:
            await ask(operation, **arguments)
        assert raised.value.code != "defect", (operation, arguments)
    for promise in odd_promises():
        with refused("bad_request"):
            await ask("review", payload=CALL, promise=promise)
    with pytest.raises(Refused):
        await ask("open", place={"directory": "relative", "profile": "sandbox"})
    assert (await agent.read_accounts()).accounts == ()


def _records(keys: Path, count: int, problem: str | None = None) -> None:
    """So many transactions of before."""
    file = RecordsFile(keys, writable=True)
    rows = [
        (f"0x{number:064x}", f"intent-{number}", b"c", b"r", number, problem)
        for number in range(count)
    ]
    with file.transaction() as connection:
        connection.execute("DELETE FROM tx")
        connection.executemany(
            "INSERT INTO tx(hash, intent, purpose, chain, account, content, raw, nonce, fee,"
            " priority, state, problem, created)"
            " VALUES(?, ?, 'deposit', 'base', '0x', ?, ?, ?, '1', '1', 'done', ?,"
            " '2026-11-22T00:00:00+00:00')",
            rows,
        )
    file.close()


async def test_a_wallet_of_many_transactions_tells_them_in_pages(start: Start, keys: Path) -> None:
    agent = await start()
    _records(keys, 600, "x" * 1_000)
    async with asyncio.timeout(PATIENCE):
        told = await agent.transactions()
        assert [one.nonce for one in told] == list(range(600))
        assert [one.nonce for one in await agent.transactions("intent-599")] == [599]
        # What fits into no frame is an error, and the next question is answered.
        _records(keys, 500, "x" * 5_000)
        with refused("defect"):
            await agent.transactions()
        assert (await agent.read_accounts()).accounts == ()
        with refused("bad_request"):
            await agent.ask("rename", address="x" * MAX_FRAME, name="x")


def test_a_desk_that_reads_nothing_is_not_heard_for_ever() -> None:
    """Its requests wait in its own pipe, and each is answered once it reads."""
    raw = Raw()
    # An answer repeats the number that it answers: a thousand of these are more than is held.
    stdin, numbers = raw.process.stdin, range(10**1_000, 10**1_000 + 2_000)
    asked = (f'{{"id": {number}, "do": "accounts"}}{" " * 2_000}'.encode() for number in numbers)
    frames = b"".join(struct.pack(">II", len(one), len(one)) + one for one in asked)
    # It runs: what it does not take in then, it leaves.
    assert raw.hear()["event"] == "ready"
    os.set_blocking(stdin.fileno(), False)
    rest = memoryview(frames)
    while rest and select.select([], [stdin], [], 1.0)[1]:
        rest = rest[os.write(stdin.fileno(), rest[:65_536]) :]
    assert rest, "everything was taken in"
    os.set_blocking(stdin.fileno(), True)
    writing = threading.Thread(target=stdin.write, args=(rest,))
    writing.start()
    assert {raw.hear()["id"] for _ in numbers} == set(numbers)
    writing.join()
    raw.end(b"")


async def test_a_directory_that_others_can_read_is_not_opened(keys: Path) -> None:
    os.makedirs(keys)
    os.chmod(keys, 0o755)
    with pytest.raises(Refused, match="chmod 700"):
        await WalletClient.start(WalletPlace(str(keys), "sandbox"))


async def test_an_agent_is_started_from_the_main_thread_only(keys: Path) -> None:
    raised: list[BaseException] = []

    def attempt() -> None:
        try:
            asyncio.run(WalletClient.start(WalletPlace(str(keys), "sandbox")))
        except RuntimeError as error:
            raised.append(error)

    thread = threading.Thread(target=attempt)
    thread.start()
    await asyncio.to_thread(thread.join)
    assert "main thread" in str(raised[0])


async def test_an_agent_that_cannot_start_says_so(keys: Path) -> None:
    place = WalletPlace(str(keys), "sandbox")
    with pytest.raises(AgentMissing):
        await WalletClient.start(place, program=("-I", "-c", "raise SystemExit(7)"))
