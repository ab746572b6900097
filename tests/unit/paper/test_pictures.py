"""Figures within the page: colours for light and dark, and names of their own."""

import re

import pytest

from simt.pages.colours import DARK_CARD, contrast, on_dark
from simt.paper.report.pictures import inline_svg, theme_colours
from simt.systems import _NAMES

SVG = """<?xml version="1.0"?>
<!DOCTYPE svg>
<svg xmlns:xlink="http://www.w3.org/1999/xlink" width="9pt" height="5pt" viewBox="0 0 9 5">
 <metadata>when</metadata>
 <defs><style type="text/css">*{stroke-linejoin: round}</style></defs>
 <!-- label -->
 <path id="a" style="fill: #ffffff; stroke: #d55e00" clip-path="url(#p)"/>
 <use xlink:href="#a"/>
</svg>
"""


def test_contrast_is_that_of_the_web_guidelines() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # as WebAIM has it


def test_paper_becomes_the_card_and_ink_becomes_white() -> None:
    assert on_dark("#ffffff") == DARK_CARD
    assert on_dark("#000000") == "#ffffff"


@pytest.mark.parametrize("colour", sorted({name.colour for name in _NAMES.values()}))
def test_every_system_can_be_told_from_the_dark_card(colour: str) -> None:
    assert contrast(on_dark(colour), DARK_CARD) >= 3  # WCAG 2.1, graphical objects


def test_rules_stay_faint_and_tints_stay_tints() -> None:
    for colour in ("#e4e4e4", "#c6ddf0"):
        ours, theirs = contrast(on_dark(colour), DARK_CARD), contrast(colour, "#ffffff")
        assert ours == pytest.approx(theirs, abs=0.1)


def test_darker_one_of_two_dark_colours_becomes_the_lighter_one() -> None:
    assert contrast(on_dark("#3a0b26"), DARK_CARD) > contrast(on_dark("#882255"), DARK_CARD)


def test_picture_has_names_of_its_own_and_colours_of_the_theme() -> None:
    picture = inline_svg(SVG, "fig03", 'BLEU & "AL" <b>')
    assert picture.startswith('<svg viewBox="0 0 9 5" role="img" aria-label="BLEU &amp; &quot;AL')
    assert re.findall(r'(?:id|href)="([^"]+)"', picture) == ["fig03-a", "#fig03-a"]
    assert "url(#fig03-p)" in picture
    assert "fill: var(--cffffff); stroke: var(--cd55e00)" in picture
    for left_out in ("label -->", "when", "stroke-linejoin", "<?xml", "DOCTYPE", "<b>"):
        assert left_out not in picture


def test_each_colour_is_declared_once() -> None:
    picture = inline_svg(SVG, "fig03", "")
    assert theme_colours([picture, picture]) == (
        "--cd55e00: light-dark(#d55e00, #d55e00); --cffffff: light-dark(#ffffff, #1d2026);"
    )
