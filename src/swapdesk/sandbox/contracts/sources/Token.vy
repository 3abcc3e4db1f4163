# pragma version 0.4.3
# A plain ERC-20 token: approvals are transactions.

import ledger
import standard

initializes: ledger
initializes: standard[ledger := ledger]

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
)
