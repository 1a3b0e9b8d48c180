"""What is here: the paper's table of results as data, and whose figure may stand beside whose.

Mean ± standard deviation over ten trials, as printed; the metrics are in the order of
`prml.metrics.SIX`: Hamming loss, one-error, coverage, ranking loss, average precision, macro AUC.
"""

from typing import NamedTuple

PAPER_DATASETS = ("enron", "yeast", "corel5k", "bibtex", "eurlex", "mediamill")
PAPER_METHODS = ("BR", "ECC", "RAkEL", "LEML", "ML2", "PrBR", "PrML")

_PRINTED = """
enron     BR     .060±.001 .498±.012 .595±.010 .308±.007 .449±.011 .579±.007
enron     ECC    .056±.001 .293±.008 .349±.014 .133±.004 .651±.006 .646±.008
enron     RAkEL  .058±.001 .412±.016 .523±.008 .241±.005 .539±.006 .596±.007
enron     LEML   .049±.002 .320±.004 .276±.005 .117±.006 .661±.004 .625±.007
enron     ML2    .051±.001 .258±.090 .256±.017 .090±.012 .681±.053 .714±.021
enron     PrBR   .053±.001 .342±.010 .238±.006 .088±.003 .618±.004 .638±.005
enron     PrML   .050±.001 .288±.005 .221±.005 .088±.006 .685±.005 .674±.004
yeast     BR     .201±.003 .256±.008 .641±.005 .315±.005 .672±.005 .565±.003
yeast     ECC    .207±.003 .244±.009 .464±.005 .186±.003 .752±.006 .646±.003
yeast     RAkEL  .202±.003 .251±.008 .558±.006 .245±.004 .720±.005 .614±.003
yeast     LEML   .201±.004 .224±.003 .480±.005 .174±.004 .751±.006 .642±.004
yeast     ML2    .196±.003 .228±.009 .454±.004 .168±.003 .765±.005 .702±.007
yeast     PrBR   .227±.004 .237±.006 .487±.005 .204±.003 .719±.005 .623±.004
yeast     PrML   .201±.003 .214±.005 .459±.004 .165±.003 .771±.003 .685±.003
corel5k   BR     .012±.001 .849±.008 .898±.003 .655±.004 .101±.003 .518±.001
corel5k   ECC    .015±.001 .699±.006 .562±.007 .292±.003 .264±.003 .568±.003
corel5k   RAkEL  .012±.001 .819±.010 .886±.004 .627±.004 .122±.004 .521±.001
corel5k   LEML   .010±.001 .683±.006 .273±.008 .125±.003 .268±.005 .622±.006
corel5k   ML2    .010±.001 .647±.007 .372±.006 .163±.003 .297±.002 .667±.007
corel5k   PrBR   .010±.001 .740±.007 .367±.005 .165±.004 .227±.004 .560±.005
corel5k   PrML   .010±.001 .675±.003 .266±.007 .118±.003 .282±.005 .651±.004
bibtex    BR     .015±.001 .559±.004 .461±.006 .303±.004 .363±.004 .624±.002
bibtex    ECC    .017±.001 .404±.003 .327±.008 .192±.003 .515±.004 .763±.003
bibtex    RAkEL  .015±.001 .506±.005 .443±.006 .286±.003 .399±.004 .641±.002
bibtex    LEML   .013±.001 .394±.004 .144±.002 .082±.003 .534±.002 .757±.003
bibtex    ML2    .013±.001 .365±.004 .128±.003 .067±.002 .596±.004 .911±.002
bibtex    PrBR   .014±.001 .426±.004 .178±.010 .096±.005 .529±.009 .702±.003
bibtex    PrML   .012±.001 .367±.003 .131±.007 .066±.003 .571±.004 .819±.005
eurlex    BR     .018±.004 .537±.002 .322±.008 .186±.009 .388±.005 .689±.007
eurlex    ECC    .011±.003 .492±.003 .298±.004 .155±.006 .458±.004 .787±.009
eurlex    RAkEL  .009±.004 .496±.007 .277±.009 .161±.001 .417±.010 .822±.005
eurlex    LEML   .003±.002 .447±.005 .233±.003 .103±.010 .488±.006 .821±.014
eurlex    ML2    .001±.001 .320±.001 .171±.003 .045±.007 .497±.003 .885±.003
eurlex    PrBR   .007±.008 .484±.003 .229±.009 .108±.009 .455±.003 .793±.008
eurlex    PrML   .001±.002 .299±.003 .192±.008 .057±.002 .526±.009 .892±.004
mediamill BR     .031±.001 .200±.003 .575±.003 .230±.001 .502±.002 .510±.001
mediamill ECC    .035±.001 .150±.005 .467±.009 .179±.008 .597±.014 .524±.001
mediamill RAkEL  .031±.001 .181±.002 .560±.002 .222±.001 .521±.001 .513±.001
mediamill LEML   .030±.001 .126±.003 .184±.007 .084±.004 .720±.007 .699±.010
mediamill ML2    .035±.002 .231±.004 .278±.003 .121±.003 .647±.002 .847±.003
mediamill PrBR   .031±.001 .147±.005 .255±.003 .092±.002 .648±.003 .641±.004
mediamill PrML   .029±.002 .130±.002 .172±.004 .055±.006 .726±.002 .727±.008
"""


class Printed(NamedTuple):
    """A row of the paper's table."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


def _read(printed: str) -> dict[tuple[str, str], Printed]:
    table = {}
    for line in printed.split("\n"):
        if line:
            dataset, method, *cells = line.split()
            pairs = [cell.split("±") for cell in cells]
            table[dataset, method] = Printed(
                tuple(float(mean) for mean, _ in pairs), tuple(float(std) for _, std in pairs)
            )
    return table


PAPER_TABLE = _read(_PRINTED)


def printed_row(dataset: str, method: str) -> Printed | None:
    """The paper's row for a method, its variants included (PrML-stopped: PrML); None without one.

    Examples
    --------
    >>> from prml.bench.paper_figures import printed_row
    >>> printed_row("enron", "PrML").mean
    (0.05, 0.288, 0.221, 0.088, 0.685, 0.674)
    >>> printed_row("enron", "BR-fair") == printed_row("enron", "BR")
    True
    """
    return PAPER_TABLE.get((dataset, method.partition("-")[0]))
