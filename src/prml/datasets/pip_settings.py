"""What is here: which package indexes this user has told pip to use, asked of pip itself."""

import ast
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit


@dataclass(frozen=True)
class PipSettings:
    """Where pip looks for packages, and how it connects."""

    find_links: tuple[str, ...] = ()
    index_urls: tuple[str, ...] = ()
    certificates: str | None = None
    client_certificate: str | None = None
    proxy: str | None = None
    trusted_hosts: tuple[str, ...] = ()
    timeout: float = 60.0


def read_pip_settings() -> PipSettings:
    """Read pip's own files and environment variables as `pip download` would.

    `pip config list` merges the files; what it prints for the sections `global` and `download`
    and for the environment counts, the later over the earlier. The index used when none is
    configured is the one that pip names in its own help.
    """
    chosen: dict[str, str] = {}
    listed = _configured(_ask_pip("config", "list"))
    for section in ("global", "download", ":env:"):
        chosen.update(listed.get(section, {}))
    chosen.update(_environment())  # the whole answer when there is no pip to ask
    indexes: tuple[str, ...] = ()
    if chosen.get("no-index", "").lower() not in ("1", "true", "yes", "on", "y", "t"):
        first = chosen.get("index-url") or _default_index()
        indexes = ((first,) if first else ()) + tuple(chosen.get("extra-index-url", "").split())
    return PipSettings(
        find_links=tuple(as_url(place) for place in chosen.get("find-links", "").split()),
        index_urls=tuple(as_url(place) for place in indexes),
        # The variables are those that pip's HTTP library obeys.
        certificates=chosen.get("cert")
        or os.environ.get("REQUESTS_CA_BUNDLE")
        or os.environ.get("CURL_CA_BUNDLE"),
        client_certificate=chosen.get("client-cert"),
        proxy=chosen.get("proxy"),
        trusted_hosts=tuple(chosen.get("trusted-host", "").split()),
        timeout=_seconds(chosen.get("timeout") or chosen.get("default-timeout")),
    )


def as_url(place: str) -> str:
    """Turn a path into a file URL; leave a URL as it is."""
    # One letter before the colon is a drive of Windows, not a scheme.
    if len(urlsplit(place).scheme) > 1:
        return place
    return Path(place).expanduser().resolve().as_uri()


def _environment() -> dict[str, str]:
    return {
        key[4:].lower().replace("_", "-"): value
        for key, value in os.environ.items()
        if key.startswith("PIP_") and value
    }


def _ask_pip(*words: str) -> str:
    """Run a harmless pip command; an empty answer when pip is not installed."""
    commands = [[sys.executable, "-m", "pip"]]
    elsewhere = shutil.which("pip")
    if elsewhere:
        commands.append([elsewhere])
    for command in commands:
        try:
            done = subprocess.run(
                [*command, *words], capture_output=True, text=True, timeout=60, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return done.stdout
    return ""


def _configured(listing: str) -> dict[str, dict[str, str]]:
    """Read lines such as global.index-url='...' into {section: {option: value}}."""
    sections: dict[str, dict[str, str]] = {}
    for line in listing.splitlines():
        found = re.fullmatch(r"(:env:|[^.=]+)\.([^=]+)=(.*)", line.strip())
        if not found:
            continue
        section, option, quoted = found.groups()
        try:
            value = str(ast.literal_eval(quoted))
        except (ValueError, SyntaxError):
            continue
        sections.setdefault(section, {})[option] = value
    return sections


def _default_index() -> str | None:
    help_text = " ".join(_ask_pip("download", "--help").split())
    found = re.search(r"--index-url <url>.*?\(default (\S+?)\)", help_text)
    return found.group(1) if found else None


def _seconds(text: str | None) -> float:
    try:
        return float(text) if text else PipSettings.timeout
    except ValueError:
        return PipSettings.timeout
