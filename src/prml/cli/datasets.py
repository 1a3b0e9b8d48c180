"""What is here: `prml datasets` - the benchmark datasets, where they are, and fetching them."""

import textwrap

import click

from prml.cli.output import Output, with_output


@click.command("datasets", epilog="Example: prml datasets bibtex --fetch")
@click.argument("name", required=False)
@click.option("--fetch", is_flag=True, help="Fetch the dataset NAME where it is not on this disk.")
@with_output
def datasets_command(output: Output, name: str | None, fetch: bool) -> None:
    """List the datasets that can be named in place of a file, or tell about one."""
    from prml.datasets import list_datasets, load_dataset

    table = list_datasets()
    if name is None:
        if fetch:
            raise click.UsageError("--fetch needs the NAME of a dataset")
        _list(output, table)
        return
    if name.lower() == "debtags":
        from prml.datasets.debtags import CITATION, SOURCE

        facts: dict[str, object] = {"name": "debtags", "source": SOURCE, "citation": CITATION}
    else:
        if name.lower() not in table:
            raise click.UsageError(
                f"there is no dataset {name!r}; expected debtags, {', '.join(sorted(table))}"
            )
        info = table[name.lower()]
        facts = {
            "name": info.name,
            "examples": info.n_samples,
            "features": info.n_features,
            "labels": info.n_labels,
            "labels an example": round(info.cardinality, 3),
            "domain": info.domain,
            "sources": "; ".join(map(str, info.sources)) or "none: put the file into $PRML_DATA",
            "citation": info.citation,
        }
        if fetch:
            facts["file"] = load_dataset(name).source
    if output.as_json:
        output.json(facts)
        return
    for key, value in facts.items():
        lines = textwrap.wrap(str(value), 72) or [""]
        output.line(f"{key:<18} {lines[0]}")
        for line in lines[1:]:
            output.line(f"{'':<18} {line}")


def _list(output: Output, table: dict) -> None:
    from prml.datasets.debtags import load_debtags

    data = load_debtags()
    sizes = {
        "debtags": (*data.X.shape, data.Y.shape[1], data.Y.nnz / data.Y.shape[0], "text, embedded")
    }
    for info in table.values():
        sizes[info.name] = (
            info.n_samples,
            info.n_features,
            info.n_labels,
            info.cardinality,
            info.domain,
        )
    if output.as_json:
        keys = ("n_samples", "n_features", "n_labels", "cardinality", "domain")
        output.json({name: dict(zip(keys, row, strict=True)) for name, row in sizes.items()})
        return
    rows = [
        [name, f"{n:,}", f"{d:,}", f"{labels:,}", f"{cardinality:.2f}", domain]
        for name, (n, d, labels, cardinality, domain) in sizes.items()
    ]
    output.table(["dataset", "examples", "features", "labels", "labels/example", "domain"], rows)
