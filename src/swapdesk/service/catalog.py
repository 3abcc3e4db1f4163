"""Chains and tokens in memory (contract 5.3, 5.7, 5.8). Only the security verdicts of a
ServiceCatalog ever change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from swapdesk.service.errors import ServiceError
from swapdesk.wire.chains import Chain, ChainList, ChainQuery
from swapdesk.wire.encoding.codec import encode_json
from swapdesk.wire.errors import ErrorCode
from swapdesk.wire.tokens import Token, TokenQuery, TokenSecurityScan

Side = str
"""The name of the request's input that holds a token, such as ``from``, ``orders.3.from``, or
``token`` in a path."""

_PAGES_KEPT = 256
_PAGE_BYTES_KEPT = 64 * 1024 * 1024
_LAST = Decimal("Infinity")


def page_count(total: int, page_size: int) -> int:
    return -(-total // page_size)


def _order(token: Token) -> tuple[Decimal, Decimal, str, str]:
    priority = _LAST if token.priority is None else token.priority
    rank = _LAST if token.rank is None else token.rank
    return (priority, rank, token.symbol, token.id)


class ServiceCatalog:
    """The chains and tokens of one version of the reference data. ``keywords`` are extra search
    terms by token id; answers do not show them."""

    def __init__(
        self,
        chains: Iterable[Chain],
        tokens: Iterable[Token],
        keywords: Mapping[str, str] | None = None,
    ) -> None:
        self.chains: tuple[Chain, ...] = tuple(
            sorted(chains, key=lambda chain: (chain.priority, chain.name, chain.id))
        )
        self._tokens = sorted(tokens, key=_order)
        self._places = {token.id: place for place, token in enumerate(self._tokens)}
        self._chains = {chain.short_name.casefold(): chain for chain in self.chains}
        self._by_id = {token.id.lower(): token for token in self._tokens}
        self._by_cex_id: dict[str, str] = {}
        # Where several share an identifier, one that can be swapped and is verified comes first.
        for token in sorted(
            self._tokens, key=lambda candidate: (not self.routable(candidate), candidate.unverified)
        ):
            if token.cex_token_id:
                self._by_cex_id.setdefault(token.cex_token_id.casefold(), token.id)
        words = keywords or {}
        self._haystacks = [
            "\n".join(
                (
                    token.name,
                    token.symbol,
                    token.address or "",
                    token.cex_token_id,
                    words.get(token.id, ""),
                )
            ).casefold()
            for token in self._tokens
        ]
        self._cex_chains = {token.chain.casefold() for token in self._tokens if token.has_cex}
        self._dex_chains = {token.chain.casefold() for token in self._tokens if token.has_dex}
        self._encoded: dict[str, bytes] = {}
        self._pages: OrderedDict[str, bytes] = OrderedDict()
        self._page_bytes = 0

    @property
    def tokens(self) -> Sequence[Token]:
        return self._tokens

    def put_scan(self, token_id: str, scan: TokenSecurityScan) -> None:
        """Replaces the security verdict of a token and drops the cached pages that show the
        token."""
        place = self._places[token_id]
        token = self._tokens[place].model_copy(update={"security_scan": scan})
        self._tokens[place] = self._by_id[token_id.lower()] = token
        self._encoded.pop(token_id, None)
        self._pages.clear()
        self._page_bytes = 0

    def token(self, token_id: str) -> Token | None:
        """Returns the token with this id, 24 hex digits in upper or lower case; None if unknown."""
        return self._by_id.get(token_id.lower())

    def token_of_order(self, token_id: str | None) -> Token:
        """Returns a token that an order or its quote names, even if the token is disabled. Raises
        LookupError if the catalogue no longer has the token."""
        token = None if token_id is None else self.token(token_id)
        if token is None:
            raise LookupError(f"token {token_id} of an order is not in the catalogue")
        return token

    def token_by_cex_id(self, cex_token_id: str) -> Token | None:
        """Returns the token with this identifier on centralized exchanges; None if unknown. Of
        several tokens with the identifier, enabled and verified tokens are preferred."""
        token_id = self._by_cex_id.get(cex_token_id.casefold())
        return None if token_id is None else self.token(token_id)

    def chain(self, short_name: str) -> Chain | None:
        return self._chains.get(short_name.casefold())

    def routable(self, token: Token) -> bool:
        chain = self.chain(token.chain)
        return token.enabled and chain is not None and chain.enabled

    def enabled_token(self, token_id: str, side: Side) -> Token:
        """Returns the token if it is enabled. Raises TOKEN_NOT_FOUND or TOKEN_DISABLED; the message
        names the request's field ``side``."""
        return self._enabled(self.token(token_id), side)

    def enabled_side(self, text: str, side: Side) -> Token:
        """Returns the enabled token with this id or ``cexTokenId`` (contract 6.2). Raises
        TOKEN_NOT_FOUND or TOKEN_DISABLED; the message names the request's field ``side``."""
        return self._enabled(self.token(text) or self.token_by_cex_id(text), side)

    def _enabled(self, token: Token | None, side: Side) -> Token:
        named = "The token" if side == "token" else f"The token in '{side}'"
        if token is None:
            raise ServiceError(ErrorCode.TOKEN_NOT_FOUND, f"{named} is not known.")
        if not self.routable(token):
            what = f"{named} ({token.symbol} on {token.chain_data.name})"
            raise ServiceError(ErrorCode.TOKEN_DISABLED, f"{what} is not swappable at present.")
        return token

    def search(self, query: TokenQuery) -> tuple[list[Token], int]:
        """Returns a page of the tokens that match every filter, and the number of all matches."""
        term = query.term.casefold() if query.term is not None else None
        chain = query.chain.casefold() if query.chain is not None else None
        symbol = query.symbol.casefold() if query.symbol is not None else None
        address = query.address.casefold() if query.address is not None else None
        flags = [
            (name, wanted)
            for name in ("mainnet", "has_cex", "has_dex", "has_self_private", "has_bundler")
            if (wanted := getattr(query, name)) is not None
        ]
        matches = self._tokens
        # The term first: it leaves few tokens to ask for anything else.
        if term is not None:
            pairs = zip(self._tokens, self._haystacks, strict=True)
            matches = [token for token, haystack in pairs if term in haystack]
        matches = [
            token
            for token in matches
            if (query.unverified or not token.unverified or address is not None)
            and (address is None or (token.address or "").casefold() == address)
            and (chain is None or token.chain_data.short_name.casefold() == chain)
            and (symbol is None or token.symbol.casefold() == symbol)
            and (not flags or all(getattr(token, name) == wanted for name, wanted in flags))
        ]
        start = (query.page - 1) * query.page_size
        return matches[start : start + query.page_size], len(matches)

    def list_chains(self, query: ChainQuery) -> ChainList:
        kinds = {kind.casefold() for kind in query.kind} if query.kind is not None else None
        name = query.name.casefold() if query.name is not None else None
        matches = [
            chain
            for chain in self.chains
            if chain.enabled
            and (query.has_cex is None or self._has(chain, self._cex_chains) == query.has_cex)
            and (query.has_dex is None or self._has(chain, self._dex_chains) == query.has_dex)
            and (kinds is None or chain.kind.casefold() in kinds)
            and (
                name is None or name in chain.name.casefold() or name in chain.short_name.casefold()
            )
            and (query.chain_id is None or chain.chain_id == query.chain_id)
            and (query.memo_needed is None or bool(chain.memo_needed) == query.memo_needed)
        ]
        start = (query.page - 1) * query.page_size
        return ChainList(
            chains=matches[start : start + query.page_size],
            total=len(matches),
            total_pages=page_count(len(matches), query.page_size),
        )

    @staticmethod
    def _has(chain: Chain, names: set[str]) -> bool:
        return chain.short_name.casefold() in names

    def encoded_token(self, token: Token) -> bytes:
        encoded = self._encoded.get(token.id)
        if encoded is None:
            encoded = self._encoded[token.id] = encode_json(token)
        return encoded

    def encoded_enabled(self, token_id: str) -> bytes:
        """Returns an enabled token as JSON. Raises TOKEN_NOT_FOUND or TOKEN_DISABLED (contract 5.8,
        5.9)."""
        return self.encoded_token(self.enabled_token(token_id, "token"))

    def encoded_page(self, query: TokenQuery) -> bytes:
        """Returns the body of ``GET /tokens``, from a cache if possible."""
        # The page answers the parameters, so their defaults must not split the key.
        key = query.model_dump_json()
        page = self._pages.get(key)
        if page is not None:
            self._pages.move_to_end(key)
            return page
        tokens, total = self.search(query)
        page = b'{"tokens":[%b],"total":%d,"totalPages":%d}' % (
            b",".join(map(self.encoded_token, tokens)),
            total,
            page_count(total, query.page_size),
        )
        self._pages[key] = page
        self._page_bytes += len(page)
        while len(self._pages) > _PAGES_KEPT or self._page_bytes > _PAGE_BYTES_KEPT:
            self._page_bytes -= len(self._pages.popitem(last=False)[1])
        return page
