// SPDX-License-Identifier: BSL-1.0
// The use of a resource by jobs, and their limits.
"use strict";

function placesOf(series) { return Object.keys(series.of).map(Number); }

/** The use by all jobs, on top of one another. */
function stackFigure(parent, run, name, colourOf) {
  const {used, room} = run.resources[name], unit = resourceUnit(name, largest(room.others)), times = timeUnit(run.end / 1e9);
  const others = used.others.some(v => v > 0);
  const points = values =>
    [{x: 0, y: (values[0] || 0) / unit.scale}, ...values.map((v, i) => ({x: used.to[i] / times.seconds, y: v / unit.scale}))];
  const sets =
    placesOf(used).map(place => ({label: run.jobs.name[place], colour: colourOf(place), points: points(used.of[place])}));
  if (others) sets.push({label: "all others", colour: -1, points: points(used.others)});
  if (name === "cpu")
    sets.push({
      label: "the machine could give",
      colour: -2,
      points: room.to.map((to, i) => ({x: to / times.seconds, y: room.others[i] / unit.scale}))
    });
  const style = (set, i) => t =>
    (set.colour === -2 ?
       {...untilHere, stack: "room", borderColor: t.soft, backgroundColor: t.soft, borderDash: [4, 3], borderWidth: 1.2} :
       {
         ...untilHere,
         fill: i === 0 ? "origin" : "-1",
         borderWidth: 1,
         borderDash: [],
         borderColor: set.colour < 0 ? t.rest : t.colour(set.colour),
         backgroundColor: faint(set.colour < 0 ? t.rest : t.colour(set.colour), Math.floor(set.colour / 8) % 2 === 1 ? .35 : .7)
       });
  lineFigure(parent, {
    title: name === "cpu" ? "CPU by job" : `${name} by job`,
    note:
      `what each job used, on top of one another, in ${unit.unit}${name === "cpu" ? "; smoothed, as ration measures it" : ""}`,
    wide: true,
    height: 300,
    legend: true,
    sets: sets.map((set, i) => ({...set, more: style(set, i)})),
    x: {title: `time, ${times.name}`, min: 0, max: run.end / 1e9 / times.seconds},
    y: {stacked: true, min: 0, title: unit.unit},
    mode: "index",
    tell: v => `${short(v)} ${unit.unit}`,
    tellX: x => `${short(x)} ${times.name}`,
    summary: sets.map(set => `${set.label}: at most ${short(largest(set.points.map(p => p.y)))} ${unit.unit}`).join("; ") + ".",
    rows: () => ({
      head: [`time, ${times.name}`, ...sets.map(set => set.label)],
      rows:
        thinned(sets[0].points.map((p, i) => [short(p.x), ...sets.map(set => (set.points[i] ? short(set.points[i].y) : none))]))
    })
  });
}

/** The limits of jobs, or the whole machine where there is none. */
function limitFigure(parent, run, name, colourOf) {
  const {held, room} = run.resources[name], places = placesOf(held).filter(place => held.of[place].some(v => v !== 0));
  if (!places.some(place => held.of[place].some(v => isNumber(v) && v > 0))) return;
  const most = largest([...room.others, ...places.flatMap(place => held.of[place])]), unit = resourceUnit(name, most),
        times = timeUnit(run.end / 1e9);
  const point = (v, i) => ({
    x: held.to[i] / times.seconds,
    y: v === 0 ? null : (v === "unlimited" ? most : v) / unit.scale,
    text: v === "unlimited" ? "no limit" : ""
  });
  const sets = places.map(place => ({
                            label: run.jobs.name[place],
                            colour: colourOf(place),
                            more: {...untilHere, borderDash: dashes[colourOf(place) % dashes.length]},
                            points: held.of[place].map(point)
                          }));
  const told = p => p.text || (p.y === null ? none : short(p.y));
  lineFigure(parent, {
    title: name === "cpu" ? "CPU limit by job" : `${name} held by job`,
    note: "what each job may use; at the top: no limit",
    wide: true,
    height: 220,
    sets,
    legend: true,
    x: {title: `time, ${times.name}`, min: 0, max: run.end / 1e9 / times.seconds},
    y: {min: 0, title: unit.unit, max: most / unit.scale * 1.04, tick: v => (v > most / unit.scale ? "" : short(v))},
    mode: "index",
    tell: v => `${short(v)} ${unit.unit}`,
    tellX: x => `${short(x)} ${times.name}`,
    summary: sets
               .map(set => {
                 const least = set.points.filter(p => p.y !== null && !p.text).map(p => p.y);
                 return `${set.label}: ${
                   least.length ? `limited to ${short(Math.min(...least))} ${unit.unit} at least once` : "never limited"}`;
               })
               .join("; ") +
      ".",
    rows: () => ({
      head: [`time, ${times.name}`, ...sets.map(set => set.label)],
      rows: thinned(held.to.map((to, i) => [short(to / times.seconds), ...sets.map(set => told(set.points[i]))]))
    })
  });
}
