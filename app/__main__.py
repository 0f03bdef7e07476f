"""``python -m app`` in a checkout: the program of the package ``atelier_desk`` beside this file. It is not
installed."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from atelier_desk.__main__ import main

sys.exit(main())
