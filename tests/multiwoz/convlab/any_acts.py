"""Goals and systems' acts of any kind, known, unknown and senseless, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from mwzeval.multiwoz.acts import SYSTEM_SLOTS, USER_SLOTS, Act
from mwzeval.multiwoz.goals.goal import Goal

SAID = st.sampled_from(
    [
        *("", " ", "?", "0", "zero", "1", "5", "dontcare", "none", "no", "yes", "north", "monday"),
        *("10:00", "9:99", "99:99:99", "the same", "4 stars", "１２:３０", "\u0130", "-"),
        "general",
    ]
)
PARTS = st.fixed_dictionaries(
    {"info": st.dictionaries(st.sampled_from(["area", "name", "day"]), SAID, max_size=3)},
    optional={
        "fail_info": st.dictionaries(st.sampled_from(["area", "name", "stars"]), SAID),
        "reqt": st.lists(st.sampled_from(["phone", "postcode", "name"]), unique=True),
        "book": st.dictionaries(st.sampled_from(["people", "day", "time", "stay"]), SAID),
        "fail_book": st.dictionaries(st.sampled_from(["people", "day"]), SAID),
    },
)


@st.composite
def goals(draw: st.DrawFn) -> Goal:
    domains = draw(st.lists(st.sampled_from(sorted(USER_SLOTS)), unique=True, min_size=1))
    return {"domain_ordering": domains, **{domain: draw(PARTS) for domain in domains}}


INTENTS = "Inform Request NoOffer Recommend Select OfferBook OfferBooked Book NoBook bye X-NoBook"
KNOWN = st.builds(
    Act,
    st.sampled_from(INTENTS.split()),
    st.sampled_from([*(name.capitalize() for name in SYSTEM_SLOTS), "general", "booking", "Bus"]),
    st.sampled_from(
        sorted({slot.capitalize() for slots in SYSTEM_SLOTS.values() for slot in slots} | {"Open"})
    ),
    SAID,
)
WORD = st.text(max_size=5)
SYSTEM_ACTS = st.lists(KNOWN | st.builds(Act, WORD, WORD, WORD, WORD), max_size=6)
