// SPDX-License-Identifier: BSL-1.0
// Requests to the service. The token is in this tab's storage; no cookie carries it, so that no other site can use it.
const storage = "ration-token", longestDelay = 10000;
let token = null, attempt = 0;

// Takes the given token, the one of the address, or the one of this tab. Returns whether one was found.
export function start(given) {
  const fragment = new URLSearchParams(location.hash.slice(1)).get("token");
  if (fragment) history.replaceState(null, "", location.pathname);  // it stays out of the history
  token = given ?? fragment ?? sessionStorage.getItem(storage);
  if (token) sessionStorage.setItem(storage, token);
  return Boolean(token);
}

// Bytes that a header and a token file can have; with others, fetch fails as if the service were down.
function isToken(text) {
  return /^[\x21-\x7e]+$/.test(text);
}

export function forget() {
  attempt += 1;
  token = null;
  sessionStorage.removeItem(storage);
}

function send(method, path, body, fields) {
  const headers = {Authorization: `Bearer ${token}`, ...fields};
  return fetch(path, {method, headers, body: body && JSON.stringify(body), cache: "no-store", credentials: "omit", referrerPolicy: "no-referrer"});
}

async function fault(answer) {
  const content = await answer.json().catch(() => ({}));
  return Object.assign(new Error(content.error ?? `the service answered with status ${answer.status}`), {status: answer.status});
}

export async function request(method, path, body) {
  const answer = await send(method, path, body, {});
  if (!answer.ok) throw await fault(answer);
  return answer.json();
}

// One event after another, each handled before the next.
async function read(answer, last, listener, mine) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const {value, done} = await reader.read();
    if (done || mine !== attempt) return;
    const parts = (text + value).split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      const fields = Object.fromEntries(part.split("\n").map(line => line.split(/: (.*)/s)));
      if (!fields.data) continue;
      if (fields.id) last.id = fields.id;
      await listener.event(fields.event, JSON.parse(fields.data));
    }
  }
}

function refuse(listener, message) {
  forget();
  listener.state("");
  listener.refused(message);
}

// Passes the events on until the token is refused, and connects again when the service restarts.
export async function connect(listener) {
  if (!isToken(token)) return refuse(listener, "the token has characters that no token has; copy it from the token file");
  const last = {}, mine = ++attempt;
  for (let delay = 500; mine === attempt; delay = Math.min(longestDelay, delay * 2)) {
    try {
      const answer = await send("GET", "/v1/events", undefined, last.id ? {"Last-Event-ID": last.id} : {});
      if (!answer.ok) throw await fault(answer);
      listener.state("live");
      delay = 500;
      await read(answer, last, listener, mine);
    } catch (error) {
      if (error.status === 401) return refuse(listener, error.message);
      listener.state(error.status ? error.message : "the service is down; trying again");
    }
    await new Promise(done => setTimeout(done, delay));
  }
}
