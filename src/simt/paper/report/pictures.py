"""Figures as parts of the page: their colours follow its theme, their names stay their own."""

import re
from collections.abc import Iterable

from simt.pages.colours import on_both

_COLOUR = re.compile(r"#[0-9a-f]{6}\b")


def inline_svg(svg: str, name: str, describes: str) -> str:
    """A picture by matplotlib for use within a page.

    Every id is prefixed with ``name``: pictures on one page must not share them. ``describes`` is
    read to those who do not see it. Each colour becomes a variable, see ``theme_colours``.
    """
    body = svg[svg.index("<svg") :].strip()
    for superfluous in (r"<!--.*?-->", r"<metadata>.*?</metadata>", r"<style.*?</style>"):
        body = re.sub(superfluous, "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r'\bxlink:href="#([^"]+)"', rf'href="#{name}-\1"', body)
    body = re.sub(r"\burl\(#([^)]+)\)", rf"url(#{name}-\1)", body)
    body = re.sub(r"\s*\n\s*", " ", body)
    body = _COLOUR.sub(lambda found: f"var({_variable(found[0])})", body)
    (view,) = re.findall(r'viewBox="[^"]+"', body)
    label = describes.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return re.sub(r"<svg[^>]*>", f'<svg {view} role="img" aria-label="{label}">', body, count=1)


def theme_colours(pictures: Iterable[str]) -> str:
    """The declarations of all colours that pictures ask for: one in the light, one in the dark."""
    names = sorted(
        {name for one in pictures for name in re.findall(r"var\((--c[0-9a-f]{6})\)", one)}
    )
    return " ".join(f"{name}: {on_both(name.replace('--c', '#'))};" for name in names)


def _variable(colour: str) -> str:
    return f"--c{colour[1:]}"
