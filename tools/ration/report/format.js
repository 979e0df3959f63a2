// SPDX-License-Identifier: BSL-1.0
// Elements, numbers and times. Texts from a log get into the page as text, never as HTML.
"use strict";

function el(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on"))
      made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined)
      made.setAttribute(key, value);
  }
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}

const none = "-";
const isNumber = value => typeof value === "number" && Number.isFinite(value);
const plural = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + "\u2026" : text);

/** Three or four digits that say something. */
function short(value) {
  if (value === "unlimited") return "no limit";
  if (!isNumber(value)) return none;
  if (Math.abs(value) >= 999.5) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(4)));
}

/** The unit for times of up to `most` seconds, so that those of one chart can be compared. */
function timeUnit(most) {
  if (most < 1e-3) return {name: "\u00b5s", seconds: 1e-6};
  if (most < 1) return {name: "ms", seconds: 1e-3};
  if (most < 600) return {name: "s", seconds: 1};
  if (most < 4 * 3600) return {name: "min", seconds: 60};
  return most < 4 * 86400 ? {name: "h", seconds: 3600} : {name: "days", seconds: 86400};
}

/** One time by itself; `s` in seconds. */
function time(s) {
  if (!isNumber(s)) return none;
  const unit = timeUnit(Math.abs(s));
  return s === 0 ? "0 s" : `${short(s / unit.seconds)} ${unit.name}`;
}
const nanoseconds = t => (isNumber(t) ? time(t / 1e9) : none);

/** How amounts of a resource are shown. */
function resourceUnit(name, most) {
  if (name === "cpu") return {unit: "cores", scale: 1000};
  if (name === "gpu.sm") return {unit: "devices", scale: 1000};
  if (name === "gpu") return {unit: "devices", scale: 1};
  if (name !== "memory" && name !== "cache") return {unit: name, scale: 1};
  return most < 2 ** 30 ? {unit: "MiB", scale: 2 ** 20} : {unit: "GiB", scale: 2 ** 30};
}

const largest = values => values.reduce((most, v) => (isNumber(v) && v > most ? v : most), 0);
/** Against the first of several, in percent. */
function change(value, first) {
  if (!isNumber(value) || !isNumber(first) || first === 0) return "";
  const percent = (value / first - 1) * 100;
  return Math.abs(percent) < .05 ? "0.0 %" : `${percent > 0 ? "+" : ""}${percent.toFixed(1)} %`;
}

/** `head` texts, `rows` arrays of texts or elements; the first of a row is its heading. */
function table(head, rows, kind) {
  const cells = row => row.map((cell, i) => el(i === 0 ? "th" : "td", i === 0 ? {scope: "row"} : {}, cell));
  return el(
    "div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Table"},
    el(
      "table", {class: kind || ""}, el("thead", {}, el("tr", {}, ...head.map(text => el("th", {scope: "col"}, text)))),
      el("tbody", {}, ...rows.map(row => el("tr", {}, ...cells(row))))));
}

const facts = pairs => el(
  "dl", {},
  ...pairs.filter(pair => pair[1] !== "" && pair[1] !== null).flatMap(([key,
                                                                        value]) => [el("dt", {}, key), el("dd", {}, value)]));
const notes = sentences =>
  (sentences.length ? el("div", {class: "notes"}, el("ul", {}, ...sentences.map(text => el("li", {}, text)))) : null);
const card = (...children) => el("section", {class: "card wide"}, ...children);
