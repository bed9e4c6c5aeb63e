"""Published algorithms, one a file, in a folder for each family of problems."""

from jaxbandits.policies import cascade

__all__ = ["cascade"]
