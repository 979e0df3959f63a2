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

/// Takes the column of `count` values that all pass.
[[nodiscard]] result<void, diagnostic> take(event_fields& f, char const* name, std::size_t count,
                                            bool (*good)(json const&), page_json& into) {
    auto const& values = f.array(name);
    if (!f.status()) return f.status();
    if (values.size() != count || !std::all_of(values.begin(), values.end(), good))
        return diagnostic{.text = fmt::format("its '{}' are not {} values of their kind", name, count)};
    into[name] = values;
    return {};
}

[[nodiscard]] result<void, diagnostic> common(event_fields f, page_json& into, std::size_t& count) {
    count = f.array("submitted").size();
    if (count > most_jobs)
        return diagnostic{.text =
                              fmt::format("it has {} jobs one by one, and a page holds at most {}", count, most_jobs)};
    if (auto const submitted = take(f, "submitted", count, is_time, into); !submitted || !f.has("names"))
        return submitted;
    auto const is_text = [](json const& one) { return one.is_string(); };
    if (auto const names = take(f, "names", count, is_text, into); !names) return names;
    for (auto& name : into["names"]) name = shortened(name.get_ref<std::string const&>(), longest_name);
    return {};
}

[[nodiscard]] result<void, diagnostic> of_policy(event_fields f, std::size_t count, page_json& into) {
    for (auto const* const name : {"started", "finished"})
        if (auto const read = take(f, name, count, is_time, into); !read) return read;
    return take(f, "holds", count, is_way, into);
}

}  // namespace

result<void, diagnostic> read_simulation_jobs(json const& line, page_json& out) {
    auto const jobs = line.find("jobs");
    if (jobs == line.end()) return {};
    std::size_t count = 0;
    if (!jobs->is_object()) return diagnostic{.text = "its field 'jobs' is not an object"};
    if (auto const read = common(event_fields(*jobs), out["jobs"] = page_json::object(), count); !read) return read;
    auto const& policies = line.at("policies");
    for (std::size_t p = 0; p < std::min(policies.size(), out["policies"].size()); ++p) {
        auto const of = policies[p].find("jobs");
        if (of == policies[p].end()) continue;
        if (!of->is_object()) return diagnostic{.text = "its field 'jobs' is not an object"};
        if (auto const read = of_policy(event_fields(*of), count, out["policies"][p]["jobs"] = page_json::object());
            !read)
            return read;
    }
    return {};
}

}  // namespace ration::program
