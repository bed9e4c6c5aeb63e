"""What the engine is measured against: each workload written in the usual ways, plain JAX and a compiled scalar loop, and peers.

One file a workload. Each yardstick simulates what the policy and the problem of this package do, items or arms in a random order
for each lane. It draws its own random numbers, so it agrees with the engine in law only.
"""
