// SPDX-License-Identifier: BSL-1.0
// The page of the service. Everything that comes from jobs becomes text of an element, never markup.
import {connect, forget, request, start} from "/api.js";
import {at, clock, duration, element, fill, number, share} from "/parts.js";
import {card, forgetCurves, note} from "/running.js";

const final = new Set(["COMPLETED", "FAILED", "HALTED"]);
const shownEnded = 50;
const jobs = new Map();
let running = {cores: 0, jobs: []};

const by = id => document.getElementById(id);

async function cancel(id, button) {
  button.disabled = true;
  try {
    take(await request("DELETE", `/v1/jobs/${id}`));
    by("fault").textContent = "";
  } catch (error) {
    by("fault").textContent = error.message;
  }
  draw();
}

function cancelButton(job) {
  const button = element("button", {type: "button", disabled: job.cancelled, "aria-label": `Cancel ${job.label}`}, job.cancelled ? "Stopping" : "Cancel");
  button.addEventListener("click", () => cancel(job.id, button));
  return button;
}

function nameOf(job) {
  const button = element("button", {type: "button", class: "link"}, job.label);
  button.addEventListener("click", () => showDetails(job.id));
  return button;
}

async function showDetails(id) {
  try {
    const job = await request("GET", `/v1/jobs/${id}`);
    const rows = job.history.map(past => element("tr", {}, element("td", {}, clock(past.at_ms)), element("td", {}, `launch ${past.incarnation}`), element("td", {class: past.stage}, past.stage), element("td", {}, past.why)));
    fill(by("details-content"), element("h3", {}, job.label), element("p", {class: "soft"}, `${job.tenant}, in ${job.directory}`), element("p", {class: "soft"}, `output: ${job.log}`),
      element("table", {}, element("tbody", {}, ...rows)), element("pre", {}, job.definition));
    by("details").showModal();
  } catch (error) {
    by("fault").textContent = error.message;
  }
}

function table(head, rows, empty) {
  if (!rows.length) return element("p", {class: "soft"}, empty);
  return element("table", {}, element("thead", {}, element("tr", {}, ...head.map(([text, style]) => element("th", {class: style ?? ""}, text)))), element("tbody", {}, ...rows));
}

function drawQueue() {
  const queued = [...jobs.values()].filter(job => job.stage === "QUEUED").sort((a, b) => b.priority - a.priority || a.id - b.id);
  by("queue-count").textContent = queued.length || "";
  const waits = job => job.why || (job.after.length ? `after job ${job.after.join(", ")}` : "");
  fill(by("queue"), table([["job"], ["tenant", "wide-only"], ["priority", "wide-only"], ["waits"], [""]], queued.map(job => element("tr", {}, element("td", {}, nameOf(job)),
    element("td", {class: "wide-only"}, job.tenant), element("td", {class: "wide-only"}, number(job.priority)), element("td", {}, duration(Date.now() - job.stage_ms), element("div", {class: "soft"}, waits(job))),
    element("td", {class: "end"}, cancelButton(job)))), "No job waits."));
}

function drawEnded() {
  const ended = [...jobs.values()].filter(job => final.has(job.stage)).sort((a, b) => b.stage_ms - a.stage_ms);
  by("ended-count").textContent = ended.length > shownEnded ? `the last ${shownEnded} of ${ended.length}` : ended.length || "";
  const how = job => (job.signal !== null ? `signal ${job.signal}` : job.exit_code !== null ? `exit code ${job.exit_code}` : "");
  fill(by("ended"), table([["job"], ["stage"], ["end"], ["tenant", "wide-only"], ["why", "wide-only"], ["at", "end"]], ended.slice(0, shownEnded).map(job => element("tr", {}, element("td", {}, nameOf(job)),
    element("td", {class: job.stage}, job.stage), element("td", {}, how(job)), element("td", {class: "wide-only"}, job.tenant), element("td", {class: "wide-only"}, job.why), element("td", {class: "end"}, at(job.stage_ms)))), "No job has ended."));
}

function drawTenants() {
  const tenants = new Map();
  const of = name => tenants.get(name) ?? tenants.set(name, {held: 0, running: 0, waiting: 0}).get(name);
  for (const job of jobs.values()) if (job.stage === "QUEUED") of(job.tenant).waiting += 1;
  for (const job of running.jobs) {
    of(job.tenant).running += 1;
    of(job.tenant).held += job.held_cores ?? job.used_cores;
  }
  fill(by("tenants"), ...(tenants.size ? [...tenants].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, one]) => element("div", {}, element("div", {class: "pair"}, element("span", {}, name),
    element("span", {}, `${number(one.held)} cores`)), share(one.held, null, running.cores), element("p", {class: "soft"}, `${one.running} running, ${one.waiting} waiting`))) : [element("p", {class: "soft"}, "No job waits or runs.")]));
}

function drawRunning() {
  const shown = running.jobs.filter(job => !final.has(jobs.get(job.id)?.stage));
  by("running-count").textContent = shown.length ? `${shown.length} on ${number(running.cores)} cores` : "";
  fill(by("running"), ...(shown.length ? shown.map(live => {
    const job = jobs.get(live.id);
    return card(live, job, running.cores, nameOf(live), job ? cancelButton(job) : "");
  }) : [element("p", {class: "soft"}, "No job runs.")]));
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
  if (!job) return take(await request("GET", `/v1/jobs/${stage.job}`));
  Object.assign(job, {stage: stage.stage, stage_ms: stage.at_ms, step: stage.step, why: stage.why, incarnation: stage.incarnation});
  if (final.has(stage.stage)) Object.assign(job, {exit_code: stage.exit_code, signal: stage.signal});
}

const handlers = {
  async open() {
    const [service, list] = [await request("GET", "/v1/service"), await request("GET", "/v1/jobs")];
    by("service").textContent = `policy ${service.policy}, at most ${service.max_running} jobs at once, ration ${service.version}`;
    jobs.clear();
    forgetCurves();
    list.jobs.forEach(take);
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
    refused(sentence) {
      by("login-error").textContent = sentence;
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

by("submit").addEventListener("submit", async event => {
  event.preventDefault();
  const form = event.target, given = Object.fromEntries(new FormData(form)), text = value => JSON.stringify(value).replaceAll("\x7f", "\\u007f");
  const tenant = given.tenant ? `tenant = ${text(given.tenant)}\n` : "";
  const key = [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, "0")).join("");
  const result = by("submit-result");
  result.className = "wide";
  try {
    const job = await request("POST", "/v1/jobs", {
      key, directory: given.directory, retries: Number(given.retries), time_limit_ms: Math.round(Number(given.minutes) * 60000),
      definition: `[[job]]\nname = ${text(given.name)}\ncommand = ["sh", "-c", ${text(given.command)}]\npriority = ${Number(given.priority)}\n${tenant}target = { loss = { objective = 0 } }\nat_objective = "continue"\n`
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
