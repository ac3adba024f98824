"""Executors: run one function over many work units, here or on a cluster.

An executor is a callable `(function, tasks, progress) -> results in the order of the tasks` (`protocol`). The function
and the tasks are picklable and a task's work depends on nothing else, so where it runs cannot change what it gives.
When a unit fails, the rest continues, and failures are reported by name at the end (`failures`). An element of a Slurm
array is a local pool that has a part of the units (`data.units.catalog`).
"""
