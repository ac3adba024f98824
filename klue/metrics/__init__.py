"""The benchmark's metrics as its authors compute them: pure functions on gold and predictions, scores × 100.

Each takes one gold label and one prediction an example, in the same order, and raises ValueError where their numbers
differ, or there are none. One whose name begins with `weighted` returns the scores by how often each example counts.
"""
