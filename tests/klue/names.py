"""Names of the tasks that the small benchmark of the tests holds, and KLUE's tasks by name."""

from klue.tasks import KLUE

SENTENCE_TASKS = ("ynat", "klue-sts", "klue-nli")
KLUE_TASKS = {task.name: task for task in KLUE}
