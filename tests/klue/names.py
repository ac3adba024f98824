"""Names of the tasks that the small benchmark of the tests holds."""

SENTENCE_TASKS = ("ynat", "klue-sts", "klue-nli")
