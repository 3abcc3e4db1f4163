"""What was signed: written down before anybody else sees it, and followed to its end.

``file`` is the database, ``entries`` what stands in it, ``records`` how it is read and written,
``admission`` says when another transaction may be signed,
``network`` what is asked of a chain, ``delivery`` sends bytes and finds out what became of them.
"""
