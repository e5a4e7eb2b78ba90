"""The same pages in Chromium: a script that runs is a script that runs."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from bowerbird.evaluate.web.counting import Tally
from bowerbird.evaluate.web.marking import CALL, MARK
from bowerbird.evaluate.web.stage import Stage
from bowerbird.web.security import Role

_NAMES = ("chromium", "chromium-browser", "google-chrome")
HEAR = f"window.ran = 0; window.{CALL.removesuffix('()')} = () => {{ window.ran += 1; }};"
ALIVE = f"""() => {{
  const alive = [];
  if (window.ran) alive.push(`ran ${{window.ran}} times`);
  for (const one of document.querySelectorAll("{MARK}")) alive.push("<{MARK}>");
  for (const one of document.querySelectorAll("*")) {{
    for (const each of one.getAttributeNames()) if (each.startsWith("on")) alive.push(`${{one.tagName}} ${{each}}=`);
    for (const name of ["href", "src", "action"]) {{
      const value = (one.getAttribute(name) || "").replace(/[\\u0000-\\u0020]/g, "").toLowerCase();
      if (value.startsWith("javascript:") || value.startsWith("vbscript:")) alive.push(`${{one.tagName}} ${{name}}=${{value}}`);
    }}
  }}
  return alive;
}}"""
_INJECT = f"""() => {{
  const script = document.createElement("script");
  script.textContent = "{CALL}";
  document.body.append(script);
  document.body.insertAdjacentHTML("beforeend", "<img src=x onerror={CALL}>");
  return new Promise((done) => setTimeout(() => done(window.ran), 300));
}}"""
_DRAWN_MS = 250
"""How long scripts of a page may take to draw what came after it."""


def chromium() -> str | None:
    """The browser on this machine, where it and what drives it are installed."""
    try:
        import_module("playwright.async_api")
    except ImportError:
        return None
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


async def browse(stage: Stage, tally: Tally, addresses: Sequence[str], program: str) -> None:
    """Opens every page, first without the content policy, so that what is not escaped runs; then sees that the policy holds."""
    api = import_module("playwright.async_api")
    cookies = [{"name": name, "value": value, "url": stage.base} for name, value in stage.visits[Role.ADMIN].cookies.items()]
    async with api.async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        bare = await opened.new_context(bypass_csp=True)
        await bare.add_init_script(HEAR)
        await bare.add_cookies(cookies)
        await _check_hearing(bare, tally)
        for number, address in enumerate(addresses, 1):
            tally.look("markup in Chromium", address[:120], await _alive(bare, f"{stage.base}{address}", tally))
            if number % 20 == 0:
                tally.say(f"Chromium: {number} of {len(addresses)} pages")
        strict = await opened.new_context()
        await strict.add_init_script(HEAR)
        await strict.add_cookies(cookies)
        for address in addresses[:5]:
            tally.look("script despite the policy", address[:120], await _injected(strict, f"{stage.base}{address}"))
        await opened.close()


async def _check_hearing(context: Any, tally: Tally) -> None:
    """What does not hear a script that runs would prove nothing."""
    page = await context.new_page()
    await page.goto("about:blank")
    await page.set_content(f"<img src=x onerror={CALL}><{MARK}>", wait_until="load")
    await page.wait_for_function("window.ran > 0", timeout=10_000)
    if f"<{MARK}>" not in await page.evaluate(ALIVE):
        raise RuntimeError("markup that came to life was not seen")
    await page.close()


async def _alive(context: Any, address: str, tally: Tally) -> list[str]:
    page = await context.new_page()
    try:
        # A page that is live is never done loading.
        await page.goto(address, wait_until="load", timeout=30_000)
        await page.wait_for_timeout(_DRAWN_MS)
        return list(await page.evaluate(ALIVE))
    except Exception as error:
        tally.failed.append(f"{address[:120]} in Chromium: {type(error).__name__}")
        return []
    finally:
        await page.close()


async def _injected(context: Any, address: str) -> list[str]:
    page = await context.new_page()
    await page.goto(address, wait_until="load", timeout=30_000)
    ran = await page.evaluate(_INJECT)
    await page.close()
    return [f"ran {ran} times"] if ran else []
