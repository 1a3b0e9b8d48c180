"""What is here: the one error of model files."""


class ModelFileError(ValueError):
    """A model file that is damaged, foreign or too new, or a model that no file can hold."""
