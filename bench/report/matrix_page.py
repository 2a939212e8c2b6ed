# SPDX-License-Identifier: Apache-2.0
"""From the JSON of `trib lab matrix` (docs/formats/matrix-json.md) to one self-contained HTML page."""
import os
import statistics

import jinja2
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

import figures
import words

HERE = os.path.dirname(os.path.abspath(__file__))
GC_WORDS = {"same": "survivors go back to their own stream (the papers’ drive)",
            "shared": "all survivors together (what today’s drives do)",
            "own": "where the policy’s own paper sends survivors"}
LINES_MOST = 9  # more lines than colours say nothing


def unique(values):
    return list(dict.fromkeys(values))


def place_of(row):
    return "own" if row["own_gc"] else row["gc"]


def index_of(rows):
    return {(row["workload"], row["label"], place_of(row), row["victim"]): row for row in rows}


def is_ablation(label):
    return label.startswith("tributary") and label != "tributary"


def text_of(value):
    return "–" if not value else f"{value:.3f}" if value < 9.9995 else f"{value:.2f}"


def heat(value, best, worst):
    """From blue (the best) to orange (the worst), by the logarithm of WAF: near 1 a hundredth matters."""
    if not value or not best or worst <= best:
        return ""
    share = min(1.0, max(0.0, (value - best) / (worst - best))) ** 0.6
    low, high = (214, 234, 248), (253, 216, 170)
    colour = [round(a + (b - a) * share) for a, b in zip(low, high)]
    return f"background:rgb({colour[0]},{colour[1]},{colour[2]})"


def table(data, index, labels, gc, victim):
    """One line per workload: cells of the policies, then the bounds and theory."""
    bounds = {row["label"] for row in data["rows"] if row["bound"]}
    present = [label for label in labels
               if any((work["name"], label, gc, victim) in index for work in data["workloads"])]
    online = [label for label in present if label not in bounds]
    lines = []
    for work in data["workloads"]:
        found = {label: index.get((work["name"], label, gc, victim)) for label in present}
        values = [found[label]["waf_steady"] for label in online
                  if found[label] and found[label]["waf_steady"] and not is_ablation(label)]
        best, worst = (min(values), max(values)) if values else (None, None)
        differ = bool(values) and text_of(best) != text_of(worst)
        cells = []
        for label in present:
            row = found[label]
            value = row["waf_steady"] if row else None
            judged = label in online and differ and value
            cells.append({"text": text_of(value), "style": heat(value, best, worst) if judged else "",
                          "best": judged and text_of(value) == text_of(best),
                          "worst": judged and text_of(value) == text_of(worst),
                          "bound": label in bounds,
                          "title": (row["missing"] if row and row["missing"] else row["options"] if row else "")})
        lines.append({"name": work["name"], "summary": work["summary"], "cells": cells,
                      "optimum": text_of(work["optimum_waf"])})
    heads = []
    for label in present:
        gcs = unique(row["gc"] for row in data["rows"] if row["label"] == label and place_of(row) == gc)
        heads.append(f"{label} ({gcs[0]})" if gc == "own" else label)
    return {"gc": gc, "words": GC_WORDS.get(gc, ""), "victim": victim, "heads": heads, "lines": lines}


def tables_of(data, index):
    labels = unique(row["label"] for row in data["rows"] if not is_ablation(row["label"]))
    places, victims = unique(map(place_of, data["rows"])), unique(row["victim"] for row in data["rows"])
    places = [gc for gc in places if gc != "own"] + (["own"] if "own" in places else [])
    return [table(data, index, labels, gc, victim) for victim in victims for gc in places]


def ablations_of(data, index):
    labels = unique(row["label"] for row in data["rows"] if row["label"].startswith("tributary"))
    if len(labels) < 2:
        return []
    victims = unique(row["victim"] for row in data["rows"])
    places = [gc for gc in unique(map(place_of, data["rows"])) if gc != "own"]
    found = []
    for victim in victims:
        for gc in places:
            lines = []
            for work in data["workloads"]:
                full = index.get((work["name"], "tributary", gc, victim))
                cells = []
                for label in labels:
                    row = index.get((work["name"], label, gc, victim))
                    value = row["waf_steady"] if row else None
                    base = full["waf_steady"] if full else None
                    change = value / base - 1 if value and base and label != "tributary" else None
                    worse = change is not None and change > 0.005
                    cells.append({"text": text_of(value), "change": "" if change is None else f"{100 * change:+.1f} %",
                                  "style": "background:rgb(253,216,170)" if worse else ""})
                lines.append({"name": work["name"], "cells": cells})
            found.append({"gc": gc, "victim": victim, "labels": labels, "lines": lines})
    return found


def mark_of(row, rivals):
    """Of a bar: lowest or highest of its destination, if they differ at all."""
    if not row or row["bound"] or not row["waf_steady"] or len(set(rivals)) < 2:
        return ""
    text, ordered = text_of(row["waf_steady"]), sorted(rivals, key=float)
    return "★" if text == ordered[0] else "×" if text == ordered[-1] else ""


def bars(data, index, work, victim):
    ran = {row["label"] for row in data["rows"] if row["workload"] == work["name"] and row["waf_steady"]}
    every = unique(row["label"] for row in data["rows"])
    labels = [label for label in every if label in ran and not is_ablation(label)]
    figure = go.Figure()
    for number, gc in enumerate(gc for gc in unique(map(place_of, data["rows"]))):
        found = [index.get((work["name"], label, gc, victim)) for label in labels]
        values = [row["waf_steady"] if row else None for row in found]
        if not any(values):
            continue
        rivals = [text_of(row["waf_steady"]) for row in found if row and row["waf_steady"] and not row["bound"]]
        marks = [mark_of(row, rivals) for row in found]
        figure.add_bar(name=f"gc={gc}", x=labels, y=[value - 1 if value else None for value in values], base=1,
                       customdata=values, marker={"color": ("#0072b2", "#e69f00", "#009e73", "#cc79a7")[number % 4]},
                       text=marks, textposition="outside", cliponaxis=False,
                       hovertemplate="%{x}<br>WAF %{customdata:.3f}")
    if work["optimum_waf"]:
        figure.add_hline(y=work["optimum_waf"], line={"color": "#d55e00", "dash": "dash", "width": 1.5},
                         annotation_text="optimum (theory)", annotation_font_color="#d55e00")
    figure.update_layout(barmode="group", bargap=0.25)
    figure.update_xaxes(tickangle=-35)
    figure.update_yaxes(title="steady WAF")
    return figures.html(figure, f"bars-{work['name']}", 360)


def lines(data, index, work, gc, victim):
    """The policies that end lowest, none and the bound."""
    labels = unique(row["label"] for row in data["rows"] if not is_ablation(row["label"]))
    found = [index.get((work["name"], label, gc, victim)) for label in labels]
    found = [row for row in found if row and row["waf_steady"]]
    chosen = sorted(found, key=lambda row: row["waf_steady"])[:LINES_MOST - 2]
    chosen = [row for row in found if row in chosen or row["label"] in ("none", "tributary")]
    figure = go.Figure()
    for number, row in enumerate(chosen):
        figure.add_scatter(name=row["label"], mode="lines",
                           x=[point["host_bytes"] / figures.GIB for point in row["series"]],
                           y=[point["waf_window"] for point in row["series"]],
                           line={"color": figures.COLOURS[number % len(figures.COLOURS)],
                                 "dash": figures.DASHES[number % len(figures.DASHES)], "width": 2},
                           hovertemplate=f"{row['label']}<br>%{{x:.1f}} GiB: WAF %{{y:.3f}}<extra></extra>")
    figure.update_xaxes(title="written by the host (GiB)", rangemode="tozero")
    figure.update_yaxes(title="WAF per fiftieth of the run", rangemode="normal")
    return figures.html(figure, f"lines-{work['name']}", 360)


def costs_of(data):
    found = []
    for label in unique(row["label"] for row in data["rows"]):
        ran = [row for row in data["rows"] if row["label"] == label and row["waf"]]
        if not ran:
            continue
        median = lambda key: statistics.median(row[key] for row in ran)  # noqa: E731
        per_terabyte = statistics.median(row["state_bytes"] / row["capacity_bytes"] * 1e12 for row in ran)
        signed = [row["state_bytes"] / row["signatures"] for row in ran if row["signatures"]]
        found.append({"label": label, "place_ns": median("place_ns"), "died_ns": median("died_ns") or None,
                      "state": median("state_bytes"), "per_terabyte": per_terabyte,
                      "per_signature": statistics.median(signed) if signed else None,
                      "by_address": ran[0]["by_address"]})
    return found


def clustering(data):
    figure = go.Figure()
    for number, method in enumerate(unique(each["method"] for each in data["clustering"])):
        points = [each for each in data["clustering"] if each["method"] == method]
        figure.add_scatter(name=method, mode="lines+markers", x=[each["signatures"] for each in points],
                           y=[each["milliseconds"] for each in points],
                           line={"color": figures.COLOURS[number + 1], "dash": figures.DASHES[number], "width": 2})
    figure.update_xaxes(title="signatures", type="log")
    figure.update_yaxes(title="milliseconds", type="log")
    return figures.html(figure, "clustering", 340)


def notes_of(data):
    found = {}
    for row in data["rows"]:
        if row["missing"]:
            found.setdefault(f"{row['label']} {row['missing']}", []).append(row["workload"])
    return [f"{what} ({', '.join(unique(where))})" for what, where in found.items()]


def headline(tables):
    """How often each policy is lowest, over all tables; a tie counts for all who share it."""
    wins, rows = {}, 0
    for each in tables:
        if each["gc"] == "own":
            continue
        for line in each["lines"]:
            rows += any(cell["best"] for cell in line["cells"])
            for head, cell in zip(each["heads"], line["cells"]):
                if cell["best"]:
                    wins[head] = wins.get(head, 0) + 1
    ranked = sorted(wins.items(), key=lambda item: -item[1])[:4]
    told = ", ".join(f"{name} {count}" for name, count in ranked)
    return f"Lowest steady write amplification, of {rows} comparisons in which the policies differ: {told}."


def render(data, environment):
    index = index_of(data["rows"])
    tables = tables_of(data, index)
    victim, gc = tables[0]["victim"], tables[0]["gc"]
    plots = [{"name": work["name"], "summary": work["summary"], "bars": bars(data, index, work, victim),
              "lines": lines(data, index, work, gc, victim)} for work in data["workloads"]]
    loader = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True,
                                lstrip_blocks=True, undefined=jinja2.StrictUndefined)
    loader.filters.update(size=words.size, count=words.count, fixed=words.fixed)
    with open(os.path.join(HERE, "style.css"), encoding="utf-8") as file:
        style = file.read()
    return loader.get_template("matrix.html.j2").render(
        style=style, plotly=get_plotlyjs(), data=data, tables=tables, ablations=ablations_of(data, index), plots=plots,
        victim=victim, gc=gc, costs=costs_of(data), clustering=clustering(data), notes=notes_of(data),
        headline=headline(tables), environment=environment)
