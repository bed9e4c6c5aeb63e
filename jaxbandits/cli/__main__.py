"""``python -m jaxbandits.cli``."""

from jaxbandits.cli import main

main()
