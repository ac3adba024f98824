"""Executors: run one function over many work units, here or on a cluster.

An executor is a callable `(function, tasks, progress) -> results in the order of the tasks`. The function and the
tasks are picklable and a task's work depends on nothing else, so where it runs cannot change what it gives.

* `local`: a pool of processes on this machine, or of threads for functions that are compiled code;
* `ray`: tasks of a Ray cluster (an extra: `pip install ray`);
* `crew`: whether one process does a stage or several share it; `slurm`: the elements of a Slurm array, which do;
* `phases`: how elements that are there help the one that ends the stage.

All of them go on with the other units when one fails, and report the failures by name at the end (`failures`).
"""

from data.executors.choice import Executor, ExecutorName, crew_of, is_shared, open_executor, workers_of
from data.executors.crew import ALONE, Crew, Share, ShareDone
from data.executors.failures import Failure, Failures, Task, WorkFailed, failure_of, raise_failures
from data.executors.local import run_local

__all__ = [
    "ALONE",
    "Crew",
    "Executor",
    "ExecutorName",
    "Failure",
    "Failures",
    "Share",
    "ShareDone",
    "Task",
    "WorkFailed",
    "crew_of",
    "failure_of",
    "is_shared",
    "open_executor",
    "raise_failures",
    "run_local",
    "workers_of",
]
