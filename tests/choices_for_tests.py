"""The choices in a model file."""

from contextlib import closing
from pathlib import Path

from superwords.storage.model_file import ModelFile, translate_corruption


def read_choices(path):
    """Return all choices in a model file, in the order they were made."""
    with translate_corruption(str(path)), closing(ModelFile.open(Path(path))) as file:
        return file.choices()
