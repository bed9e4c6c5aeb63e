"""``python -m jaxbandits``."""

from jaxbandits.cli import main

main()
