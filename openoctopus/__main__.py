"""``python -m openoctopus`` is the command ``octopus``."""

from __future__ import annotations

import sys

from openoctopus.cli import main

sys.exit(main())
