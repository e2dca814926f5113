"""Findings of the simulated device, test by test: `tensor-core-ladder-sim --check python3 -m pytest`.

What is found while a test runs belongs to that test, whose failure shows it. A test that is to find something says so:

    @pytest.mark.sim_finding("write after read")

names a rule, a habit, or a kind (race, deadlock, fault). It then fails if nothing of the kind is found. Without the
simulated device, the plugin does nothing. Processes that a test starts are part of it; so are the workers of
pytest-xdist.
"""
from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Generator
from typing import Any, Optional

import pytest

REPORTS, TEST, EXIT_CODE = "LADDER_SIM_REPORTS", "LADDER_SIM_TEST", "LADDER_SIM_ERROR_EXITCODE"
TITLE = "simulated device"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "sim_finding(rule): the simulated device finds this in the test")
    if "libsim_loader.so" not in os.environ.get("LD_AUDIT", ""):
        return
    if os.environ.get(REPORTS) == "-":
        raise pytest.UsageError("--reports -: pytest's plugin has to read the records: name a file.")
    if REPORTS not in os.environ:
        number, os.environ[REPORTS] = tempfile.mkstemp(prefix="ladder-sim-", suffix=".jsonl")
        os.close(number)
        config.add_cleanup(lambda: os.unlink(os.environ.pop(REPORTS)))
    os.environ.setdefault(EXIT_CODE, "0")  # it is pytest's, which knows what was expected
    config.pluginmanager.register(Findings(os.environ[REPORTS]), "ladder-sim-findings")


class Findings:
    """The records of one process of pytest. The device reads the name of the test whenever it finds something."""

    def __init__(self, file: str) -> None:
        self.file, self.at = file, os.path.getsize(file)
        self.found: list[dict[str, Any]] = []  # in the running test
        self.outside: list[dict[str, Any]] = []

    def read(self, test: Optional[str] = None) -> list[dict[str, Any]]:
        """What has been found of a test since the last call. What belongs to no test goes to `outside`."""
        with open(self.file, encoding="utf-8") as file:
            file.seek(self.at)
            records = [json.loads(line) for line in file]
            self.at = file.tell()
        found = [each for each in records if each["record"] == "finding"]
        self.outside += [each for each in found if "test" not in each]
        return [each for each in found if each.get("test") == test]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self.read()
        os.environ[TEST], self.found = item.nodeid, []
        try:
            return (yield)
        finally:
            del os.environ[TEST]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]
                                  ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        fresh = self.read(item.nodeid)
        self.found += fresh
        expected = {mark.args[0] for mark in item.iter_markers("sim_finding")}
        errors = [each for each in fresh if not each["tolerated"] and not expected & titles(each)]
        text = "\n".join(each["text"] for each in errors)
        if call.when == "call":
            known = {title for each in self.found for title in titles(each)}
            text += "".join(f"The simulated device has not found what the test expects: {rule}.\n"
                            for rule in sorted(expected - known))
        if text and report.outcome == "passed":
            report.outcome, report.longrepr = "failed", text
        elif text:
            report.sections.append((TITLE, text))
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.read()
        if any(not each["tolerated"] for each in self.outside) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.outside:
            terminalreporter.section(f"{TITLE}, outside of tests")
            terminalreporter.write_line("\n".join(each["text"] for each in self.outside))


def titles(finding: dict[str, Any]) -> set[str]:
    return {finding["rule"], finding["kind"]}
