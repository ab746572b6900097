"""Colours for light and dark pages: what is made for white paper can be told from a dark card."""

from colorsys import hls_to_rgb, rgb_to_hls

DARK_CARD = "#1d2026"  # a card on a dark page, as base.css has it
_TINT = 1.8  # a colour with less contrast than this on white is a background
_LEGIBLE = 4.0  # the least contrast of everything else on the dark card


def on_both(colour: str) -> str:
    """A colour in the words of CSS, for light and dark pages."""
    return f"light-dark({colour}, {on_dark(colour)})"


def on_dark(colour: str) -> str:
    """The same hue for the dark card.

    Greys and tints keep the contrast that they have with white paper, so that white becomes the
    card and black becomes white. Other colours stay if they can be told from the card; of those
    that cannot, the darker one becomes the lighter one.
    """
    hue, _, saturation = rgb_to_hls(*_channels(colour))
    on_paper = contrast(colour, "#ffffff")
    if saturation < 0.05 or on_paper < _TINT:
        return _with_contrast(hue, saturation, on_paper)
    if contrast(colour, DARK_CARD) >= _LEGIBLE:
        return colour
    return _with_contrast(hue, saturation, max(_LEGIBLE, on_paper / 2))


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours (WCAG 2): from 1 to 21."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _with_contrast(hue: float, saturation: float, wanted: float) -> str:
    """The darkest colour of a hue that has some contrast with the card; white if none has."""
    if wanted <= 1.0:
        return DARK_CARD
    for step in range(256):
        colour = _hex(hls_to_rgb(hue, step / 255, saturation))
        is_lighter = _luminance(colour) > _luminance(DARK_CARD)
        if is_lighter and contrast(colour, DARK_CARD) >= wanted:
            return colour
    return "#ffffff"


def _luminance(colour: str) -> float:
    linear = [
        one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4
        for one in _channels(colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _channels(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return red, green, blue


def _hex(channels: tuple[float, float, float]) -> str:
    return "#" + "".join(f"{round(255 * one):02x}" for one in channels)
