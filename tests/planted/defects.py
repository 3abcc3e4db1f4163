"""Defects that the suite must find, each a slip that would cost money, privacy or an order.

A suite that was made faster proves what it proved before if ``python -m tests.planted`` still
finds all of them. A defect whose text is changed in the source is written anew, so that it means
the same.
"""

from __future__ import annotations

from .chain_defects import EVM, SOLANA
from .desk_defects import CONFIRMED, CREATING, PAYING, SHOWING
from .ledger_defects import LEDGER
from .sandbox_defects import BOOKS, DISHONEST, FAULTS, SERVER
from .screen_defects import SCREENS
from .service_defects import CHAINS, SERVING, VENUES
from .store_defects import SHARED
from .wallet_defects import SIGNING

DEFECTS = (
    *CREATING,
    *CONFIRMED,
    *LEDGER,
    *PAYING,
    *SHOWING,
    *SCREENS,
    *SIGNING,
    *SERVING,
    *SHARED,
    *VENUES,
    *CHAINS,
    *EVM,
    *SOLANA,
    *BOOKS,
    *DISHONEST,
    *FAULTS,
    *SERVER,
)
