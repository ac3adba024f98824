"""Detection and keyed pseudonymisation of 16 types of Korean personal data."""
