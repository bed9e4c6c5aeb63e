"""Whether an epsilon can be believed: what is claimed, what that adds up to, and what an audit finds."""

from jaxbandits.privacy import ledger
from jaxbandits.privacy.audit import Audit, audit
from jaxbandits.privacy.ledger import Budget, spent, table

__all__ = ["Audit", "Budget", "audit", "ledger", "spent", "table"]
