"""UserOperations of ERC-4337: what is signed, how it is packed, hashed, written and batched.

Pure, and needs ``eth_abi``; the desk never imports it. ``operation`` is the operation itself,
``rpc_form`` its JSON, ``packing`` the form that contracts take, ``hashing`` what is signed,
``batch`` the calls inside, ``smart_account`` where an account will stand, and ``entry_point``
the calls, events and errors of the EntryPoint.
"""
