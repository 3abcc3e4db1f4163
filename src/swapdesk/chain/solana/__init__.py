"""Solana transactions: what is encoded in them, what is read from them, and how large they are.

Needs ``solders``; the desk never imports it. ``instructions`` has one class for each instruction
we know, which builds and reads it exactly; ``message`` reads whole messages; ``transaction``
reads what others serialized and keeps to the size of a packet; ``bundle`` packs many payments
into few transactions; ``fees`` says what a message costs.
"""
