"""Key files: bounds before cost, and what other programs make of them."""

from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime
from typing import Any

import pytest
from eth_account.hdaccount.mnemonic import Mnemonic
from eth_account.types import Language
from eth_keyfile import create_keyfile_json, decode_keyfile_json
from msgspec.structs import replace
from solders.keypair import Keypair

from rows import each_row
from swapdesk.agent.keys.key_file import (
    Keystore,
    Scrypt,
    encrypt,
    file_name,
    read_derivation,
    read_foreign_keystore,
    read_key,
    write_key,
)
from swapdesk.agent.keys.material import (
    PUBLISHED_ADDRESSES,
    SUGGESTED,
    address_of,
    fresh,
    from_keygen,
    from_mnemonic,
    from_raw,
)
from swapdesk.chain.addresses.base58 import encode as base58
from swapdesk.secret import SecretBytes
from swapdesk.wallet.accounts import Account, KeyOrigin, Kind
from swapdesk.wallet.protocol import Refused

SALT = "ab" * 32
GOOD = {"dklen": 32, "n": 4096, "r": 8, "p": 1, "salt": SALT}
ROUNDS = {"dklen": 32, "c": 2_000_000, "prf": "hmac-sha256", "salt": SALT}


@each_row(
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
        ("scrypt", {"r": 513}),
        ("scrypt", {"n": 1 << 18, "r": 9}),
        ("scrypt", {"r": 0}),
        ("scrypt", {"p": 0}),
        ("scrypt", {"p": 257}),
        ("scrypt", {"n": 1 << 18, "p": 5}),
        ("scrypt", {"n": 2, "r": 1 << 22}),
        ("scrypt", {"n": 2, "r": 1, "p": 1 << 23}),
        ("scrypt", {"dklen": 31}),
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
    with pytest.raises(Refused):
        read_derivation(name, {**base, **changed})


def test_the_largest_derivation_in_bounds_is_read_and_not_run() -> None:
    assert read_derivation("scrypt", {**GOOD, "n": 1 << 18}) == Scrypt(bytes.fromhex(SALT), 1 << 18)


@each_row(
    ("n", "r", "p"),
    [
        (1 << 18, 8, 1),  # geth, Foundry
        (1 << 18, 1, 8),  # the example of the definition, older versions of eth-keyfile
        (4096, 8, 6),  # geth --lightkdf, web3j
        (8192, 8, 1),  # web3.js, older MyEtherWallet
        (1 << 17, 8, 1),  # ethers, MyEtherWallet
        (16384, 8, 4),  # Trust Wallet Core
        (1024, 8, 1),
        (2, 1, 1),
    ],
)
def test_what_wallets_write_is_within_the_bounds_of_cost(n: int, r: int, p: int) -> None:
    asked = {**GOOD, "n": n, "r": r, "p": p}
    assert read_derivation("scrypt", asked) == Scrypt(bytes.fromhex(SALT), n, r, p)
    longer = {**asked, "dklen": 64}
    assert read_derivation("scrypt", longer) == Scrypt(bytes.fromhex(SALT), n, r, p)


@each_row(
    ("changed", "said"),
    [
        ({"n": 1 << 20}, "more memory than 256 MiB"),
        ({"n": 2, "r": 1 << 22}, "more memory than 256 MiB"),
        ({"n": 1 << 18, "p": 5}, "longer than a few seconds"),
        ({"n": 4095}, "no power of two"),
    ],
)
def test_what_costs_too_much_is_said_to_cost_it(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused, match=said):
        read_derivation("scrypt", {**GOOD, **changed})


@each_row(("r", "p"), [(8, 6), (1, 8)])
def test_a_light_keystore_of_geth_and_one_of_the_definition_open(r: int, p: int) -> None:
    key, scrypt = SecretBytes(b"\x07" * 32), Scrypt(bytes.fromhex(SALT), 4096, r, p)
    crypto = encrypt(key, scrypt.derive(SecretBytes(b"theirs")), scrypt)
    assert decode_keyfile_json({"version": 3, "crypto": crypto}, b"theirs") == bytes(key.reveal())
    file = read_foreign_keystore(json.dumps({"version": 3, "Crypto": crypto}).encode())
    assert file.open(file.derivation.derive(SecretBytes(b"theirs"))).reveal() == key.reveal()


def test_the_example_of_the_definition_opens() -> None:
    """Web3 Secret Storage, test vector of PBKDF2."""
    crypto = {
        "cipher": "aes-128-ctr",
        "cipherparams": {"iv": "6087dab2f9fdbbfaddc31a909735c1e6"},
        "ciphertext": "5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46",
        "kdf": "pbkdf2",
        "kdfparams": {
            "c": 262144,
            "dklen": 32,
            "prf": "hmac-sha256",
            "salt": "ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd",
        },
        "mac": "517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2",
    }
    file = read_foreign_keystore(json.dumps({"version": 3, "crypto": crypto}).encode())
    opened = file.open(file.derivation.derive(SecretBytes(b"testpassword")))
    secret = "7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d"
    assert bytes(opened.reveal()).hex() == secret


@each_row("kdf", ["scrypt", "pbkdf2"])
def test_keystores_of_the_reference_are_read(kdf: Any) -> None:
    key = SecretBytes(b"\x07" * 32)
    made = create_keyfile_json(bytes(key.reveal()), b"theirs", kdf=kdf, iterations=1024)
    file = read_foreign_keystore(json.dumps(made).encode())
    opened = file.open(file.derivation.derive(SecretBytes(b"theirs")))
    assert opened.reveal() == key.reveal()
    with pytest.raises(Refused, match="does not open"):
        file.open(file.derivation.derive(SecretBytes(b"other")))


def written(kind: Kind) -> tuple[Account, bytes, SecretBytes]:
    material = fresh(kind)
    now = datetime(2026, 11, 22, tzinfo=UTC)
    account = Account(material.address, kind, "", "sandbox", KeyOrigin.CREATED, None, now)
    scrypt = Scrypt.fresh(1024)
    key = scrypt.derive(SecretBytes(b"pass"))
    return account, write_key(account, material.secret, key, scrypt), material.secret


@each_row("kind", list(Kind))
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
        with pytest.raises(Refused):
            read_key(name, json.dumps(other).encode()).open(key)


def test_an_evm_file_is_a_keystore_of_the_field() -> None:
    _, content, secret = written(Kind.EVM)
    assert decode_keyfile_json(json.loads(content), b"pass") == bytes(secret.reveal())


@each_row("kind", list(Kind))
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
        with pytest.raises(Refused):
            read_key(name, changed)
    with pytest.raises(Refused):
        read_key(file_name(kind, "0x" + "11" * 20), content)


def test_a_keystore_of_another_length_is_refused() -> None:
    made = create_keyfile_json(b"\x07" * 32, b"x", kdf="scrypt", iterations=1024)
    for name, value in {"ciphertext": "aa" * 31, "mac": "aa", "iv": "aa"}.items():
        crypto = json.loads(json.dumps(made["crypto"]))
        (crypto["cipherparams"] if name == "iv" else crypto)[name] = value
        with pytest.raises(Refused):
            Keystore(crypto)


PUBLISHED_PHRASES = (
    "test test test test test test test test test test test junk",
    "myth like bonus scare over problem client lizard pioneer submit female collect",
    "candy maple cake sugar pudding cream honey rich smooth crumble sweet treat",
    "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about",
    "legal winner thank year wave sausage worth useful legal winner thank yellow",
    "zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong",
)
"""Of Hardhat, Foundry and Anvil; Ganache; Truffle; and the vectors of BIP-39."""


def test_published_keys_are_those_of_their_phrases() -> None:
    found = set()
    for phrase in PUBLISHED_PHRASES:
        for kind, paths in SUGGESTED.items():
            more = [f"m/44'/60'/0'/0/{i}" for i in range(10)] if kind is Kind.EVM else paths
            for path in more:
                found.add(from_mnemonic(SecretBytes(phrase.encode()), kind, path).address)
    assert found == PUBLISHED_ADDRESSES


JUNK = "test test test test test test test test test test test junk"
JUNK_KEY = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
JUNK_ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
TREZOR = "legal winner thank year wave sausage worth useful legal winner thank yellow"


def _lines(phrase: str, form: str) -> str:
    return "".join(form.format(n=place, w=word) for place, word in enumerate(phrase.split(), 1))


def _columns(phrase: str) -> str:
    """Two columns, as paper wallets print them: the order is that of the numbers."""
    words = phrase.split()
    half = len(words) // 2
    return "\n".join(
        f"{at + 1}. {words[at]}\t{at + half + 1}. {words[at + half]}" for at in range(half)
    )


PASTED = {
    "dots": _lines(TREZOR, "{n}. {w}\n"),
    "brackets": _lines(TREZOR, "{n}) {w}\r\n"),
    "colons": _lines(TREZOR, "{n:02}: {w} "),
    "glued": _lines(TREZOR, "{n}.{w} "),
    "digits": _lines(TREZOR, "{n}{w}"),
    "commas": TREZOR.replace(" ", ", "),
    "tabs": TREZOR.replace(" ", "\t"),
    "blanks": "  " + TREZOR.replace(" ", "  ") + " \n",
    "upper": TREZOR.upper(),
    "title": TREZOR.title(),
    "quoted": f"\u201c{TREZOR}\u201d.",
    "list": str(TREZOR.split()),
    "fixed blanks": TREZOR.replace(" ", "\u00a0"),
    "no width": TREZOR.replace(" ", "\u200b"),
    "marked": "\ufeff" + TREZOR.replace("legal", "le\u00adgal"),
    "wide": "".join(chr(ord(one) + 0xFEE0) if one > " " else "\u3000" for one in TREZOR),
    "columns": _columns(TREZOR),
    "dashes": _lines(TREZOR, "- {w}\n"),
    "labels": _lines(TREZOR, "Word {n}: {w}\n"),
    "behind": _lines(TREZOR, "{w} ({n})\n"),
    "of twelve": _lines(TREZOR, "{n}/12 {w}\n"),
}


@each_row("form", PASTED)
def test_a_phrase_is_read_as_people_keep_it(form: str) -> None:
    path = "m/44'/60'/0'/0/0"
    wanted = from_mnemonic(SecretBytes(TREZOR.encode()), Kind.EVM, path).address
    assert from_mnemonic(SecretBytes(PASTED[form].encode()), Kind.EVM, path).address == wanted


@each_row(
    ("language", "form"),
    [
        ("japanese", "NFC"),
        ("japanese", "NFKD"),
        ("french", "NFC"),
        ("spanish", "NFKD"),
        ("korean", "NFC"),
        ("chinese_simplified", "NFC"),
        ("czech", "NFC"),
    ],
)
def test_a_phrase_of_another_list_leads_to_one_key_in_each_spelling(
    language: str, form: Any
) -> None:
    phrase = Mnemonic(Language(language)).to_mnemonic(bytes(range(16)))
    solana = from_mnemonic(SecretBytes(phrase.encode()), Kind.SOLANA, None).address
    spelt = unicodedata.normalize(form, phrase)
    if language.startswith("chinese"):
        spelt = spelt.replace(" ", "")
    read = from_mnemonic(SecretBytes(spelt.encode()), Kind.SOLANA, None)
    assert read.address == solana
    seed = Mnemonic.to_seed(phrase)
    assert bytes(read.secret.reveal()) == seed[:32]


@each_row(
    ("pasted", "said"),
    [
        (TREZOR.replace("year", "yaer"), "word 4 is not in the list"),
        (TREZOR.replace("winner", "winer"), "words 2, 10 are not in the list"),
        (TREZOR.replace("yellow", "thank"), "the last one does not fit the others"),
        (TREZOR.replace("legal ", "", 1), "and this has 11"),
        (f"{TREZOR} please", "and this has 13"),
        ("1. 2. 3.", "and this has 0"),
        ("twelve rows with text that nobody would take for seeds at all", "not the words"),
    ],
)
def test_what_is_no_phrase_is_said_truly_and_without_its_words(pasted: str, said: str) -> None:
    with pytest.raises(Refused, match=said) as refused:
        from_mnemonic(SecretBytes(pasted.encode()), Kind.EVM, "m/44'/60'/0'/0/0")
    words = set(pasted.split())
    assert not words & {"yaer", "winer", "please"} & set(str(refused.value).split())


@each_row(
    "form",
    [
        "{}", "0x{}", "0X{}", " 0x{}\r\n", '"0x{}"', "'{}'", "`{}`,", "\u201c0X{}\u201d",
        "\ufeff{}", "{};", "<{}>", "[0x{}]", '"{}",',
    ],
)  # fmt: skip
@each_row("case", [str.lower, str.upper])
def test_a_key_is_read_in_the_marks_around_it(form: str, case: Any) -> None:
    assert from_raw(SecretBytes(form.format(case(JUNK_KEY)).encode())).address == JUNK_ADDRESS


def test_a_key_in_groups_and_over_lines_is_read() -> None:
    groups = [JUNK_KEY[at : at + 4] for at in range(0, 64, 4)]
    for joined in (" ".join(groups), "0x " + "\n".join(groups), "\u00a0".join(groups)):
        assert from_raw(SecretBytes(joined.encode())).address == JUNK_ADDRESS


@each_row(
    ("pasted", "said"),
    [
        (JUNK_KEY[1:], "and this has 63"),
        (f"0x{JUNK_KEY}00", "and this has 66"),
        (JUNK, "imported as a mnemonic"),
        ("key: " + JUNK_KEY, "other characters"),
        ("", "other characters"),
    ],
)
def test_what_is_no_key_is_said_truly(pasted: str, said: str) -> None:
    with pytest.raises(Refused, match=said):
        from_raw(SecretBytes(pasted.encode()))


def test_a_key_of_solana_is_read_as_wallets_export_it() -> None:
    held = fresh(Kind.SOLANA)
    pair = Keypair.from_seed(bytes(held.secret.reveal()))
    exported = str(pair)
    for pasted in (
        exported,
        f'"{exported}"',
        f" {exported}\n",
        exported[:44] + "\n" + exported[44:],
    ):
        assert from_keygen(SecretBytes(pasted.encode())).address == held.address
    assert from_keygen(SecretBytes(b"\xef\xbb\xbf" + str(list(bytes(pair))).encode())).address == (
        held.address
    )
    other = base58(bytes(pair)[:32] + bytes(32))
    # An address is no key, whoever pastes it.
    for wrong in (held.address, other, exported[:-1], "0" * 88, "1" * 500, ""):
        with pytest.raises(Refused):
            from_keygen(SecretBytes(wrong.encode()))


def test_a_secret_is_shown_nowhere_and_wiped() -> None:
    secret = SecretBytes(b"never shown")
    shown = f"{secret} {secret!r} {[secret]} {secret:>30}"
    assert "never" not in shown
    with pytest.raises(TypeError):
        secret.__reduce__()
    held = secret.reveal()
    secret.wipe()
    assert held == b""
