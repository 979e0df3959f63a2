// SPDX-License-Identifier: BSL-1.0
// The page of the service. Everything that comes from jobs becomes text of an element, never markup.
import {connect, forget, request, start} from "/api.js";
import {at, cell, clock, duration, element, fill, number, percent, row, share, soft} from "/parts.js";
import {card, forgetCurves, note} from "/running.js";

const final = new Set(["COMPLETED", "FAILED", "HALTED"]);
const shownEnded = 50;
const jobs = new Map();
let running = {cores: 0, jobs: []};
let configured = [];  // tenants

const by = id => document.getElementById(id);

async function change(method, path, button) {
  button.disabled = true;
  try {
    take(await request(method, path));
    by("fault").textContent = "";
  } catch (error) {
    by("fault").textContent = error.message;
  }
  draw();
}

function cancelButton(job) {
  const button = element("button", {type: "button", disabled: job.cancelled, "aria-label": `Cancel ${job.label}`}, job.cancelled ? "Stopping" : "Cancel");
  button.addEventListener("click", () => change("DELETE", `/v1/jobs/${job.id}`, button));
  return button;
}

function pauseButton(job) {
  const action = job.paused ? "resume" : "pause", name = job.paused ? "Resume" : "Pause";
  const button = element("button", {type: "button", disabled: job.cancelled, "aria-label": `${name} ${job.label}`}, name);
  button.addEventListener("click", () => change("POST", `/v1/jobs/${job.id}/${action}`, button));
  return button;
}

function buttons(job) {
  return element("span", {class: "buttons"}, pauseButton(job), cancelButton(job));
}

function nameOf(job) {
  const button = element("button", {type: "button", class: "link"}, job.label);
  button.addEventListener("click", () => showDetails(job.id));
  return button;
}

async function showDetails(id) {
  try {
    const job = await request("GET", `/v1/jobs/${id}`);
    const rows = job.history.map(past => row(cell(clock(past.at_ms)), cell(`launch ${past.incarnation}`), cell(past.stage, past.stage), cell(past.why)));
    fill(by("details-content"), element("h3", {}, job.label), ...(job.waits ? [soft(job.waits)] : []), soft(`${job.tenant}, in ${job.directory}`), soft(`output: ${job.log}`),
      element("table", {}, element("tbody", {}, ...rows)), element("pre", {}, job.definition));
    by("details").showModal();
  } catch (error) {
    by("fault").textContent = error.message;
  }
}

function table(head, rows, empty) {
  if (!rows.length) return soft(empty);
  const names = head.map(([text, style]) => element("th", {class: style ?? ""}, text));
  return element("table", {}, element("thead", {}, row(...names)), element("tbody", {}, ...rows));
}

function drawQueue() {
  const queued = [...jobs.values()].filter(job => job.stage === "QUEUED").sort((a, b) => b.priority - a.priority || a.id - b.id);
  by("queue-count").textContent = queued.length || "";
  const waits = job => (job.paused ? "paused" : job.why) || (job.after.length ? `after job ${job.after.join(", ")}` : "");
  const rows = queued.map(job => row(cell(nameOf(job)), cell(job.tenant, "wide-only"), cell(number(job.priority), "wide-only"),
    cell([duration(Date.now() - job.stage_ms), element("div", {class: "soft"}, waits(job))]), cell(buttons(job), "end")));
  fill(by("queue"), table([["job"], ["tenant", "wide-only"], ["priority", "wide-only"], ["waits"], [""]], rows, "No job waits."));
}

function outcome(job) {
  if (job.signal !== null) return `signal ${job.signal}`;
  return job.exit_code === null ? "" : `exit code ${job.exit_code}`;
}

function drawEnded() {
  const ended = [...jobs.values()].filter(job => final.has(job.stage)).sort((a, b) => b.stage_ms - a.stage_ms);
  by("ended-count").textContent = ended.length > shownEnded ? `the last ${shownEnded} of ${ended.length}` : ended.length || "";
  const rows = ended.slice(0, shownEnded).map(job => row(cell(nameOf(job)), cell(job.stage, job.stage), cell(outcome(job)), cell(job.tenant, "wide-only"),
    cell(job.why, "wide-only"), cell(at(job.stage_ms), "end")));
  fill(by("ended"), table([["job"], ["stage"], ["end"], ["tenant", "wide-only"], ["why", "wide-only"], ["at", "end"]], rows, "No job has ended."));
}

function countTenants() {
  const tenants = new Map();
  const of = name => tenants.get(name) ?? tenants.set(name, {held: 0, running: 0, waiting: 0}).get(name);
  for (const job of jobs.values()) if (job.stage === "QUEUED") of(job.tenant).waiting += 1;
  for (const job of running.jobs) {
    of(job.tenant).running += 1;
    of(job.tenant).held += job.held_cores ?? job.used_cores;
  }
  return [...tenants].sort(([a], [b]) => (a < b ? -1 : 1));
}

// The weight of a tenant and its part of the weights of those with the same parent that have jobs; empty: it is not configured.
function weightOf(name, active) {
  const one = configured.find(tenant => tenant.name === name);
  if (!one) return "";
  const rivals = configured.filter(tenant => tenant.parent === one.parent && active.some(([other]) => other === tenant.name));
  return `, weight ${number(one.weight)} (${percent(one.weight / rivals.reduce((sum, tenant) => sum + tenant.weight, 0))})`;
}

function drawTenants() {
  const active = countTenants();
  const text = (name, held) => `${number(held)} cores (${percent(running.cores ? held / running.cores : 0)})${weightOf(name, active)}`;
  const shown = active.map(([name, one]) => element("div", {}, element("div", {class: "pair"}, element("span", {}, name), element("span", {}, text(name, one.held))),
    share(one.held, null, running.cores), soft(`${one.running} running, ${one.waiting} waiting`)));
  fill(by("tenants"), ...(shown.length ? shown : [soft("No job waits or runs.")]));
}

function drawRunning() {
  const shown = running.jobs.filter(job => !final.has(jobs.get(job.id)?.stage));
  by("running-count").textContent = shown.length ? `${shown.length} on ${number(running.cores)} cores` : "";
  const cards = shown.map(live => {
    const job = jobs.get(live.id);
    return card(live, job, running.cores, nameOf(live), job ? buttons(job) : "");
  });
  fill(by("running"), ...(cards.length ? cards : [soft("No job runs.")]));
}

function draw() {
  drawRunning();
  drawQueue();
  drawTenants();
  drawEnded();
}

function take(job) {
  jobs.set(job.id, job);
}

async function takeStage(stage) {
  const job = jobs.get(stage.job);
  // A job that is queued again may be paused, which the stage does not contain
  if (!job || stage.stage === "QUEUED") return take(await request("GET", `/v1/jobs/${stage.job}`));
  Object.assign(job, {stage: stage.stage, stage_ms: stage.at_ms, step: stage.step, why: stage.why, incarnation: stage.incarnation});
  if (stage.stage === "PENDING") job.paused = false;
  if (final.has(stage.stage)) Object.assign(job, {exit_code: stage.exit_code, signal: stage.signal});
}

const handlers = {
  async open() {
    const service = await request("GET", "/v1/service"), list = [];
    for (let after = 0; after !== null;) {
      const page = await request("GET", `/v1/jobs?after=${after}`);
      list.push(...page.jobs);
      after = page.next;
    }
    by("service").textContent = `policy ${service.policy}, at most ${service.max_running} jobs at once, ration ${service.version}`;
    configured = service.tenants;
    jobs.clear();
    forgetCurves();
    list.forEach(take);
  },
  reset() { return handlers.open(); },
  stage: takeStage,
  limits(now) {
    running = now;
    now.jobs.forEach(note);
  }
};

function show(page) {
  for (const id of ["login", "jobs"]) by(id).hidden = id !== page;
}

function open() {
  connect({
    async event(name, content) {
      await handlers[name]?.(content);
      show("jobs");
      draw();
    },
    state(text) { by("connection").textContent = text; },
    refused(message) {
      by("login-error").textContent = message;
      show("login");
    }
  });
}

by("login-form").addEventListener("submit", event => {
  event.preventDefault();
  forget();
  start(by("token").value.trim());
  by("token").value = "";
  open();
});

// A string of TOML. JSON escapes the same characters, except DEL.
function quoted(text) {
  return JSON.stringify(text).replaceAll("\x7f", "\\u007f");
}

function definitionOf(given) {
  const lines = ["[[job]]", `name = ${quoted(given.name)}`, `command = ["sh", "-c", ${quoted(given.command)}]`, `priority = ${Number(given.priority)}`];
  if (given.tenant) lines.push(`tenant = ${quoted(given.tenant)}`);
  return [...lines, ""].join("\n");
}

by("submit").addEventListener("submit", async event => {
  event.preventDefault();
  const given = Object.fromEntries(new FormData(event.target));
  const key = [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, "0")).join("");
  const result = by("submit-result");
  result.className = "wide";
  try {
    const job = await request("POST", "/v1/jobs", {
      key, directory: given.directory, retries: Number(given.retries), time_limit_ms: Math.round(Number(given.minutes) * 60000), definition: definitionOf(given)
    });
    take(job);
    result.textContent = `${job.label} is in the queue`;
    draw();
  } catch (error) {
    result.className = "wide fault";
    result.textContent = error.message;
  }
});

setInterval(() => { if (!by("jobs").hidden) drawQueue(); }, 5000);
if (start()) open(); else show("login");
