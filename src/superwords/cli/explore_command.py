"""`superwords explore`: a model in the browser, from this machine to this machine."""

from __future__ import annotations

import contextlib
import secrets
import threading
import webbrowser
from typing import Annotated

import typer

from superwords.cli.common import ModelFile, PublicHost

app = typer.Typer(add_completion=False)


@app.command()
def explore(
    model_file: ModelFile,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 takes any free one.")] = 0,
    public_host: PublicHost = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
) -> None:
    """Show concepts, documents, words, groups, time and effects on a local page until Ctrl-C, and decide about them."""
    from superwords.fitting.estimator import load
    from superwords.web.explorer import Explorer, create_app
    from superwords.web.serving import access, listen, make_server

    explorer = Explorer(load(model_file), model_file)
    listener = listen(host, port)
    known = access(host, listener.getsockname()[1], public_host)
    token = secrets.token_urlsafe(18) if known.needs_token else None
    address = known.link(token)
    print(f"The model is at {address}", flush=True)
    if token is not None:
        print("Whoever has this address can look at the model and decide about its concepts.", flush=True)
    print("Stop with Ctrl-C.", flush=True)
    threading.Thread(target=explorer.warm_up, daemon=True).start()
    if browser:
        listener.listen()  # a browser that is quicker than the server waits
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):  # how it is meant to end
        make_server(create_app(explorer, known.hosts, token)).run(sockets=[listener])
