"""EIP-712 read strictly: what can be understood in two ways is refused, not signed.

``schema`` reads the types, ``values`` one value of an elementary type, ``document`` the whole
and its digest. Other encoders take much that stands in none of the types or that they change
silently; a trader would see what is not signed, or sign what is not seen.
"""
