"""Tokens and chains: on disk, searched, and which of them is meant or may be used.

``catalog`` is the list of a profile over ``catalog_file``, a cache that may be lost; ``token_list``
holds it in columns that ``search`` looks through as bytes, ``token_safety`` says whether a token
may be used.
"""
