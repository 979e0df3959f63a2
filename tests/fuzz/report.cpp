// SPDX-License-Identifier: BSL-1.0
// The output of `ration sim --json`, as `ration report` reads it: one line of figures, one of measured times. Lines
// behind them such as "/samples 1001" repeat the first element of an array, or a text, up to that size. An accepted
// value is finite, bounded, and equal to the given one.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "common/diagnostics.hpp"
#include "common/printable.hpp"
#include "events/json_reader.hpp"
#include "json_pointer.hpp"
#include "report/input.hpp"
#include "report/page.hpp"
#include "support.hpp"

namespace program = ration::program;
using fuzz::require;
using nlohmann::json;
using ration::diagnostic;
using ration::result;

namespace {

void repeat(json& whole, std::string_view line) {
    auto const blank = std::min(line.find(' '), line.size());
    auto const digits = line.substr(std::min(blank + 1, line.size()));
    std::size_t count = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), count);
    auto* const place = fuzz::value_at(whole, line.substr(0, blank));
    if (place == nullptr || place->empty() || count > 1100 || place->dump().size() > 2000) return;
    auto const first = place->is_array() ? place->front() : *place;
    if (auto* const text = place->get_ptr<std::string*>())
        while (!text->empty() && text->size() < count) *text += first.get_ref<std::string const&>();
    while (place->is_array() && place->size() < count) place->push_back(first);
}

[[nodiscard]] bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        auto const length = fuzz::character_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

void require_same_text(std::string const& given, std::string const& taken) {
    require(taken.size() <= 300 && is_utf8(taken), "a page has a text that is too long or not UTF-8");
    if (given == taken) return;
    bool const is_cut =
        taken.size() > 70 && taken.ends_with("...") && given.starts_with(taken.substr(0, taken.size() - 3));
    require(is_cut, "a page has another text than was given");
}

[[nodiscard]] std::size_t most_of(std::string_view name) {
    if (name == "policies") return 64;
    if (name == "faults" || name == "remarks") return 200;
    return name == "samples" || name == "groups" || name == "quantiles" || name == "counts" || name == "means" ? 1000
                                                                                                               : 60'000;
}

[[nodiscard]] json texts_of(json const& given) {
    json texts = json::array();
    for (auto const& one : given)
        if (one.is_string() && texts.size() < 200) texts.push_back(one);
    return texts;
}

/// What a page has under the name under which it was given is the same, but for texts that are cut and numbers that
/// JSON does not have. Figures and bounds change their places: `require_moved`.
void require_same(json const& given, json const& taken, std::string_view name = "") {
    if (taken.is_string()) return require_same_text(given.get<std::string>(), taken.get<std::string>());
    if (taken.is_null()) return require(!given.is_number(), "a page has no number where one was given");
    if (taken.is_object()) {
        for (auto const& [key, value] : taken.items())
            if (key != "figures" && key != "mean_jct" && key != "makespan" && given.contains(key))
                require_same(key == "faults" || key == "remarks" ? texts_of(given[key]) : given[key], value, key);
    } else if (taken.is_array()) {
        require(taken.size() <= most_of(name) && taken.size() == given.size(),
                "a page has too many values, or another number of them than were given");
        for (std::size_t i = 0; i < taken.size(); ++i) require_same(given[i], taken[i]);
    } else if (name == "first") {
        require(taken.is_number_integer() && std::abs(taken.get<double>()) <= 10'000, "a bin has an impossible number");
    } else {
        require(fuzz::is_same_value(taken, given), "a page has another number than was given");
    }
}

void require_moved(json const& given, json const& taken) {
    for (std::size_t i = 0; i < taken["samples"].size(); ++i)
        for (auto const* const name : {"mean_jct", "makespan"})
            require_same(given["samples"][i]["bound"][name], taken["samples"][i][name]);
    for (std::size_t i = 0; i < taken["policies"].size(); ++i)
        for (auto const& [name, pair] : taken["policies"][i]["figures"].items()) {
            auto const& figure = given["policies"][i]["figures"][name];
            require_same(figure["mean"], pair[0]);
            require_same(figure["half_of_95"], pair[1]);
        }
}

[[nodiscard]] bool is_way(json const& value) {
    bool const is_count =
        value.is_object() && value.size() == 1 && value.contains("changes") && value["changes"].is_number_unsigned();
    auto const is_number = [](json const& one) { return one.is_number(); };
    bool const is_list = value.is_array() && value.size() % 2 == 0 && std::ranges::all_of(value, is_number);
    return value.is_number() || is_count || is_list;
}

/// Each column of jobs has one value of its kind for each of them.
void require_columns(json const& taken) {
    auto const is_time = [](json const& value) { return value.is_number() || value.is_null(); };
    if (!taken.contains("jobs")) return;
    auto const& submitted = taken["jobs"]["submitted"];
    require(std::ranges::all_of(submitted, is_time), "a job was submitted at no time");
    require(!taken["jobs"].contains("names") || taken["jobs"]["names"].size() == submitted.size(),
            "there is another number of names than of jobs");
    for (auto const& policy : taken["policies"]) {
        if (!policy.contains("jobs")) continue;
        for (auto const* const name : {"started", "finished", "holds"}) {
            auto const& column = policy["jobs"][name];
            require(column.size() == submitted.size(), "a column has another number of values than there are jobs");
            require(name[0] == 'h' ? std::ranges::all_of(column, is_way) : std::ranges::all_of(column, is_time),
                    "a column has a value of another kind");
        }
    }
}

[[nodiscard]] json runs_of_first_sample(json const& line) {
    json rows = json::array();
    for (auto const& run : line["runs"])
        if (run["sample"] == 0) rows.push_back(run);
    return rows;
}

[[nodiscard]] std::string unescaped(std::string_view text) {
    constexpr std::pair<std::string_view, char> entities[] = {
        {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}, {"&amp;", '&'}};
    std::string out;
    for (auto rest = text; !rest.empty();) {
        auto const* const entity =
            std::ranges::find_if(entities, [&](auto const& one) { return rest.starts_with(one.first); });
        bool const found = entity != std::end(entities);
        require(found || rest[0] != '&', "a text can be taken for an entity of HTML");
        out += found ? entity->second : rest[0];
        rest.remove_prefix(found ? entity->first.size() : 1);
    }
    return out;
}

/// Whether the page was taken.
[[nodiscard]] bool require_page(result<void, diagnostic> const& read, nlohmann::ordered_json const& page) {
    if (!read) {
        fuzz::require_sentence(program::printable(read.failure().text), 5000);
        return false;
    }
    auto const text = page.dump(-1, ' ', false, json::error_handler_t::replace);
    auto const script = program::for_script(text);
    require(script.find("</") == script.npos && script.find("<!--") == script.npos,
            "a text can end the script element of the page");
    require(json::parse(script) == json::parse(text), "the data of a page is changed for the page");
    auto const shown = program::escaped(text);
    require(shown.find_first_of("<>\"'") == shown.npos, "a text can end the element that shows it");
    require(unescaped(shown) == text, "a text is shown as another one");
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::input in(data, size);
    auto figures = program::parse_json(in.line()), measured = program::parse_json(in.line());
    while (!in.empty()) repeat(figures, in.line());
    nlohmann::ordered_json page;
    if (figures.is_object() && require_page(program::read_simulation_line(figures, page), page)) {
        json const taken(page);
        require_same(figures, taken);
        require_moved(figures, taken);
        require_columns(taken);
    }
    if (measured.is_object() && require_page(program::read_measured_line(measured, page), page))
        require_same(runs_of_first_sample(measured), json(page));
    return 0;
}
