"""The cost of a run before it begins: memory, disk, time and communication, as functions of numbers."""
