"""
Your own data
=============

From a file to a model file and back. The file here is CSV, with a column of text and a column of
labels, and the whole way is the command line's; the same in Python follows.
"""

import csv
import shlex
import tempfile
from contextlib import chdir
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline

from prml import PrBR, load_model, save_model
from prml.cli import main
from prml.datasets import load_debtags
from prml.datasets.debtags import make_vectorizer

data = load_debtags()
folder = Path(tempfile.mkdtemp())
chosen = ["role::program", "use::editing", "use::playing", "interface::graphical"]
places = [data.label_names.tolist().index(name) for name in chosen]
with open(folder / "mine.csv", "w", newline="", encoding="utf-8") as out:
    writer = csv.writer(out)
    writer.writerow(["description", *chosen])
    for row in data.train_idx[:800]:
        writer.writerow([data.text[row], *data.Y[[row]].toarray()[0, places].astype(int)])
print((folder / "mine.csv").read_text("utf-8")[:240])


# %%
# The commands, as one would type them in a shell:
def prml(command: str) -> None:
    """Run a command of the command line, in the folder of the file."""
    print(f"$ prml {command}")
    with chdir(folder):
        assert main(shlex.split(command)) == 0


prml(
    "fit mine.csv --labels -4 --text-column description "
    "-e PrBR -p loss=squared_hinge -o mine.prml --quiet"
)

prml('predict mine.prml --text "graphical music player"')

# %%
# In Python: any texts, any 0/1 matrix, one pipeline, one file.
texts, Y = data.text[data.train_idx[:800]], data.Y[data.train_idx[:800]][:, places]
model = make_pipeline(make_vectorizer(), PrBR(loss="squared_hinge")).fit(texts, Y)
again = load_model(save_model(model, folder / "python.prml"))
print(np.array(chosen)[again.predict(["graphical music player"])[0] == 1])
