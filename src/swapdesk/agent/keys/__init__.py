"""Keys: their files, the directory of a profile, and keys in the open while they are used.

``derivation`` bounds what a file may cost, ``keystore_v3`` and ``sealed`` are the encrypted
parts of EVM and Solana files, ``key_file`` one file, ``directory`` all of a profile,
``material`` where keys come from, ``published`` those that everybody has.
"""
