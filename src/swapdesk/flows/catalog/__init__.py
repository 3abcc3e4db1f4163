"""Stores the service's tokens and chains on disk, searches them, and decides which token a text
means and whether that token may be used.

``catalog`` gives access to everything that one profile knows; ``catalog_file`` stores it in a cache
that may be lost. ``token_list`` holds the tokens in columns of bytes, which ``search`` searches in
place. ``token_safety`` says whether a token may be used.
"""
