"""Statistics of a corpus: counted (`counts`), shown as tables (`table`), drawn (`plots`)."""
