// SPDX-License-Identifier: BSL-1.0
// Recorded runs: what compares them, then each by itself.
"use strict";

const phases = ["waiting", "running", "acceptable", "objective", "stalled", "silent"];
const phaseNames = ["waiting", "running", "Acceptable reached", "Objective reached", "stalled", "silent"];
const manyJobs = 24, mostRows = 60;

const sinceArrival = (jobs, i, moment) => (isNumber(jobs[moment][i]) && isNumber(jobs.arrived[i]) ? Math.max(jobs[moment][i] - jobs.arrived[i], 0) / 1e9 : null);

function comparisonTable(data) {
  const format = {s: time, cores: value => `${short(value)} cores`, jobs: short, changes: short};
  const labels = data.runs.map(run => run.label);
  const cell = (figure, i) => {
    const text = (format[figure.unit] || short)(figure.values[i]), by = i > 0 && ["s", "cores"].includes(figure.unit) ? change(figure.values[i], figure.values[0]) : "";
    return by ? el("span", {}, text, el("small", {}, by)) : text;
  };
  const rows = data.comparison.map(figure => [figure.of ? el("span", {}, figure.figure, el("small", {}, figure.of)) : figure.figure, ...labels.map((_, i) => cell(figure, i))]);
  return card(el("h3", {}, labels.length > 1 ? "The runs beside each other" : "The run in figures"),
    labels.length > 1 ? el("p", {class: "soft"}, `times count from a job's arrival; changes are against ${labels[0]}`) : el("p", {class: "soft"}, "times count from a job's arrival"), table(["", ...labels], rows));
}

/** Bars for each job and run, or curves where there are many jobs. */
function tierFigures(parent, data, {title, moment, distribution}) {
  const reached = data.runs.some(run => run.distributions[distribution].reached > 0);
  if (!reached) return;
  const names = [...new Set(data.runs.flatMap(run => run.jobs.name))];
  if (names.length > manyJobs)
    return distributionFigures(parent, {title, what: title.replace("Time", "time"), all: data.runs.map((run, i) => ({label: run.label, colour: i, times: run.distributions[distribution]}))});
  const sets = data.runs.map((run, i) => ({label: run.label, colour: i, values: names.map(name => sinceArrival(run.jobs, run.jobs.name.indexOf(name), moment))}));
  const unit = timeUnit(largest(sets.flatMap(set => set.values)));
  barFigure(parent, {title, note: "from a job's arrival; no bar: not reached", labels: names,
    summary: sets.map(set => `${set.label}: ${set.values.filter(isNumber).length} of ${names.length} jobs, the last after ${time(largest(set.values))}`).join("; ") + ".",
    sets: sets.map(set => ({...set, values: set.values.map(v => (isNumber(v) ? v / unit.seconds : null))})), y: {title: unit.name},
    tell: value => (isNumber(value) ? `${short(value)} ${unit.name}` : "not reached")});
}

/** All CPU time that jobs use, in parts of the cores that they share. */
function utilisation(run) {
  const {used} = run.resources.cpu, sum = i => Object.values(used.of).reduce((all, values) => all + values[i], used.others[i]);
  return used.to.map((to, i) => ({x: to, y: run.cpus > 0 ? sum(i) / (1000 * run.cpus) : 0}));
}

function utilisationFigure(parent, data) {
  const some = data.runs.map((run, i) => ({run, colour: i})).filter(({run}) => run.resources.cpu && run.resources.cpu.used.to.length);
  if (!some.length) return;
  const unit = timeUnit(largest(some.map(({run}) => run.end / 1e9))), percent = value => `${(value * 100).toFixed(1)} %`;
  const sets = some.map(({run, colour}) => ({label: run.label, colour, more: untilHere, points: utilisation(run).map(p => ({x: p.x / unit.seconds, y: p.y}))}));
  lineFigure(parent, {title: "Utilisation of the CPU", note: "CPU time that the jobs used, of the cores that they share; what is measured is smoothed, so it may stand above 100 % for a while", wide: true, height: 220, sets, x: {title: `time, ${unit.name}`, min: 0}, mode: "index",
    y: {min: 0, step: .25, tick: value => `${Math.round(value * 100)} %`, max: Math.max(1, largest(sets.flatMap(set => set.points.map(p => p.y))))}, tell: percent, tellX: x => `${short(x)} ${unit.name}`, legend: true,
    summary: some.map(({run}) => `${run.label}: ${isNumber(run.mean_cpu) ? `${short(run.mean_cpu)} of ${plural(run.cpus, "core")} on average` : "the run has no end in its log"}`).join("; ") + ".",
    rows: () => ({head: [`time, ${unit.name}`, ...sets.map(set => set.label)], rows: thinned(sets[0].points.map((p, i) => [short(p.x), ...sets.map(set => (set.points[i] ? `${percent(set.points[i].y)}${set.points[i].x === p.x ? "" : ` at ${short(set.points[i].x)}`}` : none))]))})});
}

function placesOf(series) { return Object.keys(series.of).map(Number); }

/** What jobs use, on top of one another. */
function stackFigure(parent, run, name, colourOf) {
  const {used, room} = run.resources[name], unit = resourceUnit(name, largest(room.others)), times = timeUnit(run.end / 1e9);
  const others = used.others.some(v => v > 0);
  const points = values => [{x: 0, y: (values[0] || 0) / unit.scale}, ...values.map((v, i) => ({x: used.to[i] / times.seconds, y: v / unit.scale}))];
  const sets = placesOf(used).map(place => ({label: run.jobs.name[place], colour: colourOf(place), points: points(used.of[place])}));
  if (others) sets.push({label: "all others", colour: -1, points: points(used.others)});
  if (name === "cpu") sets.push({label: "the machine could give", colour: -2, points: room.to.map((to, i) => ({x: to / times.seconds, y: room.others[i] / unit.scale}))});
  const style = (set, i) => t => (set.colour === -2 ? {...untilHere, stack: "room", borderColor: t.soft, backgroundColor: t.soft, borderDash: [4, 3], borderWidth: 1.2} : {...untilHere, fill: i === 0 ? "origin" : "-1", borderWidth: 1, borderDash: [], borderColor: set.colour < 0 ? t.rest : t.colour(set.colour),
    backgroundColor: faint(set.colour < 0 ? t.rest : t.colour(set.colour), Math.floor(set.colour / 8) % 2 === 1 ? .35 : .7)});
  lineFigure(parent, {title: name === "cpu" ? "CPU by job" : `${name} by job`, note: `what each job used, on top of one another, in ${unit.unit}${name === "cpu" ? "; smoothed, as ration measures it" : ""}`, wide: true, height: 300, legend: true,
    sets: sets.map((set, i) => ({...set, more: style(set, i)})), x: {title: `time, ${times.name}`, min: 0, max: run.end / 1e9 / times.seconds}, y: {stacked: true, min: 0, title: unit.unit}, mode: "index", tell: v => `${short(v)} ${unit.unit}`,
    tellX: x => `${short(x)} ${times.name}`, summary: sets.map(set => `${set.label}: at most ${short(largest(set.points.map(p => p.y)))} ${unit.unit}`).join("; ") + ".",
    rows: () => ({head: [`time, ${times.name}`, ...sets.map(set => set.label)], rows: thinned(sets[0].points.map((p, i) => [short(p.x), ...sets.map(set => (set.points[i] ? short(set.points[i].y) : none))]))})});
}

/** What jobs may use: the limit of each, or the whole machine where there is none. */
function limitFigure(parent, run, name, colourOf) {
  const {held, room} = run.resources[name], places = placesOf(held).filter(place => held.of[place].some(v => v !== 0));
  if (!places.some(place => held.of[place].some(v => isNumber(v) && v > 0))) return;
  const most = largest([...room.others, ...places.flatMap(place => held.of[place])]), unit = resourceUnit(name, most), times = timeUnit(run.end / 1e9);
  const point = (v, i) => ({x: held.to[i] / times.seconds, y: v === 0 ? null : (v === "unlimited" ? most : v) / unit.scale, text: v === "unlimited" ? "no limit" : ""});
  const sets = places.map(place => ({label: run.jobs.name[place], colour: colourOf(place), more: {...untilHere, borderDash: dashes[colourOf(place) % dashes.length]}, points: held.of[place].map(point)}));
  const told = p => p.text || (p.y === null ? none : short(p.y));
  lineFigure(parent, {title: name === "cpu" ? "CPU limit by job" : `${name} held by job`, note: "what each job may use; at the top: no limit", wide: true, height: 220, sets, legend: true,
    x: {title: `time, ${times.name}`, min: 0, max: run.end / 1e9 / times.seconds}, y: {min: 0, title: unit.unit, max: most / unit.scale * 1.04, tick: v => (v > most / unit.scale ? "" : short(v))}, mode: "index", tell: v => `${short(v)} ${unit.unit}`, tellX: x => `${short(x)} ${times.name}`,
    summary: sets.map(set => { const least = set.points.filter(p => p.y !== null && !p.text).map(p => p.y); return `${set.label}: ${least.length ? `limited to ${short(Math.min(...least))} ${unit.unit} at least once` : "never limited"}`; }).join("; ") + ".",
    rows: () => ({head: [`time, ${times.name}`, ...sets.map(set => set.label)], rows: thinned(held.to.map((to, i) => [short(to / times.seconds), ...sets.map(set => told(set.points[i]))]))})});
}

/** A row for each job, a bar for each state. */
function ganttFigure(parent, run) {
  const times = timeUnit(run.end / 1e9), at = t => t / 1e9 / times.seconds, names = run.jobs.name;
  const used = phases.map((_, phase) => phase).filter(phase => run.phases.some(p => p[1] === phase));
  figure(parent, {title: "Jobs over time", note: "when each waited, ran, and reached its tiers", wide: true, height: 92 + 26 * names.length,
    summary: names.map((name, i) => `${name}: ${run.jobs.how[i]}${isNumber(run.jobs.ended_at[i]) ? ` at ${nanoseconds(run.jobs.ended_at[i])}` : ""}`).join("; ") + ".",
    rows: () => ({head: ["job", "state", "from", "to"], rows: run.phases.map(([place, phase, from, to]) => [names[place], phaseNames[phase], nanoseconds(from), nanoseconds(to)])}),
    make: t => ({
      type: "bar",
      data: {datasets: used.map(phase => ({label: phaseNames[phase], backgroundColor: t.of(phases[phase]), grouped: false, borderRadius: 2, borderSkipped: false, barThickness: 16,
        data: run.phases.filter(p => p[1] === phase).map(([place, , from, to]) => ({x: [at(from), at(to)], y: names[place]}))}))},
      options: options(t, {indexAxis: "y", mode: "nearest", x: {min: 0, max: at(run.end), title: `time, ${times.name}`}, y: {type: "category", labels: names, grid: false, all: true, tick(v) { return cut(this.getLabelForValue(v), innerWidth < 560 ? 12 : 28); }},
        title: items => (items.length ? items[0].raw.y : ""), label: item => ` ${item.dataset.label}: ${short(item.raw.x[0])} to ${short(item.raw.x[1])} ${times.name}`}),
    })});
}

/** How many jobs are in each state, where there are too many for a row each. */
function phaseCountFigure(parent, run) {
  const times = timeUnit(run.end / 1e9), {width, counts} = run.phase_counts, used = phases.map((_, i) => i).filter(i => counts[i].some(v => v > 0));
  const x = i => i * width / times.seconds, points = of => of.map((v, i) => ({x: x(i + 1), y: v}));
  const sets = used.map((phase, i) => ({label: phaseNames[phase], colour: 0, points: [{x: 0, y: counts[phase][0]}, ...points(counts[phase])],
    more: t => ({...untilHere, fill: i === 0 ? "origin" : "-1", borderWidth: 1, borderDash: [], borderColor: t.of(phases[phase]), backgroundColor: faint(t.of(phases[phase]), .75)})}));
  lineFigure(parent, {title: "Jobs by state over time", note: "how many waited, ran, and had reached their tiers", wide: true, height: 300, sets, legend: true, mode: "index", x: {title: `time, ${times.name}`, min: 0, max: x(counts[0].length)},
    y: {stacked: true, min: 0, title: "jobs"}, tellX: v => `${short(v)} ${times.name}`, summary: used.map((phase, i) => `${phaseNames[phase]}: at most ${short(largest(sets[i].points.map(p => p.y)))} jobs`).join("; ") + ".",
    rows: () => ({head: [`time, ${times.name}`, ...sets.map(set => set.label)], rows: thinned(sets[0].points.map((p, i) => [short(p.x), ...sets.map(set => short(set.points[i].y))]))})});
}

/** The metric of one job, and its tiers. */
function curveFigure(parent, run, curve, colour, height = 210) {
  const i = curve.job, times = timeUnit(run.end / 1e9), {jobs} = run, metric = jobs.metric[i] || "metric";
  const points = curve.t.map((t, k) => ({x: t / times.seconds, y: isNumber(curve.value[k]) ? curve.value[k] : null})), ends = [points[0].x, points[points.length - 1].x];
  const tiers = [["Acceptable", jobs.acceptable[i], [6, 3]], ["Objective", jobs.objective[i], [2, 3]]].filter(tier => isNumber(tier[1]));
  const flat = (value) => ends.map(x => ({x, y: value}));
  lineFigure(parent, {title: jobs.name[i], height, mode: "nearest", x: {title: `time, ${times.name}`}, y: {title: metric}, legend: true,
    note: tiers.map(([name, value]) => `${name} ${short(value)}`).join(", ") || "no target in the log",
    sets: [{label: metric, colour, points}, ...tiers.map(([name, value, dash]) => ({label: name, colour: 0, points: flat(value), more: t => ({borderColor: name === "Objective" ? t.of("objective") : t.of("acceptable"), backgroundColor: t.of("objective"), borderDash: dash, borderWidth: 1.5, pointRadius: 0})}))],
    tellX: x => `${short(x)} ${times.name}`, summary: `${metric} from ${short(points[0].y)} to ${short(points[points.length - 1].y)} in ${plural(jobs.reports[i], "report")}; ` +
      `Acceptable ${isNumber(jobs.acceptable_at[i]) ? `after ${time(sinceArrival(jobs, i, "acceptable_at"))}` : "not reached"}, Objective ${isNumber(jobs.objective_at[i]) ? `after ${time(sinceArrival(jobs, i, "objective_at"))}` : "not reached"}.`,
    rows: () => ({head: [`time, ${times.name}`, metric], rows: thinned(points.map(p => [short(p.x), short(p.y)]))})});
}

const jobHead = ["job", "arrived", "waited", "to Acceptable", "to Objective", "to its end", "how it ended"];
function jobRow(run, i) {
  const {jobs} = run, since = moment => time(sinceArrival(jobs, i, moment));
  return [jobs.name[i], nanoseconds(jobs.arrived[i]), since("started"), since("acceptable_at"), since("objective_at"), since("ended_at"), jobs.why[i] ? `${jobs.how[i]}: ${jobs.why[i]}` : jobs.how[i]];
}

/** A box that finds jobs by a part of their name. */
function jobFinder(run) {
  const hits = el("div", {class: "find"}), shown = el("div", {}), most = 12;
  const show = i => {
    shown.replaceChildren(table(jobHead, [jobRow(run, i)], "words"));
    const curve = run.curves.find(one => one.job === i);
    if (curve) curveFigure(shown, run, curve, 0);
  };
  const look = event => {
    const wanted = event.target.value.trim().toLowerCase(), found = [];
    for (let i = 0; wanted && i < run.jobs.name.length && found.length < most; ++i) if (run.jobs.name[i].toLowerCase().includes(wanted)) found.push(i);
    hits.replaceChildren(...found.map(i => el("button", {type: "button", onclick: () => show(i)}, run.jobs.name[i])));
    shown.replaceChildren();
    if (found.length === 1) show(found[0]);
  };
  const box = el("input", {type: "search", placeholder: "part of a job's name", "aria-label": `Find a job of ${run.label}`, oninput: look});
  const lacks = run.jobs_in_all - run.jobs.name.length;
  return card(el("h3", {}, "Find a job"), lacks > 0 ? el("p", {class: "soft"}, `the first ${run.jobs.name.length.toLocaleString("en")} of ${run.jobs_in_all.toLocaleString("en")} jobs are on this page`) : null,
    el("div", {class: "find"}, box), hits, shown);
}

/** Decisions and what came of them; all of it as text. */
function decisionLog(run) {
  const {seen, entries} = run.log, first = 60, body = el("div", {});
  const row = ([t, last, times, decision, what, job, resource, from, to, why]) => [times > 1 ? `${nanoseconds(t)} to ${nanoseconds(last)}` : nanoseconds(t), decision >= 0 ? String(decision) : none, times > 1 ? `${what} (${times} times)` : what,
    job, resource, from && to ? `${from} \u2192 ${to}` : to, why];
  const show = (wanted, most) => {
    const found = entries.filter(e => !wanted || e[5].toLowerCase().includes(wanted) || e[4].includes(wanted));
    body.replaceChildren(table(["time", "decision", "what", "job", "resource", "change", "why"], found.slice(0, most).map(row), "words"));
    if (found.length > most) body.append(el("button", {type: "button", class: "more", onclick: () => show(wanted, found.length)}, `show all ${found.length.toLocaleString("en")}`));
  };
  show("", first);
  const {decisions} = run;
  const note = `${plural(decisions.count, "decision")}${decisions.count ? `, half of them within ${time(decisions.p50)}, the longest ${time(decisions.longest)}` : ""}; ${plural(run.changes, "change")}, ${plural(run.rejected, "refused grant")}` +
    `${decisions.no_answer ? `, ${decisions.no_answer} without an answer` : ""}${seen > entries.length ? `; of ${seen.toLocaleString("en")} lines the first and the last are here` : ""}`;
  const made = card(el("h3", {}, "Decision log"), el("p", {class: "soft"}, note),
    el("div", {class: "find"}, el("input", {type: "search", placeholder: "job, or change, deferred, warning ...", "aria-label": `Search the decision log of ${run.label}`, oninput: event => show(event.target.value.trim().toLowerCase(), first)})), body);
  made.classList.add("long");
  return made;
}

function remarksOn(run) {
  const said = [...run.approximate.map(text => `${run.label}: ${text}`)], unknown = Object.entries(run.unknown);
  if (!isNumber(run.makespan)) said.push(`${run.label}: its log ends after ${nanoseconds(run.end)}, before the run did; what is shown is how far it came.`);
  if (run.interrupted) said.push(`${run.label}: it was interrupted.`);
  if (run.lost_events) said.push(`${run.label}: ${plural(run.lost_events, "event")} ${run.lost_events === 1 ? "is" : "are"} missing in its log.`);
  if (run.failed) said.push(`${run.label}: ${plural(run.failed, "job")} failed or diverged.`);
  if (unknown.length) said.push(`${run.label}: events that this ration does not show: ${unknown.map(([event, count]) => `${event} (${count})`).join(", ")}.`);
  return said;
}

/** One run by itself. */
function runSection(parent, run) {
  const colours = new Map(), colourOf = place => colours.get(place) ?? (colours.set(place, colours.size), colours.size - 1), cards = el("div", {class: "cards"}), few = run.jobs.name.length <= 12;
  run.jobs.name.slice(0, 12).forEach((_, place) => few && colourOf(place));
  const started = run.unix_time ? new Date(run.unix_time * 1000).toISOString().replace("T", " ").slice(0, 16) + " UTC" : "";
  parent.append(facts([["log", `${run.file}, line ${run.line}`], ["jobs", `${run.jobs_in_all.toLocaleString("en")} from ${run.jobs_file}`], ["policy", `${run.policy} ${run.policy_version}${run.isolation && run.isolation !== "none" ? `, ${run.isolation}` : ""}`],
    ["machine", `${plural(run.cpus, "core")} shared${run.machine ? `, ${run.machine}` : ""}`], ["ration", run.program], ["started", started]]), cards);
  if (!run.phases) phaseCountFigure(cards, run);
  else if (run.phases.length) ganttFigure(cards, run);
  for (const name of Object.keys(run.resources)) {
    if (run.resources[name].used.to.length && (placesOf(run.resources[name].used).some(place => run.resources[name].used.of[place].some(v => v > 0)))) stackFigure(cards, run, name, colourOf);
    limitFigure(cards, run, name, colourOf);
  }
  if (few && run.curves.length) {
    const grid = el("div", {class: "cards small wide"});
    cards.append(el("section", {class: "wide"}, el("h3", {}, "The metric of each job, and its tiers"), grid));
    for (const curve of run.curves) curveFigure(grid, run, curve, colourOf(curve.job));
  }
  cards.append(run.jobs.name.length <= mostRows ? card(el("h3", {}, "Jobs"), table(jobHead, run.jobs.name.map((_, i) => jobRow(run, i)), "words")) : waitsOf(run));
  if (!few) cards.append(jobFinder(run));
  cards.append(decisionLog(run));
}

function waitsOf(run) {
  const of = ["wait", "to_acceptable", "to_objective", "to_end"].map(name => run.distributions[name]), cell = (one, at) => (one.reached ? time(one.quantiles[at]) : none);
  return card(el("h3", {}, "Jobs"), table(["of the jobs that got there", "waited", "to Acceptable", "to Objective", "to the end"],
    [...percentiles.map(([name, at]) => [name, ...of.map(one => cell(one, at))]), ["jobs that got there", ...of.map(one => `${one.reached.toLocaleString("en")} of ${one.of.toLocaleString("en")}`)]]));
}

function showRuns(page, data) {
  const cards = el("div", {class: "cards"});
  page.append(cards);
  cards.append(comparisonTable(data));
  tierFigures(cards, data, {title: "Time to Acceptable", moment: "acceptable_at", distribution: "to_acceptable"});
  tierFigures(cards, data, {title: "Time to Objective", moment: "objective_at", distribution: "to_objective"});
  if (data.runs.some(run => run.jobs_in_all > manyJobs)) tierFigures(cards, data, {title: "Time to the end", moment: "ended_at", distribution: "to_end"});
  utilisationFigure(cards, data);
  const open = 3;
  data.runs.forEach((run, i) => {
    if (i < open) {
      const section = el("section", {class: "run"}, el("h2", {}, run.label));
      page.append(section);
      return runSection(section, run);
    }
    const closed = el("details", {class: "run"}, el("summary", {}, run.label));
    closed.addEventListener("toggle", () => { if (closed.open && closed.children.length === 1) runSection(closed, run); });
    page.append(closed);
  });
}
