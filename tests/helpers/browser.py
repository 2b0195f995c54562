"""A headless chromium that looks at pages, for tests that are marked `browser`, and for the pictures of the docs."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

Found = TypeVar("Found")
DESKTOP, PHONE = (1280, 860), (390, 844)
OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--no-first-run",
    "--hide-scrollbars",
)


def programs() -> tuple[str, str] | None:
    """Chromium and its driver, or None if one of them is missing."""
    places = (
        "chromium",
        "chromium-browser",
        "google-chrome",
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    )
    chromium = next(filter(None, map(shutil.which, places)), None)
    driver = shutil.which("chromedriver")
    return None if chromium is None or driver is None else (chromium, driver)


@contextmanager
def browser(size: tuple[int, int] = DESKTOP, dark: bool = False) -> Iterator[Any]:
    """A fresh browser that notes every request and every message on the console."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    found = programs()
    assert found is not None, "expected chromium and chromedriver, got none: apt-get install chromium chromium-driver"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        options = Options()
        options.binary_location = found[0]
        for word in (*OPTIONS, f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(options, Service(found[1]))
        try:
            features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
            metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            requests(driver), complaints(driver)  # those of the empty page
            yield driver
        finally:
            driver.quit()


def requests(driver: Any) -> list[str]:
    """The addresses that the browser has asked for since the last call."""
    events = (json.loads(entry["message"])["message"] for entry in driver.get_log("performance"))
    kinds = {"Network.requestWillBeSent": ("request", "url"), "Network.webSocketCreated": ("url",)}
    found = []
    for event in events:
        value = event["params"]
        for key in kinds.get(event["method"], ()):
            value = value[key]
        if event["method"] in kinds and not str(value).startswith(("data:", "blob:", "about:", "chrome:")):
            found.append(str(value))
    return found


def complaints(driver: Any) -> list[str]:
    """Errors on the console since the last call."""
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


def wait_for(look: Callable[[], Found], seconds: float = 40) -> Found:
    """What `look` finds, as soon as it finds anything; an AssertionError after a while."""
    end = time.monotonic() + seconds
    while True:
        found = look()
        if found or time.monotonic() > end:
            assert found, f"expected something within {seconds} seconds, got {found!r}"
            return found
        time.sleep(0.2)


def said(driver: Any, kind: str) -> str:
    """What the live page says in its part of this kind, or nothing."""
    text: str = driver.execute_script(
        "const found = document.querySelector(`[data-said='${arguments[0]}']`); return found ? found.innerText : ''",
        kind,
    )
    return text


def button(driver: Any, text: str) -> Any:
    """The button with this text, scrolled into view."""
    found = wait_for(lambda: [one for one in driver.find_elements("tag name", "button") if one.text == text])[0]
    driver.execute_script("arguments[0].scrollIntoView()", found)
    return found


def click_canvas(driver: Any, x: int, y: int) -> None:
    """Click the scene, in pixels from its middle."""
    from selenium.webdriver.common.action_chains import ActionChains

    canvas = driver.find_element("css selector", "canvas")
    ActionChains(driver).move_to_element_with_offset(canvas, x, y).click().perform()


def watch_frames(driver: Any) -> None:
    """Count, on all pages to come, the points that WebGL draws in every frame; call it before opening a page."""
    script = """
        window.seenFrames = []; let points = 0
        for (const kind of ['drawArrays', 'drawArraysInstanced', 'drawElements']) {
            const draw = WebGL2RenderingContext.prototype[kind]
            WebGL2RenderingContext.prototype[kind] = function(mode, ...rest) {
                if (mode === this.POINTS) points += kind === 'drawElements' ? rest[0] : rest[1]
                return draw.call(this, mode, ...rest)
            }
        }
        const tick = now => {
            if (points) window.seenFrames.push([now, points])
            points = 0
            requestAnimationFrame(tick)
        }
        requestAnimationFrame(tick)
    """
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})


def frames(driver: Any) -> list[tuple[float, int]]:
    """The frames with points since the last call: the moment in milliseconds, and how many points."""
    seen = driver.execute_script("return window.seenFrames.splice(0)")
    return [(float(moment), int(points)) for moment, points in seen]


def drag(driver: Any, seconds: float) -> None:
    """Turn the scene with the mouse for a while."""
    end, step = time.monotonic() + seconds, 0
    mouse = {"button": "left", "buttons": 1, "clickCount": 1}
    driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mousePressed", "x": 400, "y": 400, **mouse})
    while time.monotonic() < end:
        step += 1
        place = {"x": 400 + 150 * (step % 40 - 20) / 20, "y": 400 + step % 7}
        driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", **place, **mouse})
        time.sleep(0.03)
    driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseReleased", "x": 400, "y": 400, **mouse})


def upload(driver: Any, path: Path) -> None:
    """Give the page a file."""
    driver.find_element("css selector", "input[type=file]").send_keys(str(path))


def picture(driver: Any, path: Path) -> Path:
    """Take a picture of what the browser shows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    driver.save_screenshot(str(path))
    return path
