// SPDX-License-Identifier: BSL-1.0
// Charts by Chart.js, each with its text: a summary for readers of the screen, and its numbers as a table.
"use strict";

const drawn = [];  // {canvas, make, chart}
const hasLibrary = typeof Chart !== "undefined";
const dashes = [[], [7, 3], [2, 3], [9, 3, 2, 3]];

function theme() {
  const style = getComputedStyle(document.documentElement), of = name => style.getPropertyValue("--" + name).trim();
  const colours = [...Array(8).keys()].map(i => of("c" + i));
  return {
    ink: of("ink"),
    soft: of("soft"),
    line: of("line"),
    card: of("card"),
    rest: of("rest"),
    of,
    colour: i => colours[i % 8],
    dash: i => dashes[Math.floor(i / 4) % dashes.length],
  };
}

const faint = (colour, part) => colour + Math.round(part * 255).toString(16).padStart(2, "0");

function draw(entry) {
  if (entry.chart) entry.chart.destroy();
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  entry.chart = new Chart(entry.canvas, entry.make(theme()));
}
const redraw = () => drawn.filter(entry => entry.canvas.isConnected).forEach(draw);

/** Paper is white, whatever the screen is. */
function followTheme() {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", () => {
    document.documentElement.classList.add("paper");
    redraw();
  });
  addEventListener("afterprint", () => {
    document.documentElement.classList.remove("paper");
    redraw();
  });
}

/**
 * A card with a chart. `make(theme)` returns the settings for Chart.js, `rows()` the numbers as {head, rows} for its table.
 * `summary` describes the chart in a sentence.
 */
function figure(parent, {title, note, summary, height = 280, wide = false, make, rows}) {
  const made = el(
    "figure", {class: wide ? "card wide" : "card"},
    el("figcaption", {}, el("h3", {}, title), note ? el("p", {class: "soft"}, note) : null));
  const shown = () => {
    const {head, rows: all} = rows();
    return table(head, all);
  };
  parent.append(made);
  if (!hasLibrary) return made.append(el("p", {class: "soft"}, summary), shown());
  const canvas = el("canvas", {role: "img", "aria-label": `${title}. ${summary}`}, summary),
        frame = el("div", {class: "frame"}, canvas);
  frame.style.height = `${height}px`;
  const numbers = el("details", {class: "figure-table"}, el("summary", {}, "The numbers as a table"));
  numbers.addEventListener("toggle", () => {
    if (numbers.open && numbers.children.length === 1) numbers.append(shown());
  });
  made.append(frame, numbers);
  const entry = {canvas, make, chart: null};
  drawn.push(entry);
  draw(entry);
}

function axis(t, {title = "", type = "linear", min, max, tick, grid = true, stacked = false, labels, marks, step, all = false}) {
  const ticks = {color: t.soft, font: {size: 12}, maxRotation: 0, autoSkipPadding: 14, autoSkip: !all, stepSize: step};
  if (tick) ticks.callback = tick;
  const made = {
    type,
    min,
    max,
    stacked,
    title: {display: title !== "", text: title, color: t.soft, font: {size: 12}},
    ticks,
    grid: {color: t.line, display: grid, drawTicks: false},
    border: {color: t.line}
  };
  if (labels) made.labels = labels;
  if (marks)
    made.afterBuildTicks = scale => {
      scale.ticks = marks.filter(value => value >= scale.min && value <= scale.max).map(value => ({value}));
    };
  return made;
}

/** Where a logarithmic axis of seconds has its marks. */
const timeMarks =
  [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, .1, 1, 10, 60, 600, 3600, 36000, 86400 * 2, 86400 * 10, 86400 * 100, 86400 * 1000];
const timeAxis = what => ({title: `${what}, logarithmic`, type: "logarithmic", marks: timeMarks, tick: time});

/** In a legend a line is a line with its dashes, and all else a box. */
function lineMark(chart, item) {
  const set = chart.data.datasets[item.datasetIndex], line = chart.config.type === "line" && !set.fill;
  return line ? {pointStyle: "line", lineWidth: 2.2, lineDash: set.borderDash, strokeStyle: set.borderColor} :
                {pointStyle: "rect", lineWidth: 0};
}

function options(t, {x, y, legend = true, mode = "index", indexAxis = "x", label, title}) {
  const callbacks = {};
  if (label) callbacks.label = label;
  if (title) callbacks.title = title;
  return {
    responsive: true,
    maintainAspectRatio: false,
    animation: false,
    indexAxis,
    interaction: {mode, intersect: false, axis: indexAxis},
    scales: {x: axis(t, x), y: axis(t, y)},
    plugins: {
      legend: {
        display: legend,
        position: "bottom",
        align: "start",
        labels: {
          color: t.ink,
          boxWidth: 14,
          boxHeight: 10,
          font: {size: 12.5},
          filter: item => item.text !== "",
          generateLabels: chart => Chart.defaults.plugins.legend.labels.generateLabels(chart).map(
            one => ({...one, text: cut(one.text, 26), ...lineMark(chart, one)})),
          usePointStyle: true,
          pointStyleWidth: 22
        }
      },
      tooltip: {
        backgroundColor: t.card,
        titleColor: t.soft,
        bodyColor: t.ink,
        borderColor: t.line,
        borderWidth: 1,
        boxPadding: 4,
        callbacks
      },
    },
  };
}

const lineSet = (t, i, label, data, more) => ({
  label,
  data,
  borderColor: t.colour(i),
  backgroundColor: t.colour(i),
  borderDash: t.dash(i),
  borderWidth: 1.8,
  pointRadius: data.length === 1 ? 3 : 0,
  pointHitRadius: 6,
  ...more
});

/** Lines over a common axis. `sets`: {label, points: [{x, y}], colour, more}. `short(value)` is the default text of a value. */
function lineFigure(parent, {sets, x, y, mode, tell = short, tellX = short, legend, ...rest}) {
  figure(parent, {
    ...rest,
    make: t => ({
      type: "line",
      data: {
        datasets:
          sets.map(set => lineSet(t, set.colour, set.label, set.points, typeof set.more === "function" ? set.more(t) : set.more))
      },
      options: options(t, {
        x,
        y,
        mode,
        legend: legend === undefined ? sets.length > 1 : legend,
        title: items => (items.length ? tellX(items[0].parsed.x) : ""),
        label: item => ` ${item.dataset.label}: ${item.raw.text || tell(item.parsed.y)}`
      }),
    })
  });
}

/** Bars side by side. `sets`: {label, values, colour}, one value for each of `labels`. */
function barFigure(parent, {labels, sets, y, tell = short, ...rest}) {
  figure(parent, {
    ...rest,
    rows: () => ({
      head: ["", ...sets.map(set => set.label)],
      rows: labels.map((label, i) => [label, ...sets.map(set => tell(set.values[i]))])
    }),
    make: t => ({
      type: "bar",
      data: {
        labels,
        datasets: sets.map(set => ({
                             label: set.label,
                             data: set.values,
                             backgroundColor: t.colour(set.colour),
                             borderRadius: 3,
                             maxBarThickness: 42,
                             minBarLength: 2
                           }))
      },
      options: options(t, {
        x: {type: "category", grid: false, tick(value) { return cut(this.getLabelForValue(value), 14); }},
        y: {min: 0, ...y},
        legend: sets.length > 1,
        title: items => (items.length ? items[0].label : ""),
        label: item => ` ${item.dataset.label}: ${tell(item.parsed.y)}`
      }),
    })
  });
}

/** Rows of a table of points: at most `most`, evenly taken. */
function thinned(rows, most = 25) {
  const step = Math.ceil(rows.length / most);
  return rows.filter((_, i) => i % step === 0 || i === rows.length - 1);
}

/** A value that holds from the one before it up to its own x. */
const untilHere = {
  stepped: "after"
};

const percentiles =
  [["1 %", 1], ["5 %", 5], ["25 %", 25], ["median", 50], ["75 %", 75], ["95 %", 95], ["99 %", 99], ["all", 100]];

/** `all`: {label, colour, times}, with `times` as `write_distribution` writes it. A curve, a histogram and a table. */
function distributionFigures(parent, {title, what, all}) {
  const some = all.filter(one => one.times && one.times.reached > 0);
  if (!some.length) return;
  const x = {...timeAxis(what), grid: true}, percent = value => `${(value * 100).toFixed(1)} %`, tellX = time;
  const rows = () => ({head: ["of the jobs that got there", ...some.map(one => one.label)], rows: [
    ...percentiles.map(([name, at]) => [name, ...some.map(one => time(one.times.quantiles[at]))]), ["mean", ...some.map(one => time(one.times.mean))],
    ["jobs that got there", ...some.map(one => `${one.times.reached.toLocaleString("en")} of ${one.times.of.toLocaleString("en")}`)]]});
  const summary =
    some.map(one => `${one.label}: median ${time(one.times.quantiles[50])}, 95 % within ${time(one.times.quantiles[95])}`)
      .join("; ") +
    ".";
  const edge = k => 10 ** (k / some[0].times.bins.per_decade),
        least = Math.max(edge(Math.min(...some.map(one => one.times.bins.first))), 1e-6);
  lineFigure(parent, {
    title: `${title}: part of all jobs`,
    note: "part of all jobs that took no longer",
    summary,
    rows,
    x,
    tellX,
    tell: percent,
    mode: "nearest",
    y: {min: 0, max: 1, tick: value => `${Math.round(value * 100)} %`},
    legend: true,
    sets: some.map(
      one => ({
        label: one.label,
        colour: one.colour,
        points: one.times.quantiles.map((q, i) => ({x: Math.max(q, least), y: i / 100 * one.times.reached / one.times.of}))
      }))
  });
  lineFigure(parent, {
    title: `${title}: histogram`,
    note: "how many jobs took so long; stretches of equal width on this axis",
    summary,
    x,
    tellX,
    tell: value => plural(value, "job"),
    mode: "nearest",
    y: {min: 0, tick: value => (Number.isInteger(value) ? short(value) : "")},
    legend: true,
    rows: () => histogramRows(some, edge),
    sets: some.map(
      one => ({
        label: one.label,
        colour: one.colour,
        more: t =>
          ({stepped: "before", fill: some.length < 3 ? "origin" : false, backgroundColor: faint(t.colour(one.colour), .25)}),
        points: [
          ...one.times.bins.counts.map((count, i) => ({x: edge(one.times.bins.first + i), y: count})),
          {x: edge(one.times.bins.first + one.times.bins.counts.length), y: 0}
        ]
      }))
  });
  parent.append(el(
    "section", {class: "card wide"}, el("h3", {}, `${title}: percentiles`), (({head, rows: all}) => table(head, all))(rows())));
}

function histogramRows(some, edge) {
  const first = Math.min(...some.map(one => one.times.bins.first)),
        last = Math.max(...some.map(one => one.times.bins.first + one.times.bins.counts.length));
  const bins = [...Array(last - first).keys()].map(i => first + i);
  return {
    head: ["from", ...some.map(one => one.label)],
    rows: bins.map(k => [time(edge(k)), ...some.map(one => short(one.times.bins.counts[k - one.times.bins.first] || 0))])
  };
}

/** Rows with bars over time: `stretches` are [row, kind, from, to] in nanoseconds; `kinds` has the number, label and looks of each kind that is shown. */
function barsOverTime(t, {end, names, kinds, stretches, legend}) {
  const times = timeUnit(end / 1e9), at = time => time / 1e9 / times.seconds;
  return {
    type: "bar",
    data: {
      datasets: kinds.map(
        ({number, ...looks}) => ({
          ...looks,
          grouped: false,
          borderRadius: 2,
          borderSkipped: false,
          barThickness: 16,
          data: stretches.filter(s => s[1] === number).map(([row, , from, to]) => ({x: [at(from), at(to)], y: names[row]}))
        }))
    },
    options: options(t, {
      indexAxis: "y",
      mode: "nearest",
      legend,
      x: {min: 0, max: at(end), title: `time, ${times.name}`},
      y: {
        type: "category",
        labels: names,
        grid: false,
        all: true,
        tick(v) { return cut(this.getLabelForValue(v), innerWidth < 560 ? 12 : 28); }
      },
      title: items => (items.length ? items[0].raw.y : ""),
      label: item => ` ${item.dataset.label}: ${short(item.raw.x[0])} to ${short(item.raw.x[1])} ${times.name}`
    })
  };
}
