"""The town in the format of the MultiWOZ database files."""

from typing import Any

from tools.multiwoz_sample.public_formats import OLD_NAMES
from tools.multiwoz_sample.world import CAR_COLOURS, CAR_MAKES, DEPARTMENTS, World

Json = Any


def database(world: World) -> dict[str, list[Json]]:
    """Return the rows of every `*_db.json`."""
    rows: dict[str, list[Json]] = {}
    for domain, venues in world.venues.items():
        rows[domain] = []
        for index, venue in enumerate(venues):
            row: dict[str, Json] = {OLD_NAMES.get(s, s): v for s, v in venue.slots.items()}
            if domain != "train":
                # A town at sea, so that no coordinates are those of a real place.
                east = index % 7 * 0.0041 + len(domain) * 0.0007
                row["location"] = [round(54.2 + index * 0.0013, 6), round(5.1 + east, 6)]
            if domain == "restaurant":
                row.update({"type": "restaurant", "introduction": ""})
            if domain == "attraction":
                row.update({"openhours": "?", "pricerange": _level(row["entrance fee"])})
            if domain == "hotel":
                single = {"cheap": 42, "moderate": 68, "expensive": 115}[row["pricerange"]] + index
                row.update(
                    {
                        "takesbookings": "yes",
                        "price": {"double": str(single + 24), "single": str(single)},
                    }
                )
            rows[domain].append(dict(sorted(row.items())))
    police = {
        "address": "1 Saltgate, Pellingford",
        "id": 0,
        "name": "Saltgate Police Station",
        "phone": "01632960999",
    }
    rows["police"] = [police]
    rows["hospital"] = [
        {"department": department, "id": index, "phone": f"07700900{900 + index}"}
        for index, department in enumerate(DEPARTMENTS)
    ]
    pattern = "^[0-9]{11}$"
    rows["taxi"] = [{"taxi_colors": CAR_COLOURS, "taxi_phone": [pattern], "taxi_types": CAR_MAKES}]
    return rows


def _level(fee: str) -> str:
    if fee in ("free", "?"):
        return fee
    pounds = int(fee.split()[0])
    return "cheap" if pounds < 5 else "moderate" if pounds < 9 else "expensive"
