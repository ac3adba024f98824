"""`hunmin doctor`: what this machine has of what a run needs, and the command that fixes what is missing."""
