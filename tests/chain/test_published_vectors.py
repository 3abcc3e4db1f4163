"""Addresses published by the specifications, the reference software and the projects themselves."""

from __future__ import annotations

import pytest

from rows import each_row
from swapdesk.chain.addresses import base32, base58, bech32, bitcoin, cosmos, dot, ton, xrp
from swapdesk.chain.addresses.bech32 import encode_witness
from swapdesk.chain.addresses.bitcoin import encode_key_hash
from swapdesk.chain.addresses.checking import check_address, check_recipient, same_address
from swapdesk.chain.addresses.evm import checksummed
from swapdesk.chain.addresses.kinds import ADDRESS_KINDS, network_of

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


@each_row("address", EIP_55)
def test_eip_55_spellings_are_their_own_checksum(address: str) -> None:
    assert checksummed(address.lower()) == address
    verdict = check_address("evm", address)
    assert (verdict.ok, verdict.normalized, verdict.warnings) == (True, address, ())


@each_row(
    ("text", "constant"),
    [(t, bech32.BECH32) for t in BECH32_TEXTS] + [(t, bech32.BECH32M) for t in BECH32M_TEXTS],
)
def test_bech32_texts_decode_and_encode_again(text: str, constant: int) -> None:
    prefix, values, found = bech32.decode(text)
    assert found == constant
    assert bech32.encode(prefix, values, constant) == text.lower()


@each_row("text", NOT_BECH32)
def test_invalid_bech32_texts_are_refused(text: str) -> None:
    with pytest.raises(bech32.Bech32Error):
        bech32.decode(text)


@each_row(("text", "version", "program"), WITNESS)
def test_witness_addresses(text: str, version: int, program: str) -> None:
    prefix = text[:2].lower()
    assert bech32.decode_witness(prefix, text) == (version, bytes.fromhex(program))
    assert bech32.encode_witness(prefix, version, bytes.fromhex(program)) == text.lower()


@each_row("text", NOT_WITNESS)
def test_invalid_witness_addresses(text: str) -> None:
    prefix = "tb" if text[:2] == "tb" else "bc"
    with pytest.raises(bech32.Bech32Error):
        bech32.decode_witness(prefix, text)
    assert not check_address("bitcoin", text).ok


@each_row("address", ["BC1SW50QGDZ25J", "bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs"])
def test_witness_versions_nobody_spends_are_refused(address: str) -> None:
    assert not check_address("bitcoin", address).ok


@each_row(("kind", "address"), VALID)
def test_real_addresses(kind: str, address: str) -> None:
    verdict = check_address(kind, address)
    assert (verdict.ok, verdict.code, verdict.normalized) == (True, "valid", address)
    assert verdict.position is None
    # Nor is it refused by the pattern that the service of the sandbox publishes.
    assert check_recipient(kind, address, ADDRESS_KINDS[kind].shape).ok


KEY_HASH = [
    # src/test/data/key_io_valid.json of Litecoin Core; the script is pay to the hash.
    ("ltc", "LT2KVaAy1ppRuxRgrS5RNU3vBsy7RibPeA", 0x30, "558dbca7118cd5894502767c7b2ffc21a22f54db"),
    ("ltc", "LbfVMz974gbbGFqXF7FZUpSBWSbwBHDwR5", 0x30, "b4565f467408e9e1c1d2a3b0ccdeff84db3a3b93"),
    ("ltc", "MHrYRxAiMNBTku3eoDHwhA1LQGDjUStZW2", 0x32, "6d328a5b2a20d943a641c8d29b6cc3c2d2df85d3"),
    # src/test/data/key_io_valid.json of Dogecoin Core.
    (
        "doge",
        "DEQU7G2Chw4r1gSKZt2GfKBpGbkbQSwp3S",
        0x1E,
        "65a16059864a2fdbc7c99a4723a8395bc6f188eb",
    ),
    (
        "doge",
        "A36czoRusM4VxnNiEjTaaDcMyr4GB73xw1",
        0x16,
        "74f209f6ea907e2ea48f74fae05782ae8a665257",
    ),
    (
        "doge",
        "9tg8sLnB9okjuNSdgtAWrNPcgijs1yMwBE",
        0x16,
        "188f91a931947eddd7432d6e614387e32b244709",
    ),
    # Documentation of from_tron_address, Dune.
    (
        "tron",
        "THHRK1bA7YRPZBcLnTP1SZy9ipUpsRwpo6",
        0x41,
        "503aa4ad108bd3a89ba0310e23b49fb654cd6986",
    ),
]
CASHADDR = [
    # Translation table of the CashAddr specification of Bitcoin Cash.
    ("1BpEi6DfDAUFd7GtittLSdBeYJvcoaVggu", "qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a"),
    ("1KXrWXciRDZUpQwQmuM1DbwsKDLYAYsVLR", "qr95sy3j9xwd2ap32xkykttr4cvcu7as4y0qverfuy"),
    ("16w1D5WRVKJuZUsSRzdLp9w3YGcgoxDXb", "qqq3728yw0y47sqn6l2na30mcw6zm78dzqre909m2r"),
    ("3CWFddi6m4ndiGyKqzYvsFYagqDLPVMTzC", "ppm2qsznhks23z7629mms6s4cwef74vcwvn0h829pq"),
    ("3LDsS579y7sruadqu11beEJoTjdFiFCdX4", "pr95sy3j9xwd2ap32xkykttr4cvcu7as4yc93ky28e"),
    ("31nwvkZwyPdgzjBJZXfDmSWsC4ZLKpYyUw", "pqq3728yw0y47sqn6l2na30mcw6zm78dzq5ucqzc37"),
]
SEP_23_ACCOUNT = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"
SEP_23_KEY = bytes.fromhex("3f0c34bf93ad0d9971d04ccc90f705511c838aad9734a4a2fb0d7a03fc7fe89a")
SEP_23_MUXED = [
    ("MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ", "0"),
    (
        "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK",
        "9223372036854775808",
    ),
]
SEP_23_FOREIGN = [
    ("CA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUWDA", "contract"),
    ("LA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUPJN", "liquidity pool"),
    ("BAAD6DBUX6J22DMZOHIEZTEQ64CVCHEDRKWZONFEUL5Q26QD7R76RGR4TU", "claimable balance"),
    (
        "PA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAQACAQDAQCQMBYIBEFAWDANBYHRAEISC"
        "MKBKFQXDAMRUGY4DUPB6IBZGM",
        "signed payload",
    ),
]
SEP_23_INVALID = [
    "GAAAAAAAACGC6",
    "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUR",
    "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZA",
    "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUACUSI",
    "G47QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVP2I",
    "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLKA",
    "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAAV75I",
    "M47QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ",
    "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUK===",
    "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUO",
    "BAAD6DBUX6J22DMZOHIEZTEQ64CVCHEDRKWZONFEUL5Q26QD7R76RGR4TV",
]
# TEP-2: the root of TON DNS, raw and in both user-friendly forms.
TEP_2_ACCOUNT = "e56754f83426f69b09267bd876ac97c44821345b7e266bd956a7bfbfb98df35c"
TEP_2_RAW = f"-1:{TEP_2_ACCOUNT}"
TEP_2_BOUNCEABLE = "Ef_lZ1T4NCb2mwkme9h2rJfESCE0W34ma9lWp7-_uY3zXDvq"
TEP_2_PLAIN = "Uf_lZ1T4NCb2mwkme9h2rJfESCE0W34ma9lWp7-_uY3zXGYv"
CIP_19_PAYMENTS = [
    "addr1qx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer3n0d3vllmyqwsx5wktcd8cc3sq835lu7drv2xwl2wywfgse35a3x",
    "addr1z8phkx6acpnf78fuvxn0mkew3l0fd058hzquvz7w36x4gten0d3vllmyqwsx5wktcd8cc3sq835lu7drv2xwl2wywfgs9yc0hh",
    "addr1yx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzerkr0vd4msrxnuwnccdxlhdjar77j6lg0wypcc9uar5d2shs2z78ve",
    "addr1x8phkx6acpnf78fuvxn0mkew3l0fd058hzquvz7w36x4gt7r0vd4msrxnuwnccdxlhdjar77j6lg0wypcc9uar5d2shskhj42g",
    "addr1gx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer5pnz75xxcrzqf96k",
    "addr128phkx6acpnf78fuvxn0mkew3l0fd058hzquvz7w36x4gtupnz75xxcrtw79hu",
    "addr1vx2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzers66hrl8",
    "addr1w8phkx6acpnf78fuvxn0mkew3l0fd058hzquvz7w36x4gtcyjy7wx",
]
CIP_19_STAKE = [
    "stake1uyehkck0lajq8gr28t9uxnuvgcqrc6070x3k9r8048z8y5gh6ffgw",
    "stake178phkx6acpnf78fuvxn0mkew3l0fd058hzquvz7w36x4gtcccycj5",
]
CIP_19_TEST = [
    "addr_test1qz2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer3n0d3vllmyqwsx5wktcd8cc3sq835lu7drv2xwl2wywfgs68faae",
    "addr_test1gz2fxv2umyhttkxyxp8x0dlpdt3k6cwng5pxj3jhsydzer5pnz75xxcrdw5vky",
    "addr_test1wrphkx6acpnf78fuvxn0mkew3l0fd058hzquvz7w36x4gtcl6szpr",
]
BYRON = [
    # test/address/ada_byron of mrtnetwork/blockchain_utils: address and root.
    (
        "Ae2tdPwUPEZDMm8GdfnY8ibhFPd5GBjyRARL7A5DbatemFheedMwB4WTj7z",
        "a5e1c8d86ae0c7006afea4369c55675bb80853937e0080e17a8117d2",
    ),
    (
        "Ae2tdPwUPEYvt1bUdEduFA7ViMJNEdmkG7BuHhELkByJWVKyVgF1jvEh37b",
        "00bbe2afa6b50094bb1f34abe87c1ec65373b8c6937f5543e0804c5c",
    ),
]
SS58 = [
    # Dune's documentation of from_ss58 and to_ss58.
    (
        0,
        "1qnJN7FViy3HZaxZK9tGAA71zxHSBeUweirKqCaox4t8GT7",
        "2534454d30f8a028e42654d6b535e0651d1d026ddf115cef59ae1dd71bae074e",
    ),
    (
        2,
        "DR6pMC4GJiVbgPtNNuw1xgxJyEsYYuXKXq7ZCVBjfFrh3V5",
        "2534454d30f8a028e42654d6b535e0651d1d026ddf115cef59ae1dd71bae074e",
    ),
    # Substrate's well-known account of Alice (subkey documentation).
    (
        42,
        "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY",
        "d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d",
    ),
]
BECH32_ACCOUNTS = [
    # test/address/atom of mrtnetwork/blockchain_utils.
    (
        "Cosmos Hub",
        "cosmos",
        "cosmos1qckcmp3uw7qa5407qy3dlw8fzzc9c67yvrf7c6",
        "062d8d863c7781da55fe0122dfb8e910b05c6bc4",
    ),
    (
        "Kava",
        "kava",
        "kava1q4ulv0y83zfrf9yzgc8gt7fvkqf0xd97wks2x0",
        "0579f63c878892349482460e85f92cb012f334be",
    ),
    (
        "Terra",
        "terra",
        "terra1dz5atdvdmfugpgum0mj0flq3asruycfyzh2waa",
        "68a9d5b58dda7880a39b7ee4f4fc11ec07c26124",
    ),
]


@each_row(("kind", "address", "version", "digest"), KEY_HASH)
def test_hashes_in_base58(kind: str, address: str, version: int, digest: str) -> None:
    assert encode_key_hash(version, bytes.fromhex(digest)) == address
    assert check_address(kind, address).normalized == address


def test_contract_of_tether_on_tron_and_an_example_of_dash() -> None:
    """The second is the address of the Dash examples in the documentation of Bitquery."""
    assert check_address("tron", "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t").ok
    assert check_address("dash", "XpESxaUmonkq8RaLLp46Brx2K39ggQe226").ok
    assert bitcoin.TRON_VERSION == 0x41


def test_litecoin_witness() -> None:
    """test/address/p2wpkh of mrtnetwork/blockchain_utils."""
    address = "ltc1qx88q7zjd74lxwgkjmmwlqv5pd3vujuehexfttt"
    digest = bytes.fromhex("31ce0f0a4df57e6722d2deddf032816c59c97337")
    assert encode_witness("ltc", 0, digest) == address
    assert check_address("ltc", address.upper()).normalized == address


@each_row(("old", "address"), CASHADDR)
def test_cashaddr(old: str, address: str) -> None:
    for spelling in (address, f"bitcoincash:{address}", f"BITCOINCASH:{address.upper()}"):
        assert check_address("bch", spelling).normalized == address
    refused = check_address("bch", old)
    assert (refused.ok, refused.code) == (False, "other_chain")
    assert "Bitcoin" in refused.reason
    assert check_address("bitcoin", old).ok
    assert not check_address("bitcoin", address).ok


def test_cashaddr_carries_the_hash_of_the_old_form() -> None:
    for old, address in CASHADDR:
        payload = base58.require(old)
        kind = bitcoin.CASH_SCRIPT if payload[0] else bitcoin.CASH_KEY
        assert bitcoin.encode_cash(kind, payload[1:]) == address


def test_stellar_account() -> None:
    assert base32.encode(base32.ACCOUNT, SEP_23_KEY) == SEP_23_ACCOUNT
    assert base32.decode(SEP_23_ACCOUNT) == (base32.ACCOUNT, SEP_23_KEY)
    assert check_address("xlm", SEP_23_ACCOUNT).ok


@each_row(("address", "memo"), SEP_23_MUXED)
def test_stellar_muxed_addresses_are_taken_apart_and_refused(address: str, memo: str) -> None:
    assert base32.muxed_parts(address) == (SEP_23_ACCOUNT, memo)
    verdict = check_address("xlm", address)
    assert (verdict.ok, verdict.code) == (False, "prefix")
    assert f"memo id {memo} inside" in verdict.reason
    assert f"Give {SEP_23_ACCOUNT}, and the memo in its own field." in verdict.reason


@each_row(("address", "what"), SEP_23_FOREIGN)
def test_other_keys_of_stellar_are_named(address: str, what: str) -> None:
    verdict = check_address("xlm", address)
    assert not verdict.ok
    assert what in verdict.reason


@each_row("address", SEP_23_INVALID)
def test_invalid_keys_of_stellar(address: str) -> None:
    assert not check_address("xlm", address).ok
    assert base32.muxed_parts(address) is None


def test_ton_forms_of_one_account() -> None:
    account = bytes.fromhex(TEP_2_ACCOUNT)
    assert ton.encode(account, workchain=-1) == TEP_2_PLAIN
    assert ton.encode(account, workchain=-1, flag=ton.BOUNCEABLE) == TEP_2_BOUNCEABLE
    assert check_address("ton", TEP_2_RAW).normalized == TEP_2_PLAIN
    assert check_address("ton", TEP_2_RAW.upper()).normalized == TEP_2_PLAIN
    plain, bounceable = (check_address("ton", text) for text in (TEP_2_PLAIN, TEP_2_BOUNCEABLE))
    assert (plain.ok, plain.warnings) == (True, ())
    assert (bounceable.ok, bounceable.warnings) == (True, (ton.BOUNCES,))
    assert bounceable.normalized == TEP_2_BOUNCEABLE
    standard = TEP_2_PLAIN.replace("-", "+").replace("_", "/")
    assert check_address("ton", standard).normalized == TEP_2_PLAIN
    for other in (TEP_2_BOUNCEABLE, TEP_2_RAW, standard):
        assert same_address("ton", TEP_2_PLAIN, other)
    assert not same_address("ton", TEP_2_PLAIN, ton.encode(account))


@each_row("flag", [ton.BOUNCEABLE, ton.NON_BOUNCEABLE])
def test_ton_test_networks_are_refused(flag: int) -> None:
    address = ton.encode(bytes.fromhex(TEP_2_ACCOUNT), flag=flag | ton.TEST_ONLY)
    verdict = check_address("ton", address)
    assert (verdict.ok, verdict.code) == (False, "other_chain")
    assert "test network" in verdict.reason
    assert "TON test network" in check_address("evm", address).reason


@each_row("address", CIP_19_PAYMENTS)
def test_cardano_payment_addresses(address: str) -> None:
    verdict = check_address("ada", address)
    assert (verdict.ok, verdict.normalized) == (True, address)
    assert check_address("ada", address.upper()).normalized == address


@each_row("address", [*CIP_19_STAKE, *CIP_19_TEST])
def test_cardano_addresses_that_are_not_for_payments(address: str) -> None:
    verdict = check_address("ada", address)
    assert not verdict.ok
    assert ("stake address" if address in CIP_19_STAKE else "test network") in verdict.reason


@each_row("address", [address for address, _ in BYRON])
def test_cardano_addresses_of_the_byron_era(address: str) -> None:
    verdict = check_address("ada", address)
    assert (verdict.ok, verdict.normalized) == (True, address)


def test_a_byron_address_with_a_derivation_path() -> None:
    """test_vector_1 of legacy_address in Emurgo/cardano-serialization-lib: an encrypted path."""
    address = (
        "DdzFFzCqrhsrcTVhLygT24QwTnNqQqQ8mZrq5jykUzMveU26sxaH529kMpo7"
        "VhPrt5pwW3dXeB2k3EEvKcNBRmzCfcQ7dTkyGzTs658C"
    )
    assert check_address("ada", address).ok


@each_row(("network", "address", "account"), SS58)
def test_ss58(network: int, address: str, account: str) -> None:
    assert dot.encode(network, bytes.fromhex(account)) == address
    assert dot.decode(address) == (network, bytes.fromhex(account))
    assert check_address("dot", address).ok


@each_row(("chain", "prefix", "address", "account"), BECH32_ACCOUNTS)
def test_cosmos_accounts(chain: str, prefix: str, address: str, account: str) -> None:
    network = network_of("cosmos", chain)
    assert network.mark == prefix
    assert cosmos.encode(prefix, bytes.fromhex(account)) == address
    assert check_address("cosmos", address, chain_name=chain).ok


@each_row(
    ("address", "key"),
    [
        # test/address/algo of mrtnetwork/blockchain_utils.
        (
            "VQD6TBRL6BH6NAGIPEUG6JZUCPJVXB3GPTHEU5WTKX5DDGSR3AXNKBN5FQ",
            "ac07e9862bf04fe680c879286f273413d35b87667cce4a76d355fa319a51d82e",
        ),
        (
            "UZDRIHQ2Q4EVRKYW4DP2XE2W2GFFIHMY2O6VVQWXZ7LS4HILKLX45W3WGA",
            "a647141e1a870958ab16e0dfab9356d18a541d98d3bd5ac2d7cfd72e1d0b52ef",
        ),
    ],
)
def test_algorand(address: str, key: str) -> None:
    assert base32.encode_algorand(bytes.fromhex(key)) == address
    assert check_address("algo", address).ok


@each_row(
    ("text", "tag"),
    [
        # src/core/addresscodec/test_cases.rs of xrpl-rust; the last of ripple-address-codec.
        ("X7AcgcsBL6XDcUb289X4mJ8djcdyKaB5hJDWMArnXr61cqZ", ""),
        ("X7AcgcsBL6XDcUb289X4mJ8djcdyKaGZMhc9YTE92ehJ2Fu", "1"),
        ("X7AcgcsBL6XDcUb289X4mJ8djcdyKaGo2K5VpXpmCqbV2gS", "14"),
        ("X7AcgcsBL6XDcUb289X4mJ8djcdyKaLFuhLRuNXPrDeJd9A", "11747"),
    ],
)
def test_x_addresses_are_taken_apart(text: str, tag: str) -> None:
    account = "r9cZA1mLK5R5Am25ArfXFmqgNwjZgnfk59"
    assert xrp.x_address_parts(text) == (account, tag)
    verdict = check_address("xrp", text)
    assert (verdict.ok, verdict.code) == (False, "prefix")
    assert f"Give {account}" in verdict.reason
    assert (f"destination tag {tag} inside" in verdict.reason) == bool(tag)


def test_the_largest_tag_and_a_test_network_of_x_addresses() -> None:
    largest = "XVLhHMPHU98es4dbozjVtdWzVrDjtV18pX8yuPT7y4xaEHi"
    assert xrp.x_address_parts(largest) == ("rGWrZyQqhTp9Xu7G5Pkayo7bXjH4k4QYpf", "4294967295")
    assert xrp.x_address_parts("T719a5UwUCnEs54UsxG9CJYYDhwmFCqkr7wxCcNcfZ6p5GZ") is None
    assert xrp.x_address_parts("r9cZA1mLK5R5Am25ArfXFmqgNwjZgnfk59") is None
