"""Whether an epsilon can be believed: what is claimed, what that adds up to, and what an audit finds."""

from jaxbandits.privacy.audit import Audit, audit

__all__ = ["Audit", "audit"]
