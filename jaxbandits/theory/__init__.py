"""Upper and lower bounds, as functions of the same parameters as the policies."""
