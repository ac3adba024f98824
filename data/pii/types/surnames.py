"""Korean surnames, as a pattern: those of some 99.9% of the people."""

SURNAMES = (
    "남궁|황보|제갈|선우|사공|서문|독고|동방"
    "|[김이박최정강조윤장임한오서신권황안송류유전홍고문양손배백허남심노하곽성차주우구민나진지엄채원천방공현함"
    "변염여추도소석선설마길연위표명기반왕금옥육인맹제모탁국은편용예경봉사부]"
)
"""Alternatives of a pattern, those of two syllables first."""
