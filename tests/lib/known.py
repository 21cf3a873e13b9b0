"""What a reader of YAML knows: `only` ends the program at a word that it does not know."""
import pathlib
import sys


def only(mapping, *known):
    """Returns the mapping, whose keys are all among those known."""
    unknown = set(mapping) - set(known)
    if unknown:
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: unknown: {', '.join(map(str, unknown))}")
    return mapping
