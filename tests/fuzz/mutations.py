"""Ways to corrupt an input: what its format allows, and what any file can suffer.

Every draw comes from the ``Random`` that is passed in: the same seed corrupts in the same way.
"""

import io
import json
import pickle
from collections.abc import Callable, Sequence
from math import inf, nan
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
import yaml

CANARY = Path("code-was-run")  # where code from an input would leave its trace

# Sizes of the work that is asked for: more of it takes longer, and that is no mistake.
WORK = {
    "updates", "batch_tokens", "micro_tokens", "max_tokens", "max_target_tokens", "source_merges",
    "target_merges", "train", "valid", "test", "aligned", "pairs", "sentences", "width", "ffn",
    "heads", "encoder_layers", "decoder_layers", "states", "max_source_words", "seeds",
}  # fmt: skip

_ODD_TEXT = (
    "", " ", "\n", "\x00", "\x1b[2J", "\u202e", "\ud800", "ÄÖ\u00a0γ😀", "../../etc", "a/b", "nan",
    "-1", "1e999", "full", "<eos>", "@@", "x" * 100_000, "%s{}", "2024-01-01", "~", "<<", "*a",
)  # fmt: skip
_ODD_NUMBERS = (0, -1, -0.0, 0.5, 1.5, 1, 2, 3, nan, inf, -inf)
_HUGE = (2**31, 2**53, 2**63, 10**30, 1e308, -(2**63))
_OTHER: tuple[Any, ...] = (None, True, False, [], {}, [[]], {"": {}}, [None], {"a": 1})


class Evil:
    """What runs code wherever a pickle is loaded without care."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (CANARY,))


# --- trees ------------------------------------------------------------------------------------


def corrupt_tree(tree: Any, rng: Random) -> Any:
    """``tree`` with one or two edits."""
    for _ in range(rng.choice((1, 1, 1, 2))):
        tree = _edit(tree, rng, "")
    return tree


def _edit(tree: Any, rng: Random, key: str) -> Any:
    """One edit somewhere below, more often at the leaves than at the root."""
    if isinstance(tree, dict) and tree and rng.random() < 0.9:
        return _edit_mapping(dict(tree), rng)
    if isinstance(tree, list) and tree and rng.random() < 0.85:
        place = rng.randrange(len(tree))
        return [_edit(one, rng, key) if n == place else one for n, one in enumerate(tree)]
    if isinstance(tree, list) and tree and rng.random() < 0.6:
        return rng.choice([tree[:-1], tree + tree, tree[::-1], [tree[0]] * 3000])
    return _odd_value(tree, rng, key)


def _edit_mapping(tree: dict[Any, Any], rng: Random) -> dict[Any, Any]:
    key = rng.choice(list(tree))
    what = rng.random()
    if what < 0.12:
        del tree[key]
    elif what < 0.2:
        tree[rng.choice(_ODD_TEXT)] = tree.pop(key)
    elif what < 0.26:
        tree[f"{key}x"] = tree[key]
    elif what < 0.3:
        other = rng.choice(list(tree))
        tree[key], tree[other] = tree[other], tree[key]
    else:
        tree[key] = _edit(tree[key], rng, str(key))
    return tree


def _odd_value(value: Any, rng: Random, key: str) -> Any:
    choices: list[Callable[[], Any]] = [
        lambda: rng.choice(_ODD_TEXT),
        lambda: rng.choice(_ODD_NUMBERS),
        lambda: rng.choice(_OTHER),
        lambda: _nested(rng),
        lambda: [value],
        lambda: {"value": value},
        lambda: str(value),
    ]
    if key not in WORK:
        choices.append(lambda: rng.choice(_HUGE))
    if isinstance(value, str):
        choices += [lambda: value + rng.choice(_ODD_TEXT), lambda: value[:-1], lambda: value * 2]
    if isinstance(value, int | float) and not isinstance(value, bool):
        choices += [lambda: value + 1, lambda: -value, lambda: value * 1.0000001]
    return rng.choice(choices)()


def _nested(rng: Random) -> Any:
    tree: Any = 1
    for _ in range(rng.choice((5, 60, 250))):
        tree = [tree] if rng.random() < 0.5 else {"a": tree}
    return tree


# --- formats ----------------------------------------------------------------------------------


def corrupt_json(content: bytes, rng: Random) -> bytes:
    """One JSON value with an edit; keys may stand twice, brackets may not end."""
    what = rng.random()
    if what < 0.06:
        depth = rng.choice((150, 3_000, 100_000))
        return rng.choice((b"[", b'{"a":')) * depth
    if what < 0.1:
        return content.replace(b"{", b'{"twice": 1, "twice": 2, ', 1)
    return json.dumps(corrupt_tree(json.loads(content), rng)).encode()


def corrupt_lines(content: bytes, rng: Random) -> bytes:
    """Lines of text or JSON: one is corrupted, lost, doubled, moved or blank."""
    lines = content.split(b"\n")
    place = rng.randrange(len(lines))
    line = lines[place]
    what = rng.random()
    if what < 0.5 and line.startswith(b"{"):
        lines[place] = corrupt_json(line, rng)
    elif what < 0.6:
        del lines[place]
    elif what < 0.7:
        lines.insert(place, rng.choice([line, b"", b" ", b"\t", b"{}", b"null", b"#"]))
    elif what < 0.8:
        rng.shuffle(lines)
    elif what < 0.9:
        lines[place] = line + rng.choice(_ODD_TEXT).encode("utf-8", "surrogatepass")
    else:
        lines[place] = b" ".join(reversed(line.split(b" ")))
    return b"\n".join(lines)


def corrupt_yaml(content: bytes, rng: Random) -> bytes:
    """YAML with an edit, or with what only YAML can say."""
    what = rng.random()
    if what < 0.1:
        bomb = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
        for level in range(1, rng.randint(3, 12)):
            bomb.append(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]")
        return "\n".join(bomb).encode() + b"\n" + content
    if what < 0.18:
        return (
            content + b"\nx: " + rng.choice((b"[", b"{a: ", b"- ")) * rng.choice((60, 3000, 10**5))
        )
    if what < 0.4:
        lines = content.decode().split("\n")
        place = rng.randrange(len(lines))
        key, colon, _ = lines[place].partition(":")
        odd = rng.choice(_ODD_YAML)
        lines[place] = f"{key}{colon or ':'} {odd}"
        return "\n".join(lines).encode()
    tree = corrupt_tree(yaml.safe_load(content), rng)
    return yaml.safe_dump(tree, sort_keys=False, allow_unicode=True).encode(
        "utf-8", "surrogatepass"
    )


_ODD_YAML = (
    "2024-01-01", "!!set {a, b}", "!!binary aGk=", "010", "0x1F", "1:30", "!!int ''", "!!bool x",
    "&x", "*x", "&a [*a]", "!!python/object/apply:os.mkdir [code-was-run]", "|", "'", "\t", "no",
    "~", ".nan", "%", "@", "`", "{a: 1, a: 2}", "[a]: b", "? [a]", "!!omap [a: 1]", "<<: 1",
    "9" * 5000, "!x y",
)  # fmt: skip


def corrupt_array(content: bytes, rng: Random) -> bytes:
    """A .npy file with other values, another type or shape, or a pickle inside."""
    array = np.load(io.BytesIO(content)).copy()
    what = rng.randrange(8)
    if what == 0 and array.size:
        array[rng.randrange(array.size)] = rng.choice((0, 1, 2, 60_000))
    elif what == 1:
        array = array[:-1]
    elif what == 2:
        array = rng.choice((array.astype(np.float32), array.astype("S3"), array.reshape(-1, 1)))
    elif what == 3:
        array = np.sort(array)[::-1]
    elif what == 4:
        array = np.array([Evil()], dtype=object)
    elif what == 5:
        header = rng.choice(
            (b"(" * 300, b"__import__('os')", b"{'descr': '<i8', 'shape': (9**99,)}")
        )
        return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    elif what == 6:
        packed = io.BytesIO()
        np.savez(packed, array)
        return packed.getvalue()
    else:
        array = array.astype(np.int32) - 5
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def corrupt_model(content: bytes, rng: Random) -> bytes:  # noqa: C901 - a list of ways, a line each
    """A file of torch.save with other weights, other types, or code inside."""
    values: dict[Any, Any] = torch.load(io.BytesIO(content), weights_only=True)
    names = [name for name, value in values.items() if isinstance(value, torch.Tensor)]
    name = rng.choice(names)
    weight = values[name]
    what = rng.randrange(14)
    if what == 0:
        del values[name]
    elif what == 1:
        values[f"{name}.more"] = weight
    elif what == 2:
        values[name] = torch.full_like(weight, rng.choice((nan, inf, -inf)))
    elif what == 3:
        values[name] = rng.choice((weight[..., :-1], weight[None], weight.flatten()[:0]))
    elif what == 4:
        values[name] = rng.choice((weight.to(torch.int32), weight.to(torch.complex64)))
    elif what == 5:
        values[name] = rng.choice((3, "text", None, [weight], {"a": weight}))
    elif what == 6:
        values[name] = weight.to_sparse()
    elif what == 7:
        values[name] = torch.empty(weight.shape, device="meta")
    elif what == 8:
        values[name] = torch.zeros(1).expand(weight.shape)
    elif what == 9:
        values["evil"] = Evil()
    elif what == 10:
        values = rng.choice((values[name], [values], {1: weight}, {}))
    elif what == 11:
        return pickle.dumps(Evil())
    elif what == 12:
        values["made_from"] = corrupt_tree(values.get("made_from", {}), rng)
    else:
        values["made_from"] = rng.choice((None, 3, [], {"settings": Evil()}))
    stream = io.BytesIO()
    torch.save(values, stream, _use_new_zipfile_serialization=rng.random() < 0.9)
    return stream.getvalue()


def corrupt_bytes(content: bytes, rng: Random) -> bytes:
    """What can happen to any file."""
    what = rng.randrange(9)
    place = rng.randrange(len(content)) if content else 0
    if what == 0:
        return content[:place]
    if what == 1:
        return b""
    if what == 2:
        return content[:place] + rng.choice((b"\xff", b"\x80", b"\xed\xa0\x80")) + content[place:]
    if what == 3:
        return content + rng.choice((b"\n", b"\n\n", b"\x00", b"\r\n", content[:1000]))
    if what == 4:
        return pickle.dumps(Evil())
    if what == 5:
        return b"\xef\xbb\xbf" + content
    if what == 6:
        return content.replace(b"\n", b"\r\n")
    flipped = bytearray(content)
    for _ in range(rng.choice((1, 1, 4, 40)) if content else 0):
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


FORMATS: dict[str, Callable[[bytes, Random], bytes]] = {
    ".json": corrupt_json,
    ".jsonl": corrupt_lines,
    ".yaml": corrupt_yaml,
    ".npy": corrupt_array,
    ".pt": corrupt_model,
}


def corrupt_file(path: Path, others: Sequence[Path], rng: Random) -> None:
    """Put something else in the place of a file."""
    content = path.read_bytes()
    what = rng.random()
    if what < 0.03:
        path.unlink()
    elif what < 0.06:
        path.unlink()
        path.mkdir()
    elif what < 0.12:
        path.write_bytes(rng.choice(others).read_bytes())
    elif what < 0.3:
        path.write_bytes(corrupt_bytes(content, rng))
    else:
        path.write_bytes(FORMATS.get(path.suffix, corrupt_lines)(content, rng))


def corrupt_argument(text: str, rng: Random) -> str:
    """Other settings; an argument can hold any bytes but NUL."""
    corrupt = corrupt_bytes if rng.random() < 0.15 else corrupt_json
    return corrupt(text.encode(), rng).replace(b"\x00", b"").decode("utf-8", "surrogateescape")
