"""Processes of a run: ranks, rendezvous, failures, and the engines that average their gradients."""
