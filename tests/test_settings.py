"""Which profile, which value, from where; and what is said about a wrong file."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path

import pytest

from rows import each_row
from swapdesk.cli.command_error import of_error
from swapdesk.config_file import keep_theme
from swapdesk.paths import (
    Home,
    NoHome,
    UnsafePlace,
    find_home,
    keep_private,
    private_directory,
    read_private,
    write_private,
)
from swapdesk.secret import Secret
from swapdesk.settings import Options, Settings, SettingsError, load_settings

CONFIG = """\
# the desk of alice
profile = "prod"
theme = "paper"

[profiles.prod]
url = "https://api.example.com/v2"
key = "prod-key-123456"
secret_file = "prod.secret"

[profiles.prod.rpc]
ethereum = "https://rpc.example.com"

[profiles.reader]
url = "https://api.example.com/v2"
partner_id = "p-1"
theme = "ink"
output_tolerance = 0.5
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.at(tmp_path)


def write_config(home: Home, text: str, secret: str | None = "prod-secret") -> None:
    home.config.mkdir(exist_ok=True)
    home.config_file.write_text(text)
    if secret is not None:
        write_private(home.config / "prod.secret", secret.encode() + b"\n", replace=True)


def configured(
    home: Home, text: str, secret: str | None = "prod-secret", environ: Mapping[str, str] = {}
) -> Settings:
    write_config(home, text, secret)
    return load_settings(environ, home)


def test_nothing_configured_is_the_sandbox(home: Home) -> None:
    settings = load_settings({}, home)
    assert settings.profile.value == "sandbox"
    assert settings.profile.origin == "default"
    assert not settings.live
    assert settings.url.value is None
    assert settings.places.journal == home.data / "profiles" / "sandbox" / "journal.db"
    assert settings.problems == ()
    # An empty variable is no variable.
    empty = load_settings({"SWAPDESK_PROFILE": "", "SWAPDESK_API_URL": ""}, home)
    assert empty.profile.origin == "default"


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_the_file_chooses_a_profile_and_its_values(home: Home, mark: str) -> None:
    settings = configured(home, mark + CONFIG, f"{mark}prod-secret")
    assert (settings.profile.value, settings.profile.origin) == ("prod", "config.toml")
    assert settings.live
    assert settings.url.value == "https://api.example.com/v2"
    assert settings.secret.value == Secret("prod-secret")
    assert settings.rpc.value == {"ethereum": "https://rpc.example.com"}
    assert (settings.theme.value, settings.theme.origin) == ("paper", "config.toml")
    assert settings.output_tolerance.value == Decimal(1)
    assert settings.problems == ()


def test_option_beats_environment_beats_file(home: Home) -> None:
    write_config(home, CONFIG)
    environ = {"SWAPDESK_PROFILE": "reader"}
    by_environment = load_settings(environ, home)
    assert (by_environment.profile.value, by_environment.profile.origin) == (
        "reader",
        "environment",
    )
    assert (by_environment.theme.value, by_environment.theme.origin) == ("ink", "profile")
    assert by_environment.output_tolerance.value == Decimal("0.5")
    by_option = load_settings(environ, home, Options(profile="sandbox", theme="paper"))
    assert (by_option.profile.value, by_option.profile.origin) == ("sandbox", "option")
    assert by_option.theme.origin == "option"


def test_a_url_alone_makes_an_unnamed_live_profile(home: Home) -> None:
    write_config(home, CONFIG)
    environ = {
        "SWAPDESK_API_URL": "http://127.0.0.1:9/v2",
        "SWAPDESK_API_KEY": "k",
        "SWAPDESK_API_SECRET": "s",
    }
    settings = load_settings(environ, home)
    assert settings.live
    assert settings.profile.value.startswith("at-127.0.0.1-")
    assert settings.places.root.name == settings.profile.value
    assert settings.key.value == "k"
    assert settings.secret.value == Secret("s")
    assert settings.rpc.value == {}
    other = load_settings({"SWAPDESK_API_URL": "http://127.0.0.1:10/v2"}, home)
    assert other.places.root != settings.places.root


def test_the_sandbox_profile_never_takes_a_live_address_or_key(home: Home) -> None:
    environ = {
        "SWAPDESK_PROFILE": "sandbox",
        "SWAPDESK_API_URL": "https://api.example.com/v2",
        "SWAPDESK_API_KEY": "k",
        "SWAPDESK_API_SECRET": "s",
    }
    settings = load_settings(environ, home)
    assert not settings.live
    assert settings.url.value is None
    assert settings.key.value is None
    assert settings.secret.value is None
    assert [str(p) for p in settings.problems] == [
        "environment: SWAPDESK_API_URL is not used: the profile is sandbox"
    ]


def test_another_address_never_gets_the_credentials_or_the_journal_of_a_profile(
    home: Home,
) -> None:
    write_config(home, CONFIG)
    environ = {"SWAPDESK_PROFILE": "prod", "SWAPDESK_API_URL": "https://evil.example/v2"}
    settings = load_settings(environ, home)
    assert settings.url.value == "https://evil.example/v2"
    assert settings.url.origin == "environment"
    assert settings.key.value is None
    assert settings.secret.value is None
    assert settings.places.root.name.startswith("at-evil.example-")


def test_a_secret_file_belongs_to_its_key(home: Home) -> None:
    settings = configured(home, CONFIG, environ={"SWAPDESK_API_KEY": "another"})
    assert settings.key.value == "another"
    assert settings.secret.value is None
    assert "SWAPDESK_API_SECRET" in str(settings.problems[0])


def test_an_unknown_profile_is_refused_with_the_nearest(home: Home) -> None:
    write_config(home, CONFIG)
    with pytest.raises(SettingsError, match="did you mean prod"):
        load_settings({}, home, Options(profile="prd"))


@each_row("name", ["prd", "../prod", "-", "x" * 100])
def test_a_name_that_no_profile_has_is_told_where_it_stands(home: Home, name: str) -> None:
    write_config(home, f'theme = "ink"\nprofile = "{name}"\n[profiles.prod]\nurl = "https://a"\n')
    for environ, where in (
        ({}, f"{home.config_file}:2: profile "),
        ({"SWAPDESK_PROFILE": name}, "environment: SWAPDESK_PROFILE "),
    ):
        said = f"{where}names no profile {name[:64]!r}; there are sandbox, prod"
        with pytest.raises(SettingsError) as refused:
            load_settings(environ, home)
        assert str(refused.value).startswith(said)
        found = load_settings(environ, home, mending=True)
        assert (found.profile.value, found.live, found.url.value) == (name, True, None)
        assert found.problems == (refused.value.problem,)
    with pytest.raises(SettingsError):
        load_settings({}, home, Options(profile=name), mending=True)


@each_row(
    ("line", "number", "key", "near"),
    [
        ('them = "ink"', 1, "them", "theme"),
        ('\n\n[profiles.x]\nurll = "https://a"', 4, "profiles.x.urll", "url"),
        ('[profiles.x]\n"secret-file" = "s"', 2, "profiles.x.secret-file", "secret_file"),
        ('[profile.x]\nurl = "https://a"', 1, "profile", "profiles"),
        ('profiles.x.urll = "https://a"', 1, "profiles.x.urll", "url"),
        ('[profiles]\nx = {urll = "https://a"}', 2, "profiles.x.urll", "url"),
        ('[profiles.sandbox]\nurl = "https://a"', 2, "profiles.sandbox.url", None),
    ],
)
def test_an_unknown_key_is_told_with_file_line_and_nearest_name(
    home: Home, line: str, number: int, key: str, near: str | None
) -> None:
    (problem,) = configured(home, line).problems
    assert (problem.file, problem.line, problem.key) == (home.config_file, number, key)
    assert problem.nearest == near
    shown = str(problem)
    assert shown.startswith(f"{home.config_file}:{number}: {key} ")
    assert ("did you mean" in shown) == (near is not None)


@each_row(
    ("text", "line"),
    [
        ("theme = 3", 1),
        ("[profiles.x]\nurl = 3", 2),
        ("profiles = 3", 1),
        ("[profiles.x]\nrpc = {ethereum = 1}", 2),
        ("output_tolerance = -1", 1),
        ("output_tolerance = nan", 1),
        ("a = 1\nb = ", 2),
    ],
)
def test_a_wrong_value_is_a_problem_with_its_line(home: Home, text: str, line: int) -> None:
    problems = configured(home, text).problems
    assert line in [problem.line for problem in problems]


def test_a_user_without_a_home_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither in the environment nor in the list of users, as in many containers."""
    for name in ("HOME", *filter(lambda one: one.startswith("XDG_"), list(os.environ))):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2_000_000_000)
    with pytest.raises(NoHome):
        find_home({})
    assert find_home({"SWAPDESK_HOME": str(tmp_path)}).data == tmp_path
    refused = of_error(NoHome("none"))
    assert refused is not None
    assert (refused.exit, refused.code) == (2, "NO_HOME")


CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"


def test_certificates_are_those_of_the_environment_the_profile_or_all_profiles(
    home: Home, tmp_path: Path
) -> None:
    for name in ("one.pem", "all.pem"):
        (home.config / name).write_text(CERTIFICATE)
    proxy = tmp_path / "proxy.pem"
    proxy.write_text(CERTIFICATE)
    urls = "[profiles.own]\nurl = 'https://a.example'\nca_file = 'one.pem'\n"
    urls += "[profiles.other]\nurl = 'https://b.example'\n"
    write_config(home, f"ca_file = 'all.pem'\n{urls}")
    found = {
        (profile, variable): load_settings(
            {"SSL_CERT_FILE": variable}, home, Options(profile=profile)
        )
        for profile in ("own", "other", "sandbox")
        for variable in ("", str(proxy))
    }
    assert not any(one.problems for one in found.values())
    assert {of: (one.ca_file.value, one.ca_file.origin) for of, one in found.items()} == {
        ("own", ""): (str(home.config / "one.pem"), "profile"),
        ("other", ""): (str(home.config / "all.pem"), "config.toml"),
        ("sandbox", ""): (None, "default"),
        ("own", str(proxy)): (str(proxy), "environment"),
        ("other", str(proxy)): (str(proxy), "environment"),
        ("sandbox", str(proxy)): (None, "default"),
    }


def test_a_file_without_a_certificate_is_a_problem_where_it_is_named(home: Home) -> None:
    (home.config / "key.pem").write_text("not a certificate")
    settings = configured(
        home, "profile = 'own'\n[profiles.own]\nurl = 'https://a'\nca_file = 'key.pem'\n"
    )
    (problem,) = settings.problems
    assert (problem.line, problem.key) == (4, "profiles.own.ca_file")
    assert problem.message.endswith("key.pem holds no certificate")
    # What was chosen is never replaced by another file in silence.
    assert settings.ca_file.value is None
    gone = load_settings({"SSL_CERT_FILE": "/nonexistent/ca.pem"}, home)
    (problem,) = gone.problems
    assert (problem.file, problem.key) == (None, "SSL_CERT_FILE")
    assert "/nonexistent/ca.pem cannot be read" in problem.message


@each_row(
    ("content", "said"),
    [
        ('theme = "ink"'.encode("utf-16"), "is UTF-16: save it as UTF-8"),
        (b"a = '\xe9'", "is not UTF-8"),
        (b"a = " + b"[" * 100_000, "nested too deep"),
        (b"x" * (256 * 1024 + 1), "exceeds 262144 bytes"),
    ],
)
def test_a_file_that_is_no_configuration_is_one_problem(
    home: Home, content: bytes, said: str
) -> None:
    home.config_file.write_bytes(content)
    settings = load_settings({}, home)
    (problem,) = settings.problems
    assert problem.message.endswith(said)
    assert not settings.live


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_secret_file_that_others_can_read_is_not_read(home: Home) -> None:
    write_config(home, CONFIG)
    (home.config / "prod.secret").chmod(0o644)
    settings = load_settings({}, home)
    assert settings.secret.value is None
    assert "chmod 600" in str(settings.problems[0])


@pytest.mark.parametrize(
    ("name", "secret", "wrong"),
    [
        ("prod.secret", None, "cannot be read: "),
        ("prod.secret", " ", "is empty"),
        ("~nobody-of-this-name/prod.secret", " ", "cannot be read: "),
    ],
)
def test_a_secret_file_without_a_secret_is_named(
    home: Home, name: str, secret: str | None, wrong: str
) -> None:
    """At its own line, where other profiles have such a key before it."""
    other = '[profiles.other]\nsecret_file = "other"\n[profiles.prod]'
    written = CONFIG.replace("[profiles.prod]", other).replace("prod.secret", name)
    settings = configured(home, written, secret)
    assert settings.secret.value is None
    (problem,) = settings.problems
    assert re.search(rf"secret_file \S*{name} {wrong}", str(problem))
    assert problem.line == written.splitlines().index(f'secret_file = "{name}"') + 1


def test_secrets_are_shown_nowhere(home: Home) -> None:
    settings = configured(
        home,
        CONFIG,
        secret="planted-secret-77",
        environ={"SWAPDESK_CONTROL_TOKEN": "planted-token-88"},
    )
    shown = repr(settings) + str(list(settings.rows())) + f"{settings.secret.value:>20}"
    assert "planted" not in shown
    assert "prod-key-123456" not in str(list(settings.rows()))
    with pytest.raises(TypeError):
        pickle.dumps(settings.secret.value)


def test_rows_tell_value_and_origin(home: Home) -> None:
    write_config(home, CONFIG)
    rows = {name: (value, origin) for name, value, origin in load_settings({}, home).rows()}
    assert rows["profile"] == ("prod", "config.toml")
    assert rows["url"] == ("https://api.example.com/v2", "profile")
    assert rows["secret"] == ("***", "profile secret_file")
    assert rows["control_url"] == ("", "default")


def test_rows_tell_where_the_files_are(tmp_path: Path) -> None:
    apart = Home(tmp_path / "config", tmp_path / "data", tmp_path / "logs")
    rows = {name: value for name, value, _ in load_settings({}, apart).rows()}
    assert rows["config_file"] == str(tmp_path / "config" / "config.toml")
    assert (rows["home"], rows["logs"]) == (str(tmp_path / "data"), str(tmp_path / "logs"))


def test_home_is_the_variable_or_the_platform(tmp_path: Path) -> None:
    chosen = find_home({"SWAPDESK_HOME": str(tmp_path / "desk")})
    assert chosen.config_file == tmp_path / "desk" / "config.toml"
    assert chosen.sandbox == tmp_path / "desk" / "sandbox"
    assert (
        find_home({"SWAPDESK_HOME": "~nobody-of-this-name/x"}).data
        == find_home({"SWAPDESK_HOME": "./~nobody-of-this-name/x"}).data
    )
    assert find_home({}).config.name == "swapdesk"


@each_row("name", ["..", "a/b", "", ".hidden", "a\n", "x" * 65])
def test_a_profile_name_is_one_directory(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="profile name"):
        Home.at(tmp_path).profile(name)


@pytest.mark.parametrize(
    ("before", "profile", "after"),
    [
        (None, "sandbox", 'theme = "iris"\n'),
        ('# mine\nprofile = "a" # b\n', "sandbox", 'theme = "iris"\n# mine\nprofile = "a" # b\n'),
        ("\ufeff# mine\n", "sandbox", '\ufefftheme = "iris"\n# mine\n'),
        ("theme = 'ink'  # dark\n[keys]\n", "sandbox", 'theme = "iris"  # dark\n[keys]\n'),
        (
            'theme = "a"\n[profiles.m]\ntheme = "a"\r\n',
            "m",
            'theme = "a"\n[profiles.m]\ntheme = "iris"\r\n',
        ),
        ('[profiles.n]\ntheme = "a"\n', "m", 'theme = "iris"\n[profiles.n]\ntheme = "a"\n'),
        ('profiles = {m = {theme = "a"}}\n', "m", None),
        ("theme = \n", "sandbox", None),
        ('theme = """a"""\n', "sandbox", None),
        ('note = """\ntheme = "a"\n"""\n', "m", 'theme = "iris"\nnote = """\ntheme = "a"\n"""\n'),
    ],
)
def test_a_theme_is_kept_and_nothing_else_changes(
    home: Home, before: str | None, profile: str, after: str | None
) -> None:
    file = home.config_file
    if before is not None:
        file.write_bytes(before.encode())
    if after is None:
        with pytest.raises(OSError, match=r"config\.toml"):
            keep_theme(file, "iris", profile)
        assert file.read_bytes() == (before or "").encode()
        return
    for _ in range(2):
        keep_theme(file, "iris", profile)
        assert file.read_bytes() == after.encode()


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_what_holds_secrets_is_ours_alone(tmp_path: Path) -> None:
    directory = private_directory(tmp_path / "a" / "keys")
    assert directory.stat().st_mode & 0o777 == 0o700
    assert private_directory(directory) == directory
    file = directory / "k"
    write_private(file, b"one")
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        write_private(file, b"two")
    write_private(file, b"three", replace=True)
    assert read_private(file) == b"three"
    assert [p.name for p in directory.iterdir()] == ["k"]


@pytest.fixture
def loose_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_home_is_closed_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loose_umask: None
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    new = Home.at(tmp_path / "a" / "home")
    assert keep_private(new) == []
    private_directory(new.profile("sandbox").root)
    for made in (tmp_path / "a", new.data, new.data / "profiles", new.profile("sandbox").root):
        assert made.stat().st_mode & 0o777 == 0o700, made
    new.data.chmod(0o755)
    assert keep_private(new) == []
    new.data.chmod(0o777)
    (said,) = keep_private(new)
    assert said.startswith(f"Other users could write to {new.data}.")
    assert new.data.stat().st_mode & 0o777 == 0o700
    assert keep_private(new) == []


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_directory_of_everybody_is_no_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    (tmp_path / "user").mkdir(mode=0o755)
    (tmp_path / "all").mkdir()
    (tmp_path / "all").chmod(0o1777)
    with pytest.raises(UnsafePlace, match="choose a directory of your own"):
        keep_private(Home.at(tmp_path / "all"))
    # The user's home directory may have to be open, for a web server for example.
    (tmp_path / "link").symlink_to(tmp_path / "user")
    for name in ("user", "link"):
        assert keep_private(Home.at(tmp_path / name)) == []
        assert (tmp_path / "user").stat().st_mode & 0o777 == 0o755


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
@pytest.mark.parametrize("refusal", [None, PermissionError(1, "no"), OSError(30, "read-only")])
def test_a_home_whose_mode_stays_is_used_only_where_others_cannot_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: OSError | None
) -> None:
    home = Home.at(tmp_path / "home")
    home.data.mkdir(mode=0o755)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)

    def kept(path: Path, mode: int) -> None:
        if refusal is not None:
            raise refusal

    monkeypatch.setattr(Path, "chmod", kept)
    assert keep_private(home) == []
    with pytest.raises(UnsafePlace, match="other users can write"):
        keep_private(Home.at(tmp_path / "open"))


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_home_of_a_user_without_an_entry_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    (tmp_path / "home").mkdir(mode=0o755)
    assert keep_private(Home.at(tmp_path / "home")) == []
    assert (tmp_path / "home").stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
@each_row("mode", [0o600, 0o644, 0o622, 0o606, 0o664, 0o666])
def test_a_configuration_that_others_may_write_is_not_used(home: Home, mode: int) -> None:
    write_config(home, CONFIG)
    home.config_file.chmod(mode)
    found = load_settings({}, home, Options(profile=None))
    if not mode & 0o022:
        assert found.profile.value == "prod"
        return
    assert (found.profile.value, found.live) == ("sandbox", False)
    said = f"can be written by other users: chmod 600 {home.config_file}"
    assert [problem.message for problem in found.problems] == [said]
    with pytest.raises(SettingsError, match="can be written by other users"):
        load_settings({}, home, Options(profile="prod"))


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="gives files away")
def test_a_configuration_of_another_user_is_not_used(home: Home) -> None:
    write_config(home, CONFIG)
    os.chown(home.config_file, 12_345, -1)
    (problem,) = load_settings({}, home).problems
    assert "belongs to another user" in problem.message


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o666, 0o610])
def test_an_open_mode_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "k"
    write_private(file, b"x")
    file.chmod(mode)
    with pytest.raises(UnsafePlace):
        read_private(file)
    directory = private_directory(tmp_path / "d")
    directory.chmod(mode | 0o100)
    with pytest.raises(UnsafePlace):
        private_directory(directory)


@pytest.mark.skipif(os.name != "posix", reason="kinds of POSIX")
def test_a_link_a_pipe_and_a_giant_are_refused(tmp_path: Path) -> None:
    write_private(tmp_path / "real", b"x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    os.mkfifo(tmp_path / "pipe", 0o600)
    write_private(tmp_path / "big", b"x" * (64 * 1024 + 1))
    for name in ("link", "pipe", "big"):
        with pytest.raises(UnsafePlace):
            read_private(tmp_path / name)
