// SPDX-License-Identifier: BSL-1.0
// Devices over time: which job had which.
"use strict";

const mostDeviceRows = 64, mostDeviceLegend = 12;

/** A row for each device, a bar for each job that had it. */
function deviceFigure(parent, run, colourOf) {
  const {stretches, left_out: leftOut} = run.devices,
        names = run.devices.names.slice(0, mostDeviceRows), jobs = run.jobs.name;
  const shown = stretches.filter(s => s[0] < names.length), places = [...new Set(shown.map(s => s[1]))].sort((a, b) => a - b);
  const colour = (t, place) =>
    faint(t.colour(colourOf(place)), Math.floor(colourOf(place) / 8) % 2 === 1 ? .45 : 1);
  const said = place => {
    const held = shown.filter(s => s[1] === place).reduce((sum, s) => sum + s[3] - s[2], 0);
    return `${jobs[place]}: ${short(held / 1e9)} device-seconds`;
  };
  figure(parent, {
    title: "Devices over time",
    note: `which job had which device${
      names.length < run.devices.names.length ? `; the first ${names.length} of ${run.devices.names.length} devices` : ""}${
      leftOut > 0 ? `; ${plural(leftOut, "later stretch").replace("stretchs", "stretches")} left out` : ""}`,
    wide: true,
    height: 92 + 26 * names.length,
    summary: places.slice(0, mostDeviceLegend).map(said).join("; ") +
      (places.length > mostDeviceLegend ? `; and ${plural(places.length - mostDeviceLegend, "other job")}.` : "."),
    rows: () => ({
      head: ["device", "job", "from", "to"],
      rows: stretches.map(([device, place, from, to]) => [run.devices.names[device], jobs[place], nanoseconds(from), nanoseconds(to)])
    }),
    make: t => barsOverTime(t, {
      end: run.end,
      names,
      kinds: places.map(place => ({number: place, label: jobs[place], backgroundColor: colour(t, place), borderColor: t.card, borderWidth: {right: 1}})),
      stretches: shown,
      legend: places.length <= mostDeviceLegend
    })
  });
}
