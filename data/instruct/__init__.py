"""Instructions from Korean data sets."""
