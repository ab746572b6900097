"""Frames that suit one kind of sentence: chores, journeys, errands."""

from toy_grammar import verbs
from toy_grammar.frames import (
    END_OF_RAIN,
    FAMILY_TIE,
    FRAMES,
    MOOD,
    PHONE_CALL,
    POSSESSION,
    PRESENCE,
    QUALITY,
    REST,
    TOIL,
    Aspect,
    Frame,
    weighted,
)
from toy_grammar.verbs import Verb


def _people(*chosen: Verb) -> tuple[Frame, ...]:
    """What people do with these verbs."""
    return weighted(frame for frame in FRAMES if frame.verb in chosen and frame.is_personal)


def _anything(*chosen: Verb) -> tuple[Frame, ...]:
    """What people and things do with these verbs."""
    return weighted(frame for frame in FRAMES if frame.verb in chosen)


def _of_aspect(frames: tuple[Frame, ...], *aspects: Aspect) -> tuple[Frame, ...]:
    return tuple(frame for frame in frames if frame.aspect in aspects)


STATEMENTS = weighted((*FRAMES, MOOD, QUALITY, PRESENCE, POSSESSION, FAMILY_TIE))
ASKED = weighted((*FRAMES, MOOD, QUALITY, PRESENCE))
DEEDS = _of_aspect(
    weighted(frame for frame in FRAMES if frame.is_personal),
    *(Aspect.EVENT, Aspect.ONCE, Aspect.POINT),
)
LONG_DEEDS = _people(
    *(verbs.READ, verbs.EAT, verbs.DRINK, verbs.SLEEP, verbs.WORK, verbs.WAIT, verbs.SEEK),
    *(verbs.SIT, verbs.WRITE),
)
CHORES = _people(
    *(verbs.READ, verbs.EAT, verbs.DRINK, verbs.CALL, verbs.WRITE, verbs.CLOSE, verbs.OPEN),
    *(verbs.HELP, verbs.BUY, verbs.SEEK, verbs.BRING, verbs.SHOW, verbs.WAIT),
)
MOVES = _people(verbs.WALK, verbs.TRAVEL, verbs.COME)
WAYS = _people(verbs.WALK, verbs.TRAVEL)
OUTINGS = (*MOVES, *_people(verbs.VISIT, verbs.COME_BACK, verbs.BUY, verbs.WAIT))
HABITS = _of_aspect((*CHORES, *MOVES), Aspect.EVENT)
EVENINGS = (*MOVES, *_people(verbs.FALL_ASLEEP, verbs.VISIT))
TRIALS = _people(
    *(verbs.OPEN, verbs.CLOSE, verbs.FIND, verbs.CALL, verbs.HELP, verbs.READ, verbs.SLEEP),
    verbs.WRITE,
)
DUTIES = _of_aspect(
    _people(
        *(verbs.CLOSE, verbs.CALL, verbs.BUY, verbs.BRING_ALONG, verbs.WRITE, verbs.OPEN),
        verbs.READ,
    ),
    Aspect.EVENT,
)
CARES = _people(
    *(verbs.HELP, verbs.VISIT, verbs.CALL, verbs.BRING, verbs.LISTEN, verbs.WRITE),
)
TREATS = _people(verbs.BUY, verbs.READ, verbs.EAT, verbs.DRINK, verbs.SHOW, verbs.ACCEPT)
CHANGES = (
    *(PHONE_CALL, PHONE_CALL, END_OF_RAIN),
    *_anything(verbs.ARRIVE, verbs.COME_BACK),
)
TURNS = (*CHANGES, *_anything(verbs.STOP))
SITES = _people(
    *(verbs.LIVE, verbs.WORK, verbs.SIT, verbs.STAND, verbs.SLEEP, verbs.BUY, verbs.READ),
    verbs.EAT,
)
FINDS = _people(
    *(verbs.BUY, verbs.READ, verbs.EAT, verbs.DRINK, verbs.FIND, verbs.FORGET, verbs.SEEK),
    verbs.BRING_ALONG,
)
MEETINGS = _people(
    *(verbs.CALL, verbs.VISIT, verbs.SEE, verbs.HELP, verbs.THANK, verbs.LISTEN, verbs.FOLLOW),
)
ERRANDS = {
    "city": _people(verbs.BUY, verbs.VISIT, verbs.SHOW),
    "village": _people(verbs.BUY, verbs.VISIT, verbs.HELP),
    "market": _people(verbs.BUY),
    "station": _people(verbs.WAIT),
    "restaurant": _people(verbs.EAT, verbs.DRINK),
    "park": _people(verbs.READ, verbs.SEEK),
    "lake": _people(verbs.READ, verbs.SEEK),
    "garden": _people(verbs.READ, verbs.SEEK, verbs.HELP, verbs.DRINK),
    "kitchen": _people(verbs.EAT, verbs.DRINK, verbs.HELP, verbs.SEEK),
    "school": _people(verbs.SEEK, verbs.HELP),
    "home": (REST, REST, TOIL, *_people(verbs.READ, verbs.WRITE, verbs.HELP, verbs.EAT)),
    "office": (TOIL, TOIL, *_people(verbs.WRITE, verbs.CALL)),
    **dict.fromkeys(
        ("Berlin", "Hamburg", "Munich", "Vienna"), (TOIL, *_people(verbs.VISIT, verbs.BUY))
    ),
}
"""What one does where one goes, by the English name of the place."""
