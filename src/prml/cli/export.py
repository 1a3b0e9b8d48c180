"""What is here: `prml export` - a model file for other runtimes."""

from pathlib import Path
from typing import Any

import click

from prml.cli.output import Output, with_output
from prml.cli.tables import DataOptions, with_data_options

N_CHECKED = 1000
LARGEST_BLOCK = 50_000_000  # entries


@click.command("export", epilog="Example: prml export model.prml -o model.onnx --check debtags")
@click.argument("model_path", metavar="MODEL", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    "out_path",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="The ONNX file to write.",
)
@click.option(
    "--outputs",
    help="Some of scores, probabilities and labels, joined by commas; all that the model has when "
    "left out.",
)
@click.option("--double", is_flag=True, help="Numbers of 64 bits; 32 when left out.")
@click.option(
    "--features",
    is_flag=True,
    help="For a model of text: a file that takes tf-idf features and not texts.",
)
@click.option(
    "--locale",
    default="C.UTF-8",
    show_default=True,
    help="By which the runtime lower-cases texts; it has to exist there.",
)
@click.option(
    "--check",
    "data",
    metavar="DATA",
    help=f"Run the file on the first {N_CHECKED} examples of DATA and tell how far its scores are "
    "from the model's.",
)
@with_data_options
@with_output
def export_command(
    output: Output,
    options: DataOptions,
    model_path: Path,
    out_path: Path,
    outputs: str | None,
    double: bool,
    features: bool,
    locale: str,
    data: str | None,
) -> None:
    """Write the MODEL as an ONNX file: scores, probabilities and labels."""
    import numpy as np

    from prml.cli import models

    if not out_path.absolute().parent.is_dir():
        raise click.UsageError(f"{out_path}: there is no such folder to write the file into")
    model, note = models.open_model(model_path)
    dtype = np.float64 if double else np.float32
    try:
        from prml.export import to_onnx

        proto = to_onnx(
            model,
            out_path,
            outputs=None if outputs is None else [name.strip() for name in outputs.split(",")],
            dtype=dtype,
            text=not features,
            locale=locale,
        )
    except ImportError as missing:
        raise click.ClickException(str(missing)) from None
    told: dict[str, Any] = {
        "file": str(out_path),
        "bytes": out_path.stat().st_size,
        "input": proto.graph.input[0].name,
        "outputs": [result.name for result in proto.graph.output],
    }
    if data is not None:
        told |= _compare(model, note, out_path, data, options, dtype)
    if output.as_json:
        output.json(told)
        return
    output.line(
        f"{out_path}: {told['bytes']:,} bytes, from {told['input']} to {', '.join(told['outputs'])}"
    )
    if data is not None:
        output.line(
            f"{told['n_samples']} examples of {data}: {told['answer']} differ by "
            f"{told['difference']:.1e} at most."
        )


def _compare(
    model: Any, note: dict[str, Any], path: Path, data: str, options: DataOptions, dtype: Any
) -> dict[str, Any]:
    """Run the file on examples; return its largest difference from the model."""
    import numpy as np
    import scipy.sparse as sp

    from prml.cli import models
    from prml.cli.blocks import as_model_input, example_blocks

    try:
        import onnxruntime
    except ImportError:
        raise click.ClickException(
            "--check needs onnxruntime; pip install 'prml[onnx]' brings it."
        ) from None
    blocks = example_blocks(
        data,
        options,
        note=note,
        n_features=models.n_features(model),
        label_names=models.label_names(model),
    )
    # the runtime takes dense rows: few of them when they are long
    width = int(models.final_estimator(model).n_features_in_)
    block = as_model_input(next(iter(blocks))[: max(1, min(N_CHECKED, LARGEST_BLOCK // width))])
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    if name == "text":
        given = np.array(block, dtype=object)
    else:
        features = model[0].transform(block) if isinstance(block, list) else block
        given = (features.toarray() if sp.issparse(features) else features).astype(dtype)
    first = session.get_outputs()[0].name
    answer = np.asarray(session.run([first], {name: given})[0])
    method = {
        "scores": "decision_function",
        "probabilities": "predict_proba",
        "labels": "predict",
    }[first]
    expected = np.asarray(getattr(model, method)(block))
    if answer.dtype.kind == "O":
        difference = float((answer != expected).any())
    else:
        difference = float(np.abs(answer - expected).max(initial=0.0))
    return {"answer": first, "n_samples": len(answer), "difference": difference}
