"""Processes of a run: their places, their meeting, their failures, and the engines that average their gradients."""
