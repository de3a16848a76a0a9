"""Excerpts of the library beside its equations: see reasonlib/display/excerpts.py for the markers."""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective


class ShowExcerpt(SphinxDirective):
    """Marked lines of a file of the library: ``{excerpt} nn/memory.py read``, or several names by commas."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Cut them out; again when the file changes."""
        from reasonlib.display import excerpts, show
        from reasonlib.errors import UserError

        file, _, names = self.arguments[0].partition(" ")
        try:
            cuts = [excerpts.find(file, name.strip()) for name in names.split(",")]
        except UserError as error:
            raise self.error(str(error)) from None
        self.env.note_dependency(str(Path(self.config.reasonlib_repository, cuts[0].file)))
        code = "\n\n\n".join(cut.code for cut in cuts)
        block = nodes.literal_block(code, code, language="python", classes=["rr-code"])
        return [nodes.container("", self.heading(cuts, show.repository()), block, classes=["rr-excerpt"])]

    def heading(self, cuts, address) -> nodes.paragraph:
        """Name the file, and link to the whole of it: its page in this site, or the repository on paper."""
        file, lines = cuts[0].file, (cuts[0].lines[0], cuts[0].lines[1])
        if self.env.app.builder.name == "html":
            up = "../" * self.env.docname.count("/")
            target = f"{up}_modules/{file.removesuffix('.py').removesuffix('/__init__')}.html"
        else:
            target = f"{address}/blob/main/{file}#L{lines[0]}-L{lines[1]}"
        line = nodes.paragraph(classes=["rr-file"])
        line += nodes.reference("", "", nodes.literal(text=file), refuri=target)
        line += nodes.Text(f", {_lines(cuts)}")
        return line


def _lines(cuts) -> str:
    """Name the lines of each cut, in the order shown: ``lines 3 to 5 and 9``."""
    spans = (cut.lines for cut in cuts)
    *before, last = [str(first) if first == end else f"{first} to {end}" for first, end in spans]
    if not before:
        return f"{'line' if last.isdigit() else 'lines'} {last}"
    return f"lines {', '.join(before)} and {last}"


def setup(app):
    """Register the directive."""
    app.add_directive("excerpt", ShowExcerpt)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
