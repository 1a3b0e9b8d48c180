"""What is here: find one archive on the package indexes of pip, and download it verified."""

import hashlib
import http.client
import json
import netrc
import re
import ssl
import sys
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit
from urllib.request import url2pathname

from prml.datasets.atomic_file import replacing
from prml.datasets.pip_settings import PipSettings, read_pip_settings
from prml.datasets.table import Sdist

_CHUNK = 1 << 18
_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"


def fetch_sdist(sdist: Sdist, folder: Path) -> Path:
    """Return the path of the verified archive in `folder`, downloading it if it is not there.

    The download goes to a file of its own and is renamed when its checksum is right, so a second
    process never sees half an archive. A kept archive that has been damaged is fetched again.
    """
    path = folder / sdist.filename
    if path.is_file() and _sha256(path) == sdist.sha256:
        return path
    settings = read_pip_settings()
    url = find_archive(sdist, settings)
    with replacing(path) as out:
        found = _stream(url, out, sdist, settings)
        if found != sdist.sha256:
            raise ValueError(
                f"{sdist.filename} was refused: its sha256 is {found}; expected {sdist.sha256}."
            )
    return path


def find_archive(sdist: Sdist, settings: PipSettings) -> str:
    """Return the URL of the archive: first among find-links, then index by index."""
    project = re.sub(r"[-_.]+", "-", sdist.project).lower()
    pages = [*settings.find_links]
    pages += [f"{index.rstrip('/')}/{project}/" for index in settings.index_urls]
    if not pages:
        raise OSError(
            f"{sdist.filename} cannot be looked for: pip names no package index here; expected "
            "pip to be installed, or PIP_INDEX_URL to be set."
        )
    troubles = []
    for page in pages:
        try:
            for link in _links(page, settings):
                if _file_name(link) == sdist.filename:
                    return link
        except (OSError, http.client.HTTPException, ValueError) as error:
            troubles.append(f"{_without_login(page)}: {error}")
    raise OSError(
        f"{sdist.filename} was not found on any of the {len(pages)} places that pip is configured "
        "with" + (f" ({'; '.join(troubles)})." if troubles else ".")
    )


def _links(page: str, settings: PipSettings) -> Iterator[str]:
    """Yield what a page of an index, a folder of files or a single archive links to."""
    if urlsplit(page).scheme == "file":
        path = Path(url2pathname(urlsplit(page).path))
        if path.is_dir() and not (path / "index.html").is_file():
            yield from (held.as_uri() for held in path.iterdir())
            return
        if path.is_dir():
            path = path / "index.html"
        elif path.suffix not in (".html", ".htm"):
            yield page
            return
        if not path.is_file():
            return
        page = path.as_uri()
    elif _file_name(page).endswith((".tar.gz", ".zip", ".whl")):
        yield page
        return
    with _open(page, settings, accept=_ACCEPT) as answer:
        base = answer.geturl()
        text = answer.read().decode("utf-8", "replace")
        kind = answer.headers.get("Content-Type", "")
    # A page without a login of its own may be reached through one in the index's address.
    for link in _json_links(text) if "json" in kind else _html_links(text):
        yield _with_login(urljoin(base, link), like=page)


def _json_links(text: str) -> list[str]:
    return [entry["url"] for entry in json.loads(text).get("files", []) if "url" in entry]


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        href = dict(attrs).get("href")
        if tag == "a" and href:
            self.links.append(href)


def _html_links(text: str) -> list[str]:
    parser = _Anchors()
    parser.feed(text)
    return parser.links


def _file_name(link: str) -> str:
    return unquote(urlsplit(link).path.rsplit("/", 1)[-1])


def _without_login(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _with_login(url: str, *, like: str) -> str:
    """Give `url` the login of `like` when both are on the same host, and it has none."""
    parts, model = urlsplit(url), urlsplit(like)
    if "@" in model.netloc and parts.netloc == model.netloc.rpartition("@")[2]:
        parts = parts._replace(netloc=model.netloc)
    return urlunsplit(parts)


def _open(url: str, settings: PipSettings, accept: str = "*/*") -> Any:
    """Open a URL with the certificates, proxy, login and patience that pip would use."""
    parts = urlsplit(url)
    request = urllib.request.Request(
        _without_login(url).partition("#")[0], headers={"Accept": accept, "User-Agent": "prml"}
    )
    login = _login(parts)
    if login:
        # Unredirected: a login is for the host it was given for.
        code = b64encode(login.encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {code}")
    handlers: list[urllib.request.BaseHandler] = []
    if parts.scheme == "https":
        handlers.append(
            urllib.request.HTTPSHandler(context=_tls_context(parts.hostname or "", settings))
        )
    if settings.proxy:
        proxy = settings.proxy
        handlers.append(urllib.request.ProxyHandler({"http": proxy, "https": proxy}))
    return urllib.request.build_opener(*handlers).open(request, timeout=settings.timeout)


def _login(parts: Any) -> str | None:
    if parts.username is not None:
        return f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    if parts.scheme == "file":
        return None
    try:
        held = netrc.netrc().authenticators(parts.hostname or "")
    except (OSError, netrc.NetrcParseError):
        return None
    return f"{held[0]}:{held[2]}" if held else None


def _tls_context(host: str, settings: PipSettings) -> ssl.SSLContext:
    held = settings.certificates
    if held and Path(held).exists():
        is_folder = Path(held).is_dir()
        context = ssl.create_default_context(
            cafile=None if is_folder else held, capath=held if is_folder else None
        )
    else:
        context = ssl.create_default_context()
    if settings.client_certificate:
        context.load_cert_chain(settings.client_certificate)
    if host in {trusted.partition(":")[0] for trusted in settings.trusted_hosts}:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _stream(url: str, out: Any, sdist: Sdist, settings: PipSettings) -> str:
    """Copy the archive to `out`, showing progress; return its sha256."""
    digest = hashlib.sha256()
    received = 0
    bar = ProgressBar(sdist.filename, sdist.n_bytes)
    try:
        with _open(url, settings) as answer:
            while chunk := answer.read(_CHUNK):
                received += len(chunk)
                if received > sdist.n_bytes:
                    raise ValueError(
                        f"{sdist.filename} was refused: it is longer than the {sdist.n_bytes} "
                        "bytes expected."
                    )
                digest.update(chunk)
                out.write(chunk)
                bar.show(received)
    except (urllib.error.URLError, http.client.HTTPException) as error:
        raise OSError(f"{sdist.filename} could not be downloaded: {error}.") from error
    finally:
        bar.close()
    if received < sdist.n_bytes:
        raise OSError(
            f"{sdist.filename} broke off after {received} of {sdist.n_bytes} bytes; try again."
        )
    return digest.hexdigest()


class ProgressBar:
    """A line on stderr: redrawn on a terminal, written once elsewhere."""

    def __init__(self, what: str, total: int) -> None:
        self.what, self.total = what, max(total, 1)
        self.live = sys.stderr.isatty()
        self.drawn = 0.0
        if not self.live:
            print(f"fetching {what} ({total / 1e6:.1f} MB)", file=sys.stderr)

    def show(self, done: int) -> None:
        if not self.live or (time.monotonic() - self.drawn < 0.1 and done < self.total):
            return
        self.drawn = time.monotonic()
        full = round(30 * min(done / self.total, 1.0))
        bar = "#" * full + "." * (30 - full)
        print(
            f"\r{self.what} [{bar}] {done / 1e6:.1f} of {self.total / 1e6:.1f} MB",
            end="",
            file=sys.stderr,
            flush=True,
        )

    def close(self) -> None:
        if self.live:
            print(file=sys.stderr)


def _sha256(path: Path) -> str:
    with path.open("rb") as held:
        return hashlib.file_digest(held, "sha256").hexdigest()
