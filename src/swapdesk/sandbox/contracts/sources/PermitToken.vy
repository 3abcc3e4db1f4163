# pragma version 0.4.3
# An ERC-20 token with EIP-2612 permits.

import ledger
import standard
import permits

initializes: ledger
initializes: standard[ledger := ledger]
initializes: permits[ledger := ledger]

exports: (
    ledger.name,
    ledger.symbol,
    ledger.decimals,
    ledger.totalSupply,
    ledger.balanceOf,
    ledger.allowance,
    standard.transfer,
    standard.approve,
    standard.transferFrom,
    permits.version,
    permits.nonces,
    permits.DOMAIN_SEPARATOR,
    permits.permit,
)
