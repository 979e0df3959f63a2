// SPDX-License-Identifier: BSL-1.0
// Jobs over time: their states, and their metrics.
"use strict";

const phases = ["waiting", "running", "acceptable", "objective", "stalled", "silent", "acceptable"];
const phaseNames = ["waiting", "running", "Acceptable reached", "Objective reached", "stalled", "silent", "level held"];

/** A row for each job, a bar for each state. */
function ganttFigure(parent, run) {
  const names = run.jobs.name;
  const used = phases.map((_, phase) => phase).filter(phase => run.phases.some(p => p[1] === phase));
  figure(parent, {
    title: "Jobs over time",
    note: "when each waited, ran, and reached its tiers",
    wide: true,
    height: 92 + 26 * names.length,
    summary:
      names
        .map(
          (name, i) =>
            `${name}: ${run.jobs.how[i]}${isNumber(run.jobs.ended_at[i]) ? ` at ${nanoseconds(run.jobs.ended_at[i])}` : ""}`)
        .join("; ") +
      ".",
    rows: () => ({
      head: ["job", "state", "from", "to"],
      rows: run.phases.map(([place, phase, from, to]) => [names[place], phaseNames[phase], nanoseconds(from), nanoseconds(to)])
    }),
    make: t => barsOverTime(t, {
      end: run.end,
      names,
      kinds: used.map(phase => ({number: phase, label: phaseNames[phase], backgroundColor: t.of(phases[phase])})),
      stretches: run.phases
    })
  });
}

/** How many jobs are in each state, where there are too many for a row each. */
function phaseCountFigure(parent, run) {
  const times = timeUnit(run.end / 1e9), {width, counts} = run.phase_counts,
        used = phases.map((_, i) => i).filter(i => counts[i].some(v => v > 0));
  const x = i => i * width / times.seconds, points = of => of.map((v, i) => ({x: x(i + 1), y: v}));
  const sets = used.map((phase, i) => ({
                          label: phaseNames[phase],
                          colour: 0,
                          points: [{x: 0, y: counts[phase][0]}, ...points(counts[phase])],
                          more: t => ({
                            ...untilHere,
                            fill: i === 0 ? "origin" : "-1",
                            borderWidth: 1,
                            borderDash: [],
                            borderColor: t.of(phases[phase]),
                            backgroundColor: faint(t.of(phases[phase]), .75)
                          })
                        }));
  lineFigure(parent, {
    title: "Jobs by state over time",
    note: "how many waited, ran, and had reached their tiers",
    wide: true,
    height: 300,
    sets,
    legend: true,
    mode: "index",
    x: {title: `time, ${times.name}`, min: 0, max: x(counts[0].length)},
    y: {stacked: true, min: 0, title: "jobs"},
    tellX: v => `${short(v)} ${times.name}`,
    summary:
      used.map((phase, i) => `${phaseNames[phase]}: at most ${short(largest(sets[i].points.map(p => p.y)))} jobs`).join("; ") +
      ".",
    rows: () => ({
      head: [`time, ${times.name}`, ...sets.map(set => set.label)],
      rows: thinned(sets[0].points.map((p, i) => [short(p.x), ...sets.map(set => short(set.points[i].y))]))
    })
  });
}

/** How long the level of a job held; empty without a level or a value. */
function levelMet(jobs, i) {
  return isNumber(jobs.level_met[i]) ? `level met ${short(100 * jobs.level_met[i])} % of the time` : "";
}

/** The metric of one job, and its tiers or its level. */
function curveFigure(parent, run, curve, colour, height = 210) {
  const i = curve.job, times = timeUnit(run.end / 1e9), {jobs} = run, metric = jobs.metric[i] || "metric";
  const points = curve.t.map((t, k) => ({x: t / times.seconds, y: isNumber(curve.value[k]) ? curve.value[k] : null})),
        ends = [points[0].x, points[points.length - 1].x];
  const tiers =
    [["Acceptable", jobs.acceptable[i], [6, 3]], ["Objective", jobs.objective[i], [2, 3]], ["level", jobs.level[i], [4, 4]]]
      .filter(tier => isNumber(tier[1]));
  const reached = isNumber(jobs.level[i]) ?
    levelMet(jobs, i) :
    `Acceptable ${isNumber(jobs.acceptable_at[i]) ? `after ${time(sinceArrival(jobs, i, "acceptable_at"))}` : "not reached"}, ` +
      `Objective ${isNumber(jobs.objective_at[i]) ? `after ${time(sinceArrival(jobs, i, "objective_at"))}` : "not reached"}`;
  const flat = (value) => ends.map(x => ({x, y: value}));
  lineFigure(parent, {
    title: jobs.name[i],
    height,
    mode: "nearest",
    x: {title: `time, ${times.name}`},
    y: {title: metric},
    legend: true,
    note: tiers.map(([name, value]) => `${name} ${short(value)}`).join(", ") || "no target in the log",
    sets: [
      {label: metric, colour, points},
      ...tiers.map(([name, value, dash]) => ({
                     label: name,
                     colour: 0,
                     points: flat(value),
                     more: t => ({
                       borderColor: name === "Objective" ? t.of("objective") : t.of("acceptable"),
                       backgroundColor: t.of("objective"),
                       borderDash: dash,
                       borderWidth: 1.5,
                       pointRadius: 0
                     })
                   }))
    ],
    tellX: x => `${short(x)} ${times.name}`,
    summary:
      `${metric} from ${short(points[0].y)} to ${short(points[points.length - 1].y)} in ${plural(jobs.reports[i], "report")}; ${
        reached}.`,
    rows: () => ({head: [`time, ${times.name}`, metric], rows: thinned(points.map(p => [short(p.x), short(p.y)]))})
  });
}
