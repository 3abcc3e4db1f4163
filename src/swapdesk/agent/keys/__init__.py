"""Keys: their files, the key directory of a profile, and open keys while they are used.

``key_file`` reads and writes one file and the directory of a profile, and limits the cost of
opening a file. ``material`` reads keys from their sources and knows the published keys that
everybody has.
"""
