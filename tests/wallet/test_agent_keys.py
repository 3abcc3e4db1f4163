"""Keys in a real agent: made, imported, opened, exported, and refused."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account as EthAccount
from eth_account.hdaccount import generate_mnemonic
from eth_account.types import Language
from solders.keypair import Keypair

from swapdesk.secret import Secret
from swapdesk.wallet.accounts import Account, ImportChoice, KeyOrigin, Kind, export_phrase
from swapdesk.wallet.encoding import to_json
from swapdesk.wallet.errors import Refused, WrongPassphrase
from swapdesk.wallet.protocol import Event, encode_frame
from swapdesk.wallet.protocol import RefusalCode as Code
from wallet.agents import PASSPHRASE, Start

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
    with pytest.raises(Refused) as refused:
        await agent.export(made.address, "export", PASSPHRASE)
    assert refused.value.code is Code.NOT_CONFIRMED
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
    with pytest.raises(Refused) as refused:
        await agent.import_key(other, KeyOrigin.MNEMONIC, "", phrase, PASSPHRASE)
    assert refused.value.code is Code.NOT_CONFIRMED


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
        with pytest.raises(Refused) as refused:
            await agent.import_key(*asked, file_passphrase=of_file)
        assert refused.value.code is Code.ACCOUNT_EXISTS
    with pytest.raises(WrongPassphrase):
        await agent.preview(Kind.EVM, KeyOrigin.KEYSTORE, Secret(keystore), file_passphrase=WRONG)
    await agent.lock()
    assert await agent.unlock(PASSPHRASE) == ()
    assert len(agent.accounts.unlocked) == 3


NO_KEYS = [
    (Kind.EVM, KeyOrigin.RAW, "0x" + "0" * 64, Code.BAD_KEY),
    (Kind.EVM, KeyOrigin.RAW, "0x" + "f" * 64, Code.BAD_KEY),
    (Kind.EVM, KeyOrigin.RAW, "12", Code.BAD_KEY),
    (Kind.SOLANA, KeyOrigin.RAW, "11" * 32, Code.BAD_KEY),
    (Kind.EVM, KeyOrigin.MNEMONIC, "test " * 12, Code.BAD_KEY),
    (Kind.EVM, KeyOrigin.MNEMONIC, "zoo zoo", Code.BAD_KEY),
    (Kind.EVM, KeyOrigin.KEYSTORE, "{", Code.KEY_FILE),
    (Kind.EVM, KeyOrigin.KEYSTORE, '{"version": 4}', Code.KEY_FILE),
    (Kind.SOLANA, KeyOrigin.KEYGEN, json.dumps([1] * 64), Code.BAD_KEY),
    (Kind.SOLANA, KeyOrigin.KEYGEN, json.dumps([256] * 64), Code.BAD_KEY),
]


async def test_what_is_no_key_is_refused_without_quoting_it(start: Start) -> None:
    agent = await start()
    for kind, origin, material, code in NO_KEYS:
        with pytest.raises(Refused) as refused:
            await agent.preview(
                kind,
                origin,
                Secret(material),
                file_passphrase=Secret("x"),
                paths=["m/44'/60'/0'/0/0"],
            )
        assert refused.value.code is code, material
        assert material.split()[0] not in refused.value.words


async def test_a_live_profile_takes_no_key_that_everybody_has(start: Start, tmp_path: Path) -> None:
    live = await start(directory=tmp_path / "live", profile="desk")
    [choice, *_] = await live.preview(Kind.EVM, KeyOrigin.MNEMONIC, TEST_PHRASE)
    with pytest.raises(Refused) as refused:
        await live.import_key(choice, KeyOrigin.MNEMONIC, "", TEST_PHRASE, PASSPHRASE)
    assert refused.value.code is Code.PUBLISHED_KEY
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
    with pytest.raises(Refused) as refused:
        await agent.unlock(PASSPHRASE)
    assert refused.value.code is Code.KEY_FILE


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
    with pytest.raises(Refused) as refused:
        await agent.unlock(PASSPHRASE)
    assert refused.value.code is Code.UNSAFE_FILES
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
        with pytest.raises(Refused) as refused:
            await ask
        assert refused.value.code is Code.READ_ONLY
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
    unlocked, process = to_json(agent.accounts), agent._agent
    number, asked = process._last_id + 1, asyncio.create_task(agent.read_accounts())
    await asyncio.sleep(0)
    assert number in process._waiting
    answer, news = {"id": number, "done": unlocked}, {"event": Event.LOCKED}
    process._process.stdout.feed_data(bytes(encode_frame(answer) + encode_frame(news)))
    await asked
    assert unlocked["unlocked"]
    assert agent.accounts.unlocked == ()
