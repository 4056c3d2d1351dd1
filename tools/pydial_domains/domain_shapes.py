"""The shapes of the embedded domains: slots, how many values each has, how many entities.

Numbers are those of the published domains, subjects and words are our own.
"""

from dataclasses import dataclass

NAME = "name"


@dataclass(frozen=True)
class Slot:
    """A slot with values: some that entities have, and `unused` that none has.

    With `skew` the values differ in how common they are; `unknown` is the share of entities whose
    value nobody knows.
    """

    name: str
    used: tuple[str, ...]
    unused: tuple[str, ...] = ()
    skew: float = 0.5
    unknown: float = 0.0


@dataclass(frozen=True)
class Shape:
    """A domain: what its entities are called, what can be asked for, what is answered."""

    name: str
    entity_type: str
    constraints: tuple[Slot, ...]
    other_valued: tuple[Slot, ...]
    answers: tuple[str, ...]
    entities: int
    likeness: float
    """How probably an entity has the value of the one that it is a variant of."""
    names: tuple[str, ...]
    """Names beyond the number of entities are only in the ontology; too few are given twice."""


def pairs(first: str, second: str, count: int) -> tuple[str, ...]:
    """Return so many combinations of two words, each word of both lists as often as others."""
    left, right = first.split(), second.split()
    combined = [
        f"{word} {right[(index + turn) % len(right)]}"
        for turn in range(len(right))
        for index, word in enumerate(left)
    ]
    assert len(combined) >= count
    return tuple(combined[:count])


PLANTS = (
    "alder ash aster beech birch briar bryony campion cedar clover comfrey cowslip dogwood elder "
    "elm fennel fern foxglove gorse hawthorn hazel heather holly hornbeam iris ivy juniper larch "
    "laurel lavender lilac linden lupin mallow maple mint myrtle nettle oak orchid peony pine "
    "poplar poppy primrose privet quince reed rose rowan rush sage sedge sorrel spruce tansy thyme "
    "tulip vetch violet walnut willow yarrow yew"
)
COLOURS = "amber azure bronze coral crimson golden green indigo ivory purple scarlet silver"
PLACES = "bank close court cross end gate green hill lane mill park place rise row square walk"


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text, underscores standing for blanks."""
    return tuple(word.replace("_", " ") for word in text.split())


_KINDS = pairs(PLANTS, "garden border", 91)
_QUARTERS = pairs(PLANTS, PLACES, 155)
_SUBJECTS = words(
    "acoustics agriculture anatomy archery architecture astronomy ballet botany calligraphy "
    "carpentry cartography ceramics chemistry chess cinema climbing cookery cycling dance drawing "
    "ecology economics embroidery ethics fencing folklore forestry gardening genealogy genetics "
    "geography geology geometry glassmaking grammar heraldry history hydrology jewellery knitting "
    "law linguistics logic magic mathematics medicine metallurgy meteorology mining music "
    "mythology navigation optics painting philosophy phonetics photography physics poetry"
)
_FEES = tuple(f"{amount} crowns a {span}" for span in ("month", "year") for amount in range(2, 50))

GARDENS = Shape(
    name="DemoGardens",
    entity_type="garden",
    constraints=(
        Slot("area", words("north south east west centre"), skew=0.6),
        Slot("kind", _KINDS[:23], _KINDS[23:], skew=0.8),
        Slot("pricerange", words("cheap moderate expensive")),
    ),
    other_valued=(),
    answers=words("addr phone postcode motto description"),
    entities=110,
    likeness=0.3,
    names=pairs(COLOURS, PLANTS, 113),
)
LIBRARIES = Shape(
    name="DemoLibraries",
    entity_type="library",
    constraints=(
        Slot("allowedforkids", words("0 1"), skew=0.3, unknown=0.1),
        Slot("area", _QUARTERS[:65], _QUARTERS[65:], skew=0.7),
        Slot("subject", _SUBJECTS[:55], _SUBJECTS[55:], skew=0.8, unknown=0.01),
        Slot("goodfor", words("reading meeting working resting"), skew=0.8),
        Slot(
            "near",
            words("harbour market museum old_town station theatre town_hall university zoo"),
            unknown=0.3,
        ),
        Slot("pricerange", words("cheap moderate expensive")),
    ),
    other_valued=(Slot("price", _FEES),),
    answers=words("addr phone postcode"),
    entities=271,
    likeness=0.3,
    names=pairs(PLANTS, "library books rooms shelves reader", 242),
)
BICYCLES = Shape(
    name="DemoBicycles",
    entity_type="bicycle",
    constraints=(
        Slot("brakerating", words("standard good exceptional")),
        Slot("gearrange", words("small medium large")),
        Slot("family", words("swift swallow heron heron_plus"), skew=0.8),
        Slot("isforcouriers", words("0 1"), skew=0.4),
        Slot("frame", words("steel_8 steel_8_pro steel_7 alloy_7 alloy_7_pro"), skew=0.9),
        Slot("pricerange", words("budget moderate expensive"), skew=0.3),
        Slot(
            "motorclass",
            words("no_motor hub_1 hub_2 hub_3 hub_4 crank_1 crank_2 crank_3 crank_4 crank_5"),
            skew=0.9,
        ),
        Slot("cargoload", words("2_kg 4_kg 6_kg 8_kg 10_kg 12_kg 16_kg"), skew=0.9),
        Slot(
            "utility",
            words(
                "commuting everyday_riding long_distance racing touring city_and_country "
                "folding_and_light"
            ),
            skew=0.6,
        ),
        Slot("warranty", words("1_year_home 1_year_abroad 3_year_abroad"), skew=0.7),
        Slot("weightrange", words("light_weight mid_weight heavy")),
    ),
    other_valued=(),
    answers=words("battery design dimension lamp drive saddle price motor weight"),
    entities=123,
    likeness=0.7,
    names=tuple(
        f"{family}-{letter}{number}"
        for number in range(10, 90, 5)
        for family in ("swift", "swallow", "heron")
        for letter in "crt"
    )[:123],
)
SHAPES = (GARDENS, LIBRARIES, BICYCLES)
