"""What a system asks before it books a table, in the order in which it asks."""

__all__ = ["CUISINE", "LOOK", "NUMBER", "PLACE", "PRICE", "QUESTIONS"]

CUISINE, PLACE, NUMBER, PRICE, LOOK = (
    "any preference on a type of cuisine",
    "where should it be",
    "how many people would be in your party",
    "which price range are looking for",
    "ok let me look into some options for you",
)
QUESTIONS = {"cuisine": CUISINE, "location": PLACE, "number": NUMBER, "price": PRICE}
