"""Keeps the tokens and chains on disk, searches them, and decides which token is meant and whether
it may be used.

``catalog`` is the list of a profile, which is stored by ``catalog_file`` in a cache that may be
lost. ``token_list`` holds the list in columns, which ``search`` searches as bytes. ``token_safety``
says whether a token may be used.
"""
