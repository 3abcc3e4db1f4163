"""Key files: bounds before cost, and what other programs make of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from eth_keyfile import create_keyfile_json, decode_keyfile_json
from msgspec.structs import replace

from swapdesk.agent.keys.key_file import file_name, read_foreign_keystore, read_key, write_key
from swapdesk.agent.keys.keystore import (
    KeyFileRefused,
    Keystore,
    Scrypt,
    WrongPassword,
    read_derivation,
)
from swapdesk.agent.keys.material import (
    PUBLISHED_ADDRESSES,
    PUBLISHED_PHRASES,
    SUGGESTED,
    address_of,
    fresh,
    from_mnemonic,
)
from swapdesk.secret import SecretBytes
from swapdesk.wallet.accounts import Account, KeyOrigin, Kind

SALT = "ab" * 32
GOOD = {"dklen": 32, "n": 4096, "r": 8, "p": 1, "salt": SALT}
ROUNDS = {"dklen": 32, "c": 2_000_000, "prf": "hmac-sha256", "salt": SALT}


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("scrypt", {"n": 1 << 19}),
        ("scrypt", {"n": 4095}),
        ("scrypt", {"n": 1}),
        ("scrypt", {"n": 0}),
        ("scrypt", {"n": -4096}),
        ("scrypt", {"n": 4096.0}),
        ("scrypt", {"n": True}),
        ("scrypt", {"n": "4096"}),
        ("scrypt", {"r": 9}),
        ("scrypt", {"r": 0}),
        ("scrypt", {"p": 2}),
        ("scrypt", {"dklen": 33}),
        ("scrypt", {"salt": "ab"}),
        ("scrypt", {"salt": "zz" * 32}),
        ("scrypt", {"salt": None}),
        ("pbkdf2", {"c": 2_000_001}),
        ("pbkdf2", {"c": 0}),
        ("pbkdf2", {"prf": "hmac-md5"}),
        ("argon2", {}),
        (None, {}),
    ],
)
def test_a_derivation_out_of_bounds_is_refused(name: Any, changed: dict[str, Any]) -> None:
    base = ROUNDS if name == "pbkdf2" else GOOD
    read_derivation("pbkdf2" if name == "pbkdf2" else "scrypt", base)
    with pytest.raises(KeyFileRefused):
        read_derivation(name, {**base, **changed})


def test_the_largest_derivation_in_bounds_is_read_and_not_run() -> None:
    assert read_derivation("scrypt", {**GOOD, "n": 1 << 18}) == Scrypt(bytes.fromhex(SALT), 1 << 18)


@pytest.mark.parametrize("kdf", ["scrypt", "pbkdf2"])
def test_keystores_of_the_reference_are_read(kdf: Any) -> None:
    key = SecretBytes(b"\x07" * 32)
    made = create_keyfile_json(bytes(key.reveal()), b"theirs", kdf=kdf, iterations=1024)
    file = read_foreign_keystore(json.dumps(made).encode())
    opened = file.open(file.derivation.derive(SecretBytes(b"theirs")))
    assert opened.reveal() == key.reveal()
    with pytest.raises(WrongPassword):
        file.open(file.derivation.derive(SecretBytes(b"other")))


def written(kind: Kind) -> tuple[Account, bytes, SecretBytes]:
    material = fresh(kind)
    now = datetime(2026, 11, 22, tzinfo=UTC)
    account = Account(material.address, kind, "", "sandbox", KeyOrigin.CREATED, None, now)
    scrypt = Scrypt.fresh(1024)
    key = scrypt.derive(SecretBytes(b"pass"))
    return account, write_key(account, material.secret, key, scrypt), material.secret


@pytest.mark.parametrize("kind", list(Kind))
def test_what_is_written_is_read_and_bound_to_what_it_says(kind: Kind) -> None:
    account, content, secret = written(kind)
    name = file_name(kind, account.address)
    file = read_key(name, content)
    assert replace(file.account, name="") == account
    key = file.derivation.derive(SecretBytes(b"pass"))
    assert file.open(key).reveal() == secret.reveal()
    assert address_of(kind, secret) == account.address
    whole = json.loads(content)
    for field, value in {
        "profile": "live",
        "origin": "mnemonic",
        "path": "m/44'/60'/0'/0/0",
        "created": "2026-11-23T00:00:00+00:00",
    }.items():
        other = {**whole, "swapdesk": {**whole["swapdesk"], field: value}}
        with pytest.raises((KeyFileRefused, WrongPassword)):
            read_key(name, json.dumps(other).encode()).open(key)


def test_an_evm_file_is_a_keystore_of_the_field() -> None:
    _, content, secret = written(Kind.EVM)
    assert decode_keyfile_json(json.loads(content), b"pass") == bytes(secret.reveal())


@pytest.mark.parametrize("kind", list(Kind))
def test_a_changed_file_is_refused(kind: Kind) -> None:
    account, content, _ = written(kind)
    name = file_name(kind, account.address)
    whole = json.loads(content)
    crypto = whole["crypto"]
    for changed in (
        b"",
        b"[]",
        b"{}",
        b"[" * 60_000,
        b" " * 65_537,
        json.dumps({**whole, "version": 9}).encode(),
        json.dumps({**whole, "address": "11" * 20}).encode(),
        json.dumps({**whole, "address": None}).encode(),
        json.dumps({**whole, "crypto": None}).encode(),
        json.dumps({**whole, "swapdesk": {}}).encode(),
        json.dumps({**whole, "swapdesk": {**whole["swapdesk"], "more": 1}}).encode(),
        json.dumps({**whole, "swapdesk": {**whole["swapdesk"], "created": 5}}).encode(),
        json.dumps({**whole, "crypto": {**crypto, "cipher": "rot13"}}).encode(),
        json.dumps({**whole, "crypto": {**crypto, "ciphertext": "00"}}).encode(),
        json.dumps({**whole, "crypto": {**crypto, "cipherparams": {}}}).encode(),
    ):
        with pytest.raises(KeyFileRefused):
            read_key(name, changed)
    with pytest.raises(KeyFileRefused):
        read_key(file_name(kind, "0x" + "11" * 20), content)


def test_a_keystore_of_another_length_is_refused() -> None:
    made = create_keyfile_json(b"\x07" * 32, b"x", kdf="scrypt", iterations=1024)
    for name, value in {"ciphertext": "aa" * 31, "mac": "aa", "iv": "aa"}.items():
        crypto = json.loads(json.dumps(made["crypto"]))
        (crypto["cipherparams"] if name == "iv" else crypto)[name] = value
        with pytest.raises(KeyFileRefused):
            Keystore(crypto)


def test_published_keys_are_those_of_their_phrases() -> None:
    found = set()
    for phrase in PUBLISHED_PHRASES:
        for kind, paths in SUGGESTED.items():
            more = [f"m/44'/60'/0'/0/{i}" for i in range(10)] if kind is Kind.EVM else paths
            for path in more:
                found.add(from_mnemonic(SecretBytes(phrase.encode()), kind, path).address)
    assert found == PUBLISHED_ADDRESSES


def test_a_secret_is_shown_nowhere_and_wiped() -> None:
    secret = SecretBytes(b"never shown")
    shown = f"{secret} {secret!r} {[secret]} {secret:>30}"
    assert "never" not in shown
    with pytest.raises(TypeError):
        secret.__reduce__()
    held = secret.reveal()
    secret.wipe()
    assert held == b""
