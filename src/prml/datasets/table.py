"""What is here: the table of known datasets: sizes, citations, and where each can be fetched."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sdist:
    """A source archive on the package index, pinned by its checksum."""

    project: str
    version: str
    filename: str
    sha256: str
    n_bytes: int

    @property
    def root(self) -> str:
        """The one folder that every member of the archive lies in."""
        return f"{self.project}-{self.version}"


@dataclass(frozen=True)
class ArchiveSource:
    """Two members of an `Sdist`, the training part and the test part.

    `layout` names the reader: "pickle" for a compressed Python 2 pickle of numpy arrays, "xmc" for
    the text format of the extreme classification repository.
    """

    sdist: Sdist
    train_member: str
    test_member: str
    layout: str

    def __str__(self) -> str:
        return f"{self.sdist.filename} on the package index"


@dataclass(frozen=True)
class OpenMLSource:
    """A dataset of OpenML whose targets are the labels."""

    data_id: int

    def __str__(self) -> str:
        return f"OpenML data set {self.data_id}"


Source = ArchiveSource | OpenMLSource


@dataclass(frozen=True)
class DatasetInfo:
    """One row of the table.

    `n_positives` is the number of ones in Y; `dense` says that X is given as an ndarray.

    Examples
    --------
    >>> from prml.datasets import list_datasets
    >>> yeast = list_datasets()["yeast"]
    >>> yeast.n_labels, round(yeast.density, 3)
    (14, 0.303)
    """

    name: str
    n_samples: int
    n_features: int
    n_labels: int
    n_positives: int
    domain: str
    citation: str
    dense: bool = False
    dtype: str = "float64"
    sources: tuple[Source, ...] = field(default=(), repr=False)

    @property
    def cardinality(self) -> float:
        """Positive labels of an example, on average."""
        return self.n_positives / self.n_samples

    @property
    def density(self) -> float:
        """Share of ones in Y."""
        return self.cardinality / self.n_labels


SCIKIT_MULTILEARN = Sdist(
    project="scikit-multilearn",
    version="0.0.1",
    filename="scikit-multilearn-0.0.1.tar.gz",
    sha256="ac30a342595481f46db77f5334c3a1e2d8261f4adbd104e3444f801c3c89b6a0",
    n_bytes=32_522_368,
)
NAPKINXC = Sdist(
    project="napkinxc",
    version="0.6.2",
    filename="napkinxc-0.6.2.tar.gz",
    sha256="927766f18fa214d9789901810b28dcce7ea360650229c5438ba17698d1e56868",
    n_bytes=43_576_841,
)


def _pickled(stem: str) -> ArchiveSource:
    folder = f"{SCIKIT_MULTILEARN.root}/skmultilearn/data"
    return ArchiveSource(
        SCIKIT_MULTILEARN,
        f"{folder}/{stem}-train.dump.bz2",
        f"{folder}/{stem}-test.dump.bz2",
        "pickle",
    )


_EURLEX_FOLDER = f"{NAPKINXC.root}/python/examples/data/Eurlex"

_ROWS = (
    DatasetInfo(
        "enron",
        1702,
        1001,
        53,
        5750,
        "text",
        "B. Klimt and Y. Yang. The Enron corpus: a new dataset for email classification "
        "research. ECML 2004.",
        sources=(_pickled("enron"), OpenMLSource(40590)),
    ),
    DatasetInfo(
        "yeast",
        2417,
        103,
        14,
        10241,
        "biology",
        "A. Elisseeff and J. Weston. A kernel method for multi-labelled classification. NIPS 2001.",
        dense=True,
        sources=(_pickled("yeast"), OpenMLSource(40597)),
    ),
    DatasetInfo(
        "corel5k",
        5000,
        499,
        374,
        17610,
        "images",
        "P. Duygulu, K. Barnard, J. F. G. de Freitas and D. A. Forsyth. Object recognition as "
        "machine translation: learning a lexicon for a fixed image vocabulary. ECCV 2002.",
        sources=(_pickled("Corel5k"),),
    ),
    DatasetInfo(
        "bibtex",
        7395,
        1836,
        159,
        17762,
        "text",
        "I. Katakis, G. Tsoumakas and I. Vlahavas. Multilabel text classification for automated "
        "tag suggestion. ECML PKDD Discovery Challenge 2008.",
        sources=(_pickled("bibtex"),),
    ),
    DatasetInfo(
        "eurlex",
        19348,
        5000,
        3993,
        102741,
        "text",
        "E. Loza Mencía and J. Fürnkranz. Efficient pairwise multilabel classification for "
        "large-scale problems in the legal domain. ECML PKDD 2008.",
        dtype="float32",
        sources=(
            ArchiveSource(
                NAPKINXC,
                f"{_EURLEX_FOLDER}/eurlex_train.txt",
                f"{_EURLEX_FOLDER}/eurlex_test.txt",
                "xmc",
            ),
        ),
    ),
    DatasetInfo(
        "mediamill",
        43907,
        120,
        101,
        192118,
        "video",
        "C. G. M. Snoek, M. Worring, J. C. van Gemert, J.-M. Geusebroek and A. W. M. Smeulders. "
        "The challenge problem for automated detection of 101 semantic concepts in multimedia. "
        "ACM Multimedia 2006.",
        dense=True,
        dtype="float32",
        sources=(_pickled("mediamill"),),
    ),
    DatasetInfo(
        "emotions",
        593,
        72,
        6,
        1108,
        "music",
        "K. Trohidis, G. Tsoumakas, G. Kalliris and I. Vlahavas. Multi-label classification of "
        "music into emotions. ISMIR 2008.",
        dense=True,
        sources=(_pickled("emotions"), OpenMLSource(40589)),
    ),
    DatasetInfo(
        "scene",
        2407,
        294,
        6,
        2585,
        "images",
        "M. R. Boutell, J. Luo, X. Shen and C. M. Brown. Learning multi-label scene "
        "classification. Pattern Recognition 37(9), 2004.",
        dense=True,
        sources=(_pickled("scene"), OpenMLSource(40595)),
    ),
    DatasetInfo(
        "flags",
        194,
        19,
        7,
        658,
        "images",
        "E. C. Gonçalves, A. Plastino and A. A. Freitas. A genetic algorithm for optimizing the "
        "label ordering in multi-label classifier chains. ICTAI 2013.",
        dense=True,
    ),
    DatasetInfo(
        "medical",
        978,
        1449,
        45,
        1218,
        "text",
        "J. P. Pestian et al. A shared task involving multi-label classification of clinical free "
        "text. BioNLP 2007.",
        sources=(_pickled("medical"),),
    ),
    DatasetInfo(
        "genbase",
        662,
        1185,
        27,
        829,
        "biology",
        "S. Diplaris, G. Tsoumakas, P. A. Mitkas and I. Vlahavas. Protein classification with "
        "multiple algorithms. PCI 2005.",
        sources=(_pickled("genbase"), OpenMLSource(40591)),
    ),
    DatasetInfo(
        "delicious",
        16105,
        500,
        983,
        306317,
        "text",
        "G. Tsoumakas, I. Katakis and I. Vlahavas. Effective and efficient multilabel "
        "classification in domains with large number of labels. ECML PKDD MMD 2008.",
        sources=(_pickled("delicious"),),
    ),
    DatasetInfo(
        "tmc2007-500",
        28596,
        500,
        22,
        63472,
        "text",
        "A. N. Srivastava and B. Zane-Ulman. Discovering recurring anomalies in text reports "
        "regarding complex space systems. IEEE Aerospace 2005.",
        sources=(_pickled("tmc2007-500"),),
    ),
)

TABLE: dict[str, DatasetInfo] = {row.name: row for row in _ROWS}
