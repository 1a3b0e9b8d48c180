"""What is here: the embedded data is what its maker writes; its reader refuses all else."""

import importlib.util
import io
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from prml.datasets.debtags import load_debtags, make_vectorizer

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "src" / "prml" / "datasets" / "data" / "debtags.tsv"


@pytest.fixture(scope="module")
def builder():
    script = ROOT / "scripts" / "build_debtags.py"
    if not script.exists():
        pytest.skip("scripts/build_debtags.py is not part of this installation")
    spec = importlib.util.spec_from_file_location("build_debtags", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def debtags():
    return load_debtags()


def stanza(name, description, tags, source=None):
    lines = [f"Package: {name}", f"Description: {description}", f"Tag: {tags}"]
    if source:
        lines.insert(1, f"Source: {source} (1.2)")
    return "\n".join(lines) + "\n\n"


def test_promised_size_and_shape(debtags):
    assert DATA.stat().st_size <= 600_000
    assert debtags.Y.shape == (4000, 100)
    assert debtags.X.shape == (4000, len(debtags.feature_names))
    assert sp.issparse(debtags.X) and sp.issparse(debtags.Y)
    assert debtags.Y.sum(axis=1).min() >= 3
    assert set(debtags.Y.data) == {1.0}
    assert len(set(debtags.package_names)) == 4000
    assert len({line.lower() for line in debtags.text}) == 4000


def test_split_is_a_partition_in_which_every_tag_occurs_on_both_sides(debtags):
    both = np.concatenate([debtags.train_idx, debtags.test_idx])
    assert sorted(both) == list(range(4000))
    assert len(debtags.test_idx) == 1000
    for part in (debtags.train_idx, debtags.test_idx):
        assert debtags.Y[part].sum(axis=0).min() >= 5


def test_vocabulary_comes_from_the_training_part(debtags):
    alone = make_vectorizer().fit(debtags.text[debtags.train_idx])
    assert alone.get_feature_names_out().tolist() == debtags.feature_names.tolist()
    norms = np.sqrt(debtags.X.multiply(debtags.X).sum(axis=1)).A1
    assert np.allclose(norms[norms > 0], 1)


def test_known_package_can_be_followed_with_the_eye(debtags):
    row = debtags.package_names.tolist().index("audacity")
    tags = set(debtags.label_names[debtags.Y[row].indices])
    assert {"works-with::audio", "use::editing", "role::program"} <= tags


def test_data_file_survives_its_own_maker(builder, debtags):
    """Fed the stanzas that the file describes, the maker writes the very same bytes."""
    stanzas = "".join(
        stanza(name, line, ", ".join(debtags.label_names[debtags.Y[row].indices]))
        for row, (name, line) in enumerate(zip(debtags.package_names, debtags.text, strict=True))
    )
    assert builder.build(io.StringIO(stanzas)) == DATA.read_text("utf-8")


def test_maker_ignores_the_order_of_the_stanzas(builder):
    stanzas = [stanza(f"p{i}", f"tool number {i}", f"a::{i % 3}, b::x, c::y") for i in range(20)]
    forward = builder.build(io.StringIO("".join(stanzas)))
    assert builder.build(io.StringIO("".join(reversed(stanzas)))) == forward


def test_maker_keeps_the_best_tagged_of_a_source_and_drops_what_is_unfinished(builder):
    index = (
        stanza("vim", "an editor", "use::editing, role::program,\n works-with::text")
        + stanza("vim-gtk", "an editor with windows", "a::b, c::d, e::f, g::h", source="vim")
        + stanza("half", "tagged by halves", "use::TODO, a::b, c::d")
        + stanza("old", "transitional package", "a::b, c::d, e::f")
        + "Package: bare\nDescription: no tags at all\n"
    )
    text = builder.build(io.StringIO(index))
    rows = [line.split("\t") for line in text.splitlines() if not line.startswith(("#", "tag"))]
    assert [row[0] for row in rows] == ["vim-gtk"]
    assert "tag\ta::b" in text and "TODO" not in text


def test_maker_caps_packages_with_one_and_the_same_set_of_tags(builder):
    index = "".join(stanza(f"lib{i}", f"module {i}", "a::b, c::d, e::f") for i in range(200))
    text = builder.build(io.StringIO(index))
    assert sum(line.startswith("lib") for line in text.splitlines()) == builder.MAX_ALIKE


def test_maker_as_a_command(builder, tmp_path, capsys):
    index, output = tmp_path / "Packages", tmp_path / "out.tsv"
    index.write_text(stanza("vim", "an editor", "a::b, c::d, e::f"))
    assert builder.main([str(index), str(output)]) == 0
    assert output.read_text().splitlines()[-1] == "vim\ttrain\tan editor\t0 1 2"
    assert builder.main([str(tmp_path / "absent"), str(output)]) == 2
    index.write_text("nothing here\n")
    assert builder.main([str(index), str(output)]) == 2
    assert "no package" in capsys.readouterr().err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["Packages", "out.tsv"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "holds no package"),
        ("tag\ta::b\nvim\ttrain\tan editor\n", "line 2: expected a package"),
        ("tag\ta::b\nvim\tsomewhere\tan editor\t0\n", "line 2: expected a package"),
        ("tag\ta::b\nvim\ttrain\tan editor\t1\n", "line 2: the tag numbers are '1'"),
        ("tag\ta::b\nvim\ttrain\tan editor\t-1\n", "line 2: the tag numbers"),
        ("tag\ta::b\nvim\ttrain\tan editor\t\n", "line 2: the tag numbers"),
        ("tag\ta::b\ntag\ta::b\n", "line 2: the tag 'a::b' is there twice"),
    ],
)
def test_reader_tells_the_line_of_a_fault(tmp_path, content, sentence):
    path = tmp_path / "bad.tsv"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"bad\.tsv") as caught:
        load_debtags(path)
    assert sentence in str(caught.value)
