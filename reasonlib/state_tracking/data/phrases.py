"""The wordings of the simulated dialogues: several for each thing that a user or the system says.

A user's sentence is made of parts, one a slot, and each part has wordings for a value that is said, for a
value that refers to another slot, and for no preference. The text looks as the real pre-processed files do:
small letters, punctuation apart.
"""

import random

__all__ = ["ASK", "CHATTER", "LEADS", "OPENING", "REPLY", "choose", "constraint", "reference"]

OPENING = {
    "restaurant": ("i am looking for a restaurant", "i need a place to eat", "can you find me a restaurant"),
    "hotel": (
        "i need a place to stay",
        "i am looking for a hotel",
        "can you help me find a room for the night",
    ),
    "attraction": (
        "i want to see something in town",
        "i am looking for an attraction",
        "what is there to visit",
    ),
    "train": ("i need a train", "i am looking for a train", "can you find me a train"),
    "taxi": ("i need a taxi", "i would like to book a taxi", "can you get me a taxi"),
}

_SAID: dict[str, tuple[str, ...] | dict[str, tuple[str, ...]]] = {
    "area": ("in the {}", "in the {} of town", "somewhere in the {}"),
    "pricerange": ("that is {}", "in the {} price range", "with {} prices"),
    "food": ("that serves {} food", "with {} food", "for a {} meal"),
    "stars": ("with {} stars", "rated {} stars"),
    "parking": {"yes": ("with free parking", "where i can park for free"), "no": ("without parking",)},
    "internet": {"yes": ("with free wifi", "that has internet"), "no": ("without internet",)},
    "type": ("and it should be a {}", "of the {} kind"),
    "book day": ("on {}", "for {}"),
    "book people": ("for {} people", "for a party of {}"),
    "book stay": ("for {} nights", "and we will stay {} nights"),
    "book time": ("at {}", "around {}"),
    "day": ("on {}", "travelling on {}"),
    "departure": ("from {}", "leaving from {}", "departing from {}"),
    "destination": ("to {}", "going to {}"),
    "leaveat": ("leaving after {}", "and i want to leave at {}"),
    "arriveby": ("arriving by {}", "and i have to be there by {}"),
}

_REFERRED = {
    "area": ("in the same area as the {}", "near the {}", "in the same part of town as the {}"),
    "pricerange": ("in the same price range as the {}", "that costs about as much as the {}"),
    "book day": ("on the same day as the {}", "for the same day as the {}"),
    "day": ("on the same day as the {}",),
    "book people": ("for the same group of people", "for as many people as before"),
    "departure": ("from the {}", "leaving from the {}", "picking me up at the {}"),
    "destination": ("to the {}", "back to the {}", "that takes me to the {}"),
    "arriveby": ("in time for the booking", "so that i get there by the booked time"),
}

_ANY = {
    "area": ("in any area", "in any part of town"),
    "pricerange": ("at any price", "and the price does not matter"),
    "food": ("with any kind of food", "and i do not mind the food"),
    "stars": ("with any number of stars",),
    "type": ("of any kind", "and the kind does not matter"),
}

ASK = {
    "area": ("what part of town would you like ?", "do you have an area in mind ?"),
    "pricerange": ("what price range would you like ?", "how much would you like to spend ?"),
    "food": ("what kind of food would you like ?", "do you have a cuisine in mind ?"),
    "stars": ("how many stars should it have ?",),
    "parking": ("do you need parking ?",),
    "internet": ("do you need internet ?",),
    "type": ("what kind of place are you looking for ?",),
    "book day": ("for what day shall i book it ?",),
    "book people": ("how many people will there be ?", "for how many people ?"),
    "book stay": ("how many nights will you stay ?",),
    "book time": ("at what time ?", "what time would you like ?"),
    "day": ("on what day will you travel ?",),
    "departure": ("where will you be leaving from ?", "where shall i pick you up ?"),
    "destination": ("where would you like to go ?", "what is your destination ?"),
    "leaveat": ("at what time would you like to leave ?",),
    "arriveby": ("when do you have to be there ?",),
}

REPLY = {
    "accept": ("that sounds good .", "yes , that will do .", "okay , let us take it .",
               "perfect , i will go there ."),
    "decline": ("no , do you have another one ?", "not that one . is there something else ?"),
    "first": ("the first one sounds good .", "i will take the first one .", "the former please ."),
    "second": ("the second one sounds good .", "i will take the second one .", "the latter please ."),
    "book": ("please book it", "i would like to book", "can you make a booking"),
    "take": ("yes , please book it", "that sounds good , book it", "okay , i would like to book that one"),
    "change": ("sorry , i have to change that . make it", "actually , i meant", "no wait , make it"),
    "offer": ("{0} is a nice place in the {1} . would you like it ?",
              "i recommend {0} in the {1} . how is that ?", "how about {0} ? it is in the {1} ."),
    "two": ("there are {0} and {1} . which one would you like ?",
            "i have {0} as well as {1} . what do you prefer ?"),
    "booked": ("i have booked it . your reference number is {} . is there anything else i can do for you ?",
               "booking was successful , the reference number is {} . can i help you with anything else ?"),
    "train": ("{} leaves then , and the trip takes 50 minutes . shall i book it ?",
              "there is {} . do you want seats ?"),
    "taxi": ("your taxi is booked , a {} . the contact number is {} . anything else ?",),
    "more": ("what else can i do for you ?", "is there anything else ?", "anything else today ?"),
    "bye": ("thank you , that is all .", "no , that is everything . goodbye .", "thanks for your help ."),
}  # fmt: skip

LEADS = {
    "user": ("", "", "hello , ", "hi there , ", "also , ", "next , ", "one more thing , "),
    "ask": ("", "sure , i can help you with that . ", "there are many places that match . ", "of course . "),
    "offer": ("", "i have several options for you . ", "thank you , that narrows it down a lot . "),
}

CHATTER = (
    ("what is the postcode ?", "the postcode is {} . is there anything else i can help you with today ?"),
    ("can i have the phone number please ?", "the phone number is {} . what else would you like to know ?"),
    (
        "could you tell me the address ?",
        "it is at {} mill road in the middle of town . can i help with more ?",
    ),
    ("is it far from the river ?", "no , it is a walk of {} minutes along the river path , and a nice one ."),
)


def choose(draw: random.Random, wordings: tuple[str, ...], *values: str) -> str:
    """Draw one wording and fill in its values."""
    return draw.choice(wordings).format(*values)


def constraint(draw: random.Random, slot: str, value: str) -> str:
    """Say that a slot should have a value; ``dontcare`` says that any value will do."""
    if value == "dontcare":
        return draw.choice(_ANY[slot])
    wordings = _SAID[slot]
    if isinstance(wordings, dict):
        return draw.choice(wordings[value])
    return choose(draw, wordings, value)


def reference(draw: random.Random, slot: str, domain: str) -> str:
    """Say that a slot should have the value of another domain's slot, without the value itself."""
    return choose(draw, _REFERRED[slot], domain)
