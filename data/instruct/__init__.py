"""Instructions for decoders from Korean data sets: records read by a use's spec, as rows with an answer."""
