"""A real headless Chromium for the tests of pages."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from support import missing

_CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
_DRIVER = shutil.which("chromedriver")
# What a test of a page needs and is not installed; empty where all is.
LACKING = missing("selenium", "axe_core_python") or (
    "" if _CHROMIUM and _DRIVER else "chromium and chromedriver"
)


class Browser:
    """A browser, what its pages asked for, and what axe-core finds in them."""

    def __init__(self, folder: Path) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service

        options = webdriver.ChromeOptions()
        options.binary_location = _CHROMIUM or ""
        options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
        arguments = ["--headless=new", "--disable-dev-shm-usage", f"--user-data-dir={folder}"]
        arguments += ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        for argument in arguments:
            options.add_argument(argument)
        self.driver = webdriver.Chrome(options=options, service=Service(_DRIVER))
        self.driver.set_script_timeout(120)

    def run(self, script: str, *arguments: object) -> Any:
        """Run a script in the page; return what it gives."""
        return self.driver.execute_script(script, *arguments)

    def set_width(self, width: int) -> None:
        """Show pages as wide as a screen, or a telephone."""
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def requests(self) -> list[str]:
        """Every address that pages asked for since the last look; the browser's own first page is left out."""
        driver: Any = self.driver  # its log has no types
        events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
            and not event["params"]["documentURL"].startswith("chrome")
        ]

    def violations(self, inside: str = "html") -> list[tuple[str, list[str]]]:
        """What axe-core finds."""
        import axe_core_python

        self.run((Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
        found = self.driver.execute_async_script("axe.run(arguments[0]).then(arguments[1])", inside)
        assert len(found["passes"]) > 10
        return [
            (item["id"], [node["html"] for node in item["nodes"]][:3]) for item in found["violations"]
        ]
