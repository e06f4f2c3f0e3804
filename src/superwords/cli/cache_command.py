"""`superwords cache`: what is kept of texts counted before."""

from __future__ import annotations

from typing import Annotated

import typer

from superwords.cli.printing import print_line

app = typer.Typer(add_completion=False)


@app.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Empty the cache.")] = False,
) -> None:
    """Show how large the cache of counted texts is, and where; or empty it.

    \b
    superwords cache
    superwords cache --clear
    """
    from superwords.corpus.count_cache import cache_folder, cache_size, clear_cache, said_size

    if clear:
        print_line(f"{said_size(clear_cache())} removed from {cache_folder()}.")
    else:
        print_line(f"{said_size(cache_size())} of counted texts in {cache_folder()}.")
