"""Texts and acts in comparable form: one width, lower case, no blanks."""

from __future__ import annotations

import pytest

from mwzeval.crosswoz.corpus.acts import Act
from mwzeval.crosswoz.corpus.normalization import comparable, comparable_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("WiFi Hotel", "wifihotel"),
        ("北京BHG店", "北京bhg店"),
        ("北京 ＢＨＧ 店", "北京bhg店"),
        ("（Ａ店）", "(a店)"),
        ("Élysée\u3000酒店", "élysée酒店"),
        ("", ""),
    ],
)
def test_texts_are_compared_in_one_width_and_case(text: str, expected: str) -> None:
    assert comparable_text(text) == expected


def test_acts_are_compared_by_slot_and_value_so() -> None:
    ours = comparable(Act("Inform", "酒店", "酒店设施-ＳＰＡ", "北京 ABC酒店"))
    assert ours == comparable(Act("Inform", "酒店", "酒店设施-spa", "北京abc酒店"))
