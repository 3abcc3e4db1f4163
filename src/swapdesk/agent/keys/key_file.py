"""Key files on disk: the key of a file is derived from a pass phrase; all files of a profile are in
one directory, with the names of the keys.

A file is written once and never changed. The directory decides the names of keys and which process
may write. Beside its encrypted part a file has, in plain, what is known without a pass phrase. A
change to that plain part is detected when the file is opened. A key belongs to one profile for
ever.

A hostile file might ask for a gigabyte of memory or minutes of work. The cost of the derivation is
therefore computed from the file's parameters and refused if it is too high, before the derivation
starts.

Keystore v3 (Web3 Secret Storage) is read and written here instead of by a library, because the
derivation has to begin before the library is imported. Both take half a second, and run at the same
time.

The ``crypto`` part of a Solana key file is scrypt and AES-256-GCM. There is no standard for an
encrypted ed25519 key, and keystore v3 refuses any key that is not secp256k1. The plain part of the
file is bound to the ciphertext as associated data.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import json
import os
import re
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from Crypto.Cipher import AES
from msgspec import Struct
from msgspec.structs import replace

from swapdesk.chain.addresses.evm import checksummed, keccak
from swapdesk.paths import (
    PRIVATE_FILE_LIMIT,
    UnsafePlace,
    keep_names,
    private_directory,
    read_private,
    write_private,
)
from swapdesk.secret import SecretBytes
from swapdesk.wallet.accounts import MAX_NAME, Account, KeyOrigin, Kind, UnusableKey
from swapdesk.wallet.protocol import Refused
from swapdesk.wire.encoding.codec import refuse_deep

MAX_N = 1 << 18
"""The scrypt parameter n of the files that are written here."""
MAX_MEMORY = 256 << 20
"""The most bytes that a derivation may use (``128 * n * r`` of scrypt). The costliest file of
common wallets needs this much."""
MAX_WORK = 1 << 23
"""The most work of scrypt, as ``n * r * p``. It takes about two seconds, four times as long as the
costliest file of common wallets."""
MAX_ITERATIONS = 2_000_000
"""The most iterations of PBKDF2, which take about two seconds."""
KEY_BYTES = 32
_SALT = re.compile(r"(0x)?([0-9a-fA-F]{2}){8,64}", re.ASCII)


class Scrypt(Struct, frozen=True):
    """A key derivation with scrypt. ``n`` is the cost: 2^18 takes half a second and 256 MiB."""

    salt: bytes
    n: int = MAX_N
    r: int = 8
    p: int = 1

    @classmethod
    def fresh(cls, n: int) -> Scrypt:
        return cls(os.urandom(32), n)

    def derive(self, passphrase: SecretBytes) -> SecretBytes:
        if self.n >= 1 << 16 * self.r:
            return self._derive_narrow(passphrase)
        # OpenSSL needs a limit above all its memory, which is 128 * r * (n + p + 2).
        memory = 128 * self.r * (self.n + self.p + 2) + (1 << 20)
        return SecretBytes(
            hashlib.scrypt(
                passphrase.reveal(),
                salt=self.salt,
                n=self.n,
                r=self.r,
                p=self.p,
                maxmem=memory,
                dklen=KEY_BYTES,
            )
        )

    def _derive_narrow(self, passphrase: SecretBytes) -> SecretBytes:
        """Derives the encryption key without OpenSSL. OpenSSL refuses a large n with a small r,
        which the example in keystore v3 has."""
        from Crypto.Protocol.KDF import scrypt

        held = bytes(passphrase.reveal())
        # The library's stub accepts only str.
        key: Any = scrypt(held, self.salt, KEY_BYTES, self.n, self.r, self.p)  # type: ignore[arg-type]
        return SecretBytes(key)

    def parameters(self) -> dict[str, Any]:
        return {
            "dklen": KEY_BYTES,
            "n": self.n,
            "p": self.p,
            "r": self.r,
            "salt": self.salt.hex(),
        }


class Pbkdf2(Struct, frozen=True):
    """A key derivation with HMAC-SHA256, repeated ``iterations`` times. The wallet reads key files
    with this derivation but writes none."""

    salt: bytes
    iterations: int

    def derive(self, passphrase: SecretBytes) -> SecretBytes:
        return SecretBytes(
            hashlib.pbkdf2_hmac(
                "sha256", passphrase.reveal(), self.salt, self.iterations, KEY_BYTES
            )
        )


Derivation = Scrypt | Pbkdf2


def read_derivation(name: object, parameters: object) -> Derivation:
    """Returns the key derivation that a key file states in ``kdf`` (``name``) and ``kdfparams``
    (``parameters``). Raises Refused if the derivation is unreadable or needs too much time or
    memory."""
    if not isinstance(parameters, dict):
        raise Refused("key_file", "the key file says nothing of its key derivation")
    salt = parameters.get("salt")
    if type(salt) is not str or _SALT.fullmatch(salt) is None:
        raise Refused("key_file", "the salt of the key file cannot be read")
    # Further bytes would be unused, and the first ones are the same without them.
    if _number(parameters, "dklen") < KEY_BYTES:
        raise Refused("key_file", f"the key file derives fewer than {KEY_BYTES} bytes")
    raw = bytes.fromhex(salt.removeprefix("0x"))
    if name == "scrypt":
        n, r, p = (_number(parameters, name) for name in ("n", "r", "p"))
        if n < 2 or n & (n - 1):
            raise Refused("key_file", "scrypt n of the key file is no power of two")
        if r < 1 or p < 1:
            raise Refused("key_file", "scrypt r and p of the key file are not both 1 or more")
        if 128 * n * r > MAX_MEMORY or 128 * r * p > MAX_MEMORY:
            most = f"{MAX_MEMORY >> 20} MiB"
            raise Refused(
                "key_file", f"opening the key file takes more memory than {most} (scrypt)"
            )
        if n * r * p > MAX_WORK:
            raise Refused(
                "key_file", "opening the key file takes longer than a few seconds (scrypt)"
            )
        return Scrypt(raw, n, r, p)
    if name == "pbkdf2":
        count = _number(parameters, "c")
        if parameters.get("prf") != "hmac-sha256" or count < 1:
            raise Refused("key_file", "pbkdf2 of the key file is not hmac-sha256")
        if count > MAX_ITERATIONS:
            raise Refused(
                "key_file", "opening the key file takes longer than a few seconds (pbkdf2)"
            )
        return Pbkdf2(raw, count)
    raise Refused("key_file", "the key file uses an unknown key derivation")


def _number(parameters: dict[str, Any], name: str) -> int:
    number = parameters.get(name)
    if type(number) is not int:
        raise Refused("key_file", f"{name} of the key file is no whole number")
    return number


_HEX = re.compile(r"(0x)?[0-9a-fA-F]+", re.ASCII)


def _wrong_passphrase() -> Refused:
    return Refused("wrong_passphrase", "the file does not open with this pass phrase")


def encrypt(secret: SecretBytes, key: SecretBytes, scrypt: Scrypt) -> dict[str, Any]:
    """Returns the ``crypto`` part of a keystore v3 that holds ``secret``. ``scrypt`` is the
    derivation that made ``key`` from the pass phrase."""
    held = key.reveal()
    start = os.urandom(16)
    ciphertext = _cipher(held[:16], start).encrypt(secret.reveal())
    return {
        "cipher": "aes-128-ctr",
        "cipherparams": {"iv": start.hex()},
        "ciphertext": ciphertext.hex(),
        "kdf": "scrypt",
        "kdfparams": scrypt.parameters(),
        "mac": keccak(bytes(held[16:32]) + ciphertext).hex(),
    }


def _parts(crypto: object, cipher: str) -> tuple[dict[str, Any], dict[str, Any]]:
    if not isinstance(crypto, dict):
        raise Refused("key_file", "the key file has no encrypted part")
    parameters = crypto.get("cipherparams")
    if crypto.get("cipher") != cipher or not isinstance(parameters, dict):
        raise Refused("key_file", f"the key file is not encrypted with {cipher}")
    return crypto, parameters


class Keystore:
    """The ``crypto`` part of a keystore v3, checked but not decrypted yet. The constructor raises
    Refused if that part cannot be read."""

    def __init__(self, encrypted: object) -> None:
        crypto, parameters = _parts(encrypted, "aes-128-ctr")
        self.derivation: Derivation = read_derivation(crypto.get("kdf"), crypto.get("kdfparams"))
        self._start = fixed_bytes(parameters.get("iv"), 16)
        self._ciphertext = fixed_bytes(crypto.get("ciphertext"), 32)
        self._mac = fixed_bytes(crypto.get("mac"), 32)

    def open(self, key: SecretBytes) -> SecretBytes:
        """Returns the decrypted 32 bytes. ``key`` is the key derived from the pass phrase. Raises
        Refused if ``key`` is wrong."""
        held = key.reveal()
        mac = keccak(bytes(held[16:32]) + self._ciphertext)
        if not hmac.compare_digest(mac, self._mac):
            raise _wrong_passphrase()
        return SecretBytes(_cipher(held[:16], self._start).decrypt(self._ciphertext))


def _cipher(key: bytearray, start: bytes) -> Any:
    return AES.new(bytes(key), AES.MODE_CTR, nonce=b"", initial_value=start)


def fixed_bytes(text: object, length: int) -> bytes:
    """Returns the ``length`` bytes that ``text`` states in hexadecimal, with or without 0x. Raises
    Refused if ``text`` is anything else."""
    if type(text) is not str or _HEX.fullmatch(text) is None:
        raise Refused("key_file", "the encrypted part of the key file cannot be read")
    digits = text.removeprefix("0x")
    if len(digits) != 2 * length:
        raise Refused("key_file", "the encrypted part of the key file has another length")
    return bytes.fromhex(digits)


def seal(secret: SecretBytes, key: SecretBytes, scrypt: Scrypt, bound: bytes) -> dict[str, Any]:
    nonce = os.urandom(12)
    cipher = AES.new(bytes(key.reveal()), AES.MODE_GCM, nonce=nonce)
    cipher.update(bound)
    ciphertext, tag = cipher.encrypt_and_digest(bytes(secret.reveal()))
    return {
        "cipher": "aes-256-gcm",
        "cipherparams": {"nonce": nonce.hex()},
        "ciphertext": ciphertext.hex(),
        "kdf": "scrypt",
        "kdfparams": scrypt.parameters(),
        "tag": tag.hex(),
    }


class Sealed:
    """The ``crypto`` part of a Solana key file or of a policy file, still encrypted (AES-256-GCM).
    The constructor raises Refused if that part cannot be read."""

    def __init__(self, encrypted: object) -> None:
        crypto, parameters = _parts(encrypted, "aes-256-gcm")
        if crypto.get("kdf") != "scrypt":
            raise Refused("key_file", "the key file does not derive its key by scrypt")
        self.derivation = read_derivation("scrypt", crypto.get("kdfparams"))
        self._nonce = fixed_bytes(parameters.get("nonce"), 12)
        self._ciphertext = fixed_bytes(crypto.get("ciphertext"), 32)
        self._tag = fixed_bytes(crypto.get("tag"), 16)

    def open(self, key: SecretBytes, bound: bytes) -> SecretBytes:
        """Returns the decrypted 32 bytes. ``key`` is derived from the pass phrase; ``bound`` is the
        unencrypted part of the file. Raises Refused if ``key`` is wrong or ``bound`` was
        changed."""
        cipher = AES.new(bytes(key.reveal()), AES.MODE_GCM, nonce=self._nonce)
        cipher.update(bound)
        try:
            return SecretBytes(cipher.decrypt_and_verify(self._ciphertext, self._tag))
        except ValueError:
            raise _wrong_passphrase() from None


_FIELDS = {"profile", "origin", "path", "created"}
_FORMAT = "swapdesk-solana-key"


def file_name(kind: Kind, address: str) -> str:
    return f"{kind}-{address.lower() if kind is Kind.EVM else address}.json"


class KeyFile(Struct, frozen=True):
    account: Account
    _crypto: Keystore | Sealed
    _binding: bytes

    @property
    def derivation(self) -> Derivation:
        return self._crypto.derivation

    def open(self, key: SecretBytes) -> SecretBytes:
        """Returns the 32 bytes of the private key (EVM) or seed (Solana). Raises Refused if ``key``
        (derived from the pass phrase) is wrong or the file was changed."""
        bound = _bound(self.account)
        if isinstance(self._crypto, Sealed):
            return self._crypto.open(key, bound)
        secret = self._crypto.open(key)
        if not hmac.compare_digest(_binding(key, bound), self._binding):
            secret.wipe()
            raise Refused("key_file", "the key file says something else than when it was written")
        return secret


def write_key(account: Account, secret: SecretBytes, key: SecretBytes, scrypt: Scrypt) -> bytes:
    """Returns the content of a new key file for ``secret``, encrypted with ``key``, which
    ``scrypt`` derived from the pass phrase."""
    bound = _bound(account)
    about: dict[str, Any] = {
        "profile": account.profile,
        "origin": account.origin.value,
        "path": account.path,
        "created": account.created.isoformat(),
    }
    if account.kind is Kind.EVM:
        about["binding"] = _binding(key, bound).hex()
        content = {
            "address": account.address[2:].lower(),
            "crypto": encrypt(secret, key, scrypt),
            "id": str(uuid4()),
            "version": 3,
            "swapdesk": about,
        }
    else:
        content = {
            "format": _FORMAT,
            "version": 1,
            "address": account.address,
            "crypto": seal(secret, key, scrypt, bound),
            "swapdesk": about,
        }
    return json.dumps(content, indent=1).encode()


def read_key(name: str, content: bytes) -> KeyFile:
    """Returns the key file parsed from its ``name`` and ``content``. Raises Refused if it is
    unreadable or not written by this wallet."""
    whole = _object(content)
    about = whole.get("swapdesk")
    if not isinstance(about, dict):
        raise Refused("key_file", "the key file was not written by this wallet: import it")
    kind = Kind.SOLANA if whole.get("format") == _FORMAT else Kind.EVM
    if whole.get("version") != (1 if kind is Kind.SOLANA else 3):
        raise Refused("key_file", "the key file is of an unknown version")
    extra = {"binding"} if kind is Kind.EVM else set()
    if set(about) != _FIELDS | extra:
        raise Refused("key_file", "the key file does not say what it belongs to")
    account = _account(kind, whole.get("address"), about)
    if file_name(kind, account.address) != name:
        raise Refused("key_file", "the key file has the name of another one")
    crypto = whole.get("crypto")
    if kind is Kind.SOLANA:
        return KeyFile(account, Sealed(crypto), b"")
    binding = about["binding"]
    if type(binding) is not str or len(binding) != 64:
        raise Refused("key_file", "the key file does not say what it belongs to")
    try:
        return KeyFile(account, Keystore(crypto), bytes.fromhex(binding))
    except ValueError:
        raise Refused("key_file", "the key file cannot be read") from None


def read_foreign_keystore(content: bytes) -> Keystore:
    """Returns the ``crypto`` part of a keystore v3 that another program wrote. Raises Refused if it
    cannot be read."""
    whole = {str(name).lower(): value for name, value in _object(content).items()}
    if whole.get("version") != 3:
        raise Refused("key_file", "the file is no keystore of version 3")
    return Keystore(whole.get("crypto"))


def _object(content: bytes) -> dict[str, Any]:
    if len(content) > PRIVATE_FILE_LIMIT:
        raise Refused("key_file", f"the key file is larger than {PRIVATE_FILE_LIMIT} bytes")
    try:
        refuse_deep(content)
        whole = json.loads(content)
    except ValueError:
        whole = None
    if not isinstance(whole, dict):
        raise Refused("key_file", "the key file is no JSON object")
    return whole


def _account(kind: Kind, address: object, about: dict[str, Any]) -> Account:
    path = about["path"]
    try:
        if type(address) is not str or not (path is None or type(path) is str):
            raise ValueError
        if kind is Kind.EVM:
            if len(address) != 40:
                raise ValueError
            address = checksummed(f"0x{bytes.fromhex(address).hex()}")
        created = datetime.fromisoformat(about["created"])
        if created.tzinfo is None:
            raise ValueError
        return Account(
            address=address,
            kind=kind,
            name="",
            profile=str(about["profile"]),
            origin=KeyOrigin(about["origin"]),
            path=path,
            created=created,
        )
    except (TypeError, ValueError):
        raise Refused("key_file", "the key file does not say what it belongs to") from None


def _bound(account: Account) -> bytes:
    return json.dumps(
        [
            account.kind.value,
            account.address,
            account.profile,
            account.origin.value,
            account.path,
            account.created.isoformat(),
        ],
        separators=(",", ":"),
    ).encode()


def _binding(key: SecretBytes, bound: bytes) -> bytes:
    return hmac.new(bytes(key.reveal()), b"swapdesk account\0" + bound, hashlib.sha256).digest()


LOCK_FILE = "lock"
NAMES_FILE = "names.json"
MAX_KEYS = 256
_PREFIXES = ("evm-", "solana-")


class KeyDirectory:
    """The key files of one profile. An unsafe key file is listed as unusable. The constructor
    raises UnsafePlace if the directory is a link, belongs to another user, or is open to other
    users."""

    def __init__(self, path: Path, profile: str) -> None:
        self.path = private_directory(path)
        self._profile = profile

    def read(self) -> tuple[tuple[KeyFile, ...], tuple[UnusableKey, ...]]:
        """Returns every usable key file, and the name of each unusable one with the reason."""
        private_directory(self.path)
        names = self._names()
        key_files: list[KeyFile] = []
        unusable: list[UnusableKey] = []
        entries = sorted(
            entry
            for entry in os.listdir(self.path)
            if entry.startswith(_PREFIXES) and ".json" in entry
        )
        for entry in entries[:MAX_KEYS]:
            try:
                file = read_key(entry, read_private(self.path / entry))
                if file.account.profile != self._profile:
                    raise Refused(
                        "key_file", f"the key belongs to the profile {file.account.profile[:64]!r}"
                    )
            except (OSError, Refused) as error:
                unusable.append(UnusableKey(entry, str(error)))
            else:
                address = file.account.address
                named = replace(file.account, name=names.get(address, short_name(address)))
                key_files.append(replace(file, account=named))
        unusable += [
            UnusableKey(entry, f"more than {MAX_KEYS} keys") for entry in entries[MAX_KEYS:]
        ]
        return tuple(key_files), tuple(unusable)

    def add(self, account: Account, content: bytes) -> None:
        """Writes a new key file durably, then records the account's name. Raises FileExistsError if
        the key file exists."""
        write_private(self.path / file_name(account.kind, account.address), content)
        self.rename(account.address, account.name)
        keep_names(self.path)

    def rename(self, address: str, name: str) -> None:
        names = {**self._names(), address: name}
        content = json.dumps(names, indent=1, sort_keys=True).encode()
        write_private(self.path / NAMES_FILE, content, replace=True)

    def _names(self) -> dict[str, str]:
        # Names are a convenience: without a readable file of names everything else still works.
        names: object = {}
        with contextlib.suppress(OSError, ValueError):
            kept = read_private(self.path / NAMES_FILE)
            refuse_deep(kept)
            names = json.loads(kept)
        if not isinstance(names, dict):
            return {}
        return {
            str(address): name
            for address, name in names.items()
            if type(name) is str and is_name(name)
        }


def short_name(address: str) -> str:
    return f"{address[:6]}…{address[-4:]}"


def is_name(name: str) -> bool:
    """True for a valid account name: not empty, at most ``MAX_NAME`` characters, printable, and
    without blanks at its ends."""
    return 0 < len(name) <= MAX_NAME and name.isprintable() and name == name.strip()


class WalletLock:
    """The lock on a key directory. The process that holds it may sign; it is held until the process
    ends."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / LOCK_FILE
        self._handle: int | None = None

    def take(self) -> bool:
        """Takes the lock if it is free. Returns True if this process holds the lock now, False if
        another process holds it. A later call may succeed."""
        if self._handle is not None:
            return True
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(self._path, flags, 0o600)
        except OSError as error:
            raise UnsafePlace(f"{self._path} cannot be opened: {error.strerror}") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return False
        self._handle = handle
        return True
