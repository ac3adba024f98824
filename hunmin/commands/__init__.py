"""The command line, a file a command group; each command parses, calls one function of a stage, and prints."""
