"""`superwords explore`: a model in the browser, from this machine to this machine."""

from __future__ import annotations

import contextlib
import threading
import webbrowser
from typing import Annotated

import typer

from superwords.cli.common import ModelFile

app = typer.Typer(add_completion=False)


@app.command()
def explore(
    model_file: ModelFile,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 takes any free one.")] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
) -> None:
    """Show concepts, documents, words, groups, chains and a map on a local page until Ctrl-C."""
    from superwords.fitting.storage import load
    from superwords.web.explorer import EVERYWHERE, Explorer, web_server
    from superwords.web.serving import LOOPBACK, listen

    explorer = Explorer(load(model_file), model_file)
    listener = listen(host, port)
    shown = "localhost" if host in EVERYWHERE else f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listener.getsockname()[1]}/"
    print(f"The model is at {address}; stop with Ctrl-C.", flush=True)
    if host not in LOOPBACK:
        print("Anyone who reaches this machine's network can open it and rename concepts.", flush=True)
    threading.Thread(target=explorer.warm_up, daemon=True).start()
    if browser:
        listener.listen()  # a browser that is quicker than the server waits
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):  # how it is meant to end
        web_server(explorer, host).run(sockets=[listener])
