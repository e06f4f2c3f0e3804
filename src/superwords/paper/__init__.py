"""What goes into a paper: a methods paragraph, tables, figures, references, and a manifest that can be verified."""

from superwords.paper.verify import Verification, verify
from superwords.paper.write import write_paper

__all__ = ["Verification", "verify", "write_paper"]
