"""Upper and lower bounds, as functions of the same parameters as the policies."""

from jaxbandits.theory import cascade, cascade_lower

__all__ = ["cascade", "cascade_lower"]
