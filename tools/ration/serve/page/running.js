// SPDX-License-Identifier: BSL-1.0
// A running job: its share of the cores, its metric against its targets, and why its limit changed.
import {duration, element, number, share, soft} from "/parts.js";

const longestCurve = 300;
const curves = new Map();  // by job: the values since the page was opened

export function note(job) {
  if (job.value === null) return;
  const values = curves.get(job.id) ?? curves.set(job.id, []).get(job.id);
  values.push(job.value);
  if (values.length > longestCurve) values.shift();
}

export function forgetCurves() {
  curves.clear();
}

function curve(job) {
  const values = curves.get(job.id) ?? [], targets = [job.acceptable, job.objective, job.level].filter(one => one !== null);
  const all = [...values, ...targets, ...(job.first === null ? [] : [job.first])];
  const low = Math.min(...all), high = Math.max(...all), height = value => 58 - (54 * (value - low)) / (high - low || 1);
  const points = (values.length > 1 ? values : [values[0], values[0]]).map((value, i, list) => `${(100 * i) / (list.length - 1)},${height(value)}`).join(" ");
  const line = (value, style) => (value === null ? null : element("line", {x1: 0, x2: 100, y1: height(value), y2: height(value), class: style}));
  return element("svg", {viewBox: "0 0 100 62", preserveAspectRatio: "none", role: "img", "aria-label": `${job.metric} of ${job.label}`},
    line(job.acceptable, "acceptable"), line(job.objective, "objective"), line(job.level, "acceptable"), element("polyline", {points, class: "value"}));
}

function targets(job) {
  if (job.level !== null) return `level ${number(job.level)}${job.level_met === null ? "" : `, met ${Math.round(100 * job.level_met)} % of the time`}`;
  const reached = tier => (job.tier >= tier ? " \u2713" : "");
  return [job.acceptable === null ? "" : `Acceptable ${number(job.acceptable)}${reached(1)}`, job.objective === null ? "" : `Objective ${number(job.objective)}${reached(2)}`].filter(Boolean).join(", ");
}

// `job`: the job in the list; undefined if it is not in the list yet.
export function card(live, job, cores, name, button) {
  const limit = live.held_cores === null ? "no limit" : `${number(live.held_cores)} of ${number(cores)} cores`;
  const parts = [
    element("div", {class: "head"}, element("h3", {}, name), button),
    soft(`${live.tenant}, ${live.condition}${job ? `, ${job.stage} for ${duration(Date.now() - job.stage_ms)}` : ""}`),
    element("div", {class: "pair"}, element("span", {}, limit), element("span", {}, `uses ${number(live.used_cores)}`)),
    share(live.held_cores ?? cores, live.used_cores, cores)
  ];
  if (live.devices) parts.push(soft(`${live.devices} devices`));
  if (live.value !== null)
    parts.push(element("div", {class: "pair"}, element("span", {}, `${live.metric} ${number(live.value)}`), element("span", {}, `step ${live.step}`)), curve(live), soft(targets(live)));
  if (live.reason) parts.push(soft(`Last change: ${live.reason}`));
  return element("article", {class: "card"}, ...parts);
}
