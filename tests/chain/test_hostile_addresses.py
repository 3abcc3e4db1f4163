"""Texts meant to slip through, and typing errors that must be seen."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampling import examples
from swapdesk.chain.addresses import ada, base32, base58, bech32, dot, ton
from swapdesk.chain.addresses.checking import check_address
from swapdesk.chain.addresses.kinds import KINDS, derive_address, derive_transaction_hash

SEEDS = st.binary(min_size=32, max_size=32)
ADDRESSES = {kind: derive_address(kind, bytes(range(32))) for kind in KINDS}


def hostile_forms(address: str) -> list[str]:
    fullwidth = "".join(chr(ord(c) + 0xFEE0) if c.isdigit() else c for c in address)
    return [
        address + "\n",
        "\n" + address,
        address + "\r\n",
        address + " ",
        " " + address,
        address[:8] + " " + address[8:],
        address + "\t",
        address + "\x00",
        address + "\x1b[2J",
        address[:6] + "\u200b" + address[6:],
        address[:6] + "\u00ad" + address[6:],
        "\u202e" + address,
        "\ufeff" + address,
        address + "\u0301",
        address + "\ud800",
        address + "\x9b2J",
        fullwidth,
        address.replace("a", "\u0430", 1) if "a" in address else address + "\u0430",
        "javascript:" + address,
        "javascript:alert(1)",
        f"https://example.com/{address}",
        f"bitcoin:{address}?amount=1",
        address + "?amount=1",
        address + "," + address,
        address * 3,
        address[0] * 100_000,
        address + "1" * 100_000,
        "../../admin",
        "[red]x[/]",
        "@bob",
        "%00",
        "''; drop table orders",
        "\u05d0" * 1_000_000,
        "\x00" * 1_000_000,
        "0:" + "a" * 1_000_000,
        "bitcoincash:" + "q" * 1_000_000,
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("chain_name", [None, "Unlisted"])
def test_hostile_forms_are_refused_in_plain_words(kind: str, chain_name: str | None) -> None:
    for text in hostile_forms(ADDRESSES[kind]):
        started = time.thread_time()
        verdict = check_address(kind, text, chain_name=chain_name)
        assert time.thread_time() - started < 1
        assert not verdict.ok, repr(text[:80])
        assert verdict.normalized == ""
        assert verdict.code != "valid"
        assert len(verdict.reason) < 300
        assert all(" " <= c <= "~" for c in verdict.reason), repr(verdict.reason)


def test_the_place_of_a_hidden_character_is_named() -> None:
    address = ADDRESSES["evm"]
    verdict = check_address("evm", address + "\n")
    assert verdict.reason == (
        "Not an Ethereum address: character 43 is a line break, which no address uses."
    )
    verdict = check_address("evm", address[:4] + "\u202e" + address[4:])
    assert (verdict.code, verdict.position) == ("unsafe", 5)
    assert "U+202E (right-to-left override)" in verdict.reason


@given(seed=SEEDS, kind=st.sampled_from(KINDS))
@settings(max_examples=examples(150), deadline=None)
def test_a_derived_address_is_valid_and_always_the_same(seed: bytes, kind: str) -> None:
    address = derive_address(kind, seed)
    verdict = check_address(kind, address)
    assert (verdict.ok, verdict.normalized) == (True, address)
    assert derive_address(kind, seed) == address


def test_different_seeds_give_different_addresses() -> None:
    for kind in KINDS:
        seeds = [n.to_bytes(32, "big") for n in range(100)]
        assert len({derive_address(kind, s) for s in seeds}) == 100
        assert len({derive_transaction_hash(kind, s) for s in seeds}) == 100


@given(seed=SEEDS)
@settings(max_examples=examples(50), deadline=None)
def test_transaction_hashes_have_the_shape_of_their_chain(seed: bytes) -> None:
    evm = derive_transaction_hash("evm", seed)
    assert evm[:2] == "0x"
    assert bytes.fromhex(evm[2:]).hex() == evm[2:]
    assert len(evm) == 66
    assert len(base58.decode(derive_transaction_hash("sol", seed))) == 64
    assert len(base58.decode(derive_transaction_hash("sui", seed))) == 32
    assert len(derive_transaction_hash("algo", seed)) == 52
    for kind in ("bitcoin", "ltc", "doge", "dash", "bch", "tron", "xmr", "xlm", "ton", "ada"):
        assert len(bytes.fromhex(derive_transaction_hash(kind, seed))) == 32
    for kind in ("xrp", "cosmos"):
        found = derive_transaction_hash(kind, seed)
        assert found == found.upper()
        assert len(bytes.fromhex(found)) == 32
    assert len(bytes.fromhex(derive_transaction_hash("dot", seed).removeprefix("0x"))) == 32


@pytest.mark.parametrize(("kind", "seed"), [("moon", bytes(32)), ("evm", bytes(31))])
def test_derivation_refuses_what_it_cannot_do(kind: str, seed: bytes) -> None:
    with pytest.raises(ValueError, match=r"seed|kind"):
        derive_address(kind, seed)
    with pytest.raises(ValueError, match=r"seed|kind"):
        derive_transaction_hash(kind, seed)


BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
ALPHABETS = {
    "bitcoin": bech32.CHARSET,
    "ltc": bech32.CHARSET,
    "bch": bech32.CHARSET,
    "ada": bech32.CHARSET,
    "cosmos": bech32.CHARSET,
    "xmr": base58.BITCOIN_ALPHABET,
    "doge": base58.BITCOIN_ALPHABET,
    "dash": base58.BITCOIN_ALPHABET,
    "tron": base58.BITCOIN_ALPHABET,
    "xrp": base58.XRP_ALPHABET,
    "xlm": BASE32,
    "algo": BASE32,
    "ton": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
}
"""Kinds whose checksum sees every single wrong character, or all but one of four milliards."""


@given(seed=SEEDS, kind=st.sampled_from(sorted(ALPHABETS)), data=st.data())
@settings(max_examples=examples(300), deadline=None)
def test_one_wrong_character_is_always_seen(seed: bytes, kind: str, data: st.DataObject) -> None:
    address = derive_address(kind, seed)
    place = data.draw(st.integers(0, len(address) - 1))
    other = data.draw(st.sampled_from([c for c in ALPHABETS[kind] if c != address[place]]))
    assert not check_address(kind, address[:place] + other + address[place + 1 :]).ok


@given(payload=st.binary(min_size=20, max_size=20), script=st.booleans(), data=st.data())
@settings(max_examples=examples(150), deadline=None)
def test_one_wrong_character_in_base58check(
    payload: bytes, script: bool, data: st.DataObject
) -> None:
    address = base58.encode_check((b"\x05" if script else b"\x00") + payload)
    if any(payload):
        assert check_address("bitcoin", address).ok
    place = data.draw(st.integers(0, len(address) - 1))
    other = data.draw(st.sampled_from([c for c in base58.BITCOIN_ALPHABET if c != address[place]]))
    assert not check_address("bitcoin", address[:place] + other + address[place + 1 :]).ok


@given(payload=st.binary(max_size=80))
@settings(max_examples=examples(150), deadline=None)
def test_base58_round_trip(payload: bytes) -> None:
    for alphabet in (base58.BITCOIN_ALPHABET, base58.XRP_ALPHABET):
        assert base58.decode(base58.encode(payload, alphabet), alphabet) == payload


def test_a_mixed_case_evm_typo_is_seen() -> None:
    """EIP-55 misses about one change in several thousand; a changed case never."""
    rng = random.Random(55)
    accepted = 0
    for _ in range(2_000):
        address = derive_address("evm", rng.randbytes(32))
        place = rng.randrange(2, 42)
        other = rng.choice([c for c in "0123456789abcdefABCDEF" if c != address[place]])
        typo = address[:place] + other + address[place + 1 :]
        verdict = check_address("evm", typo)
        if other.lower() == address[place].lower():
            assert not verdict.ok
        accepted += verdict.ok
    assert accepted <= 2


def test_a_typo_on_polkadot_is_seen_by_a_checksum_of_two_bytes() -> None:
    rng = random.Random(58)
    accepted = 0
    for _ in range(1_000):
        address = derive_address("dot", rng.randbytes(32))
        place = rng.randrange(len(address))
        other = rng.choice([c for c in base58.BITCOIN_ALPHABET if c != address[place]])
        typo = address[:place] + other + address[place + 1 :]
        accepted += check_address("dot", typo, chain_name="Polkadot").ok
    assert accepted <= 1


@given(payload=st.binary(max_size=120))
@settings(max_examples=examples(200), deadline=None)
def test_broken_cbor_of_a_byron_address_gets_a_verdict(payload: bytes) -> None:
    """Whole numbers of any size, lengths beyond the end, nested items: never an exception."""
    for head in (b"", b"\x82\xd8\x18\x58", b"\x82\xd8\x18\x5a\xff\xff\xff\xff"):
        for start in ("Ae2", "DdzFF"):
            text = start + base58.encode(head + payload)
            assert not check_address("ada", text).ok


@given(kind=st.integers(0, 7), payload=st.binary(min_size=28, max_size=28), data=st.data())
@settings(max_examples=examples(100), deadline=None)
def test_forms_decode_to_what_they_encode(kind: int, payload: bytes, data: st.DataObject) -> None:
    hashes = payload * 2 if kind < 4 else payload + (b"\x01\x02\x03" if kind < 6 else b"")
    if any(payload):
        assert check_address("ada", ada.encode(kind, hashes)).ok
    account = data.draw(st.binary(min_size=32, max_size=32))
    assert base32.decode(base32.encode(base32.ACCOUNT, account)) == (base32.ACCOUNT, account)
    muxed = base32.encode(base32.MUXED, account + payload[:8])
    assert base32.muxed_parts(muxed) == (
        base32.encode(base32.ACCOUNT, account),
        str(int.from_bytes(payload[:8], "big")),
    )
    for flag in (ton.BOUNCEABLE, ton.NON_BOUNCEABLE):
        assert ton.decode(ton.encode(account, flag=flag)) == (flag, 0, account)
    network = data.draw(st.integers(0, 2**14 - 1))
    assert dot.decode(dot.encode(network, account)) == (network, account)


@given(text=st.text(max_size=120))
@settings(max_examples=examples(300), deadline=None)
def test_any_text_gets_a_verdict(text: str) -> None:
    for kind in KINDS:
        for chain_name in (None, "Unlisted"):
            verdict = check_address(kind, text, chain_name=chain_name)
            assert verdict.reason
            assert verdict.ok == (verdict.code == "valid") == bool(verdict.normalized)
            assert bool(verdict.account) == verdict.ok
