"""Upper and lower bounds, as functions of the same parameters as the policies."""

from jaxbandits.theory import cascade

__all__ = ["cascade"]
