"""The Chinese names in CrossWOZ's files, each with an English translation.

The names are data, which are never translated when they are compared, stored or printed.
"""

from __future__ import annotations

ATTRACTION = "景点"
RESTAURANT = "餐馆"
HOTEL = "酒店"
METRO = "地铁"
TAXI = "出租"

DOMAINS = (ATTRACTION, RESTAURANT, HOTEL, METRO, TAXI)
VENUE_DOMAINS = (HOTEL, ATTRACTION, RESTAURANT)
"""The domains with venues, in the order in which goals are expanded ("HAR" in the paper)."""
TRAFFIC_DOMAINS = (METRO, TAXI)

NAME = "名称"
RATING = "评分"
ADDRESS = "地址"
PHONE = "电话"
STATION = "地铁"
"""The slot with the nearest metro station; the metro domain has the same name."""
TICKET = "门票"
"""Entrance fee of an attraction, in yuan."""
DURATION = "游玩时间"
"""The duration of a visit to an attraction."""
DISHES = "推荐菜"
"""Recommended dishes of a restaurant."""
COST = "人均消费"
"""Cost of a meal for one person, in yuan."""
OPEN_HOURS = "营业时间"
HOTEL_TYPE = "酒店类型"
SERVICES = "酒店设施"
"""Services of a hotel; each service X also has the slot `酒店设施-X`."""
PRICE = "价格"
"""Price of a hotel, in yuan a night."""
DEPARTURE = "出发地"
DESTINATION = "目的地"
DEPARTURE_STATION = "出发地附近地铁站"
DESTINATION_STATION = "目的地附近地铁站"
CAR_TYPE = "车型"
CAR_PLATE = "车牌"
SOURCE_DOMAIN = "源领域"
"""The slot of a Select act whose value is the domain of the previously chosen venue."""

NEARBY = {ATTRACTION: "周边景点", RESTAURANT: "周边餐馆", HOTEL: "周边酒店"}
"""A mapping from each domain to the slot whose values are nearby venues of this domain."""
_NEARBY = (NEARBY[ATTRACTION], NEARBY[RESTAURANT], NEARBY[HOTEL])

STATE_SLOTS = {
    ATTRACTION: (NAME, TICKET, DURATION, RATING, *_NEARBY),
    RESTAURANT: (NAME, DISHES, COST, RATING, *_NEARBY),
    HOTEL: (NAME, HOTEL_TYPE, SERVICES, PRICE, RATING, *_NEARBY),
    METRO: (DEPARTURE, DESTINATION),
    TAXI: (DEPARTURE, DESTINATION),
}
"""The slots of each domain in a system state, in the order of the policy's input vector."""
NEARBY_SLOTS = frozenset(_NEARBY)
LIST_SLOTS = frozenset({DISHES, *_NEARBY})
"""Slots whose value in a user state is a list."""
SEVERAL_ITEMS = frozenset({DISHES, SERVICES})
"""Slots of a state whose value may have several items, separated by blanks."""

PRICE_SLOTS = frozenset({TICKET, COST, PRICE})
NUMBER_SLOTS = PRICE_SLOTS | {RATING}

FREE, NOT_FREE = "免费", "不免费"
"""Values of a ticket that are not numbers."""
YES = "是"
NO = "否"
NOTHING = "无"
"""The value for "there is no such thing"."""

GOAL_TYPES = {
    "S": "单领域",
    "M": "独立多领域",
    "M+T": "独立多领域+交通",
    "CM": "不独立多领域",
    "CM+T": "不独立多领域+交通",
}
"""A mapping from the paper's code of a goal type to the name in the files.

The types are, in this order: a single domain; several independent domains, without and with
traffic; several dependent domains (a hotel near the restaurant), without and with traffic.
"""
CODE_OF_GOAL_TYPE = {name: code for code, name in GOAL_TYPES.items()}
