// SPDX-License-Identifier: BSL-1.0
// Jobs and decisions as text.
"use strict";

const jobHead = ["job", "arrived", "waited", "to Acceptable", "to Objective", "to its end", "how it ended"];

function jobRow(run, i) {
  const {jobs} = run, since = moment => time(sinceArrival(jobs, i, moment));
  return [
    jobs.name[i], nanoseconds(jobs.arrived[i]), since("started"), since("acceptable_at"), since("objective_at"),
    since("ended_at"), [jobs.why[i] ? `${jobs.how[i]}: ${jobs.why[i]}` : jobs.how[i], levelMet(jobs, i)].filter(Boolean).join("; ")
  ];
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
    for (let i = 0; wanted && i < run.jobs.name.length && found.length < most; ++i)
      if (run.jobs.name[i].toLowerCase().includes(wanted)) found.push(i);
    hits.replaceChildren(...found.map(i => el("button", {type: "button", onclick: () => show(i)}, run.jobs.name[i])));
    shown.replaceChildren();
    if (found.length === 1) show(found[0]);
  };
  const box =
    el("input", {type: "search", placeholder: "part of a job's name", "aria-label": `Find a job of ${run.label}`, oninput: look});
  const lacks = run.jobs_in_all - run.jobs.name.length;
  return card(
    el("h3", {}, "Find a job"),
    lacks > 0 ? el(
                  "p", {class: "soft"},
                  `the first ${run.jobs.name.length.toLocaleString("en")} of ${
                    run.jobs_in_all.toLocaleString("en")} jobs are on this page`) :
                null,
    el("div", {class: "find"}, box), hits, shown);
}

/** Decisions and what came of them; all of it as text. */
function decisionLog(run) {
  const {seen, entries} = run.log, first = 60, body = el("div", {});
  const row = ([t, last, times, decision, what, job, resource, from, to, why]) =>
    [times > 1 ? `${nanoseconds(t)} to ${nanoseconds(last)}` : nanoseconds(t), decision >= 0 ? String(decision) : none,
     times > 1 ? `${what} (${times} times)` : what, job, resource, from && to ? `${from} \u2192 ${to}` : to, why];
  const show = (wanted, most) => {
    const found = entries.filter(e => !wanted || e[5].toLowerCase().includes(wanted) || e[4].includes(wanted));
    body.replaceChildren(
      table(["time", "decision", "what", "job", "resource", "change", "why"], found.slice(0, most).map(row), "words"));
    if (found.length > most)
      body.append(el(
        "button", {type: "button", class: "more", onclick: () => show(wanted, found.length)},
        `show all ${found.length.toLocaleString("en")}`));
  };
  show("", first);
  const {decisions} = run;
  const note = `${plural(decisions.count, "decision")}${
                 decisions.count ? `, half of them within ${time(decisions.p50)}, the longest ${time(decisions.longest)}` :
                                   ""}; ${plural(run.changes, "change")}, ${plural(run.rejected, "refused grant")}` +
    `${decisions.no_answer ? `, ${decisions.no_answer} without an answer` : ""}${
                 seen > entries.length ? `; of ${seen.toLocaleString("en")} lines the first and the last are here` : ""}`;
  const made = card(
    el("h3", {}, "Decision log"), el("p", {class: "soft"}, note),
    el("div", {class: "find"}, el("input", {
         type: "search",
         placeholder: "job, or change, deferred, warning ...",
         "aria-label": `Search the decision log of ${run.label}`,
         oninput: event => show(event.target.value.trim().toLowerCase(), first)
       })),
    body);
  made.classList.add("long");
  return made;
}

function waitsOf(run) {
  const of = ["wait", "to_acceptable", "to_objective", "to_end"].map(name => run.distributions[name]),
        cell = (one, at) => (one.reached ? time(one.quantiles[at]) : none);
  return card(
    el("h3", {}, "Jobs"), table(["of the jobs that got there", "waited", "to Acceptable", "to Objective", "to the end"], [
      ...percentiles.map(([name, at]) => [name, ...of.map(one => cell(one, at))]),
      ["jobs that got there", ...of.map(one => `${one.reached.toLocaleString("en")} of ${one.of.toLocaleString("en")}`)]
    ]));
}
