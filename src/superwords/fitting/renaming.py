"""Names that people give to concepts, kept in the model file beside what was sampled."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

from superwords.concepts.naming import checked_name
from superwords.errors import InputError
from superwords.files import write_whole

NAMES = "names.json"


def rename_concepts(path: str | Path, names: Mapping[int, str]) -> None:
    """Put these names (concept id → name) in place of those a model file has, whole or not at all."""
    target = Path(path)
    try:
        buffer = io.BytesIO()
        buffer.write(target.read_bytes())
        if not zipfile.is_zipfile(buffer):  # mode "a" would make any file one
            raise zipfile.BadZipFile
        with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
            old = archive.NameToInfo.pop(NAMES, None)
            if old is not None:
                archive.filelist.remove(old)
            info = zipfile.ZipInfo(NAMES, (1980, 1, 1, 0, 0, 0))
            archive.writestr(info, json.dumps({str(concept): name for concept, name in names.items()}))
        write_whole(target, buffer.getvalue())
    except zipfile.BadZipFile:
        raise InputError(f"{str(target)!r} is not a superwords model, or it is damaged.") from None
    except OSError as error:
        raise InputError(f"The names cannot be kept in {str(target)!r}: {error.strerror or error}.") from None


def read_names(archive: zipfile.ZipFile) -> dict[int, str]:
    if NAMES not in archive.namelist():
        return {}
    stored = json.loads(archive.read(NAMES))
    return {int(concept): checked_name(str(name)) for concept, name in stored.items()}
