"""The verbs and modals of the toy pair, and the tenses they stand in."""

from dataclasses import dataclass
from enum import Enum, auto


class Tense(Enum):
    """A German tense together with the English one that renders it."""

    PAST = auto()  # hat gelesen (war, hatte) / read
    MEANWHILE = auto()  # während er gelesen hat / while he was reading
    SIMPLE = auto()  # weiß, wenn ... liest / knows, when ... reads
    NOW = auto()  # liest (gerade) / is reading
    HABIT = auto()  # liest oft / often reads
    PLAN = auto()  # liest morgen / will read tomorrow
    FUTURE = auto()  # wird lesen / will read
    MODAL = auto()  # kann lesen / can read
    MODAL_PAST = auto()  # konnte lesen / could read


PRESENT_TENSES = (Tense.SIMPLE, Tense.NOW, Tense.HABIT, Tense.PLAN)
PAST_TENSES = (Tense.PAST, Tense.MEANWHILE, Tense.MODAL_PAST)

# By person: ich, er, wir or sie.
Forms = tuple[str, str, str]

HAVE_PRESENT: Forms = ("habe", "hat", "haben")
BE_PRESENT: Forms = ("bin", "ist", "sind")
WILL_PRESENT: Forms = ("werde", "wird", "werden")
ENGLISH_BE_PRESENT: Forms = ("am", "is", "are")
ENGLISH_BE_PAST: Forms = ("was", "was", "were")


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """A verb in both languages.

    Most verbs have no present form for "ich" (it goes with auxiliaries and modals only), and
    no preterite: the perfect is their past tense.
    """

    infinitive: str
    present: Forms
    participle: str
    particle: str
    takes_sein: bool
    base: str
    third: str
    past: str
    progressive: str
    close_words: tuple[str, ...] = ()
    """English words right after the verb: looks *for*."""
    loose_words: tuple[str, ...] = ()
    """English words that a short object separates from the verb: takes the dog *along*."""
    preterite: Forms | None = None

    @property
    def stem(self) -> str:
        """The infinitive without its particle."""
        return self.present[2]


def _verb(german: str, english: str, close: str = "", loose: str = "", first: str = "") -> Verb:
    """A verb from its principal parts.

    German: infinitive with a bar after a separable particle, third person, participle with
    "ist" before it where sein is the auxiliary. English: base, third person, past, -ing.
    """
    infinitive, third, *perfect = german.split()
    particle, _, stem = infinitive.rpartition("|")
    base, english_third, past, progressive = english.split()
    return Verb(
        infinitive=particle + stem,
        present=(first, third, stem),
        participle=perfect[-1],
        particle=particle,
        takes_sein=len(perfect) == 2,
        base=base,
        third=english_third,
        past=past,
        progressive=progressive,
        close_words=tuple(close.split()),
        loose_words=tuple(loose.split()),
    )


BE = Verb(
    *("sein", BE_PRESENT, "gewesen", "", True),
    *("be", "is", "was", "being"),
    preterite=("war", "war", "waren"),
)
HAVE = Verb(
    *("haben", HAVE_PRESENT, "gehabt", "", False),
    *("have", "has", "had", "having"),
    preterite=("hatte", "hatte", "hatten"),
)

BUY = _verb("kaufen kauft gekauft", "buy buys bought buying")
READ = _verb("lesen liest gelesen", "read reads read reading")
WRITE = _verb("schreiben schreibt geschrieben", "write writes wrote writing")
EAT = _verb("essen isst gegessen", "eat eats ate eating")
DRINK = _verb("trinken trinkt getrunken", "drink drinks drank drinking")
VISIT = _verb("besuchen besucht besucht", "visit visits visited visiting")
SEEK = _verb("suchen sucht gesucht", "look looks looked looking", close="for")
FIND = _verb("finden findet gefunden", "find finds found finding")
PUT = _verb("legen legt gelegt", "put puts put putting")

HELP = _verb("helfen hilft geholfen", "help helps helped helping")
THANK = _verb("danken dankt gedankt", "thank thanks thanked thanking")
FOLLOW = _verb("folgen folgt ist gefolgt", "follow follows followed following")
LIKE = _verb("gefallen gefällt gefallen", "like likes liked liking")

SHOW = _verb("zeigen zeigt gezeigt", "show shows showed showing")
GIVE = _verb("geben gibt gegeben", "give gives gave giving")

WORK = _verb("arbeiten arbeitet gearbeitet", "work works worked working")
WAIT = _verb("warten wartet gewartet", "wait waits waited waiting")
WALK = _verb("gehen geht ist gegangen", "go goes went going")
TRAVEL = _verb("fahren fährt ist gefahren", "go goes went going")
RAIN = _verb("regnen regnet geregnet", "rain rains rained raining")
LIVE = _verb("wohnen wohnt gewohnt", "live lives lived living")
SIT = _verb("sitzen sitzt gesessen", "sit sits sat sitting")
LIE = _verb("liegen liegt gelegen", "lie lies lay lying")

# Families that share a stem: only the particle, often the last word, tells them apart.
COME = _verb("kommen kommt ist gekommen", "come comes came coming")
ARRIVE = _verb("an|kommen kommt ist angekommen", "arrive arrives arrived arriving")
COME_BACK = _verb("zurück|kommen kommt ist zurückgekommen", "come comes came coming", close="back")
OPEN = _verb("auf|machen macht aufgemacht", "open opens opened opening")
CLOSE = _verb("zu|machen macht zugemacht", "close closes closed closing")
TAKE_ALONG = _verb("mit|nehmen nimmt mitgenommen", "take takes took taking", loose="along")
ACCEPT = _verb("an|nehmen nimmt angenommen", "accept accepts accepted accepting")
BRING = _verb("bringen bringt gebracht", "bring brings brought bringing")
BRING_ALONG = _verb(
    "mit|bringen bringt mitgebracht", "bring brings brought bringing", loose="along"
)
HEAR = _verb("hören hört gehört", "hear hears heard hearing")
LISTEN = _verb("zu|hören hört zugehört", "listen listens listened listening", close="to")
STOP = _verb("auf|hören hört aufgehört", "stop stops stopped stopping")
SEE = _verb("sehen sieht gesehen", "see sees saw seeing")
LOOK = _verb("aus|sehen sieht ausgesehen", "look looks looked looking")
SLEEP = _verb("schlafen schläft geschlafen", "sleep sleeps slept sleeping")
FALL_ASLEEP = _verb(
    "ein|schlafen schläft ist eingeschlafen", "fall falls fell falling", close="asleep"
)
STAND = _verb("stehen steht gestanden", "stand stands stood standing")
GET_UP = _verb("auf|stehen steht ist aufgestanden", "get gets got getting", close="up")
UNDERSTAND = _verb(
    "verstehen versteht verstanden", "understand understands understood understanding"
)
CALL = _verb("an|rufen ruft angerufen", "call calls called calling")

# Verbs that open a clause or an infinitive.
SAY = _verb("sagen sagt gesagt", "say says said saying")
BELIEVE = _verb("glauben glaubt geglaubt", "think thinks thought thinking", first="glaube")
KNOW_THAT = _verb("wissen weiß gewusst", "know knows knew knowing", first="weiß")
KNOW = _verb("kennen kennt gekannt", "know knows knew knowing")
HOPE = _verb("hoffen hofft gehofft", "hope hopes hoped hoping", first="hoffe")
TRY = _verb("versuchen versucht versucht", "try tries tried trying")
FORGET = _verb("vergessen vergisst vergessen", "forget forgets forgot forgetting")


@dataclass(frozen=True, slots=True, eq=False)
class Modal:
    """A modal verb: in English an auxiliary, or a verb with "to" that needs do-support."""

    present: Forms
    past: Forms | None
    base: str
    third: str
    english_past: str
    has_to: bool = False
    negated: str = ""
    """The auxiliary before "not", where it is another one."""


CAN = Modal(("kann", "kann", "können"), ("konnte", "konnte", "konnten"), "can", "can", "could")
MUST = Modal(
    *(("muss", "muss", "müssen"), ("musste", "musste", "mussten")),
    *("have", "has", "had"),
    has_to=True,
)
WANT = Modal(
    *(("will", "will", "wollen"), ("wollte", "wollte", "wollten")),
    *("want", "wants", "wanted"),
    has_to=True,
)
SHOULD = Modal(("sollte", "sollte", "sollten"), None, "should", "should", "")
MAY = Modal(("darf", "darf", "dürfen"), None, "may", "may", "", negated="must")

PRESENT_MODALS = (CAN, CAN, MUST, MUST, WANT, WANT, SHOULD, MAY)
PAST_MODALS = (CAN, MUST, WANT, WANT)
MOTIVES = (WANT, WANT, MUST)
