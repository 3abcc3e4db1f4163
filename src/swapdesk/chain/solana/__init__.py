"""Solana transactions: what is encoded in them, what is read from them, and how large they are.

Needs ``solders``; the desk never imports it. ``instructions`` has one class for each instruction
we know; ``transaction`` reads and measures whole transactions and packs many payments into few.
"""
