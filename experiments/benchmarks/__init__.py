"""How fast the engine is: ratios measured in one run.

    python -m experiments.benchmarks

Workload A is the cascade under local privacy with Algorithm 2 of arXiv 2105.11126: 20 items, lists of 4, Laplace noise at
epsilon 1, logarithmic checkpoints, compensated regret. Workload B is the same cascade under central privacy with Algorithm 1: a
hybrid counter for each item. Times are CPU time of the process, which other programs on the machine disturb less than wall time;
what is compared is run by turns in one process, so that a slow spell hits all alike.
"""
