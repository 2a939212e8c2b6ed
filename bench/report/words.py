# SPDX-License-Identifier: Apache-2.0
"""How figures and call paths are told to people. Pure functions."""
import re

MIB = 1 << 20
# Frames that every path through RocksDB's background threads shares, and that tell nothing.
PLUMBING = re.compile(r"ThreadPoolImpl|BGThread|BGWork|BackgroundCall|start_thread|clone|WritableFileWriter|PosixEnv")
FRAME = re.compile(r"^(?P<module>.*?)(!(?P<symbol>.*?))?(\+0x[0-9a-f]+)?$")


def size(value):
    """Bytes with a binary unit and three digits, "1.50 GiB"."""
    if value is None:
        return "–"
    value = float(value)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024 or unit == "TiB":
            break
        value /= 1024
    digits = 0 if unit == "B" or value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {unit}"


def count(value):
    return "–" if value is None else f"{value:,.0f}".replace(",", "\u202f")


def fixed(value, digits):
    return "–" if value is None else f"{value:.{digits}f}"


def percent(value, digits=0):
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def symbol(frame):
    """The function of a frame without module, offset, namespace and arguments; "" when the trace has no symbol."""
    name = FRAME.match(frame)["symbol"] or ""
    name = re.sub(r"\(.*", "", name)
    return re.sub(r"^rocksdb::", "", name)


def short_path(frames, most=4):
    """A call path from its outermost telling frame to the innermost: at most `most` symbols, "…" for what is left out.
    frames: innermost first."""
    names = []
    for frame in reversed(frames):
        name = symbol(frame)
        if name and not PLUMBING.search(name) and (not names or names[-1] != name):
            names.append(name)
    if not names:
        return frames[0] if frames else "unknown"
    if len(names) > most:
        inner = most // 2
        names = names[:most - inner] + ["…"] + names[-inner:]
    return " › ".join(names)


def salt_text(who):
    """What the engine said of the writes, for a table."""
    words = [who.get("file_kind") or "unknown"]
    if who.get("level") is not None:
        words.append(f"L{who['level']}")
    if who.get("write_hint") not in (None, "not-set"):
        words.append(f"hint {who['write_hint']}")
    return ", ".join(words)
