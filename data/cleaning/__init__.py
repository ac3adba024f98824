"""Cleaning, KLUE section 2.3: rules by name (`settings`), for documents and sentences (`rules`), for news (`news`)."""
