"""Tokens and chains: on disk, searched, and which of them is meant or may be used.

``catalog`` is the list of a profile over ``catalog_file``, a cache that may be lost; ``token_list``
holds it in columns that are searched as bytes. ``resolution`` finds the token that a text means,
``token_safety`` says whether it may be used.
"""
