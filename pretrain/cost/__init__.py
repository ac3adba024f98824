"""What a run costs before it begins: memory, disk, time and communication, as functions of numbers."""
