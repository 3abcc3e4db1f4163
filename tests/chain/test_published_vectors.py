"""Addresses published by the specifications and the projects themselves."""

from __future__ import annotations

import pytest

from swapdesk.chain.addresses import bech32
from swapdesk.chain.addresses.checking import check_address, check_recipient
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS

EIP_55 = [
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
    "0xde709f2102306220921060314715629080e2fb77",
    "0x27b1fdb04752bbc536007a920d24acb045561c26",
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
]

BECH32_TEXTS = [
    "A12UEL5L",
    "a12uel5l",
    "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs",
    "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw",
    "11" + "q" * 82 + "c8247j",
    "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w",
    "?1ezyfcl",
]
BECH32M_TEXTS = [
    "A1LQFN3A",
    "a1lqfn3a",
    "abcdef1l7aum6echk45nj3s0wdvt2fg8x9yrzpqzd3ryx",
    "split1checkupstagehandshakeupstreamerranterredcaperredlc445v",
    "?1v759aa",
]
NOT_BECH32 = [
    " 1nwldj5",
    "\x7f1axkwrx",
    "\x801eym55h",
    "an84characterslonghumanreadablepartthatcontainsthetheexcludedcharactersbioandnumber11d6pts4",
    "pzry9x0s0muk",
    "1pzry9x0s0muk",
    "x1b4n0q5v",
    "li1dgmt3",
    "de1lg7wt\xff",
    "A1G7SGD8",
    "10a06t8",
    "1qzzfhee",
    # The Kelvin sign lower-cases to k.
    "\u212a" + "1QQQQQQ",
]

WITNESS = [
    (
        "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4",
        0,
        "751e76e8199196d454941c45d1b3a323f1433bd6",
    ),
    (
        "tb1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3q0sl5k7",
        0,
        "1863143c14c5166804bd19203356da136c985678cd4d27a1b8c6329604903262",
    ),
    (
        "bc1pw508d6qejxtdg4y5r3zarvary0c5xw7kw508d6qejxtdg4y5r3zarvary0c5xw7kt5nd6y",
        1,
        "751e76e8199196d454941c45d1b3a323f1433bd6751e76e8199196d454941c45d1b3a323f1433bd6",
    ),
    ("BC1SW50QGDZ25J", 16, "751e"),
    ("bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs", 2, "751e76e8199196d454941c45d1b3a323"),
    (
        "tb1pqqqqp399et2xygdj5xreqhjjvcmzhxw4aywxecjdzew6hylgvsesf3hn0c",
        1,
        "000000c4a5cad46221b2a187905e5266362b99d5e91c6ce24d165dab93e86433",
    ),
    (
        "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0",
        1,
        "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
    ),
]
NOT_WITNESS = [
    "tc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq5zuyut",
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqh2y7hd",
    "tb1z0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqglt7rf",
    "BC1S0XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ54WELL",
    "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kemeawh",
    "tb1q0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq24jc47",
    "bc1p38j9r5y49hruaue7wxjce0updqjuyyx0kh56v8s25huc6995vvpql3jow4",
    "BC130XLXVLHEMJA6C4DQV22UAPCTQUPFHLXM9H8Z3K2E72Q4K9HCZ7VQ7ZWS8R",
    "bc1pw5dgrnzv",
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v8n0nx0muaewav253zgeav",
    "BC1QR508D6QEJXTDG4Y5R3ZARVARYV98GJ9P",
    "tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vq47Zagq",
    "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7v07qwwzcrf",
    "tb1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vpggkg4j",
    "bc1gmk9yu",
]

VALID = [
    ("bitcoin", "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa"),
    ("bitcoin", "1BoatSLRHtKNngkdXEeobR76b53LETtpyT"),
    ("bitcoin", "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy"),
    ("bitcoin", "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"),
    ("bitcoin", "bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3"),
    ("bitcoin", "bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0"),
    ("sol", "vines1vzrYbzLMRdu58ou5XTby4qAqVRLmqo36NKPTg"),
    ("sol", "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"),
    (
        "xmr",
        "44AFFq5kSiGBoZ4NMDwYtN18obc8AemS33DBLWs3H7otXft3XjrpDtQGv7SqSsaBYBb98uNbr2VBBEt7f2wfn3RVGQBEP3A",
    ),
    (
        "xmr",
        "888tNkZrPN6JsEgekjMnABU4TBzc2Dt29EPAvkRxbANsAnjyPbb3iQ1YBRk1UXcdRsiKc9dhwMVgN5S9cQUiyoogDavup3H",
    ),
    (
        "xmr",
        "4LL9oSLmtpccfufTMvppY6JwXNouMBzSkbLYfpAV5Usx3skxNgYeYTRj5UzqtReoS44qo9mtmXCqY45DJ852K5Jv2bYXZKKQePHES9khPK",
    ),
    # The second letter of an integrated address reaches beyond that of others.
    (
        "xmr",
        "4KEMxkrvHF13ZMEVyrUNuUMzgQ1WHjkWL5T6Xk7QaTszggbtPbRPEkZQau9yACYEmUCHPNrU2MBdnJf4s4xLK5AyVTr66Q8LFefPwwfA1t",
    ),
    # The attribute of a derivation path comes first: neither Ae2 nor DdzFF.
    (
        "ada",
        "4swhHtxKapQbj3TZEipgtp7NQzcRWDYqCxXYoPQWjGyHmhxS1w1TjUEszCQT1sQucGwmPQMYdv1FYs3d51KgoubviPBf",
    ),
    ("bch", "pvhfadjrmc4adxl8payajshf34wauh4jlrfnpuyetfnzh5llrnh9w3q8y9qcp"),
    ("bch", "pvqljqfuvj0dqf4l6s9mradymsvmucwe8w7cm84yyt8p2dtwj93xcuqwaelt6"),
    ("bch", "zpm2qsznhks23z7629mms6s4cwef74vcwvrqekrq9w"),
    ("ton", "Ef8zMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzMzM0vF"),
    ("xrp", "rEb8TK3gBgk5auZkwc6sHnwrGVJH8DuaLh"),
    ("xrp", "rvYAfWj5gh67oV6fW32ZzP3Aw4Eubs59B"),
    ("xrp", "rN7n7otQDd6FczFgLdSqtcsAUxDkw6fzRH"),
]


@pytest.mark.parametrize("address", EIP_55)
def test_eip_55_spellings_are_their_own_checksum(address: str) -> None:
    assert checksummed(address.lower()) == address
    verdict = check_address("evm", address)
    assert (verdict.ok, verdict.normalized, verdict.warnings) == (True, address, ())


@pytest.mark.parametrize(
    ("text", "constant"),
    [(t, bech32.BECH32) for t in BECH32_TEXTS] + [(t, bech32.BECH32M) for t in BECH32M_TEXTS],
)
def test_bech32_texts_decode_and_encode_again(text: str, constant: int) -> None:
    prefix, values, found = bech32.decode(text)
    assert found == constant
    assert bech32.encode(prefix, values, constant) == text.lower()


@pytest.mark.parametrize("text", NOT_BECH32)
def test_invalid_bech32_texts_are_refused(text: str) -> None:
    with pytest.raises(bech32.Bech32Error):
        bech32.decode(text)


@pytest.mark.parametrize(("text", "version", "program"), WITNESS)
def test_witness_addresses(text: str, version: int, program: str) -> None:
    prefix = text[:2].lower()
    assert bech32.decode_witness(prefix, text) == (version, bytes.fromhex(program))
    assert bech32.encode_witness(prefix, version, bytes.fromhex(program)) == text.lower()


@pytest.mark.parametrize("text", NOT_WITNESS)
def test_invalid_witness_addresses(text: str) -> None:
    prefix = "tb" if text[:2] == "tb" else "bc"
    with pytest.raises(bech32.Bech32Error):
        bech32.decode_witness(prefix, text)
    assert not check_address("bitcoin", text).ok


@pytest.mark.parametrize("address", ["BC1SW50QGDZ25J", "bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs"])
def test_witness_versions_nobody_spends_are_refused(address: str) -> None:
    assert not check_address("bitcoin", address).ok


@pytest.mark.parametrize(("kind", "address"), VALID)
def test_real_addresses(kind: str, address: str) -> None:
    verdict = check_address(kind, address)
    assert (verdict.ok, verdict.code, verdict.normalized) == (True, "valid", address)
    assert verdict.position is None
    # Nor is it refused by the pattern that the service of the sandbox publishes.
    assert check_recipient(kind, address, ADDRESS_KINDS[kind].shape).ok


def test_upper_case_bech32_is_the_same_address() -> None:
    verdict = check_address("bitcoin", "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4")
    assert verdict.normalized == "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
