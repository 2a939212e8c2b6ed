#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One self-contained HTML page from the demo's result.json and compare.json.

usage: report.py RESULT COMPARE REPORT
Formats: docs/formats/demo-result.md, docs/formats/compare-json.md. Needs Debian's python3-plotly and python3-jinja2.
"""
import json
import os
import sys

try:
    import jinja2
    from plotly.offline import get_plotlyjs
except ImportError as error:
    sys.exit(f"report: {error}; run scripts/setup, and use Debian's /usr/bin/python3")

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True  # the source tree stays clean
sys.path.insert(0, HERE)

import figures  # noqa: E402 (the path comes first)
import words  # noqa: E402

SIGNATURES_MAX = 40
SIGNATURE_SHARE_LEAST = 0.00005  # of the bytes: 0.0 % in the table says nothing


def steady(row):
    return row["waf_steady"] if row and row["waf_steady"] else None


def best_of(rows):
    """The row with the least copying per gc."""
    found = {}
    for row in rows:
        value = steady(row)
        if value and (row["gc"] not in found or value < steady(found[row["gc"]])):
            found[row["gc"]] = row
    return found


def headline(rows, gc):
    """The key result, from the data: what placement saves where the engine is untouched."""
    none = figures.find(rows, "none", gc)
    learned = [row for row in rows if row["gc"] == gc and row["policy"] == "pcstream" and steady(row)]
    if not steady(none) or not learned:
        return "This comparison has no row without placement to compare with.", None
    best = min(learned, key=steady)
    if steady(none) <= 1.0005:
        return "Without placement the drive copies nothing here: there is nothing to gain.", best
    saved = 1 - (steady(best) - 1) / (steady(none) - 1)
    if saved <= 0:
        return (f"Here learned placement does not help: the drive copies as much or more under {best['label']} (WAF "
                f"{steady(best):.2f}) as without placement ({steady(none):.2f})."), best
    hints = figures.find(rows, "rocksdb-hints", gc)
    told = f" RocksDB's own hints, where it gives them, reach {steady(hints):.2f}." if steady(hints) else ""
    return (f"With {best['label']} the drive copies {100 * saved:.0f} % less than without placement: steady write "
            f"amplification falls from {steady(none):.2f} to {steady(best):.2f} (gc={gc}), with no change to "
            f"RocksDB.{told}"), best


def chosen_labels(rows, gc):
    """Rows whose streams are worth a look: hints, the published policy, and the last learned one."""
    labels = [row["label"] for row in rows if row["gc"] == gc and row["policy"] != "none"]
    learned = [row["label"] for row in rows if row["gc"] == gc and row["policy"] == "pcstream"]
    wanted = [label for label in labels if label not in learned][:1] + learned[:1] + learned[-1:]
    return list(dict.fromkeys(wanted))


def signature_rows(row):
    total = max(1, sum(each["written_bytes"] for each in row["signatures"]))
    found = []
    for each in row["signatures"][:SIGNATURES_MAX]:
        if each["written_bytes"] < SIGNATURE_SHARE_LEAST * total:
            continue
        found.append({"short": words.short_path(each["frames"]), "frames": each["frames"], "key": each["key"],
                      "salt": words.salt_text(each["who"]), "written": words.size(each["written_bytes"]),
                      "share": words.percent(each["written_bytes"] / total, 1),
                      "alive": words.percent(each["live_bytes"] / max(1, each["written_bytes"])),
                      "life": {name: words.size(each["lifetime"][name]) for name in ("p25", "p50", "p75")}
                      if each["lifetime"] else None, "stream": each["stream"]})
    return found


def render(result, compared):
    rows = compared["rows"]
    gcs = figures.gcs_of(rows)
    sentence, best_learned = headline(rows, gcs[0])
    chosen = chosen_labels(rows, gcs[0])
    lifetimes, _ = figures.lifetimes(rows, chosen, gcs[0])
    streams, _ = figures.streams_over_time(rows, chosen, gcs[0])
    shown = best_learned or rows[-1]
    signatures = signature_rows(shown)
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    environment.filters.update(size=words.size, count=words.count, fixed=words.fixed, percent=words.percent)
    with open(os.path.join(HERE, "style.css"), encoding="utf-8") as file:
        style = file.read()
    return environment.get_template("report.html.j2").render(
        style=style, plotly=get_plotlyjs(), result=result, rows=rows, gcs=gcs, best=best_of(rows), headline=sentence,
        baseline=figures.find(rows, "none", gcs[0]), best_learned=best_learned,
        waf_per_policy=figures.waf_per_policy(rows),
        waf_over_time=[(gc, figures.waf_over_time(rows, gc)) for gc in gcs], lifetimes=lifetimes, streams=streams,
        signatures=signatures, signatures_of=shown,
        signatures_left_out=len(shown["signatures"]) - len(signatures) + shown["signatures_omitted"])


def main(arguments):
    if len(arguments) != 4:
        sys.exit(__doc__.split("\n\n")[1])
    try:
        with open(arguments[1], encoding="utf-8") as result, open(arguments[2], encoding="utf-8") as compared:
            text = render(json.load(result), json.load(compared))
        with open(arguments[3] + ".part", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(arguments[3] + ".part", arguments[3])
    except (OSError, ValueError) as error:
        sys.exit(f"report: {error}")
    except (KeyError, TypeError, IndexError, jinja2.UndefinedError) as error:
        sys.exit(f"report: the input lacks something that a report needs: {error!r}")


if __name__ == "__main__":
    main(sys.argv)
