// SPDX-License-Identifier: BSL-1.0
// The page from its data.
"use strict";

function main() {
  const read = id => JSON.parse(document.getElementById(id).textContent), data = read("data"), simulations = read("simulations"),
        measured = read("measured"), page = document.getElementById("page");
  page.replaceChildren(el("h1", {}, data.title));
  if (data.runs.length)
    page.append(el(
      "p", {class: "lead"},
      `${plural(data.runs.length, "run")} of ${plural(largest(data.runs.map(run => run.jobs_in_all)), "job")}`));
  page.append(...[notes([...data.remarks, ...data.runs.flatMap(remarksOn)])].filter(one => one));
  if (data.runs.length) showRuns(page, data);
  simulations.forEach((one, i) => showSimulation(page, data.simulations[i], one, measured[i]));
  const licence = document.getElementById("licence");
  page.append(
    el("p", {class: "soft"}, `ration ${data.version}; docs/report.md says what stands here`),
    licence ? el("details", {}, el("summary", {}, "Licence of the charts"), el("pre", {}, licence.textContent.trim())) : "");
  followTheme();
}

addEventListener("DOMContentLoaded", main);
