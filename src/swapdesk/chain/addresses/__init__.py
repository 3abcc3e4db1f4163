"""Addresses of every kind of chain: checking, recognising, showing and writing payment links. Each
kind is one ``AddressKind`` (module ``kind``), listed in ``kinds``."""
