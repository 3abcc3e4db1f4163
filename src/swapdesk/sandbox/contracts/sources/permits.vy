# pragma version 0.4.3
# EIP-2612: an approval by signature. ``version`` is what the token's domain says.

import ledger

uses: ledger

DOMAIN_TYPE: constant(bytes32) = keccak256(
    "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
)
PERMIT_TYPE: constant(bytes32) = keccak256(
    "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"
)
# Half the order of secp256k1: a signature with a larger s is its twin's forgery.
HALF_ORDER: constant(uint256) = (
    57896044618658097711785492504343953926418782139537452191302581570759080747168
)

version: public(String[8])
nonces: public(HashMap[address, uint256])


@internal
@view
def _domain() -> bytes32:
    return keccak256(
        abi_encode(
            DOMAIN_TYPE,
            keccak256(ledger.name),
            keccak256(self.version),
            chain.id,
            self,
        )
    )


@internal
@view
def _signer(struct_hash: bytes32, v: uint8, r: bytes32, s: bytes32) -> address:
    assert convert(s, uint256) <= HALF_ORDER, "invalid signature"
    digest: bytes32 = keccak256(concat(b"\x19\x01", self._domain(), struct_hash))
    return ecrecover(digest, v, convert(r, uint256), convert(s, uint256))


@external
@view
def DOMAIN_SEPARATOR() -> bytes32:
    return self._domain()


@external
def permit(
    owner: address,
    spender: address,
    amount: uint256,
    deadline: uint256,
    v: uint8,
    r: bytes32,
    s: bytes32,
):
    assert block.timestamp <= deadline, "permit expired"
    nonce: uint256 = self.nonces[owner]
    signer: address = self._signer(
        keccak256(abi_encode(PERMIT_TYPE, owner, spender, amount, nonce, deadline)), v, r, s
    )
    assert signer == owner and owner != empty(address), "invalid signature"
    self.nonces[owner] = nonce + 1
    ledger._allow(owner, spender, amount)
