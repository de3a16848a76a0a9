"""The pages in a real browser: phone and desktop width, light and dark, network cut."""

import pytest

pytestmark = [pytest.mark.site, pytest.mark.browser]

SIZES = {"desktop": {"width": 1280, "height": 800}, "phone": {"width": 390, "height": 844}}
KNOWN = (  # of the theme, harmless
    "Got invalid theme mode: . Resetting to auto.",
)


class Opened:
    """One page in a fresh window, with everything it complained about or asked the network for."""

    def __init__(self, browser, url, *, size="desktop", scheme="light", scripts=True, here=()):
        self.context = browser.new_context(
            viewport=SIZES[size], color_scheme=scheme, java_script_enabled=scripts
        )
        self.page = self.context.new_page()
        self.outside, self.errors = [], []
        allowed = ("file:", "data:", "blob:", "about:", *here)

        def guard(route):
            if route.request.url.startswith(allowed):
                route.continue_()
            else:
                self.outside.append(route.request.url)
                route.abort()

        self.page.route("**/*", guard)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        self.page.goto(url)
        self.page.wait_for_load_state("load")
        if scripts and self.page.locator(".math").count():
            self.page.wait_for_function("() => window.MathJax?.startup?.promise !== undefined")
            self.page.evaluate("() => MathJax.startup.promise.then(() => new Promise(requestAnimationFrame))")

    def settle(self):
        """Let every running transition end: colours on their way are neither the old ones nor the new."""
        self.page.add_style_tag(content="*, *::before, *::after { transition: none !important }")
        self.page.evaluate(
            "() => Promise.allSettled(document.getAnimations()"
            ".filter(each => each.effect.getComputedTiming().endTime < Infinity).map(each => each.finished))"
        )

    def complaints(self):
        return [text for text in self.errors if text not in KNOWN]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()


@pytest.fixture(params=["light", "dark"])
def scheme(request):
    return request.param


@pytest.mark.parametrize("size", SIZES)
def test_a_page_opens_from_disk_without_the_network(browser, site, page_name, size, scheme):
    with Opened(browser, (site / page_name).as_uri(), size=size, scheme=scheme) as opened:
        assert opened.outside == []
        assert opened.complaints() == []
        page = opened.page
        bare = page.evaluate(
            "() => [...document.querySelectorAll('.math')].filter(e => !e.querySelector('mjx-container svg'))"
            ".map(e => e.textContent)"
        )
        assert bare == [], "mathematics that was not typeset"
        assert page.locator("mjx-merror").count() == 0
        wide = page.evaluate(
            "() => document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth"
        )
        assert wide <= 0, f"the page is {wide} pixels wider than the window"
        broken = page.evaluate(
            "() => [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
        )
        assert broken == []


def test_no_serious_finding_of_axe(browser, site, page_name, scheme):
    from axe_playwright_python.sync_playwright import Axe

    with Opened(browser, (site / page_name).as_uri(), scheme=scheme) as opened:
        opened.settle()
        found = Axe().run(opened.page).response["violations"]
    grave = [
        (
            each["id"],
            [node["target"] for node in each["nodes"]][:3],
            each["nodes"][0].get("failureSummary", "")[:300],
        )
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
    assert grave == []


def test_the_address_of_the_site_leads_to_the_first_page(browser, site):
    with Opened(browser, (site / "index.html").as_uri()) as opened:
        opened.page.wait_for_url("**/book/intro.html")


def test_a_page_reads_without_scripts(browser, site):
    from chapters import chapters

    for chapter in chapters():
        with Opened(browser, (site / f"{chapter.name}.html").as_uri(), scripts=False) as opened:
            assert opened.page.locator("article h1").is_visible()
            assert len(opened.page.locator("article").inner_text()) > 300


def test_search_finds_a_chapter(browser, site, served):
    from chapters import chapters

    chapter = chapters()[0]
    for root in (served, site.as_uri() + "/"):
        with Opened(browser, f"{root}search.html?q=memory", here=(served,)) as opened:
            opened.page.locator(f"#search-results a[href*='{chapter.short}']").first.wait_for(timeout=10_000)
            assert opened.outside == []


def test_the_theme_button_changes_the_page(browser, site):
    with Opened(browser, (site / "book/intro.html").as_uri()) as opened:
        seen = set()
        for _ in range(3):
            seen.add(opened.page.evaluate("() => document.documentElement.dataset.theme"))
            opened.page.locator("button.theme-switch-button").locator("visible=true").first.click()
        assert seen == {"light", "dark"}


def test_the_scoreboard_filters_and_sorts(browser, site):
    with Opened(browser, (site / "book/scoreboard.html").as_uri()) as opened:
        page = opened.page
        rows = page.locator("[data-rr-board] tbody tr")
        total = rows.count()
        if not total:
            pytest.skip("no claim has been entered")
        verdict = rows.first.get_attribute("data-verdict")
        page.locator("select[name=verdict]").select_option(verdict)
        shown = page.locator("[data-rr-board] tbody tr:visible")
        assert 0 < shown.count() <= total
        assert {row.get_attribute("data-verdict") for row in shown.all()} == {verdict}
        page.get_by_role("button", name="Show all").click()
        page.locator("input[name=words]").fill("no claim says this")
        assert shown.count() == 0
        page.get_by_role("button", name="Show all").click()
        page.get_by_role("button", name="Published").click()
        script = "rows => rows.map(r => [...r.cells].find(c => c.dataset.label === 'Published').dataset.sort)"
        order = [
            float(value) for value in page.eval_on_selector_all("[data-rr-board] tbody tr", script) if value
        ]
        assert order == sorted(order)
        links = page.eval_on_selector_all(
            "[data-rr-board] tbody a", "found => found.map(a => a.getAttribute('href'))"
        )
        assert len(links) == total
