"""Addresses of every kind of chain: checked, recognised, grouped to be read, written as links.

``decoding`` is the check, with one module for each kind behind it and ``verdict`` what it says;
``patterns`` is the service's own rule, which may only narrow.
"""
