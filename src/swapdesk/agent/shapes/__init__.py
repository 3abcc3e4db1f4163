"""What a payload says, in terms the rules of the gate can judge.

A shape gives every field of a payload exactly one meaning (``Meaning``); a new shape is a table
of them. Typed data is known by its exact declaration (``reading``), a transaction by its selector
(``calls``), a Solana message by its instructions (``solana``). Each becomes a ``Claim``; what is
none of them is refused or, for typed data alone, shown as a tree.
"""
