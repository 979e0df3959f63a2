// SPDX-License-Identifier: BSL-1.0
// One job of a simulation: when it came, waited and ended under each policy, and what it held.
"use strict";

const sumOf = (times, since) => (isNumber(times) ? times + since : null);

/** The holdings of a job: {of: [[since its submission, how much], ...]}, or {changes} where there are too many to be on the page. */
function wayOf(jobs, i) {
  const holds = jobs.holds[i];
  if (isNumber(holds)) return {of: [[jobs.started[i], holds], [jobs.finished[i], 0]]};
  if (!Array.isArray(holds)) return {changes: holds.changes};
  return {of: holds.filter((_, k) => k % 2 === 0).map((t, k) => [t, holds[2 * k + 1]])};
}

function wayText(way) {
  if (!way.of) return `${way.changes.toLocaleString("en")} changes`;
  const told = 4, parts = way.of.slice(0, told).map(([t, amount]) => `${short(amount)} from ${time(t)}`);
  if (!way.of.length) return none;
  return `${parts.join(", ")}${way.of.length > told ? `, and ${plural(way.of.length - told, "more change")}` : ""}`;
}

/** One step line for each policy under which the job held something. */
function wayFigure(parent, all, i, title, what) {
  const ways = all.data.policies.map((one, p) => ({p, way: one.jobs ? wayOf(one.jobs, i) : {}}))
                 .filter(one => one.way.of && one.way.of.some(([, amount]) => amount > 0));
  if (!ways.length) return;
  const unit = timeUnit(largest(ways.flatMap(one => one.way.of.map(([t]) => t))));
  const sets = ways.map(({p, way}) => ({
                          label: all.labels[p],
                          colour: p,
                          more: {stepped: "before"},
                          points: [{x: 0, y: 0}, ...way.of.map(([t, amount]) => ({x: t / unit.seconds, y: amount}))]
                        }));
  const top = largest(sets.flatMap(set => set.points.map(p => p.y)));
  lineFigure(parent, {
    title: `${title}: ${what} held`,
    note: "from its submission on",
    height: 220,
    sets,
    mode: "nearest",
    legend: true,
    x: {title: `time since it was submitted, ${unit.name}`, min: 0},
    y: {
      min: 0,
      max: top * 1.1,
      step: what === "devices" && top <= 10 ? 1 : undefined,
      title: what,
      tick: v => (what === "devices" && !Number.isInteger(v) ? "" : short(v))
    },
    tellX: v => `${short(v)} ${unit.name}`,
    summary: sets.map(set => `${set.label}: at most ${short(largest(set.points.map(p => p.y)))} ${what}`).join("; ") + ".",
    rows: () => ({
      head: ["policy", `time, ${unit.name}`, what],
      rows: sets.flatMap(set => set.points.map(p => [set.label, short(p.x), short(p.y)]))
    })
  });
}

function jobRows(all, i) {
  const submitted = all.data.jobs.submitted[i];
  return all.data.policies.map((one, p) => {
    if (!one.jobs) return [all.labels[p], time(submitted), none, none, none, none];
    const {started, finished} = one.jobs;
    return [
      all.labels[p], time(submitted), time(started[i]), time(sumOf(finished[i], submitted)), time(finished[i]),
      wayText(wayOf(one.jobs, i))
    ];
  });
}

/** A box that finds a job of the first sample by its number, or by a part of its name. */
function simulatedJobFinder(all) {
  const {jobs} = all.data, count = jobs.submitted.length, hits = el("div", {class: "find"}), shown = el("div", {}), most = 12,
        nameOf = i => (jobs.names ? jobs.names[i] : String(i + 1)), what = all.data.cluster.devices ? "devices" : "cores";
  const show = i => {
    shown.replaceChildren(
      el("h3", {}, `Job ${nameOf(i)}`),
      table(["policy", "arrived", "waited", "ended", "JCT", `${what}, since its submission`], jobRows(all, i), "words"));
    wayFigure(shown, all, i, `Job ${nameOf(i)}`, what);
  };
  const matches = wanted => {
    const found = [], number = Number(wanted) - 1;
    if (Number.isInteger(number) && number >= 0 && number < count) found.push(number);
    for (let i = 0; jobs.names && i < count && found.length < most; ++i)
      if (i !== number && jobs.names[i].toLowerCase().includes(wanted)) found.push(i);
    return found;
  };
  const look = event => {
    const wanted = event.target.value.trim().toLowerCase(), found = wanted ? matches(wanted) : [];
    hits.replaceChildren(...found.map(i => el("button", {type: "button", onclick: () => show(i)}, nameOf(i))),
                         wanted && !found.length ? el("p", {class: "soft"}, "no such job exists on this page") : "");
    shown.replaceChildren();
    if (found.length === 1) show(found[0]);
  };
  const of = all.data.samples[0].jobs, lacks = count < of;
  return card(
    el("h3", {}, "Find a job"),
    el("p", {class: "soft"},
       `when it came, how long it waited and took, and what it held${all.data.samples.length > 1 ? "; the first sample" : ""}${
         lacks ? `; the first ${count.toLocaleString("en")} of ${of.toLocaleString("en")} jobs are on this page` : ""}`),
    el("div", {class: "find"},
       el("input", {
         type: "search",
         placeholder: jobs.names ? "number, or part of its name" : `number, from 1 to ${count}`,
         "aria-label": "Find a job of the simulation",
         oninput: look
       })),
    hits, shown);
}
