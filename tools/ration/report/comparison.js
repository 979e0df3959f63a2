// SPDX-License-Identifier: BSL-1.0
// Compares runs: figures, the time to each tier, the used part of the CPU.
"use strict";

function comparisonTable(data) {
  const format = {s: time, cores: value => `${short(value)} cores`, jobs: short, changes: short};
  const {sides, rounds, figures, remarks} = data.comparison;
  const by = (figure, i) => {
    const percent = figure.changes[i], half = figure.halves[i];
    if (!isNumber(percent) || !["s", "cores"].includes(figure.unit)) return "";
    const text = Math.abs(percent) < .05 ? "0.0" : `${percent > 0 ? "+" : ""}${percent.toFixed(1)}`;
    return isNumber(half) ? `${text} \u00b1 ${half.toFixed(1)} %` : `${text} %`;
  };
  const cell = (figure, i) => {
    const text = (format[figure.unit] || short)(figure.values[i]);
    return by(figure, i) ? el("span", {}, text, el("small", {}, by(figure, i))) : text;
  };
  const rows = figures.map(
    figure =>
      [figure.of ? el("span", {}, figure.figure, el("small", {}, figure.of)) : figure.figure,
       ...sides.map((_, i) => cell(figure, i))]);
  const means = rounds > 1 ? `means of ${rounds} rounds; ` : "",
        against = sides.length > 1 ? `; changes are against ${sides[0]}` : "";
  return card(
    el("h3", {}, sides.length > 1 ? "The runs beside each other" : "The run in figures"),
    el("p", {class: "soft"}, `${means}times count from a job's arrival${against}`), table(["", ...sides], rows),
    notes(remarks));
}

/** Bars for each job and run, or curves where there are many jobs. */
function tierFigures(parent, data, {title, moment, distribution}) {
  const reached = data.runs.some(run => run.distributions[distribution].reached > 0);
  if (!reached) return;
  const names = [...new Set(data.runs.flatMap(run => run.jobs.name))];
  if (names.length > manyJobs)
    return distributionFigures(parent, {
      title,
      what: title.replace("Time", "time"),
      all: data.runs.map((run, i) => ({label: run.label, colour: i, times: run.distributions[distribution]}))
    });
  const sets = data.runs.map(
    (run, i) =>
      ({label: run.label, colour: i, values: names.map(name => sinceArrival(run.jobs, run.jobs.name.indexOf(name), moment))}));
  const unit = timeUnit(largest(sets.flatMap(set => set.values)));
  barFigure(parent, {
    title,
    note: "from a job's arrival; no bar: not reached",
    labels: names,
    summary: sets
               .map(
                 set => `${set.label}: ${set.values.filter(isNumber).length} of ${names.length} jobs, the last after ${
                   time(largest(set.values))}`)
               .join("; ") +
      ".",
    sets: sets.map(set => ({...set, values: set.values.map(v => (isNumber(v) ? v / unit.seconds : null))})),
    y: {title: unit.name},
    tell: value => (isNumber(value) ? `${short(value)} ${unit.name}` : "not reached")
  });
}

/** All CPU time that jobs use, in parts of the cores that they share. */
function utilisation(run) {
  const {used} = run.resources.cpu, sum = i => Object.values(used.of).reduce((all, values) => all + values[i], used.others[i]);
  return used.to.map((to, i) => ({x: to, y: run.cpus > 0 ? sum(i) / (1000 * run.cpus) : 0}));
}

function utilisationFigure(parent, data) {
  const some =
    data.runs.map((run, i) => ({run, colour: i})).filter(({run}) => run.resources.cpu && run.resources.cpu.used.to.length);
  if (!some.length) return;
  const unit = timeUnit(largest(some.map(({run}) => run.end / 1e9))), percent = value => `${(value * 100).toFixed(1)} %`;
  const sets = some.map(
    ({run, colour}) =>
      ({label: run.label, colour, more: untilHere, points: utilisation(run).map(p => ({x: p.x / unit.seconds, y: p.y}))}));
  lineFigure(parent, {
    title: "Utilisation of the CPU",
    note:
      "CPU time that the jobs used, of the cores that they share; what is measured is smoothed, so it may stand above 100 % for a while",
    wide: true,
    height: 220,
    sets,
    x: {title: `time, ${unit.name}`, min: 0},
    mode: "index",
    y: {
      min: 0,
      step: .25,
      tick: value => `${Math.round(value * 100)} %`,
      max: Math.max(1, largest(sets.flatMap(set => set.points.map(p => p.y))))
    },
    tell: percent,
    tellX: x => `${short(x)} ${unit.name}`,
    legend: true,
    summary: some
               .map(
                 ({run}) => `${run.label}: ${
                   isNumber(run.mean_cpu) ? `${short(run.mean_cpu)} of ${plural(run.cpus, "core")} on average` :
                                            "the run has no end in its log"}`)
               .join("; ") +
      ".",
    rows: () => ({
      head: [`time, ${unit.name}`, ...sets.map(set => set.label)],
      rows: thinned(sets[0].points.map(
        (p, i) =>
          [short(p.x),
           ...sets.map(
             set =>
               (set.points[i] ? `${percent(set.points[i].y)}${set.points[i].x === p.x ? "" : ` at ${short(set.points[i].x)}`}` :
                                                                                        none))]))
    })
  });
}
