"""A page in one file, which loads nothing and runs nothing but what stands in it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from html import escape
from importlib import resources


def whole_page(title: str, body: str, script: str | None = None) -> str:
    """The page with the house's style; `script` names a file of static/ to put into it."""
    style = _static("base.css") + _static("report.css")
    policy = f"default-src 'none'; img-src data:; style-src {_digest(style)}"
    if script is not None:
        code = _static(script)
        policy += f"; script-src {_digest(code)}"
        body += f"\n<script>{code}</script>"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def html_table(heads: Iterable[str], rows: str) -> str:
    """A table with these heads above rows that are HTML already."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _static(name: str) -> str:
    return resources.files("superwords.web").joinpath("static", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """What lets a browser run this very text and no other."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"
