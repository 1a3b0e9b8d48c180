"""What is here: the one error of model files."""


class ModelFileError(ValueError):
    """A model file that is damaged, foreign or too new, or a model that no file can hold.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from prml import load_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.prml"
    ...     _ = path.write_bytes(b"no model")
    ...     try:
    ...         load_model(path)
    ...     except ValueError as error:
    ...         print(type(error).__name__)
    ModelFileError
    """
