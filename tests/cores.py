"""The core-seconds that tests take, by topic: what they and the programs that they start compute.

``pytest --cores`` prints them. Seconds on the clock say little while a machine does other work.
"""

import os
import resource
from collections import Counter
from pathlib import Path

import pytest

TICKS = os.sysconf("SC_CLK_TCK")


def pytest_addoption(parser):
    parser.addoption("--cores", action="store_true", help="core-seconds of the tests, by topic")


def pytest_configure(config):
    if config.getoption("--cores"):
        config.pluginmanager.register(Cores(), "core-seconds")


class Cores:
    """Core-seconds of every test, kept in its last report, and their table."""

    def __init__(self):
        self.before = used()
        self.seconds, self.tests = Counter(), Counter()

    def pytest_collection_finish(self):
        self.before = used()  # what collecting took is no test's

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.when == "teardown":
            now = used()
            report.core_seconds, self.before = max(0.0, now - self.before), now
        return report

    def pytest_runtest_logreport(self, report):
        if hasattr(report, "core_seconds"):
            self.seconds[topic_of(report.nodeid)] += report.core_seconds
            self.tests[topic_of(report.nodeid)] += 1

    def pytest_terminal_summary(self, terminalreporter):
        terminalreporter.section("core-seconds")
        for topic, seconds in self.seconds.most_common():
            terminalreporter.write_line(f"{seconds:8.1f}  {topic} ({self.tests[topic]} tests)")
        terminalreporter.write_line(f"{self.seconds.total():8.1f}  in all")


def topic_of(nodeid: str) -> str:
    """Return the folder of a test; of one that looks at a page of a topic, that topic.

    >>> topic_of("tests/nn/test_memory.py::test_reading")
    'nn'
    >>> topic_of("tests/site/test_pages.py::test_links[book/story_qa/memory.html]")
    'site, story_qa'
    """
    folder = nodeid.split("::")[0].removeprefix("tests/").rpartition("/")[0].split("/")[0] or "the rest"
    page = nodeid.partition("[")[2].removeprefix("book/").split("/")
    return f"{folder}, {page[0]}" if folder == "site" and len(page) > 1 else folder


def used() -> float:
    """Core-seconds of this process, of those it has waited for, and of those that it has running."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in times) + sum(map(running, children("self")))


def running(process: str) -> float:
    """Core-seconds of a process and of all below it."""
    try:
        fields = Path("/proc", process, "stat").read_text().rpartition(")")[2].split()
    except OSError:  # it has ended, or this system has no such files
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS + sum(map(running, children(process)))


def children(process: str) -> list[str]:
    """Return the processes that the threads of a process started."""
    processes: list[str] = []
    try:
        for thread in Path("/proc", process, "task").iterdir():
            processes += (thread / "children").read_text().split()
    except OSError:
        pass
    return processes
