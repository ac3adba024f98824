"""Floor 6: the command line, the recipe, the stage order, plan and report — no stage's logic."""
