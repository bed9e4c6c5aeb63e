"""Whether an epsilon can be believed: what is claimed, what that adds up to, and what an audit finds."""

from jaxbandits.privacy import ledger
from jaxbandits.privacy.audit import Audit, audit, judge
from jaxbandits.privacy.ledger import Budget, spent
from jaxbandits.privacy.studies import table
from jaxbandits.privacy.transcripts import Transcripts, transcripts

__all__ = ["Audit", "Budget", "Transcripts", "audit", "judge", "ledger", "spent", "table", "transcripts"]
