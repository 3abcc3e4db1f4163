"""Addresses of every kind of chain: checking, recognising, showing and writing payment links.

Each kind of address is one object, an ``AddressKind`` (module ``kind``). The object is defined in
the module of the addresses' form, such as ``bitcoin``; ``kinds`` lists all of them. The modules
``checking``, ``payments`` and ``display`` read from these objects everything that depends on the
kind.
"""
