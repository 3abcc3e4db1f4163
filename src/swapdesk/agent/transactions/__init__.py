"""What was signed: written down before anybody else sees it, and followed to its end.

``file`` is the database, ``records`` what stands in it and when another signature may be given,
``network`` what is asked of a chain, ``delivery`` sends bytes and finds out what became of them.
"""
