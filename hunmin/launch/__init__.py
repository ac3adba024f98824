"""Launching: a whole recipe over the nodes of a cluster, by engines that are there already; each file names one."""
