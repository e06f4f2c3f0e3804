"""The folder of a paper: methods, tables, figures, references and manifest."""

from __future__ import annotations

import hashlib
import io
import json
import warnings
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from superwords.analysis.export import MOST_COMPARED, Export, Titled, add_word_table, latex_text, write_tables
from superwords.errors import InputError
from superwords.files import atomic_path, file_part, write_atomic, writing
from superwords.fitting.estimator import ConceptModel
from superwords.paper.manifest import make_manifest
from superwords.paper.methods import REFERENCES, methods_paragraph
from superwords.plots.model_plots import effect_intervals, group_prevalence, small_multiples
from superwords.plots.style import figure_bytes

_TABLES = ("concepts", "groups", "trends", "effects", "quotes")
_WIDTH = 6.2  # inches of a figure in the Word document
_DPI = 200
_CITED = "El-Arini, Fox and Guestrin (2012)", r"El-Arini, Fox and Guestrin~\cite{elarini2012superwords}"


def write_paper(model: ConceptModel, folder: str | Path, **options: Any) -> list[Path]:
    """Write the material for a paper about a model; return the files.

    Parameters
    ----------
    model : ConceptModel
    folder : str or Path
        Created if necessary. It gets methods.md and methods.tex, tables/ (LaTeX and CSV), figures/ (PDF),
        paper.docx (all of it, if python-docx is installed), references.bib and manifest.json.
    **options
        groups, time, formula and cluster, as in `superwords.analysis.export.Export`.
    """
    out, source = Path(folder), Export(model, **options)
    if len(model.concepts(0)) == 0:
        raise InputError("The model has no concepts, so there is nothing to write about.")
    with writing("The paper", out):
        for path in (out, out / "tables", out / "figures"):
            path.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():  # a glyph missing in all fonts is drawn as a box
            warnings.simplefilter("ignore", UserWarning)
            files = _write(source, out)
        digests = {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
        manifest = json.dumps(make_manifest(model, digests), indent=1, ensure_ascii=False)
        write_atomic(out / "manifest.json", manifest.encode("utf-8"))
    return [*files, out / "manifest.json"]


def _write(source: Export, out: Path) -> list[Path]:
    data = {name: source.table(name) for name in _TABLES if name in source.makers}
    printed = {name: source.printed(name, table) for name, table in data.items()}
    figures, methods = make_figures(source, data), methods_paragraph(source)
    texts = {
        "methods.md": f"{methods}\n",
        "methods.tex": f"{latex_text(methods).replace(*_CITED)}\n",
        "references.bib": REFERENCES,
    }
    pictures = {f"figures/{name}.pdf": figure_bytes(figure, "pdf") for name, figure in figures.items()}
    for name, content in {**{name: text.encode() for name, text in texts.items()}, **pictures}.items():
        write_atomic(out / name, content)
    tables = write_tables(printed, out / "tables", "latex")
    tables += write_tables({name: Titled(table) for name, table in data.items()}, out / "tables", "csv")
    files = [*(out / name for name in texts), *tables, *(out / name for name in pictures)]
    try:
        from docx import Document
        from docx.shared import Inches
    except ImportError:
        return files
    document = Document()
    document.add_heading("Methods", 1)
    document.add_paragraph(methods)
    document.add_heading("Tables", 1)
    for titled in printed.values():
        add_word_table(document, titled)
    document.add_heading("Figures", 1)
    for figure in figures.values():
        document.add_picture(io.BytesIO(figure_bytes(figure, "png", dpi=_DPI)), width=Inches(_WIDTH))
    with atomic_path(out / "paper.docx") as temporary:
        document.save(str(temporary))
    return [*files, out / "paper.docx"]


def make_figures(source: Export, data: dict[str, Any]) -> dict[str, Figure]:
    """Return the figures that the model's columns allow."""
    out = {}
    for column in source.compared:
        if 2 <= source.model.corpus_.metadata[column].nunique() <= MOST_COMPARED:
            out[f"prevalence_{file_part(column)}"] = group_prevalence(source.model, column)
    if source.time is not None:
        out[f"trends_{file_part(source.time)}"] = small_multiples(source.model, source.time)
    if "effects" in data:
        out["effects"] = effect_intervals(source.model, data["effects"])
    return out
