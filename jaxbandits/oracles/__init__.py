"""Combinatorial oracles: from a weight for each base arm to the best set of them. One file a kind of set."""

from jaxbandits.oracles.approximate import approximate
from jaxbandits.oracles.interface import Oracle, check, present, read
from jaxbandits.oracles.matching import matching
from jaxbandits.oracles.path import path
from jaxbandits.oracles.sets import cascade, partition, top_k

__all__ = ["Oracle", "approximate", "cascade", "check", "matching", "partition", "path", "present", "read", "top_k"]
