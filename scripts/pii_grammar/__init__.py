"""A grammar of texts with personal data, independent of the product's own patterns.

`marks` holds the spans, `values` the invented numbers and names, `writers` separators and shapes of digits,
`telephones`, `numbers`, `hosts` and `addresses` the forms of each type, `habits`, `sentences` and `carriers` what
stands around a value, `negatives` texts without any.
"""
