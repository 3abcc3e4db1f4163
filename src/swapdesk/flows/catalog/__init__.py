"""Tokens and chains: on disk, searched, and which of them is meant or may be used."""
