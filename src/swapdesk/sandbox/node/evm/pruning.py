"""Which keys of the state the newest blocks can still reach."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import rlp
from eth.constants import BLANK_ROOT_HASH, EMPTY_SHA3
from eth.rlp.accounts import Account

from swapdesk.sandbox.node.evm.storage import StateKeys


def reachable(state: StateKeys, roots: Iterable[bytes]) -> set[bytes]:
    """Keys of every trie node and code under ``roots``; roots that are missing are left out."""
    kept: set[bytes] = set()
    keys = state.kv_store
    leaves: list[bytes] = []
    for root in roots:
        leaves += _walk(keys, root, kept)
    for leaf in leaves:
        account = rlp.decode(leaf, Account)
        if account.code_hash != EMPTY_SHA3:
            kept.add(account.code_hash)
        _walk(keys, account.storage_root, kept)
    return kept


def _walk(keys: Mapping[bytes, bytes], root: bytes, kept: set[bytes]) -> list[bytes]:
    """Note every node under a root that is not noted yet; returns the values of their leaves."""
    if root == BLANK_ROOT_HASH or root in kept or root not in keys:
        return []
    kept.add(root)
    leaves: list[bytes] = []
    pending: list[Any] = [rlp.decode(keys[root])]
    while pending:
        node = pending.pop()
        if len(node) == 2:
            is_leaf = node[0][0] & 0x20
            if is_leaf:
                leaves.append(node[1])
                continue
            children = [node[1]]
        else:
            children = node[:16]
            if node[16]:
                leaves.append(node[16])
        for child in children:
            if isinstance(child, list):
                # Short nodes stand inside their parents.
                pending.append(child)
            elif len(child) == 32 and child not in kept and child in keys:
                kept.add(child)
                pending.append(rlp.decode(keys[child]))
    return leaves
