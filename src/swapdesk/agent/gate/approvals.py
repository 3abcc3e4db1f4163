"""Which approvals a swap needs before its venue can take the token."""

from __future__ import annotations


def approvals_needed(allowance: int, units: int, *, resets_to_zero: bool) -> tuple[int, ...]:
    """Amounts to approve, one transaction each; none when the allowance is enough.

    ``resets_to_zero`` is for tokens as USDT on Ethereum, whose allowance can only be set
    where it is zero. Raises ValueError for an amount that is none.
    """
    if units <= 0 or allowance < 0:
        raise ValueError("an approval is for an amount")
    if allowance >= units:
        return ()
    return (0, units) if resets_to_zero and allowance else (units,)
