"""The papers' figures: one file a paper, each a list of studies and the figures drawn from them."""
