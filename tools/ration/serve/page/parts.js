// SPDX-License-Identifier: BSL-1.0
// Elements and numbers of the page.
const svg = "http://www.w3.org/2000/svg", shapes = new Set(["svg", "polyline", "line", "title"]);

// Children are elements or text.
export function element(name, attributes, ...children) {
  const made = shapes.has(name) ? document.createElementNS(svg, name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== "") made.setAttribute(key, value);
  }
  made.append(...children.filter(child => child !== null && child !== ""));
  return made;
}

export function soft(text) {
  return element("p", {class: "soft"}, text);
}

export function cell(content, style = "") {
  return element("td", {class: style}, ...[content].flat());
}

export function row(...cells) {
  return element("tr", {}, ...cells);
}

export function fill(into, ...children) {
  into.replaceChildren(...children);
}

export function number(value) {
  return Number(value).toLocaleString("en", {maximumSignificantDigits: 4, useGrouping: false});
}

export function percent(part) {
  return `${Math.round(100 * part)} %`;
}

export function duration(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

export function clock(ms) {
  return new Date(ms).toLocaleTimeString("en-GB");
}

export function at(ms) {
  const then = new Date(ms), today = then.toDateString() === new Date().toDateString();
  return today ? clock(ms) : then.toLocaleDateString("en-GB", {day: "numeric", month: "short"});
}

// A bar of the held and the used part of a whole.
export function share(held, used, whole) {
  const part = value => `${whole > 0 ? Math.min(100, (100 * value) / whole) : 0}%`;
  const bar = element("div", {class: "bar"});
  for (const [value, style] of [[held, used === null ? "used" : "held"], [used, "used"]]) {
    if (value === null) continue;
    const piece = element("i", {class: style});
    piece.style.width = part(value);
    bar.append(piece);
  }
  return bar;
}
