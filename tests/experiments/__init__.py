"""The experiments behind the figures of the pages, and what draws the pictures."""

import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parents[1]))  # There is formula.py.
