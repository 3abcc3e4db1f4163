"""Verdicts and their wording: the place, the reason, never a correction."""

from __future__ import annotations

import random

import pytest
from Crypto.Signature import eddsa

from swapdesk.chain.addresses import cosmos, dot, ton
from swapdesk.chain.addresses.checking import check_address, same_address, secret_warning
from swapdesk.chain.addresses.ed25519 import is_point
from swapdesk.chain.addresses.kind import CHECKSUM_SENTENCE, UNLISTED, Proof, with_article
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS, KINDS, derive_address, kinds_by_proof
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


@pytest.mark.parametrize("given", KINDS)
def test_every_kind_recognises_every_other(given: str) -> None:
    for asked in KINDS:
        verdict = check_address(asked, ADDRESSES[given])
        assert verdict.ok == (asked == given), asked
        if asked != given:
            # What may be a private key is called one, whatever else it may be.
            is_key = secret_warning(ADDRESSES[given]) is not None
            assert is_key or given != "sui"
            assert verdict.code == ("unsafe" if is_key else "other_chain"), asked
            assert verdict.normalized == "", asked
            assert ADDRESS_KINDS[given].called.split(" ", 1)[1] in verdict.reason, asked


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("kind", ["bitcoin", "ltc", "ada", "cosmos"])
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("spelling", [EVM.lower(), "0x" + EVM[2:].upper()])
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


def test_token_contracts_are_refused_in_any_case() -> None:
    usdc = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
    verdict = check_address("evm", usdc, contracts={usdc.lower()})
    assert (verdict.ok, verdict.code) == (False, "unsafe")
    assert "contract of a token" in verdict.reason
    assert check_address("evm", EVM, contracts={usdc}).ok


def test_a_token_contract_is_refused_in_every_spelling_of_its_chain() -> None:
    account = bytes(range(32))
    jetton = ton.encode(account, flag=ton.BOUNCEABLE)
    for spelling in (jetton, ton.encode(account), f"0:{account.hex()}"):
        assert "contract of a token" in check_address("ton", spelling, contracts={jetton}).reason
    package = "0x" + "ab" * 32
    verdict = check_address(
        "sui", package.upper().replace("X", "x"), contracts={f"{package}::c::C"}
    )
    assert "contract of a token" in verdict.reason
    issuer = ADDRESSES["xlm"]
    assert "contract of a token" in check_address("xlm", issuer, contracts={issuer}).reason


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


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Bitcoin", "a Bitcoin"),
        ("Ethereum", "an Ethereum"),
        ("XRP Ledger", "an XRP Ledger"),
        ("BNB Smart Chain", "a BNB Smart Chain"),
        ("Solana", "a Solana"),
    ],
)
def test_articles(name: str, expected: str) -> None:
    assert with_article(name) == expected


@pytest.mark.parametrize(
    ("chain", "own", "other"), [("cosmoshub-4", "cosmos", "osmo"), ("Osmosis-1", "osmo", "cosmos")]
)
def test_a_chain_of_cosmos_that_is_called_by_its_id_has_its_own_addresses_alone(
    chain: str, own: str, other: str
) -> None:
    account = bytes(range(7, 27))
    assert check_address("cosmos", cosmos.encode(own, account), chain_name=chain).ok
    refused = check_address("cosmos", cosmos.encode(other, account), chain_name=chain)
    assert refused.code == "other_chain"
