# SPDX-License-Identifier: Apache-2.0
"""The plots, each from the rows of `trib compare` (docs/formats/compare-json.md) to one HTML fragment.

Colours are Okabe and Ito's, which people with any colour vision can tell apart; lines also differ in their dashes.
"""
import re

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from words import MIB

COLOURS = ("#5c5c5c", "#0072b2", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#e69f00", "#8a6d00", "#004d40")
STREAM_COLOURS = ("#9a9a9a", "#0072b2", "#56b4e9", "#009e73", "#8bc34a", "#e69f00", "#d55e00", "#cc79a7", "#5e35b1")
DASHES = ("solid", "dash", "dot", "solid", "dash", "solid", "dashdot", "longdash", "dot")
CONFIG = {"responsive": True, "displaylogo": False, "displayModeBar": False}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"
SMOOTH = 10  # points of about 200: a moving mean over 5 % of the run
GIB = 1 << 30


def html(figure, identity, height):
    figure.update_layout(template="simple_white", font={"family": FONT, "size": 13}, height=height,
                         margin={"l": 64, "r": 16, "t": 32, "b": 56}, autosize=True,
                         legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
                         hoverlabel={"font": {"family": FONT}})
    figure.update_xaxes(gridcolor="#e8e8e8", automargin=True)
    figure.update_yaxes(gridcolor="#e8e8e8", showgrid=True, automargin=True)
    text = figure.to_html(full_html=False, include_plotlyjs=False, config=CONFIG, default_width="100%",
                          default_height=f"{height}px")
    # Debian 12's plotly names the element at random; equal input shall give an equal page.
    return text.replace(re.search(r'<div id="([0-9a-f-]{36})"', text)[1], identity)


def labels_of(rows):
    return list(dict.fromkeys(row["label"] for row in rows))


def gcs_of(rows):
    return list(dict.fromkeys(row["gc"] for row in rows))


def find(rows, label, gc):
    return next((row for row in rows if row["label"] == label and row["gc"] == gc), None)


def wrapped(label):
    return re.sub(r"[ +-]", "<br>\\g<0>", label)


def waf_per_policy(rows):
    """Bars of steady WAF, one colour per destination of survivors. They start at 1: what is above it is copying."""
    labels, gcs = labels_of(rows), gcs_of(rows)
    figure = go.Figure()
    for number, gc in enumerate(gcs):
        found = [find(rows, label, gc) for label in labels]
        values = [row["waf_steady"] if row else None for row in found]
        heights = [value - 1 if value else None for value in values]
        figure.add_bar(name=f"gc={gc}", x=[wrapped(label) for label in labels], y=heights, base=1, customdata=values,
                       marker={"color": ("#0072b2", "#e69f00", "#009e73", "#cc79a7")[number % 4]},
                       text=[f"{value:.2f}" if value else "" for value in values], textposition="outside",
                       cliponaxis=False, hovertemplate="%{x}<br>WAF %{customdata:.3f}")
    figure.update_layout(barmode="group", bargap=0.25)
    figure.update_xaxes(tickangle=0)
    most = max((row["waf_steady"] or 1 for row in rows), default=1)
    figure.update_yaxes(title="steady WAF (flash / host pages)", range=[1, 1 + max(0.02, most - 1) * 1.15])
    return html(figure, "waf-per-policy", 380)


def moving_mean(values):
    found = []
    for end in range(1, len(values) + 1):
        window = [value for value in values[max(0, end - SMOOTH):end] if value is not None]
        found.append(sum(window) / len(window) if window else None)
    return found


def waf_over_time(rows, gc):
    figure = go.Figure()
    for number, label in enumerate(labels_of(rows)):
        row = find(rows, label, gc)
        if not row:
            continue
        figure.add_scatter(name=label, mode="lines", x=[point["host_bytes"] / GIB for point in row["series"]],
                           y=moving_mean([point["waf_window"] for point in row["series"]]),
                           line={"color": COLOURS[number % len(COLOURS)], "dash": DASHES[number % len(DASHES)],
                                 "width": 2.2},
                           hovertemplate=f"{label}<br>%{{x:.1f}} GiB: WAF %{{y:.3f}}<extra></extra>")
    figure.update_xaxes(title="written by the host (GiB)", rangemode="tozero")
    figure.update_yaxes(title="WAF (moving mean)", rangemode="normal")
    return html(figure, f"waf-over-time-{gc}", 400)


def panels(titles):
    """One narrow panel per policy below the other reads well on any screen."""
    figure = make_subplots(rows=len(titles), cols=1, shared_xaxes=True, subplot_titles=titles,
                           vertical_spacing=0.24 / max(1, len(titles)))
    for note in figure.layout.annotations:
        note.update(x=0, xanchor="left", font={"size": 14, "family": FONT})
    return figure


def lifetimes(rows, chosen, gc):
    """FAST'19 Fig. 11: lifetimes of the bytes of each stream; box p25 to p75, whiskers p10 to p90, diamond the mean."""
    found = [row for row in (find(rows, label, gc) for label in chosen) if row]
    figure = panels([row["label"] for row in found])
    for panel, row in enumerate(found, 1):
        for stream in row["streams"]:
            life = stream["lifetime"]
            if not life:
                continue
            number = stream["stream"]
            share = stream["written_bytes"] / max(1, sum(each["written_bytes"] for each in row["streams"]))
            figure.add_trace(go.Box(
                x=[f"S{number}<br>{100 * share:.0f} %" if share >= 0.005 else f"S{number}<br>&lt;1 %"],
                q1=[life["p25"] / MIB], median=[life["p50"] / MIB], q3=[life["p75"] / MIB],
                lowerfence=[life["p10"] / MIB], upperfence=[life["p90"] / MIB], mean=[life["mean"] / MIB],
                name=f"S{number}", showlegend=False, width=0.55,
                fillcolor=STREAM_COLOURS[number % len(STREAM_COLOURS)], opacity=0.85,
                line={"color": "#222", "width": 1.3}), row=panel, col=1)
        figure.update_xaxes(matches=None, showticklabels=True, row=panel, col=1)
    figure.update_yaxes(type="log", title="lifetime (MiB)", dtick=1, tickformat=",~r", matches="y")
    return html(figure, "lifetimes", 120 + 270 * len(found)), len(found)


def streams_over_time(rows, chosen, gc):
    found = [row for row in (find(rows, label, gc) for label in chosen) if row]
    figure = panels([row["label"] for row in found])
    seen = set()
    for panel, row in enumerate(found, 1):
        points = row["series"]
        widest = max((len(point["stream_bytes"]) for point in points), default=0)
        sums = [max(1, sum(point["stream_bytes"])) for point in points]
        for number in range(widest):
            shares = [100 * (point["stream_bytes"][number] if number < len(point["stream_bytes"]) else 0) / total
                      for point, total in zip(points, sums)]
            if not any(shares):
                continue
            colour = STREAM_COLOURS[number % len(STREAM_COLOURS)]
            figure.add_scatter(x=[point["host_bytes"] / GIB for point in points], y=moving_mean(shares),
                               name=f"S{number}", legendgroup=f"S{number}", showlegend=number not in seen,
                               stackgroup=f"panel{panel}", groupnorm="percent", mode="lines",
                               line={"width": 0.6, "color": colour}, fillcolor=colour,
                               hovertemplate=f"S{number}<br>%{{x:.1f}} GiB: %{{y:.1f}} %<extra></extra>",
                               row=panel, col=1)
            seen.add(number)
    figure.update_yaxes(title="bytes written (%)", range=[0, 100])
    figure.update_xaxes(title="written by the host (GiB)", row=len(found), col=1)
    return html(figure, "streams-over-time", 140 + 230 * len(found)), len(found)
