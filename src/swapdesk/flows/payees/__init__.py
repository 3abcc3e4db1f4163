"""Who is paid: the address book, addresses checked without a call, first payments."""
