"""The configuration: the chosen profile, every value with its origin, and the problems of the file.

A command-line option wins over the environment, the environment over the profile's table, and this
table over the default. Without a choice the profile is ``sandbox``, so that the desk is never live
by accident. If ``SWAPDESK_API_URL`` is set without a profile, the desk uses an unnamed live profile
of its own for this URL.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import urlsplit

from msgspec import Struct, field

from swapdesk.config_file import ConfigFile, ConfigProblem, nearest, read_config
from swapdesk.paths import PROFILE_NAME, Home, ProfilePlaces, UnsafePlace, read_private
from swapdesk.secret import Secret

T = TypeVar("T")

SANDBOX = "sandbox"
DEFAULT_THEME = "ink"
DEFAULT_GLYPHS = "auto"
DEFAULT_NOTIFY = "away"
DEFAULT_OUTPUT_TOLERANCE = Decimal(1)
CA_LIMIT = 8 * 1024 * 1024
_BEGINS = b"-----BEGIN "
"""The first bytes of every certificate in a PEM file."""


Origin = Literal["option", "environment", "profile", "config.toml", "default"]
"""Where a value was read: a command-line option, the environment, the profile's table, the top of
``config.toml``, or nowhere (``default``)."""


class SettingsError(Exception):
    """Raised if the chosen profile does not exist. ``problem`` says where the profile was named;
    None means on the command line."""

    def __init__(self, words: str, problem: ConfigProblem | None = None) -> None:
        super().__init__(words)
        self.problem = problem


class Value(Struct, Generic[T], frozen=True):
    """A value and where it was read. ``name`` is the environment variable or option; empty for
    other origins."""

    value: T
    origin: Origin
    name: str = ""

    def __str__(self) -> str:
        return "" if self.value is None else str(self.value)


class Options(Struct, frozen=True):
    """The values given on the command line. A value that was not given is None, or False for
    ``read_only``."""

    profile: str | None = None
    theme: str | None = None
    read_only: bool = False


class Settings(Struct, frozen=True):
    """All settings of the desk. For the sandbox, ``url`` and the credentials are None, because the
    running sandbox states them."""

    home: Home
    profile: Value[str]
    """Name of the profile in use."""
    live: bool
    places: ProfilePlaces
    url: Value[str | None]
    """Address of the API of a live profile."""
    key: Value[str | None]
    """API key; it needs a secret."""
    secret: Value[Secret | None]
    """Secret of the API key. It is read from the environment or from the file that ``secret_file``
    names."""
    partner_id: Value[str | None]
    """Partner id, for reading without a key."""
    pay: Value[str | None]
    """``x402`` if each call is paid from the wallet instead of using an API key; otherwise None."""
    rpc: Value[Mapping[str, str]]
    """Address of the node of each chain on which a live wallet works, by the chain's short name."""
    ca_file: Value[str | None]
    """Path of a PEM file whose certificates are trusted for live services and nodes instead of the
    system's; None for the system's."""
    theme: Value[str]
    """Name of the palette that the desk uses."""
    glyphs: Value[str]
    """The set of characters the desk draws with: ``auto``, ``unicode`` or ``ascii``."""
    notify: Value[str]
    """When the terminal is notified that an order ended: ``away``, ``always`` or ``off``."""
    read_only: Value[bool]
    """True if the user wants a desk that creates, signs and spends nothing."""
    output_tolerance: Value[Decimal]
    """By how many percent the output of a created order may be lower than the confirmed output."""
    control_url: Value[str | None]
    """Address of the control interface of a sandbox that was started separately; None if there is
    none. The desk uses it for the sandbox's faucet."""
    control_token: Value[Secret | None]
    """Token for the control interface at ``control_url``."""
    problems: tuple[ConfigProblem, ...] = field(default=())
    config: ConfigFile | None = None
    """The configuration file as read. Command and theme names are unchecked."""

    @property
    def keys(self) -> Mapping[str, str]:
        """The keyboard keys for each command, from the table ``[keys]``, with unchecked command
        names."""
        return self.config.keys if self.config is not None else {}

    @property
    def profiles(self) -> tuple[str, ...]:
        named = self.config.profiles if self.config is not None else {}
        return (SANDBOX, *(name for name in named if name != SANDBOX))

    @property
    def reads_only(self) -> bool:
        """True if this desk creates, signs and spends nothing, by the user's choice or for lack of
        an API key."""
        without_key = self.key.value is None or self.secret.value is None
        reader = without_key and self.partner_id.value is not None and self.pay.value is None
        return self.read_only.value or reader

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secret texts in these settings, which must never be shown or written to a file."""
        held = (self.secret.value, self.control_token.value)
        return tuple(secret.reveal() for secret in held if secret is not None)

    def key_problem(self, command: str, message: str, near: str | None) -> ConfigProblem:
        """Returns a problem with a command's entry in the table ``[keys]``, with its line in the
        file. ``near`` is a similar valid name, or None."""
        if self.config is None:
            return ConfigProblem(None, None, f"keys.{command}", message, near)
        return self.config.problem(("keys", command), message, near)

    def misnamed_theme(self, themes: Iterable[str]) -> ConfigProblem | None:
        """Returns a problem if the chosen theme is not among ``themes``, the names of all palettes;
        None if it is."""
        name, origin = self.theme.value, self.theme.origin
        names = sorted(themes)
        if name in names:
            return None
        message = f"names no theme {name[:32]!r}; there are {', '.join(names)}"
        near = nearest(name, names)
        if self.config is None or origin not in ("profile", "config.toml"):
            return ConfigProblem(None, None, self.theme.name or "theme", message, near)
        path = ("profiles", self.profile.value, "theme")
        return self.config.problem(path if origin == "profile" else ("theme",), message, near)

    def rows(self) -> Iterator[tuple[str, str, str]]:
        """Yields (name, value, origin) for each setting, as shown by ``swapdesk config show``.
        Secrets are masked."""
        places = self._home_origin()
        yield "home", str(self.home.data), places
        yield "config_file", str(self.home.config_file), places
        yield "logs", str(self.home.logs), places
        for name in (
            "profile",
            "url",
            "key",
            "secret",
            "partner_id",
            "pay",
            "rpc",
            "ca_file",
            "theme",
            "glyphs",
            "notify",
            "read_only",
            "output_tolerance",
            "control_url",
            "control_token",
        ):
            value: Value[Any] = getattr(self, name)
            shown = "" if value.value is None else str(value.value)
            if name == "read_only":
                shown = "true" if value.value else "false"
            if name == "key" and value.value is not None:
                shown = f"…{shown[-4:]}" if len(shown) > 8 else "***"
            if name == "rpc":
                shown = ", ".join(f"{chain}={url}" for chain, url in value.value.items())
            origin = f"{value.origin} {value.name}".strip()
            yield name, shown, origin
        for command, keys in self.keys.items():
            yield f"keys.{command}", keys, "config.toml"

    def _home_origin(self) -> str:
        same = self.home.config == self.home.data
        return "environment SWAPDESK_HOME" if same else "default"


def load_settings(
    environ: Mapping[str, str],
    home: Home,
    options: Options | None = None,
    *,
    mending: bool = False,
) -> Settings:
    """Reads ``config.toml`` and the environment. Errors in the file are in ``problems``. Raises
    SettingsError if the chosen profile does not exist; with ``mending``, only if the profile was
    chosen by an option."""
    options = options or Options()
    config = read_config(home.config_file)
    environ = {name: value for name, value in environ.items() if value != ""}
    return _Reading(environ, home, options, config, mending).settings()


class _Reading:
    def __init__(
        self,
        environ: Mapping[str, str],
        home: Home,
        options: Options,
        config: ConfigFile,
        mending: bool,
    ) -> None:
        self.environ = environ
        self.home = home
        self.options = options
        self.config = config
        self.mending = mending
        self.problems = list(config.problems)

    def settings(self) -> Settings:
        profile, unnamed = self._profile()
        name = profile.value
        row: Mapping[str, Any] = {} if unnamed else self.config.profiles.get(name, {})
        live = unnamed or name != SANDBOX
        url: Value[str | None] = Value(None, "default")
        # A name that no profile has may be no name of a directory either.
        place = name if PROFILE_NAME.fullmatch(name) else place_of_url(name)
        if live:
            url = self._text("SWAPDESK_API_URL", row, "url")
            if not unnamed and url.origin == "environment" and url.value != row.get("url"):
                # The credentials and the journal of a profile belong to its own service only.
                place = place_of_url(str(url.value))
                theirs = ("key", "secret_file", "partner_id", "pay")
                row = {k: v for k, v in row.items() if k not in theirs}
        elif "SWAPDESK_API_URL" in self.environ:
            self._in_environment("SWAPDESK_API_URL", "is not used: the profile is sandbox")
        absent: Value[str | None] = Value(None, "default")
        key = self._text("SWAPDESK_API_KEY", row, "key") if live else absent
        no_secret: Value[Secret | None] = Value(None, "default")
        token = self.environ.get("SWAPDESK_CONTROL_TOKEN")
        return Settings(
            home=self.home,
            profile=profile,
            live=live,
            places=self.home.profile(place),
            url=url,
            key=key,
            secret=self._secret(name, row, key) if live else no_secret,
            partner_id=self._text("SWAPDESK_PARTNER_ID", row, "partner_id") if live else absent,
            pay=Value(row["pay"], "profile") if "pay" in row else absent,
            rpc=self._set("rpc", row, {}),
            ca_file=self._ca_file(name, row) if live else absent,
            theme=(
                Value(self.options.theme, "option", "--theme")
                if self.options.theme is not None
                else self._set("theme", row, DEFAULT_THEME)
            ),
            glyphs=self._set("glyphs", row, DEFAULT_GLYPHS),
            notify=self._set("notify", row, DEFAULT_NOTIFY),
            read_only=(
                Value(True, "option", "--read-only")
                if self.options.read_only
                else self._set("read_only", row, False)
            ),
            output_tolerance=self._set("output_tolerance", row, DEFAULT_OUTPUT_TOLERANCE),
            control_url=self._text("SWAPDESK_CONTROL_URL", {}, ""),
            control_token=(
                Value(Secret(token), "environment", "SWAPDESK_CONTROL_TOKEN")
                if token is not None
                else no_secret
            ),
            problems=tuple(self.problems),
            config=self.config,
        )

    def _profile(self) -> tuple[Value[str], bool]:
        if self.options.profile is not None:
            chosen = Value(self.options.profile, "option", "--profile")
        elif "SWAPDESK_PROFILE" in self.environ:
            chosen = Value(self.environ["SWAPDESK_PROFILE"], "environment", "SWAPDESK_PROFILE")
        elif "SWAPDESK_API_URL" in self.environ:
            place = place_of_url(self.environ["SWAPDESK_API_URL"])
            return Value(place, "environment", "SWAPDESK_API_URL"), True
        elif "profile" in self.config.top:
            chosen = Value(self.config.top["profile"], "config.toml")
        else:
            return Value(SANDBOX, "default"), False
        profiles = (SANDBOX, *self.config.profiles)
        if chosen.value not in profiles:
            refused = self._no_profile(chosen, profiles)
            if refused.problem is None or not self.mending:
                raise refused
            if refused.problem not in self.problems:
                self.problems.append(refused.problem)
        return chosen, False

    def _no_profile(self, chosen: Value[str], profiles: Iterable[str]) -> SettingsError:
        close = nearest(chosen.value, profiles)
        if self.config.problems and not self.config.content:
            # It may well be there: nobody could read the file.
            why = self.config.problems[0]
            return SettingsError(f"there is no profile {chosen.value!r}: {why}", why)
        if chosen.origin == "option":
            hint = f"; did you mean {close}?" if close else f"; known: {', '.join(profiles)}"
            return SettingsError(f"there is no profile {chosen.value!r}{hint}")
        message = f"names no profile {chosen.value[:64]!r}; there are {', '.join(profiles)}"
        if chosen.origin == "config.toml":
            problem = self.config.problem(("profile",), message, close)
        else:
            problem = ConfigProblem(None, None, chosen.name, message, close)
        return SettingsError(str(problem), problem)

    def _text(self, variable: str, row: Mapping[str, Any], key: str) -> Value[str | None]:
        if variable in self.environ:
            return Value(self.environ[variable], "environment", variable)
        if key in row:
            return Value(str(row[key]), "profile")
        return Value(None, "default")

    def _set(self, key: str, row: Mapping[str, Any], default: T) -> Value[T]:
        if key in row:
            return Value(row[key], "profile")
        if key in self.config.top:
            return Value(self.config.top[key], "config.toml")
        return Value(default, "default")

    def _secret(
        self, profile: str, row: Mapping[str, Any], key: Value[str | None]
    ) -> Value[Secret | None]:
        absent: Value[Secret | None] = Value(None, "default")
        variable = "SWAPDESK_API_SECRET"
        if variable in self.environ:
            return Value(Secret(self.environ[variable]), "environment", variable)
        if "secret_file" not in row:
            return absent
        if key.origin == "environment" and key.value != row.get("key"):
            self._in_environment(
                "SWAPDESK_API_KEY", f"needs {variable}: secret_file is for another key"
            )
            return absent
        file = self.home.config / os.path.expanduser(str(row["secret_file"]))
        text = wrong = ""
        try:
            text = read_private(file).decode("utf-8").strip()
        except UnsafePlace as error:
            wrong = str(error)
        except OSError as error:
            wrong = f"{file} cannot be read: {error.strerror or error}"
        except UnicodeDecodeError:
            wrong = f"{file} is no text"
        except ValueError:
            wrong = "holds a character that no file name has"
        if not text:
            line = self.config.line_of("profiles", profile, "secret_file")
            message = wrong or f"{file} is empty"
            self.problems.append(ConfigProblem(self.home.config_file, line, "secret_file", message))
            return absent
        return Value(Secret(text), "profile", "secret_file")

    def _ca_file(self, profile: str, row: Mapping[str, Any]) -> Value[str | None]:
        found = self._text("SSL_CERT_FILE", {}, "")
        if found.value is None:
            found = self._set("ca_file", row, None)
        if found.value is None:
            return found
        by_variable = found.origin == "environment"
        file = Path() if by_variable else self.home.config
        file = (file / os.path.expanduser(found.value)).absolute()
        try:
            with file.open("rb") as held:
                message = "" if _BEGINS in held.read(CA_LIMIT) else f"{file} holds no certificate"
        except OSError as error:
            message = f"{file} cannot be read: {error.strerror or error}"
        except ValueError:
            message = "holds a character that no file name has"
        if not message:
            return Value(str(file), found.origin, found.name)
        if by_variable:
            self._in_environment(found.name, message)
        else:
            path = ("profiles", profile, "ca_file") if "ca_file" in row else ("ca_file",)
            self.problems.append(self.config.problem(path, message))
        return Value(None, "default")

    def _in_environment(self, variable: str, message: str) -> None:
        self.problems.append(ConfigProblem(None, None, variable, message))


def place_of_url(url: str) -> str:
    """Returns the directory name of the unnamed profile for the service at ``url``."""
    host = urlsplit(url).hostname or "unknown"
    plain = "".join(ch if ch.isascii() and (ch.isalnum() or ch in ".-") else "-" for ch in host)
    digest = hashlib.sha256(url.rstrip("/").encode()).hexdigest()[:12]
    return f"at-{plain[:40]}-{digest}"
