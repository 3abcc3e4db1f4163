"""Who is paid: the address book, addresses checked without a call, first payments.

``recipients`` checks recipient and refund address by the decoder and by the service's pattern,
``memo_check`` the memo, ``first_use`` asks before an address is paid for the first time.
``address_book`` keeps names in a file that its user may edit.
"""
