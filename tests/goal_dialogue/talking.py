"""A live figure with a field for the user's next line."""

from browsing import Opened


class Talking(Opened):
    """A page with such a figure."""

    @property
    def field(self):
        return self.figure.get_by_role("textbox", name="You say")

    def say(self, *lines):
        """Type each line and send it."""
        for line in lines:
            self.field.fill(line)
            self.go_on()

    def go_on(self, times=1):
        """Send the line that the figure offers."""
        for _ in range(times):
            self.field.press("Enter")
