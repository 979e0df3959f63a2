// SPDX-License-Identifier: BSL-1.0
// Devices over time: which job had which.
"use strict";

const mostDeviceRows = 64, mostDeviceLegend = 12;

/** A row for each device, a bar for each job that had it. */
function deviceFigure(parent, run, colourOf) {
  const times = timeUnit(run.end / 1e9), at = t => t / 1e9 / times.seconds, {stretches, left_out: leftOut} = run.devices,
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
    make: t => ({
      type: "bar",
      data: {
        datasets: places.map(
          place => ({
            label: jobs[place],
            backgroundColor: colour(t, place),
            borderColor: t.card,
            borderWidth: {right: 1},
            grouped: false,
            borderRadius: 2,
            borderSkipped: false,
            barThickness: 16,
            data: shown.filter(s => s[1] === place).map(([device, , from, to]) => ({x: [at(from), at(to)], y: names[device]}))
          }))
      },
      options: options(t, {
        indexAxis: "y",
        mode: "nearest",
        legend: places.length <= mostDeviceLegend,
        x: {min: 0, max: at(run.end), title: `time, ${times.name}`},
        y: {
          type: "category",
          labels: names,
          grid: false,
          all: true,
          tick(v) { return cut(this.getLabelForValue(v), innerWidth < 560 ? 12 : 28); }
        },
        title: items => (items.length ? items[0].raw.y : ""),
        label: item => ` ${item.dataset.label}: ${short(item.raw.x[0])} to ${short(item.raw.x[1])} ${times.name}`
      }),
    })
  });
}
