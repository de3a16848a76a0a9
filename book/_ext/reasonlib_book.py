"""What the book adds to Sphinx."""


def fix_page(app, pagename, templatename, context, doctree):
    """Drop scripts that reach for the network; point the Colab button at the notebook made from the page."""
    seen, keep = set(), []
    for script in context.get("script_files", []):
        body = (getattr(script, "attributes", None) or {}).get("body")
        key = body or str(getattr(script, "filename", script))
        if key in seen or "THEBE_JS_URL" in key or "sphinx-thebe" in key:
            continue
        seen.add(key)
        keep.append(script)
    context["script_files"] = keep
    for group in context.get("header_buttons", []):
        for button in group.get("buttons", []):
            if button.get("text") == "Colab":
                button["url"] = app.config.colab_root + pagename.removeprefix("book/") + ".ipynb"


def setup(app):
    app.add_config_value("colab_root", "", "html")
    app.add_config_value("reasonlib_repository", "", "env")
    app.connect("html-page-context", fix_page, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
