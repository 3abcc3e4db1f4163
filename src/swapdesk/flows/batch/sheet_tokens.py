"""The tokens that the cells of a sheet name: found and judged once for all rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from swapdesk.flows.batch.finding import WRITE, Finding, look, problem
from swapdesk.flows.batch.sheet import Column, InputRow
from swapdesk.flows.catalog.catalog import Catalog
from swapdesk.flows.catalog.resolution import resolve
from swapdesk.flows.catalog.search import imitated_by
from swapdesk.flows.catalog.token_safety import TokenCheck, check_token
from swapdesk.wire.tokens import Token

_MOST_NAMED = 8


@dataclass
class SheetTokens:
    """``sell`` is the token of rows that name none."""

    catalog: Catalog
    now: datetime
    sell: str = ""
    _tokens: dict[tuple[str, str, Column], Token | Finding] = field(default_factory=dict)
    _checks: dict[str, TokenCheck] = field(default_factory=dict)
    _contracts: dict[str, frozenset[str]] = field(default_factory=dict)

    def named(self, row: InputRow, column: Column) -> tuple[Token | None, tuple[Finding, ...]]:
        """The token that a row names in this column, and what is to be said of it; None where it
        names none."""
        spec = row.cell(column)
        chain = row.cell(Column.CHAIN) if column is Column.BUY else ""
        if column is Column.SELL and not spec:
            spec = self.sell
        known = self._tokens.get((spec, chain, column))
        if known is None:
            known = self._find(spec, chain, column)
            self._tokens[spec, chain, column] = known
        if isinstance(known, Finding):
            return None, (known,)
        check = self._check(known)
        if not check.ok:
            said = next(line.text for line in check.lines if line.level == "refuse")
            return known, (problem("TOKEN_REFUSED", column, said, "Choose another token."),)
        if check.needs_consent:
            warned = " ".join(line.text for line in check.lines if line.level == "warn")
            return known, (look("TOKEN_WARNING", column, warned),)
        return known, ()

    def refused(self, token: Token) -> bool:
        """Whether this token is never swapped."""
        return not self._check(token).ok

    def contracts_on_chain_of(self, token: Token) -> frozenset[str]:
        """Of every token there: nobody is paid at one."""
        chain = token.chain_data.short_name
        if chain not in self._contracts:
            self._contracts[chain] = self.catalog.rows.contracts_on(chain)
        return self._contracts[chain]

    def _find(self, spec: str, chain: str, column: Column) -> Token | Finding:
        if not spec:
            word = "to sell" if column is Column.SELL else "for the recipient"
            return problem("NO_TOKEN", column, f"No token {word} is named.", WRITE[column])
        named = spec
        if chain:
            known = self.catalog.chain(chain) or next(
                (one for one in self.catalog.chains() if one.name.lower() == chain.lower()), None
            )
            if known is None:
                reason = f'No chain is called "{chain[:40]}".'
                return problem("NO_CHAIN", Column.CHAIN, reason, WRITE[Column.CHAIN])
            chain_key = known.short_name.lower()
            alone = resolve(spec, self.catalog)
            there = [one for one in alone.candidates if one.chain.lower() == chain_key]
            if "." in spec and alone.token is not None and not there:
                reason = f"{spec[:40]} is not on {known.name}."
                return problem("OTHER_CHAIN", Column.CHAIN, reason, "Make the two cells agree.")
            named = there[0].id if len(there) == 1 else f"{spec}.{known.short_name}"
        found = resolve(named, self.catalog)
        if found.token is None:
            reason = found.problem or "There is no such token."
            code = "TOKEN_DISABLED" if found.disabled else "TOKEN_NOT_FOUND"
            return problem(code, column, reason, WRITE[column])
        if found.ambiguous:
            names = ", ".join(found.specs[:_MOST_NAMED])
            reason = f'"{spec[:40]}" is several tokens: {names}.'
            brief = f"{spec[:12]} is on {len(found.specs)} chains"
            do = "Write one of them" + (" or fill in the chain." if column is Column.BUY else ".")
            return problem("AMBIGUOUS_TOKEN", column, reason, do, brief)
        return found.token

    def _check(self, token: Token) -> TokenCheck:
        check = self._checks.get(token.id)
        if check is None:
            row = self.catalog.row(token.id)
            imitates = imitated_by(row, self.catalog.rows.drawn_like(row)) if row else None
            check = check_token(token, now=self.now, imitates=imitates)
            self._checks[token.id] = check
        return check
