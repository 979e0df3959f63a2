// SPDX-License-Identifier: BSL-1.0
#include "report/simulation_jobs.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "events/event_fields.hpp"

namespace ration::program {
namespace {

using json = nlohmann::json;
using page_json = nlohmann::ordered_json;
constexpr std::size_t most_jobs = 60'000;

[[nodiscard]] bool is_time(json const& value) {
    return value.is_null() || (value.is_number() && std::isfinite(value.get<double>()));
}

/// One amount from its start to its end; times and amounts in turns; or how many changes there were.
[[nodiscard]] bool is_way(json const& value) {
    if (value.is_number()) return std::isfinite(value.get<double>());
    if (value.is_array())
        return value.size() % 2 == 0 &&
               std::all_of(value.begin(), value.end(), [](json const& one) { return one.is_number() && is_time(one); });
    return value.is_object() && value.size() == 1 && value.contains("changes") && value["changes"].is_number_unsigned();
}

/// The column of so many values that all pass; what is wrong else.
[[nodiscard]] std::string take(event_fields& f, char const* name, std::size_t count, bool (*good)(json const&),
                               page_json& into) {
    auto const& values = f.array(name);
    if (!f.wrong().empty()) return f.wrong();
    if (values.size() != count || !std::all_of(values.begin(), values.end(), good))
        return fmt::format("its '{}' are not {} values of their kind", name, count);
    into[name] = values;
    return {};
}

[[nodiscard]] std::string common(event_fields f, page_json& into, std::size_t& count) {
    count = f.array("submitted").size();
    if (count > most_jobs)
        return fmt::format("it has {} jobs one by one, and a page holds at most {}", count, most_jobs);
    if (auto wrong = take(f, "submitted", count, is_time, into); !wrong.empty() || !f.has("names")) return wrong;
    auto wrong = take(f, "names", count, [](json const& one) { return one.is_string(); }, into);
    if (wrong.empty())
        for (auto& name : into["names"]) name = shortened(name.get_ref<std::string const&>(), longest_name);
    return wrong;
}

[[nodiscard]] std::string of_policy(event_fields f, std::size_t count, page_json& into) {
    for (auto const* const name : {"started", "finished"})
        if (auto wrong = take(f, name, count, is_time, into); !wrong.empty()) return wrong;
    return take(f, "holds", count, is_way, into);
}

}  // namespace

std::string read_simulation_jobs(json const& line, page_json& out) {
    auto const jobs = line.find("jobs");
    if (jobs == line.end()) return {};
    std::size_t count = 0;
    if (!jobs->is_object()) return "its field 'jobs' is not an object";
    if (auto wrong = common(event_fields(*jobs), out["jobs"] = page_json::object(), count); !wrong.empty())
        return wrong;
    auto const& policies = line.at("policies");
    for (std::size_t p = 0; p < std::min(policies.size(), out["policies"].size()); ++p) {
        auto const of = policies[p].find("jobs");
        if (of == policies[p].end()) continue;
        if (!of->is_object()) return "its field 'jobs' is not an object";
        if (auto wrong = of_policy(event_fields(*of), count, out["policies"][p]["jobs"] = page_json::object());
            !wrong.empty())
            return wrong;
    }
    return {};
}

}  // namespace ration::program
