"""Readers of payloads, which state what a payload does in terms that the rules of the gate can
judge.

A shape is a known form of a payload. It gives every field exactly one meaning (``Meaning``); a new
shape is a table of fields. Typed data is recognized by its exact declaration (``reading``), a
transaction by its selector (``calls``), a Solana message by its instructions (``solana``). Each
becomes a ``Claim``. A payload of no known shape is refused, except that typed data is shown as a
tree.
"""
