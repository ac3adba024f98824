"""Statistics of a corpus: counted (`counts`, `strings`), shown as tables (`table`), drawn (`plots`)."""
