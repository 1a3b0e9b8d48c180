"""What is here: fetching from an index, with an index and an archive made on the spot."""

import bz2
import hashlib
import json
import os
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from tests.datasets import tiny_source

from prml.datasets import load as load_module
from prml.datasets import load_dataset, package_index, table
from prml.datasets.pip_settings import PipSettings, read_pip_settings

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def world(machine, monkeypatch):
    """A machine without pip, where only the environment speaks: asking pip takes a second."""
    monkeypatch.setattr("prml.datasets.pip_settings._ask_pip", lambda *words: "")
    return machine


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without data, whose pip knows only what a test tells it."""
    for key in [key for key in os.environ if key.startswith("PIP_")]:
        monkeypatch.delenv(key)
    for key in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "PRML_DATA"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setattr(load_module, "user_cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(load_module, "shared_folder", lambda: None)
    return tmp_path


def publish(monkeypatch, folder, **options):
    info = tiny_source.write_sdist(folder, **options)
    monkeypatch.setitem(table.TABLE, "tiny", info)
    return info.sources[0].sdist


def check(held):
    np.testing.assert_array_equal(held.X.toarray(), tiny_source.X)
    np.testing.assert_array_equal(held.Y.toarray(), tiny_source.Y)
    assert held.train_idx.tolist() == [0, 1, 2] and held.test_idx.tolist() == [3]


class Index:
    """A package index on this machine; `answers` maps a path to (content type, bytes)."""

    def __init__(self):
        self.answers, self.requests = {}, []
        index = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                index.requests.append((self.path, dict(self.headers)))
                kind, body = index.answers.get(self.path, ("text/plain", None))
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def serve(self, path, style="html"):
        """Offer an archive under /simple/tiny-data/, as the index protocol names it."""
        self.answers[f"/files/{path.name}"] = ("application/gzip", path.read_bytes())
        link = f"../../files/{path.name}"
        if style == "html":
            page = f"<html><body><a href='{link}#sha256=0'>{path.name}</a></body></html>"
            self.answers["/simple/tiny-data/"] = ("text/html", page.encode())
        else:
            page = json.dumps({"files": [{"filename": path.name, "url": link}]})
            kind = "application/vnd.pypi.simple.v1+json"
            self.answers["/simple/tiny-data/"] = (kind, page.encode())


@pytest.fixture
def index():
    index = Index()
    yield index
    index.server.shutdown()
    index.server.server_close()


@pytest.mark.parametrize("style", ["html", "json"])
@pytest.mark.parametrize("layout", ["pickle", "xmc"])
def test_from_an_index(world, monkeypatch, index, style, layout, capsys):
    sdist = publish(monkeypatch, world / "published", layout=layout)
    index.serve(world / "published" / sdist.filename, style)
    monkeypatch.setenv("PIP_INDEX_URL", f"{index.url}/simple")
    check(load_dataset("tiny"))
    assert sdist.filename in capsys.readouterr().err  # the progress line
    n_requests = len(index.requests)
    check(load_dataset("tiny"))
    assert len(index.requests) == n_requests == 2  # the second time nothing was asked
    (world / "cache" / "tiny.npz").unlink()
    check(load_dataset("tiny"))
    assert len(index.requests) == n_requests  # the archive was kept
    assert sorted(os.listdir(world / "cache")) == ["archives", "tiny.npz"]
    assert not (world / "published" / "setup-was-run").exists()


def test_pip_configuration_file_and_extra_index(machine, monkeypatch, index):
    sdist = publish(monkeypatch, machine / "published")
    index.serve(machine / "published" / sdist.filename)
    config = machine / "pip.conf"
    config.write_text(
        f"[global]\nindex-url = {index.url}/empty\ntimeout = 7\n"
        f"[download]\nextra-index-url =\n  {index.url}/simple\n  {index.url}/never-asked\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    assert read_pip_settings().timeout == 7
    check(load_dataset("tiny"))
    assert [path for path, _ in index.requests][:2] == ["/empty/tiny-data/", "/simple/tiny-data/"]


def test_find_links_folder_without_index(world, monkeypatch):
    publish(monkeypatch, world / "published")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(world / "published"))
    check(load_dataset("tiny", data_home=world / "home"))
    assert (world / "home" / "tiny.npz").is_file() and not (world / "cache").exists()


def test_login_goes_to_its_host_and_stays_out_of_errors(world, monkeypatch, index):
    sdist = publish(monkeypatch, world / "published")
    index.serve(world / "published" / sdist.filename)
    address = index.url.replace("http://", "http://ann:s3cret@")
    monkeypatch.setenv("PIP_INDEX_URL", f"{address}/simple")
    check(load_dataset("tiny"))
    assert {headers["Authorization"] for _, headers in index.requests} == {"Basic YW5uOnMzY3JldA=="}
    index.answers.clear()
    (world / "cache" / "tiny.npz").unlink()
    with pytest.raises(OSError, match="was not found") as caught:
        load_dataset("tiny", data_home=world / "elsewhere")
    assert "s3cret" not in str(caught.value)


def test_a_flipped_byte_is_refused_naming_both_checksums(world, monkeypatch):
    sdist = publish(monkeypatch, world / "published")
    path = world / "published" / sdist.filename
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(path))
    with pytest.raises(ValueError, match="was refused: its sha256 is") as caught:
        load_dataset("tiny")
    assert hashlib.sha256(raw).hexdigest() in str(caught.value)
    assert sdist.sha256 in str(caught.value)
    assert [p for p in world.rglob("*") if p.is_file()] == [path]  # nothing was kept


@pytest.mark.parametrize("change, sentence", [(b"x", "longer than"), (None, "broke off after")])
def test_wrong_length_is_refused(world, monkeypatch, index, change, sentence):
    sdist = publish(monkeypatch, world / "published")
    path = world / "published" / sdist.filename
    path.write_bytes(path.read_bytes() + change if change else path.read_bytes()[:-9])
    index.serve(path)
    monkeypatch.setenv("PIP_INDEX_URL", f"{index.url}/simple")
    with pytest.raises((ValueError, OSError), match=sentence):
        load_dataset("tiny")


def test_a_damaged_kept_archive_is_fetched_again(world, monkeypatch):
    sdist = publish(monkeypatch, world / "published")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(world / "published"))
    kept = world / "cache" / "archives" / sdist.filename
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"half")
    check(load_dataset("tiny"))


def test_a_pickle_with_a_trap_is_refused(world, monkeypatch):
    trap = world / "created"
    evil = f"c__builtin__\nopen\n(S'{trap}'\nS'w'\ntR.".encode()
    contents = {name: bz2.compress(evil) for name in tiny_source.members()}
    publish(monkeypatch, world / "published", contents=contents)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(world / "published"))
    with pytest.raises(ValueError, match=r"asks for '__builtin__\.open' and was refused"):
        load_dataset("tiny")
    assert not trap.exists() and not (world / "cache" / "tiny.npz").exists()


def test_unreachable(world, monkeypatch, index):
    publish(monkeypatch, world / "published")
    monkeypatch.setenv("PIP_INDEX_URL", f"{index.url}/simple")
    with pytest.raises(OSError, match=r"tiny\.npz is in none of .*was not found on any of the 1"):
        load_dataset("tiny")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(OSError, match="pip names no package index here"):
        load_dataset("tiny")


def test_the_default_index_is_pips_own(machine):
    settings = read_pip_settings()
    assert len(settings.index_urls) == 1 and settings.index_urls[0].startswith("https://")
    from pip._internal.models.index import PyPI

    assert settings.index_urls[0] == PyPI.simple_url


def test_without_pip_the_environment_still_counts(world, monkeypatch):
    assert read_pip_settings().index_urls == ()
    monkeypatch.setenv("PIP_INDEX_URL", "https://index.invalid/simple")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "index.invalid")
    settings = read_pip_settings()
    assert settings.index_urls == ("https://index.invalid/simple",)
    assert settings.trusted_hosts == ("index.invalid",)


def test_trusted_host_and_certificates():
    strict = package_index._tls_context("a.invalid", PipSettings(trusted_hosts=("b.invalid",)))
    loose = package_index._tls_context("a.invalid", PipSettings(trusted_hosts=("a.invalid:443",)))
    assert strict.verify_mode == ssl.CERT_REQUIRED and loose.verify_mode == ssl.CERT_NONE


TWO_AT_ONCE = """
import sys
from dataclasses import replace
from pathlib import Path
from prml.datasets import load as load_module, load_dataset, package_index, pip_settings, table
from tests.datasets import tiny_source

me, folder, sha256, n_bytes = sys.argv[1:]
folder = Path(folder)
info = tiny_source.write_sdist(folder / me)
sdist = replace(info.sources[0].sdist, sha256=sha256, n_bytes=int(n_bytes))
table.TABLE["tiny"] = replace(info, sources=(replace(info.sources[0], sdist=sdist),))
load_module.shared_folder = lambda: None
pip_settings._ask_pip = lambda *words: ""
package_index._CHUNK = 1  # slow, so that the two overlap
for turn in range(10):
    (folder / f"ready-{turn}-{me}").touch()
    while len(list(folder.glob(f"ready-{turn}-*"))) < 2:
        pass
    held = load_dataset("tiny", data_home=folder / f"home-{turn}")
    assert held.X.toarray().tolist() == tiny_source.X.tolist()
"""


def test_two_processes_at_once(world, monkeypatch):
    """Both fetch into the same folder at the same moment, ten times; neither fails."""
    sdist = publish(monkeypatch, world / "published")
    environment = {
        **os.environ,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(world / "published"),
        "PRML_DATA": str(world / "none"),
        "PYTHONPATH": os.pathsep.join([str(CHECKOUT), str(CHECKOUT / "src")]),
    }
    words = [str(world), sdist.sha256, str(sdist.n_bytes)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TWO_AT_ONCE, me, *words],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        for me in ("first", "second")
    ]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    for turn in range(10):
        assert sorted(os.listdir(world / f"home-{turn}")) == ["archives", "tiny.npz"]
        assert os.listdir(world / f"home-{turn}" / "archives") == [sdist.filename]


def test_progress_bar_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    bar = package_index.ProgressBar("a.tar.gz", 2_000_000)
    bar.show(1_000_000)
    bar.show(2_000_000)
    bar.close()
    shown = capsys.readouterr().err
    assert "\ra.tar.gz [" + "#" * 30 + "] 2.0 of 2.0 MB\n" in shown
