"""Batches as a function of the step: samples, their order, masks, the arguments of the model."""
