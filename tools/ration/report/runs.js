// SPDX-License-Identifier: BSL-1.0
// A page of recorded runs: what compares them, then each by itself.
"use strict";

const manyJobs = 24, mostRows = 60;

const sinceArrival = (jobs, i, moment) =>
  (isNumber(jobs[moment][i]) && isNumber(jobs.arrived[i]) ? Math.max(jobs[moment][i] - jobs.arrived[i], 0) / 1e9 : null);

function remarksOn(run) {
  const said = [...run.approximate.map(text => `${run.label}: ${text}`)], unknown = Object.entries(run.unknown);
  if (!isNumber(run.makespan))
    said.push(`${run.label}: its log ends after ${nanoseconds(run.end)}, before the run did; what is shown is how far it came.`);
  if (run.interrupted) said.push(`${run.label}: it was interrupted.`);
  if (run.lost_events)
    said.push(`${run.label}: ${plural(run.lost_events, "event")} ${run.lost_events === 1 ? "is" : "are"} missing in its log.`);
  if (run.failed) said.push(`${run.label}: ${plural(run.failed, "job")} failed or diverged.`);
  if (unknown.length)
    said.push(`${run.label}: events that this ration does not show: ${
      unknown.map(([event, count]) => `${event} (${count})`).join(", ")}.`);
  return said;
}

/** One run by itself. */
function runSection(parent, run) {
  const colours = new Map(), colourOf = place => colours.get(place) ?? (colours.set(place, colours.size), colours.size - 1),
        cards = el("div", {class: "cards"}), few = run.jobs.name.length <= 12;
  run.jobs.name.slice(0, 12).forEach((_, place) => few && colourOf(place));
  const started = run.unix_time ? new Date(run.unix_time * 1000).toISOString().replace("T", " ").slice(0, 16) + " UTC" : "";
  parent.append(
    facts([
      ["log", `${run.file}, line ${run.line}`], ["jobs", `${run.jobs_in_all.toLocaleString("en")} from ${run.jobs_file}`],
      ["policy", `${run.policy} ${run.policy_version}${run.isolation && run.isolation !== "none" ? `, ${run.isolation}` : ""}`],
      ["machine", `${plural(run.cpus, "core")} shared${run.machine ? `, ${run.machine}` : ""}`], ["ration", run.program],
      ["started", started]
    ]),
    cards);
  if (!run.phases)
    phaseCountFigure(cards, run);
  else if (run.phases.length)
    ganttFigure(cards, run);
  if (run.devices && run.devices.stretches.length) deviceFigure(cards, run, few ? colourOf : place => place % 16);
  for (const name of Object.keys(run.resources)) {
    if (
      run.resources[name].used.to.length &&
      (placesOf(run.resources[name].used).some(place => run.resources[name].used.of[place].some(v => v > 0))))
      stackFigure(cards, run, name, colourOf);
    limitFigure(cards, run, name, colourOf);
  }
  if (few && run.curves.length) {
    const grid = el("div", {class: "cards small wide"});
    cards.append(el("section", {class: "wide"}, el("h3", {}, "The metric of each job, and its tiers"), grid));
    for (const curve of run.curves) curveFigure(grid, run, curve, colourOf(curve.job));
  }
  cards.append(
    run.jobs.name.length <= mostRows ?
      card(el("h3", {}, "Jobs"), table(jobHead, run.jobs.name.map((_, i) => jobRow(run, i)), "words")) :
      waitsOf(run));
  if (!few) cards.append(jobFinder(run));
  cards.append(decisionLog(run));
}

function showRuns(page, data) {
  const cards = el("div", {class: "cards"});
  page.append(cards);
  cards.append(comparisonTable(data));
  tierFigures(cards, data, {title: "Time to Acceptable", moment: "acceptable_at", distribution: "to_acceptable"});
  tierFigures(cards, data, {title: "Time to Objective", moment: "objective_at", distribution: "to_objective"});
  if (data.runs.some(run => run.jobs_in_all > manyJobs))
    tierFigures(cards, data, {title: "Time to the end", moment: "ended_at", distribution: "to_end"});
  utilisationFigure(cards, data);
  const open = 3;
  data.runs.forEach((run, i) => {
    if (i < open) {
      const section = el("section", {class: "run"}, el("h2", {}, run.label));
      page.append(section);
      return runSection(section, run);
    }
    const closed = el("details", {class: "run"}, el("summary", {}, run.label));
    closed.addEventListener("toggle", () => {
      if (closed.open && closed.children.length === 1) runSection(closed, run);
    });
    page.append(closed);
  });
}
