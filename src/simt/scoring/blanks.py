"""Whether text is of a language that puts no blanks between words."""

import re

EAST_ASIAN = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # kana, Han, hangul
SOUTH_EAST_ASIAN = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
_MOST_BLANKS = 0.1  # of all characters; Korean and text that was cut into words have more


def is_without_blanks(text: str, scripts: str) -> bool:
    """Whether most of the text is in these scripts, and hardly any of it is blanks."""
    visible = "".join(text.split())
    has_blanks = len(text) - len(visible) > _MOST_BLANKS * len(text)
    return not has_blanks and 2 * len(re.findall(f"[{scripts}]", visible)) > len(visible)
