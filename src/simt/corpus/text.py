"""Raw text to words and back, for one side of a pair.

clean -> respell -> normalise -> split into words; ``detokenise`` puts words back together.

The Moses rules are those of sacremoses, applied only where the character they look for is in
the sentence: same words (a test compares them on real text), several times faster. Entities are
never escaped: with ``&apos;`` in the text, BLEU counts three tokens for one apostrophe.
sacremoses and jieba are imported when first used, because each takes half a second.
"""

import re
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, Literal

from simt.pairs import TextSettings

TokeniserName = Literal["moses", "jieba", "blanks"]
RomanianDiacritics = Literal["keep", "comma", "none"]

_COMMA_BELOW = str.maketrans("şţŞŢ", "șțȘȚ")
_NO_DIACRITICS = str.maketrans("ăâîșțşţĂÂÎȘȚŞŢ", "aaiststAAISTST")
_INVISIBLE = frozenset({"Cc", "Cf", "Cs"})  # control, format (soft hyphen, ...), half characters


class Tokeniser:
    """What the text of one side looks like to the model, and how to get back from there."""

    def __init__(
        self,
        name: TokeniserName,
        language: str,
        normalise_punctuation: bool,
        romanian_diacritics: RomanianDiacritics,
    ) -> None:
        self.name = name
        self.language = language
        self._normalises = normalise_punctuation
        self._diacritics = _diacritics_table(language, romanian_diacritics)
        self._split: Callable[[str], list[str]] | None = None

    @property
    def has_blanks(self) -> bool:
        """Whether words stand between blanks; else a word is what the tokeniser makes."""
        return self.name != "jieba"

    def respell(self, raw: str) -> str:
        """The text as people should read and score it: clean, with the chosen diacritics.

        References get this too: a hypothesis with ș could never match a ş that looks the same.
        """
        text = clean(raw)
        return text.translate(self._diacritics) if self._diacritics else text

    def normalise(self, raw: str) -> str:
        """The respelled text, with plain punctuation where the settings ask for it."""
        text = self.respell(raw)
        return normalise_punctuation(text, self.language) if self._normalises else text

    def tokenise(self, raw: str) -> list[str]:
        """The words of a raw sentence; none of them is empty or holds a blank."""
        if self._split is None:
            self._split = _splitter(self.name, self.language)
        return self._split(self.normalise(raw))

    def respell_word(self, word: str) -> str:
        """The word as training text writes it, and always one word.

        For text whose words are counted elsewhere (gold alignments), where a word must neither
        vanish nor become two.
        """
        normal = self.normalise(word)
        if normal and " " not in normal:
            return normal
        return self.respell(word).replace(" ", "") or "\N{REPLACEMENT CHARACTER}"

    def detokenise(self, words: Sequence[str]) -> str:
        """The sentence that the words were cut from, as far as that can be known."""
        if self.name == "blanks":
            return " ".join(words)
        if self.name == "jieba":
            return join_chinese(words)
        return join_words(words, self.language)


def source_tokeniser(settings: TextSettings, language: str) -> Tokeniser:
    """The tokeniser of the source side."""
    return _tokeniser(settings.source_tokeniser, settings, language)


def target_tokeniser(settings: TextSettings, language: str) -> Tokeniser:
    """The tokeniser of the target side; its ``detokenise`` makes hypotheses fit for scoring."""
    return _tokeniser(settings.target_tokeniser, settings, language)


def _tokeniser(name: TokeniserName, settings: TextSettings, language: str) -> Tokeniser:
    return Tokeniser(name, language, settings.normalise_punctuation, settings.romanian_diacritics)


def _diacritics_table(language: str, choice: RomanianDiacritics) -> dict[int, int] | None:
    if language != "ro" or choice == "keep":
        return None
    return _COMMA_BELOW if choice == "comma" else _NO_DIACRITICS


def _splitter(name: TokeniserName, language: str) -> Callable[[str], list[str]]:
    if name == "blanks":
        return str.split
    return MosesWords(language) if name == "moses" else JiebaWords()


# --- clean and normalise ---------------------------------------------------------------------


def clean(text: str) -> str:
    """The text in composed characters (NFC), with single blanks and nothing invisible.

    NFC because the Moses rules do not count combining accents as letters: in decomposed
    Vietnamese they would cut every accent off its vowel, and ă written in two ways would be two
    pieces. Not NFKC: that also rewrites ½, ² and full-width punctuation, which mean something.
    """
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    text = " ".join(unicodedata.normalize("NFC", text).split())
    if text.isprintable():
        return text
    visible = "".join(c for c in text if unicodedata.category(c) not in _INVISIBLE)
    # What was between two invisible characters may now stand at an end or side by side.
    return " ".join(unicodedata.normalize("NFC", visible).split())


_PLAIN_PUNCTUATION = str.maketrans(
    {
        **dict.fromkeys("„“”«»", '"'),
        **dict.fromkeys("´‘‚’", "'"),
        "–": "-",
        "—": " - ",
        "…": "...",
    }
)
_FANCY_PUNCTUATION = re.compile("[„“”«»´‘‚’–—…]")
_PERCENT = re.compile(r"(\d) %")
_AFTER_BRACKET = re.compile(r"\) ([.!:?;,])")
_ENGLISH_QUOTE = re.compile(r'"([,.]+)')
_GERMAN_QUOTE = re.compile(r'(\.+)"(\s*[^<])')


def normalise_punctuation(text: str, language: str) -> str:
    """The cleaned text with ASCII quotes, dashes and dots, as Moses normalises punctuation.

    One rule is left out on purpose: Moses glues digits around a no-break blank with a comma
    (German) or a point, which makes ten of 10 000. Here that blank is a blank like any other.
    """
    text = _normalise_blanks(text)
    if "`" in text:
        text = text.replace("`", "'")
    if "''" in text:
        text = text.replace("''", ' " ')
    if not text.isascii() and _FANCY_PUNCTUATION.search(text):
        text = text.translate(_PLAIN_PUNCTUATION)
    text = " ".join(text.split())
    if '"' in text or "''" in text:
        text = _normalise_quotes(text.replace("''", '"'), language)
    return text.strip()


def _normalise_blanks(text: str) -> str:
    """Blanks outside of brackets, none before a percent sign, colon or semicolon."""
    if "(" in text or ")" in text:
        text = " ".join(text.replace("(", " (").replace(")", ") ").split())
        text = _AFTER_BRACKET.sub(r")\1", text).replace("( ", "(").replace(" )", ")")
    if " %" in text:
        text = _PERCENT.sub(r"\1%", text)
    return text.replace(" :", ":").replace(" ;", ";")


def _normalise_quotes(text: str, language: str) -> str:
    """A closing quote after the comma or full stop in English, before it in German."""
    if language == "en":
        return _ENGLISH_QUOTE.sub(r'\1"', text)
    if language in ("de", "es", "fr"):
        return _GERMAN_QUOTE.sub(r'"\1\2', text.replace(',"', '",'))
    return text


# --- words -----------------------------------------------------------------------------------

_DOTS = re.compile(r"\.{2,}")
_DOT_IN_RUN = "\0"  # cannot be in cleaned text


class MosesWords:
    """Cuts cleaned text into words by the Moses rules of a language."""

    def __init__(self, language: str) -> None:
        from sacremoses import MosesTokenizer

        rules = MosesTokenizer(lang=language)
        self._special = re.compile(rules.PAD_NOT_ISALNUM[0])
        self._commas = _compiled(
            [rules.COMMA_SEPARATE_1, rules.COMMA_SEPARATE_2, rules.COMMA_SEPARATE_3]
        )
        self._apostrophes = _compiled(_apostrophe_rules(rules, language))
        self._alphabetic = frozenset(rules.IsAlpha)
        self._lower = frozenset(rules.IsLower)
        self._before_number = frozenset(rules.NUMERIC_ONLY_PREFIXES)
        self._abbreviations = frozenset(rules.NONBREAKING_PREFIXES) - self._before_number

    def __call__(self, text: str) -> list[str]:
        """The words of one cleaned sentence."""
        text = self._special.sub(_between_blanks, text.strip())
        if ".." in text:
            text = _DOTS.sub(lambda run: f" {_DOT_IN_RUN * len(run[0])} ", text)
        if "," in text:
            text = _apply(self._commas, text)
        if "'" in text:
            text = _apply(self._apostrophes, text)
        words = self._split_full_stops(text.split())
        if words and words[-1].endswith(".'"):
            words[-1:] = f"{words[-1][:-2]} . '".split()
        if _DOT_IN_RUN in text:
            words = [word.replace(_DOT_IN_RUN, ".") for word in words]
        return words

    def _split_full_stops(self, tokens: list[str]) -> list[str]:
        """The tokens with a full stop as its own word, except after abbreviations."""
        stops = [i for i, token in enumerate(tokens) if token[-1] == "." and len(token) > 1]
        for i in reversed(stops):
            following = tokens[i + 1] if i + 1 < len(tokens) else ""
            if not self._keeps_stop(tokens[i][:-1], following):
                tokens[i : i + 1] = tokens[i][:-1], "."
        return tokens

    def _keeps_stop(self, prefix: str, following: str) -> bool:
        """Whether the full stop after the prefix belongs to it: U.S. or Dr. or No. 5."""
        if "." in prefix and not self._alphabetic.isdisjoint(prefix):
            return True
        if prefix in self._abbreviations or following[:1] in self._lower:
            return True
        return prefix in self._before_number and following[:1] in tuple("0123456789")


def _between_blanks(match: re.Match[str]) -> str:
    return f" {match[0]} "


_Replacement = Callable[[re.Match[str]], str]
_Rule = tuple[re.Pattern[str], _Replacement]


def _compiled(rules: Sequence[tuple[str | re.Pattern[str], str]]) -> list[_Rule]:
    return [(re.compile(pattern), _replacement(template)) for pattern, template in rules]


def _replacement(template: str) -> _Replacement:
    r"""A function that fills a template such as r"\1 ' \2", twice as fast as Python 3.11 does."""
    form = re.sub(r"\\(\d)", r"{\1}", template)
    return lambda match: form.format(match[0], *match.groups())


def _apply(rules: Sequence[_Rule], text: str) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text


def _apostrophe_rules(rules: Any, language: str) -> Any:
    if language == "en":
        return rules.ENGLISH_SPECIFIC_APOSTROPHE
    if language in ("fr", "it"):
        return rules.FR_IT_SPECIFIC_APOSTROPHE
    return [rules.NON_SPECIFIC_APOSTROPHE]


class JiebaWords:
    """Cuts Chinese into words with jieba's own dictionary."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            # pkg_resources, and invalid escapes when jieba is compiled for the first time.
            warnings.simplefilter("ignore")
            import jieba
        self._cutter = jieba.Tokenizer()
        # Not initialize(): that loads a marshal file of a fixed name from the shared temporary
        # folder, where anyone may have put it, and logs to standard error.
        dictionary = self._cutter.get_dict_file()
        self._cutter.FREQ, self._cutter.total = self._cutter.gen_pfdict(dictionary)
        self._cutter.initialized = True

    def __call__(self, text: str) -> list[str]:
        """The words of one cleaned sentence; its blanks are dropped."""
        return [word for word in self._cutter.cut(text) if not word.isspace()]


# --- and back --------------------------------------------------------------------------------

_LATIN = re.compile(r"[^\W_\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff]")


def join_chinese(words: Sequence[str]) -> str:
    """The words without blanks, except between two that are written in an alphabet or digits."""
    text = ""
    for word in words:
        text += f" {word}" if has_chinese_gap(text, word) else word
    return text


def has_chinese_gap(before: str, word: str) -> bool:
    """Whether a blank parts a word from what stands before it: two in an alphabet or digits."""
    return bool(before and word and _LATIN.match(before[-1]) and _LATIN.match(word[0]))


_CLOSING = re.compile(r"[,.?!:;%)\]}…]+")
_NUMBER = re.compile(r"\d")
# Clings to what follows, if that begins so.
_BEFORE = {
    **dict.fromkeys("([{¿¡", re.compile(".")),
    **dict.fromkeys("$£€¥#", _NUMBER),
    "°": re.compile("[CF]$"),
}
# Clings to both sides, if these are so.
_BETWEEN: dict[str, Callable[[str, str], bool]] = {
    "/": lambda before, after: bool(before and after),
    "_": lambda before, after: bool(before and after),
    ":": lambda before, after: before[-1:].isdigit() and after[:1].isdigit(),
    "&": lambda before, after: before.isupper() and after.isupper() and len(after) <= 2,
}
_QUOTE = frozenset('"„“”«»')
_OPENING_QUOTES = {"de": "„»"}
_CLOSING_QUOTES = {"de": "“«"}
_AFTER_QUOTATION = frozenset(",.;:!?)")
_APOSTROPHE = frozenset("'’")
_ELISION_ENDS = frozenset({"s", "n", "ne", "nen", "m", "t", "ll", "re", "ve", "d"})


def join_words(words: Sequence[str], language: str) -> str:
    """The sentence with blanks where a person would write them."""
    return _Joiner(words, language).join()


class _Joiner:
    """One sentence on its way from words to text: does a word cling to its neighbours?"""

    def __init__(self, words: Sequence[str], language: str) -> None:
        self._words = words
        self._language = language
        self._in_quotes = False
        self._in_single_quotes = False
        self._apostrophes_left = sum(
            word in _APOSTROPHE and not after[:1].isdigit()
            for word, after in zip_longest(words, words[1:], fillvalue="")
        )

    def join(self) -> str:
        """The text."""
        parts: list[str] = []
        clings = True
        for index, word in enumerate(self._words):
            before = self._words[index - 1] if index else ""
            after = self._words[index + 1] if index + 1 < len(self._words) else ""
            to_left, to_right = self._clings(word, before, after)
            parts.append(word if clings or to_left else f" {word}")
            clings = to_right
        return "".join(parts)

    def _clings(self, word: str, before: str, after: str) -> tuple[bool, bool]:
        """Whether the word is written without a blank on its left and on its right."""
        if word[:1].isalnum():
            return False, False
        if word in _QUOTE:
            return self._quote(word, before, after)
        if word in _APOSTROPHE:
            return self._apostrophe(before, after)
        if word in _BETWEEN and _BETWEEN[word](before, after):
            return True, True
        if _CLOSING.fullmatch(word):
            return True, False
        if word in _BEFORE:
            return False, bool(_BEFORE[word].match(after))
        return self._is_tail(word, before), False

    def _is_tail(self, word: str, before: str) -> bool:
        """Whether the word is the end of the word before: don 't, "Bild" -Zeitung."""
        if not before or not word[1:2].isalpha():
            return False
        if word[0] in _APOSTROPHE:
            return self._language == "en"
        return word[0] == "-" and before in _QUOTE and not self._in_quotes

    def _quote(self, word: str, before: str, after: str) -> tuple[bool, bool]:
        """Opening or closing, by its form where that tells, else by its place, else by turns."""
        if word in _OPENING_QUOTES.get(self._language, "„“«"):
            opens = True
        elif word in _CLOSING_QUOTES.get(self._language, "”»") or not after:
            opens = False
        elif not before:
            opens = True
        else:
            opens = not self._in_quotes and after not in _AFTER_QUOTATION
        self._in_quotes = opens
        return not opens, opens

    def _apostrophe(self, before: str, after: str) -> tuple[bool, bool]:
        """Part of a word on its left, on its right or both; else a single quote, by turns."""
        if after[:1].isdigit():
            return False, True  # the '90s
        self._apostrophes_left -= 1
        if self._language != "en" and self._is_elision(before, after):
            return True, True
        is_paired = self._in_single_quotes or self._apostrophes_left % 2 == 1
        if before and not is_paired and (before[-1] in "sßxz" or self._language != "en"):
            return True, False  # the boys' room
        self._in_single_quotes = not self._in_single_quotes
        return not self._in_single_quotes, self._in_single_quotes

    @staticmethod
    def _is_elision(before: str, after: str) -> bool:
        """Whether the apostrophe stands inside one word: wie geht's, d'Or, O'Neill."""
        if not (before[-1:].isalpha() and after[:1].isalpha()):
            return False
        return len(before) <= 2 or after in _ELISION_ENDS
