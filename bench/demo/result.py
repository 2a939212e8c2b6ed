# SPDX-License-Identifier: Apache-2.0
"""result.json of the demo (docs/formats/demo-result.md): figures of all rows, the regime, and what must hold."""
import json
import os
import platform
import re
import subprocess
import textwrap

from experiment import size_bytes

AGREE = 0.001  # live and replayed WAF, relative
STEADY = 0.1  # change of WAF-1 from the third to the last quarter that still counts as steady, relative
HEAVY = ("series", "streams", "signatures", "signatures_omitted")  # curves and long tables: in compare.json only


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def live_figures(live, replay):
    waf = 1 + live["gc_pages"] / live["host_pages"] if live["host_pages"] else 0
    difference = abs(waf / replay["waf"] - 1) if replay["waf"] else 1
    return {"waf": waf, "replay_waf": replay["waf"], "difference": difference, "agrees": difference <= AGREE,
            "policy": live["policy"], "options": replay["options"],
            "host_pages": live["host_pages"], "gc_pages": live["gc_pages"], "erases": live["erases"],
            "replay_host_pages": replay["host_pages"], "replay_gc_pages": replay["gc_pages"],
            "replay_erases": replay["erases"], "events": live["events"], "events_dropped": live["events_dropped"],
            "drive_errors": live["drive_errors"]}


def output_of(*command, cwd=None):
    try:
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        match = re.search(r"^model name\s*: (.*)$", file.read(), re.M)
    return match[1] if match else platform.machine()


def environment(root):
    build = os.path.join(root, "build", "release", "cli", "trib")
    return {"trib": output_of(build, "version"),
            "commit": output_of("git", "describe", "--always", "--dirty", cwd=root),
            "rocksdb": output_of("dpkg-query", "-W", "-f", "${Version}", "rocksdb-tools"),
            "system": output_of("sh", "-c", ". /etc/os-release; echo $PRETTY_NAME"), "kernel": platform.release(),
            "cpu": processor(), "cores": os.cpu_count()}


def row_of(rows, label, gc):
    return next((row for row in rows if row["label"] == label and row["gc"] == gc), None)


def steady(row):
    return row["waf_steady"] if row and row["waf_steady"] else None


def item(name, value, unit, bar, met):
    return {"name": name, "value": value, "unit": unit, "bar": bar, "met": met}


def regime(experiment, compared, recording):
    """The figures that decide how hard the drive's life is, each with the bar that makes it a real one."""
    drive = compared["drive"]
    ratio = drive["reclaim_unit_bytes"] / experiment.sst_bytes
    fill = float(experiment.drive["fill"])
    items = [
        item("over-provisioning", drive["over_provisioning_percent"], "%", "about 7",
             6.5 <= drive["over_provisioning_percent"] <= 7.5),
        item("live data at peak, of capacity", drive["live_peak_percent"], "%", f"{fill:g} ± 2",
             abs(drive["live_peak_percent"] - fill) <= 2),
        item("cold files, of live data", drive["cold_percent"], "%", "about 30",
             27 <= drive["cold_percent"] <= 33),
        item("superblock / SST", ratio, "", "≥ 8", ratio >= 8),
        item("superblocks", drive["reclaim_units"], "", "≥ 200", drive["reclaim_units"] >= 200),
        item("open superblocks, of spare ones", drive["open_share_percent"], "%", "≤ 20",
             drive["open_share_percent"] <= 20),
    ]
    if recording:
        after = (1 - recording.fill_share) * compared["trace"]["host_bytes"] / drive["capacity_bytes"]
        items.append(item("capacities written after the fill", after, "", "≥ 4", after >= 4))
    else:
        items.append(item("capacities written, fill included", drive["capacities_written"], "", "≥ 4", None))
    none = steady(row_of(compared["rows"], "none", "same"))
    items.append(item("steady WAF of none", none, "", "≥ 1.5", none is not None and none >= 1.5))
    return items


def drift(none):
    """A sentence when the WAF without placement still moved in what is called its steady half; else none."""
    windows = [point["waf_window"] for point in none["series"]] if none else []
    quarter = len(windows) // 4
    if not quarter:
        return []
    before, last = (sum(part) / quarter for part in (windows[-2 * quarter:-quarter], windows[-quarter:]))
    if abs(last - before) <= STEADY * (before - 1):
        return []
    return [f"no steady state yet: none's WAF was {before:.2f} in the third quarter of the writes, "
            f"{last:.2f} in the last"]


def excess(row, none):
    return (steady(row) - 1) / (steady(none) - 1) if steady(row) and steady(none) and steady(none) > 1 else None


def checks(experiment, rows):
    """What the table must show (live data 90 % of capacity)."""
    found = []
    pick = {gc: {label: row_of(rows, label, gc) for label, _ in experiment.rows} for gc in experiment.gcs}
    same = pick.get("same", {})
    none, learned, internal = (steady(same.get(label)) for label in ("none", "pcstream", "pcstream+internal"))
    if none and learned and internal:
        found.append(item("gc=same: none > pcstream ≥ pcstream+internal", None, "",
                          f"{none:.3f} > {learned:.3f} ≥ {internal:.3f}", none > learned >= internal))
        share = excess(same["pcstream+internal"], same["none"])
        found.append(item("gc=same: pcstream+internal, WAF-1 of none's", share, "", "≤ 0.55",
                          share is not None and share <= 0.55))
    for gc, labels in pick.items():
        salted, base = labels.get("pcstream salted+internal"), labels.get("none")
        told = [steady(labels.get(label)) for label in ("manual", "rocksdb-hints") if steady(labels.get(label))]
        if not salted or not told:
            continue
        if experiment.engine.get("compaction_style") == "1":  # no hints there, except for the WAL
            share, hints = (excess(labels.get(label), base) for label in ("pcstream", "rocksdb-hints"))
            if share is not None and hints is not None:
                found.append(item(f"gc={gc}: pcstream, WAF-1 of none's", share, "", f"< hints' {hints:.2f}",
                                  share < hints))
            continue
        ratio, share = steady(salted) / min(told), excess(salted, base)
        found.append(item(f"gc={gc}: salted, of the best of manual and hints", ratio, "", "≤ 1.02", ratio <= 1.02))
        found.append(item(f"gc={gc}: salted, WAF-1 of none's", share, "", "≤ 0.25",
                          share is not None and share <= 0.25))
    return found


def assemble(root, experiment, compared, live, recording, command):
    rows = [{key: value for key, value in row.items() if key not in HEAVY} for row in compared["rows"]]
    summary = {"version": 1, "drive": compared["drive"], "trace": compared["trace"], "rows": rows, "live": live,
               "regime": regime(experiment, compared, recording), "checks": checks(experiment, compared["rows"]),
               "notes": compared["notes"] + drift(row_of(compared["rows"], "none", experiment.gcs[0])),
               "environment": environment(root),
               "experiment": {"file": os.path.relpath(experiment.path, root), "engine": experiment.engine,
                              "drive": experiment.drive, "commands": {"compare": command}}}
    summary["drive"]["superblock_per_sst"] = size_bytes(experiment.drive["superblock"]) / experiment.sst_bytes
    if recording:
        summary["experiment"]["commands"]["record"] = f"{recording.environment} {recording.command}"
        summary["recording"] = {"seconds": recording.seconds, "writes_per_second": recording.throughput,
                                "fill_share": recording.fill_share,
                                "database_peak_bytes": recording.database_peak_bytes}
    return summary


def shown(value, unit):
    if value is None:
        return "-"
    digits = 0 if unit == "" and value >= 100 else 1 if unit == "%" else 2
    return f"{value:,.{digits}f}{' ' + unit if unit else ''}"


def mark(met):
    return {True: "ok", False: "MISSED", None: ""}[met]


def text(summary):
    """For the terminal, within 80 columns; the table itself was printed by trib compare."""
    lines = ["regime"]
    lines += [f"  {i['name']:<36}{shown(i['value'], i['unit']):>12}  bar {i['bar']:<10} {mark(i['met'])}"
              for i in summary["regime"]]
    if summary["checks"]:
        lines.append("what the table shows")
    lines += [f"  {i['name']:<52}{shown(i['value'], i['unit']):>6}  {i['bar']} {mark(i['met'])}"
              if i["value"] is not None else f"  {i['name']}  {i['bar']} {mark(i['met'])}" for i in summary["checks"]]
    if summary["live"]:
        live = summary["live"]
        lines.append(f"live WAF {live['waf']:.4f}, replay of its trace {live['replay_waf']:.4f}: "
                     f"{'they agree' if live['agrees'] else 'THEY DIFFER by more than 0.1 %'}")
        if live["events_dropped"] or live["drive_errors"]:
            lines.append(f"  the live run dropped {live['events_dropped']:,} events and had "
                         f"{live['drive_errors']:,} drive errors")
    lines += textwrap.wrap("; ".join(summary["notes"]), 80)
    return "\n".join(lines)
