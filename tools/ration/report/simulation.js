// SPDX-License-Identifier: BSL-1.0
// A simulation: its policies beside each other.
"use strict";

const figureUnits = {
  time: 0,
  share: 1,
  number: 2,
  change: 3
};

function figureText(figure, [mean, half], unit) {
  if (!isNumber(mean)) return none;
  if (figure.unit === figureUnits.time)
    return isNumber(half) ? `${short(mean / unit.seconds)} \u00b1 ${short(half / unit.seconds)}` : short(mean / unit.seconds);
  if (figure.unit === figureUnits.number) return isNumber(half) ? `${short(mean)} \u00b1 ${short(half)}` : short(mean);
  const percent = v => (v * 100).toFixed(1), sign = figure.unit === figureUnits.change && mean >= 0 ? "+" : "";
  return `${sign}${percent(mean)}${isNumber(half) ? ` \u00b1 ${percent(half)}` : ""} %`;
}

function labelsOf(policies) {
  const plain = policies.map(one => one.policy.slice(one.policy.lastIndexOf("/") + 1));
  return plain.map(
    (label, i) =>
      (plain.indexOf(label) !== plain.lastIndexOf(label) && policies[i].policy !== label ? policies[i].policy : label));
}

function clusterText({devices, cores, groups}) {
  const shape = groups
                  .map(
                    g => [g.devices ? `${g.nodes}x${g.devices}` : `${g.nodes}`, g.cores ? `${g.cores} cores` : "",
                          groups.length > 1 ? g.type : ""]
                           .filter(text => text)
                           .join(" "))
                  .join(", ");
  return `${[devices ? plural(devices, "device") : "", cores ? plural(cores, "core") : ""].filter(text => text).join(" and ")} (${
    shape})`;
}

function headlineOf({samples, cluster}) {
  if (!samples.length) return clusterText(cluster);
  const {workload, jobs} = samples[0];
  return `${workload}: ${plural(jobs, "job")} on ${clusterText(cluster)}${
    samples.length > 1 ? `, ${samples.length} samples` : ""}`;
}

const meanBound = (samples, name) =>
  (samples.length && samples.every(one => isNumber(one[name])) ?
     samples.reduce((sum, one) => sum + one[name], 0) / samples.length :
     null);

/** A bar for each policy, half of its confidence interval to both sides, and what no schedule can beat. */
function policyBars(parent, all, name, bound, boundIs) {
  const figure_ = all.data.figures.find(one => one.name === name),
        values = all.data.policies.map(one => one.figures[name] || [null, null]);
  if (!figure_ || !values.some(([mean]) => isNumber(mean))) return;
  const unit = figure_.unit === figureUnits.time ? all.unit : {name: "", seconds: 1},
        scaled = v => (isNumber(v) ? v / unit.seconds : null),
        text = i => `${figureText(figure_, values[i], unit)} ${unit.name}`.trim();
  const line = scaled(bound),
        note = figure_.meaning + (line === null ? "" : `; ${boundIs}: ${short(line)} ${unit.name}`.trimEnd());
  figure(parent, {
    title: figure_.label,
    note,
    height: 62 + 30 * all.labels.length,
    summary: all.labels.map((label, i) => `${label} ${text(i)}`).join("; ") + ".",
    rows: () => ({head: ["policy", figure_.label], rows: all.labels.map((label, i) => [label, text(i)])}),
    make: t => ({
      type: "bar",
      data: {
        labels: all.labels,
        datasets: [
          {
            label: figure_.label,
            data: values.map(([mean]) => scaled(mean)),
            backgroundColor: all.labels.map((_, i) => t.colour(i)),
            grouped: false,
            barThickness: 18,
            borderRadius: 3,
            order: 3,
            minBarLength: 2
          },
          {
            label: "95 % of the mean",
            data: values.map(([mean, half]) => (isNumber(half) ? [scaled(mean - half), scaled(mean + half)] : null)),
            backgroundColor: t.ink,
            grouped: false,
            barThickness: 3,
            order: 2
          },
          ...(line === null ? [] : [{
            type: "line",
            label: boundIs,
            data: all.labels.map(label => ({x: line, y: label})),
            borderColor: t.ink,
            borderDash: [4, 3],
            borderWidth: 1.5,
            pointRadius: all.labels.length === 1 ? 4 : 0,
            order: 1
          }]),
        ]
      },
      options: options(t, {
        indexAxis: "y",
        legend: false,
        mode: "nearest",
        x: {min: 0, title: unit.name, tick: figure_.unit === figureUnits.share ? v => `${Math.round(v * 100)} %` : undefined},
        y: {type: "category", grid: false, all: true, tick(v) { return cut(this.getLabelForValue(v), 22); }},
        title: items => (items.length ? items[0].label : ""),
        label: item => (item.dataset.type === "line" ? ` ${boundIs}: ${short(line)}` : ` ${text(item.dataIndex)}`)
      }),
    })
  });
}

/** A series of the simulation, {width, means}, as points. */
const seriesPoints = (series, unit) =>
  [{x: 0, y: series.means[0] || 0}, ...series.means.map((v, i) => ({x: (i + 1) * series.width / unit.seconds, y: v || 0}))];

function seriesFigure(parent, all, {name, title, note, most, policies, wide, height}) {
  const some = policies.map(i => ({i, series: all.data.policies[i].series && all.data.policies[i].series[name]}))
                 .filter(one => one.series && one.series.means.length);
  if (!some.some(one => one.series.means.some(v => v > 0))) return;
  const unit = timeUnit(largest(some.map(one => one.series.means.length * one.series.width))), alone = some.length === 1;
  const sets = some.map(({i, series}) => ({
                          label: all.labels[i],
                          colour: i,
                          points: seriesPoints(series, unit),
                          more: t => ({...untilHere, fill: alone ? "origin" : false, backgroundColor: faint(t.colour(i), .3)})
                        }));
  const longest = sets.reduce((a, b) => (b.points.length > a.points.length ? b : a));
  lineFigure(parent, {
    title,
    note,
    wide,
    height,
    sets,
    mode: "nearest",
    x: {title: `simulated time, ${unit.name}`, min: 0},
    y: {min: 0, max: most},
    tellX: v => `${short(v)} ${unit.name}`,
    legend: !alone,
    summary: sets.map(set => `${set.label}: at most ${short(largest(set.points.map(p => p.y)))}`).join("; ") + ".",
    rows: () => ({
      head: [`time, ${unit.name}`, ...sets.map(set => set.label)],
      rows:
        thinned(longest.points.map((p, i) => [short(p.x), ...sets.map(set => (set.points[i] ? short(set.points[i].y) : none))]))
    })
  });
}

function inUseFigures(parent, all, name, most) {
  if (!most) return;
  const note = `of ${most.toLocaleString("en")}${all.data.samples.length > 1 ? "; the first sample" : ""}`, apart = 8;
  if (all.labels.length > apart)
    return seriesFigure(parent, all, {
      name,
      title: `${name[0].toUpperCase()}${name.slice(1)} in use`,
      note,
      most,
      policies: all.labels.map((_, i) => i),
      wide: true
    });
  all.labels.forEach(
    (label, i) => seriesFigure(
      parent, all,
      {name, title: `${name[0].toUpperCase()}${name.slice(1)} in use: ${label}`, note, most, policies: [i], height: 180}));
}

function figuresCard(all) {
  const tells = figure_ => all.data.policies.some(
    one => one.figures[figure_.name] && isNumber(one.figures[figure_.name][0]) &&
      (one.figures[figure_.name][0] !== 0 || !["unfinished", "faults", "stops", "lost_work", "kills"].includes(figure_.name)));
  const rows = all.data.figures.filter(tells).map(
    figure_ =>
      [figure_.unit === figureUnits.time ? `${figure_.label}, ${all.unit.name}` : figure_.label,
       ...all.data.policies.map(one => figureText(figure_, one.figures[figure_.name] || [], all.unit))]);
  return card(el("h3", {}, "All figures"), table(["", ...all.labels], rows));
}

/** A line for each tenant under each policy; a page has the first 200 tenants. */
function tenantsCard(all) {
  const names = [...new Set(all.data.policies.flatMap(one => (one.tenants || []).map(tenant => tenant.tenant)))];
  if (!names.length) return null;
  const inTime = v => (isNumber(v) ? short(v / all.unit.seconds) : none), share = v => (isNumber(v) ? `${(v * 100).toFixed(1)} %` : none);
  const count = v => (Number.isInteger(v) ? v.toLocaleString("en") : short(v));
  const rows = names.flatMap(
    name => all.labels.flatMap((label, i) => (all.data.policies[i].tenants || [])
                                               .filter(one => one.tenant === name)
                                               .map(
                                                 one =>
                                                   [name, label, count(one.jobs), inTime(one.mean_wait), inTime(one.p99_wait),
                                                    inTime(one.worst_wait), share(one.held), share(one.weight)])));
  const unit = all.unit.name;
  return card(
    el("h3", {}, "Tenants"),
    el("p", {class: "soft"}, "with the jobs of the tenants below them; held: part of the device-seconds that all jobs held"),
    table(["tenant", "policy", "jobs", `mean wait, ${unit}`, `p99 wait, ${unit}`, `worst wait, ${unit}`, "held", "by weight"], rows));
}

function measuredCard(all, measured) {
  if (!measured || !measured.length) return null;
  const rows = measured.map(
    one =>
      [one.policy.slice(one.policy.lastIndexOf("/") + 1), one.decisions.toLocaleString("en"), time(one.decision_mean),
       time(one.decision_p99), time(one.decision_longest), time(one.run)]);
  return card(
    el("h3", {}, "Measured while simulating"),
    el("p", {class: "soft"}, "on the machine that ran the simulation, the first sample; not the same twice"),
    table(["policy", "decisions", "mean", "99 %", "longest", "whole run"], rows));
}

function showSimulation(page, file, data, measured) {
  const all = {
    data,
    labels: labelsOf(data.policies),
    unit: timeUnit(largest(data.policies.map(one => (one.figures.p99_jct || [])[0])))
  },
        cards = el("div", {class: "cards"});
  page.append(
    el("h2", {}, `${plural(data.policies.length, "policy").replace("policys", "policies")} under one workload`),
    el("p", {class: "soft"}, headlineOf(data) + (file ? `; ${file}` : "")), ...[notes(data.remarks)].filter(one => one), cards);
  for (const [name, bound, boundIs] of [
         ["mean_jct", meanBound(data.samples, "mean_jct"), "no schedule is better"], ["p99_jct", null, ""],
         ["makespan", meanBound(data.samples, "makespan"), "no schedule is better"], ["utilisation", null, ""],
         ["mean_to_acceptable", null, ""], ["mean_to_objective", null, ""], ["worst_rho", 1, "an equal share"],
         ["mean_wait", null, ""]])
    policyBars(cards, all, name, bound, boundIs);
  for (const [name, title, what] of [
         ["jct", "Job completion time", "JCT"], ["to_acceptable", "Time to Acceptable", "time to Acceptable"],
         ["to_objective", "Time to Objective", "time to Objective"]])
    distributionFigures(cards, {
      title,
      what,
      all: data.policies.map((one, i) => ({label: all.labels[i], colour: i, times: one.distributions && one.distributions[name]}))
    });
  const everyone = all.labels.map((_, i) => i), first = data.samples.length > 1 ? "; the first sample" : "";
  if (data.cluster.devices)
    seriesFigure(cards, all, {
      name: "waiting",
      title: "Jobs that wait",
      note: `submitted, not done, and without devices${first}`,
      policies: everyone,
      wide: true
    });
  else
    seriesFigure(cards, all, {
      name: "there",
      title: "Jobs at a time",
      note: `submitted and not done: they share the cores${first}`,
      policies: everyone,
      wide: true
    });
  inUseFigures(cards, all, "devices", data.cluster.devices);
  inUseFigures(cards, all, "cores", data.cluster.cores);
  if (data.jobs && data.samples.length) cards.append(simulatedJobFinder(all));
  cards.append(
    ...
      [figuresCard(all), tenantsCard(all), measuredCard(all, measured),
       card(el("h3", {}, "What the figures mean"), facts([
              ...data.figures.filter(one => !one.name.endsWith("_gap")).map(one => [one.label, one.meaning]),
              ["bound", "what no schedule can beat, not even one that knows the future; the best possible one may be worse"]
            ]))]
        .filter(one => one));
}
