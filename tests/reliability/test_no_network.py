"""What is here: import, fit, predict, save and load with every socket refused."""

import subprocess
import sys

SCRIPT = """
import sys

opened = []


def refuse(event, arguments):
    if event.startswith("socket.") and event not in ("socket.gethostname",):
        opened.append(event)
        raise OSError("the network is refused")
    if event in ("urllib.Request", "http.client.connect", "ftplib.connect", "smtplib.connect"):
        opened.append(event)
        raise OSError("the network is refused")


sys.addaudithook(refuse)

import tempfile
import warnings
from pathlib import Path

import numpy as np

warnings.simplefilter("ignore")
import prml
import prml.baselines
import prml.datasets
import prml.metrics
import prml.model_selection
from prml import PrBR, PrML, TeacherTransfer, load_model, save_model
from prml.baselines import ECC, LEML, ML2, BinaryRelevance, RAkEL
from prml.datasets import load_debtags

rng = np.random.default_rng(0)
X = rng.standard_normal((30, 4))
Y = (X @ rng.standard_normal((4, 3)) > 0.2).astype(int)
models = [PrBR(), PrML(max_iter=20, n_jobs=2), TeacherTransfer(PrBR(loss="squared"), cv=2)]
models += [BinaryRelevance(n_jobs=1), ECC(n_chains=2), RAkEL(), LEML(), ML2(max_iter=3)]
with tempfile.TemporaryDirectory() as folder:
    for model in models:
        model.fit(X, Y).predict(X)
        load_model(save_model(model, Path(folder) / "model.prml")).decision_function(X)
assert load_debtags().Y.shape == (4000, 100)
assert not opened, opened

import socket

try:
    socket.create_connection(("127.0.0.1", 9))
except OSError as error:
    assert "refused" in str(error)
assert opened, "the hook does not see sockets"
print("quiet")
"""


def test_no_socket_is_opened():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "quiet\n"
