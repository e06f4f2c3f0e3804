"""`superwords export`, `write` and `verify`: a model's results for other programs and for a paper."""

from __future__ import annotations

from pathlib import Path

import typer

from superwords.cli import options as o
from superwords.cli.options import option
from superwords.cli.printing import busy, print_json, print_line
from superwords.errors import InputError

# As in superwords.analysis.export, which takes too long to load for a help text.
FORMATS = ("csv", "parquet", "xlsx", "latex", "docx", "json", "netcdf", "pyldavis")
_TABLES = "concepts words documents documents_wide vocabulary groups trends periods effects quotes all"
TABLES = tuple(_TABLES.split())


def export(
    model_file: Path = o.MODEL_FILE,
    table: str = typer.Argument("all", metavar="TABLE", help=f"One of {', '.join(TABLES)}."),
    format: str | None = option(f"One of {', '.join(FORMATS)}.", None, "--format", "-f", shown="by the file's ending"),
    output: Path | None = option(
        "The file to write, or the folder of all tables (csv, parquet, latex).", None, "--output", "-o"
    ),
    groups: list[str] | None = o.GROUP_COLUMNS,
    time: str | None = o.TIME_COLUMN,
    formula: str | None = o.FORMULA,
    cluster_by: str | None = o.AUTHOR_COLUMN_TOO,
    quiet: bool = o.QUIET,
    as_json: bool = o.AS_JSON,
) -> None:
    """Write a model's tables for other programs.

    csv, parquet, xlsx: every column; latex, docx: as printed in a paper; json: all tables in one file;
    netcdf: the traces, for ArviZ; pyldavis: the input of pyLDAvis.

    \b
    superwords export model.sw -o tables --format csv
    superwords export model.sw concepts -o concepts.tex
    superwords export model.sw effects --formula "party + date" -o effects.docx
    superwords export model.sw -o everything.xlsx
    """
    if format is not None and format not in FORMATS:
        raise typer.BadParameter(f"--format {format!r} is not known; choose one of {', '.join(FORMATS)}.")
    if table not in TABLES:
        raise typer.BadParameter(f"The table {table!r} is not known; choose one of {', '.join(TABLES)}.")
    if output is None:
        raise typer.BadParameter("There is no file to write to; give one with -o.")
    if format is None and not output.suffix:
        raise typer.BadParameter(
            f"The name {output.name!r} has no ending to tell the format by; give one with --format."
        )
    from superwords.analysis.export import export as write_results

    model = o.load_model(model_file)
    asked = {"groups": groups or None, "time": time, "formula": formula, "cluster": cluster_by}
    written = write_results(model, output, format, table, **asked)
    if as_json:
        print_json({"files": [str(path) for path in written]})
    elif not quiet:
        print_line("Wrote " + ", ".join(str(path) for path in written) + ".")


def write(
    model_file: Path = o.MODEL_FILE,
    output: Path = option("The folder to write.", Path("paper"), "--output", "-o"),
    groups: list[str] | None = o.GROUP_COLUMNS,
    time: str | None = o.TIME_COLUMN,
    formula: str | None = o.FORMULA,
    cluster_by: str | None = o.AUTHOR_COLUMN_TOO,
    quiet: bool = o.QUIET,
    as_json: bool = o.AS_JSON,
) -> None:
    """Write a methods paragraph, tables, figures, references and a manifest.

    The folder gets methods.md and methods.tex, tables (LaTeX and CSV), figures (PDF), paper.docx with all of it,
    references.bib, and manifest.json, which `superwords verify` checks by fitting the model again.

    \b
    superwords write model.sw -o paper --groups party --formula "party + date" --cluster-by speaker
    superwords verify paper/manifest.json speeches.csv
    """
    from superwords.paper.write import write_paper

    model = o.load_model(model_file)
    with busy("writing tables and figures", quiet):
        files = write_paper(model, output, groups=groups or None, time=time, formula=formula, cluster=cluster_by)
    if as_json:
        print_json({"files": [str(path) for path in files]})
    elif not quiet:
        print_line((output / "methods.md").read_text(encoding="utf-8").strip(), "")
        print_line(f"{len(files)} files in {output}: " + ", ".join(str(one.relative_to(output)) for one in files))


def verify(
    manifest: Path = typer.Argument(metavar="MANIFEST", help="The manifest.json of `superwords write`."),
    data: str = typer.Argument(metavar="DATA", help="The file or folder of the documents."),
    jobs: int | None = o.JOBS,
    quiet: bool = o.QUIET,
    as_json: bool = o.AS_JSON,
) -> None:
    """Fit a paper's model again from its manifest and its data, and say whether the results are the same.

    With the same versions they are the same to the bit; else the differences are listed. The exit code is 1 if the
    results cannot be confirmed.

    \b
    superwords verify paper/manifest.json speeches.csv
    """
    from superwords.paper.manifest import verify as fit_again

    found = fit_again(manifest, data, n_jobs=jobs, progress=False if quiet else "auto")
    if as_json:
        print_json({**found._asdict(), "passed": found.passed})
    elif not quiet:
        print_line(*found.lines())
    if not found.passed:
        raise InputError("The results could not be confirmed.")
