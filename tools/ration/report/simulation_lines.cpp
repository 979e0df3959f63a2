// SPDX-License-Identifier: BSL-1.0
// What `ration sim --json` prints, checked and cut down to what a page shows. docs/sim.md has the schema.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <span>
#include <vector>

#include "events/event_fields.hpp"
#include "report/input.hpp"
#include "report/simulation_jobs.hpp"
#include "sim/table.hpp"

namespace ration::program {
namespace {

using json = nlohmann::json;
using page_json = nlohmann::ordered_json;
constexpr std::size_t most_policies = 64, most_samples = 1000, most_values = 1000, most_remarks = 200,
                      most_tenants = 200;

/// Reads with checks; the first fault stays.
class simulation_reader {
public:
    result<void, diagnostic> status;

    [[nodiscard]] page_json read(json const& line) {
        event_fields f(line);
        page_json out{{"version", shortened(f.text("version"), longest_text)},
                      {"interval", plain(f.number("interval"))},
                      {"checkpoint", plain(f.number("checkpoint"))}};
        out["cluster"] = cluster(f.object("cluster"));
        out["faults"] = texts(f.array("faults"));
        out["remarks"] = texts(f.array("remarks"));
        out["samples"] = page_json::array();
        for (auto const& one : limited(f.array("samples"), most_samples, "samples"))
            out["samples"].push_back(sample(one));
        out["figures"] = page_json::array();
        for (auto const& line_of : figure_lines())
            out["figures"].push_back({{"name", line_of.name},
                                      {"label", label_of(line_of)},
                                      {"meaning", line_of.meaning},
                                      {"unit", static_cast<int>(line_of.unit)}});
        out["policies"] = page_json::array();
        for (auto const& one : limited(f.array("policies"), most_policies, "policies"))
            out["policies"].push_back(policy(one));
        keep(f);
        return out;
    }

    [[nodiscard]] page_json read_measured(json const& line) {
        event_fields f(line);
        page_json out = page_json::array();
        for (auto const& one : limited(f.array("runs"), most_policies * most_samples, "runs")) {
            if (!is_object(one)) break;
            event_fields run(one);
            page_json row{{"policy", shortened(run.text("policy"), longest_text)},
                          {"sample", run.whole("sample")},
                          {"decisions", run.whole("decisions")}};
            for (auto const* const name : {"decision_mean", "decision_p99", "decision_longest", "run"})
                row[name] = maybe(run, name);
            keep(run);
            if (row["sample"] == 0) out.push_back(std::move(row));
        }
        keep(f);
        return out;
    }

private:
    void keep(event_fields const& f) {
        if (status) status = f.status();
    }

    [[nodiscard]] bool is_object(json const& value) {
        if (!value.is_object() && status)
            status = diagnostic{.text = "there is something else where an object should be"};
        return value.is_object();
    }

    /// The elements of an array, or none if it has too many.
    [[nodiscard]] std::span<json const> limited(json const& array, std::size_t most, std::string_view what) {
        if (array.size() > most && status)
            status =
                diagnostic{.text = fmt::format("it has {} {}, and a page holds at most {}", array.size(), what, most)};
        return array.size() > most ? std::span<json const>() : std::span(array.get_ref<json::array_t const&>());
    }

    /// A label that is indented in the table of `ration sim` continues the last one that is not.
    [[nodiscard]] static std::string label_of(figure_line const& line) {
        std::string_view above;
        for (auto const& one : figure_lines()) {
            if (!one.label.starts_with(' ')) above = one.label;
            if (&one == &line) break;
        }
        return line.label.starts_with(' ') ? std::string(above) + std::string(line.label.substr(1))
                                           : std::string(line.label);
    }

    /// JSON has no number for what is none.
    [[nodiscard]] static page_json plain(double value) {
        return std::isfinite(value) ? page_json(value) : page_json(nullptr);
    }

    /// The number of a bin; 0 for what is not a number.
    [[nodiscard]] static int bin_of(double number) {
        return std::isnan(number) ? 0 : static_cast<int>(std::clamp(number, -1e4, 1e4));
    }

    [[nodiscard]] static page_json maybe(event_fields& f, char const* name) {
        auto const value = f.maybe_number(name);
        return value ? plain(*value) : page_json(nullptr);
    }

    [[nodiscard]] page_json texts(json const& array) {
        page_json out = page_json::array();
        for (auto const& one : array)
            if (one.is_string() && out.size() < most_remarks)
                out.push_back(shortened(one.get<std::string>(), longest_text));
        return out;
    }

    [[nodiscard]] page_json cluster(json const& from) {
        event_fields f(from);
        page_json out{{"devices", f.whole("devices")}, {"cores", f.whole("cores")}, {"groups", page_json::array()}};
        for (auto const& one : limited(f.array("groups"), most_values, "groups of nodes")) {
            if (!is_object(one)) break;
            event_fields group(one);
            out["groups"].push_back({{"nodes", group.whole("nodes")},
                                     {"devices", group.whole("devices")},
                                     {"cores", group.whole("cores")},
                                     {"type", shortened(group.text("type"), longest_text)}});
            keep(group);
        }
        keep(f);
        return out;
    }

    [[nodiscard]] page_json sample(json const& from) {
        if (!is_object(from)) return nullptr;
        event_fields f(from), bound(f.object("bound"));
        page_json out{{"workload", shortened(f.text("workload"), longest_text)},
                      {"seed", f.whole("seed")},
                      {"jobs", f.whole("jobs")},
                      {"left_out", f.whole("left_out")},
                      {"mean_jct", maybe(bound, "mean_jct")},
                      {"makespan", maybe(bound, "makespan")}};
        keep(f);
        keep(bound);
        return out;
    }

    [[nodiscard]] page_json policy(json const& from) {
        if (!is_object(from)) return nullptr;
        event_fields f(from);
        page_json out{{"policy", shortened(f.text("policy"), longest_text)},
                      {"version", shortened(f.text("version"), longest_text)}};
        auto const& figures = f.object("figures");
        out["figures"] = page_json::object();
        for (auto const& line : figure_lines()) {
            auto const found = figures.find(line.name);
            if (found == figures.end() || !is_object(*found)) continue;
            event_fields figure(*found);
            out["figures"][std::string(line.name)] = {maybe(figure, "mean"), maybe(figure, "half_of_95")};
            keep(figure);
        }
        if (f.has("runs")) out["tenants"] = tenants(f.array("runs"));
        if (f.has("distributions")) out["distributions"] = distributions(f.object("distributions"));
        if (f.has("series")) out["series"] = series(f.object("series"));
        keep(f);
        return out;
    }

    /// The figures of the first tenants: means over the runs that have them, or null where one has no such figure.
    [[nodiscard]] page_json tenants(json const& runs) {
        page_json out = page_json::array();
        std::vector<double> samples;
        for (auto const& run : limited(runs, most_samples, "runs of a policy")) {
            auto const found = run.find("tenants");
            if (found == run.end() || !found->is_array()) continue;
            for (auto const& one : *found) {
                if (!is_object(one)) return page_json::array();
                event_fields f(one);
                auto const name = shortened(f.text("tenant"), longest_text);
                auto const same = [&](page_json const& other) { return other["tenant"] == name; };
                auto const row = static_cast<std::size_t>(std::ranges::find_if(out, same) - out.begin());
                if (row == most_tenants) continue;
                if (row == out.size()) {
                    out.push_back({{"tenant", name}});
                    samples.push_back(0);
                }
                add_sample(out[row], f, ++samples[row]);
                keep(f);
            }
        }
        return out;
    }
    /// Makes each figure the mean over one more sample.
    static void add_sample(page_json& mean, event_fields& f, double samples) {
        for (auto const* const name : {"jobs", "mean_wait", "p99_wait", "worst_wait", "held", "weight"}) {
            auto const value = f.maybe_number(name);
            if (samples == 1)
                mean[name] = value ? plain(*value) : page_json(nullptr);
            else if (!value || mean[name].is_null())
                mean[name] = nullptr;
            else
                mean[name] = mean[name].get<double>() + (*value - mean[name].get<double>()) / samples;
        }
    }

    /// Numbers, or null; cut where there are too many.
    [[nodiscard]] page_json numbers(json const& array) {
        page_json out = page_json::array();
        for (auto const& one : limited(array, most_values, "values in a row"))
            out.push_back(plain(number_in(one).value_or(std::nan(""))));
        return out;
    }

    [[nodiscard]] page_json distributions(json const& from) {
        page_json out = page_json::object();
        for (auto const* const name : {"jct", "wait", "to_acceptable", "to_objective"}) {
            auto const found = from.find(name);
            if (found == from.end() || !is_object(*found)) continue;
            event_fields f(*found);
            page_json one{{"of", f.whole("of")}, {"reached", f.whole("reached")}};
            if (f.has("quantiles")) {
                event_fields bins(f.object("bins"));
                one["mean"] = maybe(f, "mean");
                one["quantiles"] = numbers(f.array("quantiles"));
                one["bins"] = {{"per_decade", bins.whole("per_decade")},
                               {"first", bin_of(bins.number("first"))},
                               {"counts", numbers(bins.array("counts"))}};
                keep(bins);
            }
            keep(f);
            out[name] = std::move(one);
        }
        return out;
    }

    [[nodiscard]] page_json series(json const& from) {
        page_json out = page_json::object();
        for (auto const* const name : {"devices", "cores", "there", "waiting"}) {
            auto const found = from.find(name);
            if (found == from.end() || !is_object(*found)) continue;
            event_fields f(*found);
            out[name] = {{"width", plain(f.number("width"))}, {"means", numbers(f.array("means"))}};
            keep(f);
        }
        return out;
    }
};

}  // namespace

result<void, diagnostic> read_simulation_line(json const& line, page_json& into) {
    simulation_reader reader;
    into = reader.read(line);
    return reader.status ? read_simulation_jobs(line, into) : reader.status;
}

result<void, diagnostic> read_measured_line(json const& line, page_json& into) {
    simulation_reader reader;
    into = reader.read_measured(line);
    return reader.status;
}

}  // namespace ration::program
