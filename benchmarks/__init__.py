"""What OpenOctopus costs, measured beside its peers and beside loops written by hand."""

from __future__ import annotations
