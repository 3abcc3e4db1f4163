"""Verdicts and their wording: the place, the reason, never a correction. Texts meant to slip
through, and typing errors that must be seen. The service's pattern narrows the local check, in
linear time, and never widens it."""

from __future__ import annotations

import random
import time

import pytest
from Crypto.Signature import eddsa
from hypothesis import given, settings
from hypothesis import strategies as st

from rows import each_row
from sampling import examples
from swapdesk.chain.addresses import ada, base32, base58, bech32, cosmos, dot, ton
from swapdesk.chain.addresses.checking import (
    UNSUPPORTED,
    check_address,
    check_recipient,
    pattern_fits,
    same_address,
    secret_warning,
)
from swapdesk.chain.addresses.ed25519 import is_point
from swapdesk.chain.addresses.kind import CHECKSUM_SENTENCE, UNLISTED, Proof
from swapdesk.chain.addresses.kinds import (
    ADDRESS_KINDS,
    KINDS,
    derive_address,
    derive_transaction_hash,
    kinds_by_proof,
)
from swapdesk.chain.addresses.xmr import decode_address, encode_address

EVM = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
BITCOIN = "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"
XRP = "rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLh"
SOL = "vines1vzrYbzLMRdu58ou5XTby4qAqVRLmqo36NKPTg"
XMR = (
    "888tNkZrPN6JsEgekjMnABU4TBzc2Dt29EPAvkRx"
    "bANsAnjyPbb3iQ1YBRk1UXcdRsiKc9dhwMVgN5S9cQUiyoogDavup3H"
)
ADDRESSES = {
    **{kind: derive_address(kind, bytes(range(32))) for kind in KINDS},
    "evm": EVM,
    "sol": SOL,
    "bitcoin": BITCOIN,
    "xmr": XMR,
    "xrp": XRP,
}


def test_a_character_is_named_with_its_place() -> None:
    verdict = check_address("bitcoin", "bc1qar0srrr7xfkvy5l643oydnw9re59gtzzwf5mdq")
    assert verdict.reason == 'Not a Bitcoin address: character 23 is "o", which bech32 never uses.'
    assert (verdict.code, verdict.position, verdict.ok) == ("character", 23, False)


def test_another_chain_is_named() -> None:
    verdict = check_address("evm", BITCOIN, chain_name="Ethereum", symbol="ETH")
    assert verdict.code == "other_chain"
    assert verdict.reason == (
        "This is a Bitcoin address. ETH on Ethereum needs one that starts with 0x."
    )


@each_row("given", KINDS)
def test_every_kind_recognises_every_other(given: str) -> None:
    for asked in KINDS:
        verdict = check_address(asked, ADDRESSES[given])
        assert verdict.ok == (asked == given), asked
        if asked != given:
            # What may be a private key is called one, whatever else it may be.
            is_key = bool(secret_warning(ADDRESSES[given]))
            assert is_key or given != "sui"
            assert verdict.code == ("unsafe" if is_key else "other_chain"), asked
            assert verdict.normalized == "", asked
            assert ADDRESS_KINDS[given].called.split(" ", 1)[1] in verdict.reason, asked


@each_row(
    ("kind", "text", "code", "part"),
    [
        ("evm", EVM.replace("aA", "AA"), "checksum", CHECKSUM_SENTENCE),
        ("bitcoin", BITCOIN[:-1] + "p", "checksum", CHECKSUM_SENTENCE),
        ("xmr", XMR[:50] + "2" + XMR[51:], "checksum", CHECKSUM_SENTENCE),
        ("xrp", XRP[:-1] + "p", "checksum", CHECKSUM_SENTENCE),
        ("evm", EVM[:-1], "length", "it has 41 characters instead of 42"),
        ("evm", EVM + "0", "length", "43 characters"),
        ("bitcoin", BITCOIN[:-1], "length", "41 characters"),
        ("sol", SOL[:20], "length", "20 characters"),
        ("xmr", XMR[:-1], "length", "94 characters instead of 95 or 106"),
        ("xrp", XRP[:12], "length", "12 characters"),
        ("evm", "0X" + EVM[2:], "prefix", "does not start with 0x"),
        ("evm", "0x5aAeg6053F3E94C9b9A09f33669435E7Ef1BeAed", "character", 'character 7 is "g"'),
        ("sol", "0" + SOL[1:], "character", 'character 1 is "0"'),
        ("xrp", "r0" + XRP[2:], "character", 'character 2 is "0"'),
        ("bitcoin", "Bc1" + BITCOIN[3:], "character", "never mixes upper and lower case"),
        ("bitcoin", "bc1" + BITCOIN[3:].upper(), "character", 'character 4 is "Q"'),
        ("bitcoin", "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx", "other_chain", "test network"),
        ("bitcoin", "mipcBbFg9gMiCh81Kj8tqqdgoZub1ZJRfn", "other_chain", "test network"),
        ("evm", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "other_chain", "a Tron address"),
        ("xrp", "X7AcgcsBL6XDcUb289X4mJ8djcdyKaB5hJDWMArnXr61cqZ", "prefix", "destination tag"),
        ("evm", "X7AcgcsBL6XDcUb289X4mJ8djcdyKaB5hJDWMArnXr61cqZ", "other_chain", "X-address"),
        ("evm", "0x" + "0" * 40, "unsafe", "zero address"),
        ("evm", "0x" + "0" * 39 + "1", "unsafe", "the chain itself"),
        ("evm", "0x000000000000000000000000000000000000dEaD", "unsafe", "burn address"),
        ("evm", "0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE", "unsafe", "placeholder"),
        ("sol", "1" * 32, "unsafe", "system program"),
        ("sol", "So11111111111111111111111111111111111111112", "unsafe", "wrapped SOL"),
        ("bitcoin", "1BitcoinEaterAddressDontSendf59kuE", "unsafe", "burn address"),
        ("bitcoin", "1111111111111111111114oLvT2", "unsafe", "burn address"),
        ("xrp", "rrrrrrrrrrrrrrrrrrrrrhoLvTp", "unsafe", "the ledger itself"),
        ("xrp", "rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh", "unsafe", "the ledger itself"),
        ("moon", "D7Y55Lh6", "unknown_kind", "cannot be checked here"),
        ("bitcoin", "bitcoin:" + BITCOIN, "unsafe", "it is a link. Paste the address alone."),
        ("evm", "", "empty", "No address yet"),
        ("ltc", "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", "other_chain", "starts with M or ltc1"),
        ("ltc", "ltcmweb1qqt9hwznnxzkojfoelwklj", "prefix", "private MWEB address"),
        ("ltc", "tltc1qw508d6qejxtdg4y5r3zarvary0c5xw7klfsuq0", "other_chain", "test network"),
        ("doge", "nbpzakKSn16ZAp7nXuu9tELBrmiVpEyV1Q", "other_chain", "Dogecoin test network"),
        ("tron", "41503aa4ad108bd3a89ba0310e23b49fb654cd6986", "prefix", "starts with T"),
        ("tron", ADDRESSES["tron"][:-1], "length", "33 characters instead of 34"),
        ("bch", ADDRESSES["bch"][:-1], "length", "41 characters instead of 42"),
        ("bch", "bchtest:" + ADDRESSES["bch"], "unsafe", "it is a link"),
        ("bch", "bitcoincash:" + ADDRESSES["bch"] + "?amount=1", "character", 'is "?"'),
        ("ton", ADDRESSES["ton"][:-1], "length", "47 characters instead of 48"),
        ("ton", "0:" + "e" * 63, "length", "65 characters instead of 66"),
        ("ton", "0:" + "e" * 63 + "x", "character", 'character 66 is "x"'),
        ("ton", "0:" + "0" * 64, "unsafe", "burn address"),
        ("ton", "1:" + "e" * 64, "unsafe", "it is a link"),
        ("sui", "0x2", "length", "3 characters instead of 66"),
        ("sui", "0x" + "0" * 63 + "2", "unsafe", "the chain itself"),
        ("sui", "0x" + "0" * 64, "unsafe", "burn address"),
        ("ada", ADDRESSES["ada"][:-1], "checksum", CHECKSUM_SENTENCE),
        ("cosmos", ADDRESSES["cosmos"][:-1], "length", "44 characters instead of 45 or 65"),
        ("cosmos", "cosmospub1addwnpepq", "prefix", "a public key, not an address"),
        ("cosmos", "bnb1vhvnd7v8900adfytj2yl9sldapa6p9ghcnaqtz", "prefix", "known here"),
        ("dot", ADDRESSES["dot"][:-1] + "x", "checksum", CHECKSUM_SENTENCE),
        ("xlm", "G" + "A" * 54, "length", "55 characters instead of 56"),
        ("algo", "A" * 52 + "Y5HFKQ", "unsafe", "burn address"),
    ],
)
def test_refusals(kind: str, text: str, code: str, part: str) -> None:
    verdict = check_address(kind, text)
    assert (verdict.ok, verdict.code, verdict.normalized) == (False, code, "")
    assert part in verdict.reason


@each_row("kind", KINDS)
@each_row(
    "secret",
    [
        "5KYZdUEo39z3FPrtuX2QbbwGnNP5zTd7yyr2SC1j299sBCnWjss",
        "sn259rEFXrQrWyx3Q7XneWcwV6dfL",
        "SCZANGBA5YHTNYVVV4C3U252E2B6P6F5T3U6MM63WBSBZATAQI3EBTQ4",
        "6vqpCruyRS9bEY6ZVrL8S9EL5h2MnQZffzzqrpNP9i8YozvXTKs",
        "QRVPTcD9SvFU86omfRt63uUgDXUwSgpQonbrPPbZqxUw2Xq9s1BY",
        "e9873d79c6d87dc0fb6a5778633389f4453213303da61f20bd67fc233aa33262",
        "0xe9873d79c6d87dc0fb6a5778633389f4453213303da61f20bd67fc233aa33262",
    ],
)
def test_a_pasted_secret_is_named_and_not_repeated(kind: str, secret: str) -> None:
    verdict = check_address(kind, secret)
    if verdict.ok:
        # 32 bytes of hexadecimal are all that some addresses are: only the warning can speak.
        assert ADDRESS_KINDS[kind].proof is not Proof.CHECKSUM
        assert kind != "sui" or secret.startswith("0x")
        assert len(verdict.warnings) == 1
        return
    assert (verdict.ok, verdict.code) == (False, "unsafe")
    assert "private key" in verdict.reason
    assert secret not in verdict.reason


@each_row(
    ("kind", "chain", "symbol", "given", "reason"),
    [
        (
            "cosmos",
            "Osmosis",
            "OSMO",
            "cosmos",
            "This is a Cosmos address. OSMO on Osmosis needs one that starts with osmo1.",
        ),
        (
            "dot",
            "Polkadot",
            "DOT",
            "Kusama",
            "This is a Kusama address. DOT on Polkadot needs one that starts with 1.",
        ),
        (
            "evm",
            "Base",
            "ETH",
            "osmosis",
            "This is an Osmosis address. ETH on Base needs one that starts with 0x.",
        ),
        (
            "cosmos",
            "Osmosis",
            "OSMO",
            "evm",
            "This is an Ethereum address. OSMO on Osmosis needs one that starts with osmo1.",
        ),
    ],
)
def test_chains_of_one_kind_keep_their_addresses_apart(
    kind: str, chain: str, symbol: str, given: str, reason: str
) -> None:
    family = {"Kusama": "dot", "evm": "evm"}.get(given, "cosmos")
    address = derive_address(family, bytes(range(32)), given)
    verdict = check_address(kind, address, chain_name=chain, symbol=symbol)
    assert (verdict.code, verdict.reason) == ("other_chain", reason)


def test_a_prefix_that_is_not_known_here_is_good_on_a_chain_that_is_not() -> None:
    foreign = cosmos.encode("pb", bytes(range(20)))
    verdict = check_address("cosmos", foreign, chain_name="Provenance", symbol="HASH")
    assert (verdict.ok, verdict.warnings) == (True, (UNLISTED,))
    refused = check_address("cosmos", foreign, chain_name="Osmosis", symbol="OSMO")
    assert (refused.ok, refused.code) == (False, "prefix")
    assert not check_address("cosmos", foreign).ok
    assert not check_address("cosmos", foreign[:-1] + "q", chain_name="Provenance").ok
    validator = cosmos.encode("pbvaloper", bytes(range(20)))
    assert "validator" in check_address("cosmos", validator, chain_name="Provenance").reason
    numbered = dot.encode(6094, bytes(range(32)))
    verdict = check_address("dot", numbered, chain_name="Autonomys")
    assert (verdict.ok, verdict.warnings) == (True, (UNLISTED,))
    assert "network 6094" in check_address("dot", numbered, chain_name="Polkadot").reason


def test_a_chain_of_an_unknown_name_takes_every_prefix_of_its_kind() -> None:
    for name in ("Osmosis", "Celestia", "Cosmos Hub"):
        address = derive_address("cosmos", bytes(32), name)
        assert check_address("cosmos", address).ok
        assert check_address("cosmos", address, chain_name="Some new chain").ok
        assert check_address("cosmos", address, chain_name=name.upper()).ok


@each_row("kind", ["bitcoin", "ltc", "ada", "cosmos"])
def test_the_one_wrong_character_of_bech32_is_located_and_not_corrected(kind: str) -> None:
    address = ADDRESSES[kind]
    for place in range(address.index("1") + 1, len(address)):
        other = "q" if address[place] != "q" else "p"
        verdict = check_address(kind, address[:place] + other + address[place + 1 :])
        if (verdict.code, verdict.position) != ("checksum", place + 1):
            # The first character also says which of the two checksums is meant.
            assert (kind in ("bitcoin", "ltc"), place) == (True, address.index("1") + 1)
            continue
        assert verdict.reason == f"{CHECKSUM_SENTENCE} Look at character {place + 1}."


def test_two_wrong_characters_of_bech32_are_not_located() -> None:
    swapped = BITCOIN[:10] + BITCOIN[11] + BITCOIN[10] + BITCOIN[12:]
    verdict = check_address("bitcoin", swapped)
    assert (verdict.code, verdict.position, verdict.reason) == ("checksum", None, CHECKSUM_SENTENCE)


@each_row(
    ("address", "found"),
    [
        ("osmo1zyvq6ter6gf5c5eqfmv7zjs9fswhs6ppmtrctq", "an Osmosis address"),
        (derive_address("cosmos", bytes([2] * 32), "Osmosis"), "an Osmosis address"),
    ],
)
def test_a_checksum_of_another_chain_outweighs_a_form_without_one(address: str, found: str) -> None:
    """Bech32 of 43 characters without 0 and l decodes to 32 bytes of base58."""
    verdict = check_address("sol", address, symbol="SOL")
    assert verdict.code == "other_chain"
    assert verdict.reason.startswith(f"This is {found}. SOL on Solana needs one of 32 to 44")


def test_recognition_is_ordered_from_the_strongest_evidence_to_the_weakest() -> None:
    kinds = kinds_by_proof()
    assert {kind.name for kind in kinds} == set(KINDS)
    proofs = [kind.proof for kind in kinds]
    assert proofs == sorted(proofs, reverse=True)
    shapes = {kind.name for kind in kinds if kind.proof is not Proof.CHECKSUM}
    assert shapes >= {"sui", "sol"}


@each_row("spelling", [EVM.lower(), "0x" + EVM[2:].upper()])
def test_an_evm_spelling_without_checksum_warns(spelling: str) -> None:
    verdict = check_address("evm", spelling, chain_name="Base")
    assert verdict.ok
    assert verdict.normalized == EVM
    assert len(verdict.warnings) == 1
    assert "checksum" in verdict.warnings[0]
    assert "checksum correct" not in verdict.reason


def test_solana_always_warns_and_a_program_address_is_doubted() -> None:
    assert len(check_address("sol", SOL).warnings) == 1
    assert not check_address("sol", SOL).doubt
    off_curve = check_address("sol", "5Q544fKrFoe6tsEbD7S8EmxGTJYAKtTVhAW5Q5pge4j1")
    assert off_curve.ok
    assert "program" in off_curve.doubt


def test_curve_points_are_those_of_a_cryptographic_library() -> None:
    def accepted(key: bytes) -> bool:
        try:
            eddsa.import_public_key(key)
        except ValueError:
            return False
        return True

    rng = random.Random(25519)
    keys = [rng.randbytes(32) for _ in range(300)]
    points = [is_point(key) for key in keys]
    assert points == [accepted(key) for key in keys]
    assert 100 < sum(points) < 200
    assert is_point(bytes([1, *[0] * 31]))
    # A y coordinate of the field's order is zero in another spelling.
    assert not is_point((2**255 - 19).to_bytes(32, "little"))


def test_a_valid_verdict_names_the_chain() -> None:
    assert check_address("evm", EVM, chain_name="Base").reason == "Base address, checksum correct"
    assert check_address("xmr", XMR).reason == "Monero subaddress, checksum correct"


def test_a_token_contract_is_refused_in_every_spelling_of_its_chain() -> None:
    account, package, issuer = bytes(range(32)), "0x" + "ab" * 32, ADDRESSES["xlm"]
    usdc, jetton = (
        "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
        ton.encode(account, flag=ton.BOUNCEABLE),
    )
    for kind, spelling, contract in (
        ("evm", usdc, usdc.lower()),
        ("ton", jetton, jetton),
        ("ton", ton.encode(account), jetton),
        ("ton", f"0:{account.hex()}", jetton),
        ("sui", package.upper().replace("X", "x"), f"{package}::c::C"),
        ("xlm", issuer, issuer),
    ):
        verdict = check_address(kind, spelling, contracts={contract})
        assert (verdict.ok, verdict.code) == (False, "unsafe")
        assert "contract of a token" in verdict.reason
    assert check_address("evm", EVM, contracts={usdc}).ok


def test_monero_keys_must_be_points() -> None:
    candidates = [bytes([n, *[0] * 31]) for n in range(2, 99)]
    no_point = next(key for key in candidates if not is_point(key))
    verdict = check_address("xmr", encode_address(18, no_point * 2))
    assert (verdict.ok, verdict.code) == (False, "unsafe")


def test_monero_test_network_is_named() -> None:
    body = decode_address(XMR)[1]
    verdict = check_address("xmr", encode_address(53, body))
    assert verdict.code == "other_chain"
    assert "test network" in verdict.reason
    assert not check_address("xmr", encode_address(19, body)).ok


def test_same_address_ignores_only_meaningless_case() -> None:
    assert same_address("evm", EVM, EVM.lower())
    assert same_address("bitcoin", BITCOIN, BITCOIN.upper())
    assert not same_address("xrp", XRP, XRP.lower())
    assert not same_address("evm", EVM, "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359")


@each_row(
    ("chain", "own", "other"), [("cosmoshub-4", "cosmos", "osmo"), ("Osmosis-1", "osmo", "cosmos")]
)
def test_a_chain_of_cosmos_that_is_called_by_its_id_has_its_own_addresses_alone(
    chain: str, own: str, other: str
) -> None:
    account = bytes(range(7, 27))
    assert check_address("cosmos", cosmos.encode(own, account), chain_name=chain).ok
    refused = check_address("cosmos", cosmos.encode(other, account), chain_name=chain)
    assert refused.code == "other_chain"


SEEDS = st.binary(min_size=32, max_size=32)


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


@each_row("kind", KINDS)
@each_row("chain_name", [None, "Unlisted"])
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


@each_row(("kind", "seed"), [("moon", bytes(32)), ("evm", bytes(31))])
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


@st.composite
def mistyped(draw: st.DrawFn, address: str, alphabet: str) -> str:
    """With one wrong character."""
    place = draw(st.integers(0, len(address) - 1))
    other = draw(st.sampled_from([c for c in alphabet if c != address[place]]))
    return address[:place] + other + address[place + 1 :]


@given(seed=SEEDS, kind=st.sampled_from(sorted(ALPHABETS)), data=st.data())
@settings(max_examples=examples(300), deadline=None)
def test_one_wrong_character_is_always_seen(seed: bytes, kind: str, data: st.DataObject) -> None:
    address = derive_address(kind, seed)
    assert not check_address(kind, data.draw(mistyped(address, ALPHABETS[kind]))).ok


@given(payload=st.binary(min_size=20, max_size=20), script=st.booleans(), data=st.data())
@settings(max_examples=examples(150), deadline=None)
def test_one_wrong_character_in_base58check(
    payload: bytes, script: bool, data: st.DataObject
) -> None:
    address = base58.encode_check((b"\x05" if script else b"\x00") + payload)
    if any(payload):
        assert check_address("bitcoin", address).ok
    assert not check_address("bitcoin", data.draw(mistyped(address, base58.BITCOIN_ALPHABET))).ok


@given(payload=st.binary(max_size=80))
@settings(max_examples=examples(150), deadline=None)
def test_base58_round_trip(payload: bytes) -> None:
    for alphabet in (base58.BITCOIN_ALPHABET, base58.XRP_ALPHABET):
        assert base58.decode(base58.encode(payload, alphabet), alphabet) == payload


def test_a_mixed_case_evm_typo_is_seen() -> None:
    """EIP-55 misses about one change in several thousand; a changed case never."""
    rng = random.Random(55)
    accepted = 0
    for _ in range(1_000):
        address = derive_address("evm", rng.randbytes(32))
        place = rng.randrange(2, 42)
        other = rng.choice([c for c in "0123456789abcdefABCDEF" if c != address[place]])
        typo = address[:place] + other + address[place + 1 :]
        verdict = check_address("evm", typo)
        if other.lower() == address[place].lower():
            assert not verdict.ok
        accepted += verdict.ok
    assert accepted <= 1


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


EVM_PATTERN = "^0x[0-9a-fA-F]{40}$"


@each_row(
    "pattern",
    [
        r"^([a-zA-Z0-9]+)*$",
        r"^(([a-z])+.)+[A-Z]([a-z])+$",
        r"(a+)+$",
        r"(a|aa)+$",
        r"(.*)*x",
        r"(a?){200}a{200}",
        r"([a-zA-Z]+)*\d",
        r"((a|b|ab){0,100}){50}",
    ],
)
def test_bombs_are_answered_at_once(pattern: str) -> None:
    for text in ("a" * 28 + "!", "a" * 255 + "!", "ab" * 127 + "!"):
        started = time.thread_time()
        assert pattern_fits(pattern, text) is False
        assert time.thread_time() - started < 2


@each_row(
    "pattern",
    [
        r"(?!0x0)0x[0-9a-f]{40}",
        r"(?<=a)b",
        r"(a)\1",
        r"(",
        r"[",
        r"*",
        "(" * 250 + ")" * 250,
        r"((((a{100}){100}){100}){10})",
        # Closes the wrap and opens another alternative.
        r"a)|(?:.*",
        "a" * 513,
        "[\u0430-\u044f]+",
        "a\n",
    ],
)
def test_unsupported_patterns_do_not_decide(pattern: str) -> None:
    assert pattern_fits(pattern, EVM) is None
    verdict = check_recipient("evm", EVM, pattern)
    assert verdict.ok
    assert verdict.warnings == (UNSUPPORTED,)
    assert not check_recipient("evm", "javascript:alert(1)", pattern).ok


@each_row(
    ("pattern", "text", "expected"),
    [
        (EVM_PATTERN, EVM, True),
        (EVM_PATTERN, EVM + "\n", False),
        (EVM_PATTERN, "\n" + EVM, False),
        (r"^a|b$", "xxb", False),
        (r"^a|b$", "axx", False),
        (r"^a|b$", "b", True),
        (r"\d{3}", "123", True),
        (r"\d{3}", "\u0661\u0662\u0663", False),
        (r"\w+", "\u0441\u0442", False),
        (r"(?m)a$", "a\nb", False),
        (r".*", "a" * 256, True),
        (r".*", "a" * 257, False),
        (r"(?i)abc", "ABC", True),
        (r"a{40}", "a" * 40, True),
        (r"", "", True),
        (r"", "a", False),
    ],
)
def test_matching_is_of_the_whole_text(pattern: str, text: str, expected: bool) -> None:
    assert pattern_fits(pattern, text) is expected


@each_row("pattern", [".*", "", "^", "|", "[\\s\\S]*", ".{0,256}", None])
def test_a_wide_pattern_never_widens(pattern: str | None) -> None:
    bitcoin = derive_address("bitcoin", bytes(32))
    for text in ("javascript:alert(1)", bitcoin, "", EVM + "\n", EVM.replace("aA", "AA")):
        assert not check_recipient("evm", text, pattern).ok


@given(pattern=st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=30))
@settings(max_examples=examples(200), deadline=None)
def test_no_pattern_makes_a_refused_address_good(pattern: str) -> None:
    for kind in KINDS:
        address = derive_address(kind, bytes(32))
        assert not check_recipient(kind, address + "!", pattern).ok
        narrowed = check_recipient(kind, address, pattern)
        assert narrowed.code in ("valid", "pattern")
        assert narrowed.ok == (narrowed.code == "valid")


def test_a_pattern_narrows() -> None:
    legacy = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"
    assert check_address("bitcoin", legacy).ok
    verdict = check_recipient("bitcoin", legacy, "^bc1[02-9ac-hj-np-z]{11,71}$")
    assert (verdict.ok, verdict.code, verdict.normalized) == (False, "pattern", "")
    assert verdict.reason == "This is a Bitcoin address, but the service does not take this form."


def test_the_spelling_that_is_sent_is_the_one_matched() -> None:
    upper = "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4"
    verdict = check_recipient("bitcoin", upper, "^bc1[02-9ac-hj-np-z]{11,71}$")
    assert verdict.ok
    assert verdict.normalized == upper.lower()


def test_decoder_warnings_are_kept_beside_the_patterns() -> None:
    verdict = check_recipient("evm", EVM.lower(), r"(?=0x).*", chain_name="Base")
    assert len(verdict.warnings) == 2
    assert verdict.warnings[1] == UNSUPPORTED


@each_row("pattern", [EVM_PATTERN, ".*", "(?!a)b"])
@each_row("kind", ["evm", "moon"])
def test_a_refused_address_keeps_the_decoder_s_reason(kind: str, pattern: str) -> None:
    mistyped = EVM.replace("aA", "AA")
    assert check_recipient(kind, mistyped, pattern) == check_address(kind, mistyped)
