"""UserOperations of ERC-4337: what is signed, how it is packed, hashed, written and batched.

Pure, and needs ``eth_abi``; the desk never imports it. ``operation`` is the operation with its
packed form and its hash, ``rpc_form`` its JSON, ``smart_account`` where an account will stand and
the calls inside, ``entry_point`` the calls, events and errors of the EntryPoint.
"""
