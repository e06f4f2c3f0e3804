"""Material for a paper: methods, tables, figures, references and a manifest."""

from superwords.paper.manifest import Verification, verify
from superwords.paper.write import write_paper

__all__ = ["Verification", "verify", "write_paper"]
