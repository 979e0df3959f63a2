// SPDX-License-Identifier: BSL-1.0
// Quantities and the small languages of the command line, each compared with a plain reading of the same text. The
// first letter chooses which.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <ration/resource.hpp>

#include "command_line/option_checks.hpp"
#include "common/diagnostics.hpp"
#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "common/suggestion.hpp"
#include "config/settings.hpp"
#include "sim/fault_options.hpp"
#include "sim/generate.hpp"
#include "sim/input.hpp"
#include "sim/price_options.hpp"
#include "support.hpp"

namespace program = ration::program;
using fuzz::require;

namespace {

constexpr double a_year = 365.0 * 24 * 3600e9, infinite = std::numeric_limits<double>::infinity();  // nanoseconds

struct unit {
    std::string_view name;
    double factor;
};
constexpr unit time_units[] = {{"ms", 1e6}, {"s", 1e9}, {"m", 6e10}, {"h", 3.6e12}};
constexpr unit size_units[] = {{"B", 1},           {"kB", 1e3},           {"MB", 1e6},
                               {"GB", 1e9},        {"TB", 1e12},          {"KiB", 1024.0},
                               {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}};

/// A decimal number and a unit, multiplied out; infinity where the text is something else.
template <std::size_t N>
[[nodiscard]] double plain_quantity(std::string const& text, unit const (&units)[N]) {
    auto const unit_begins = std::min(text.find_first_not_of("0123456789."), text.size());
    auto const parts = fuzz::split(std::string_view(text).substr(0, unit_begins), '.');
    if (parts.size() > 2 || parts.front().empty() || parts.back().empty()) return infinite;
    auto const found = std::ranges::find(units, std::string_view(text).substr(unit_begins), &unit::name);
    return found == std::end(units) ? infinite
                                    : std::strtod(text.substr(0, unit_begins).c_str(), nullptr) * found->factor;
}

/// `read` is the amount that the text has; a text without one, or with one above `most`, is not read.
void require_amount(std::optional<std::int64_t> read, double amount, double most, char const* invariant) {
    require(read.has_value() == (amount <= most), invariant);
    require(!read || std::abs(static_cast<double>(*read) - amount) <= 1, invariant);
}

[[nodiscard]] std::string with_seconds(std::string const& text) {
    return text.find_first_not_of("0123456789.") == text.npos ? text + "s" : text;
}

void read_quantity(std::string const& text) {
    auto const count_of = [](auto const& read) { return read ? std::optional(read->count) : std::nullopt; };
    auto const time = program::parse_duration(text);
    require_amount(count_of(time), plain_quantity(text, time_units), a_year,
                   "a duration is another one, or out of bounds");
    if (time) fuzz::require_sentence(program::duration_text(*time));
    auto const size = program::parse_size(text);
    require_amount(count_of(size), plain_quantity(text, size_units), 9007199254740992.0,
                   "a size is another one, or out of bounds");
    require(!size || program::parse_size(std::to_string(size->count) + "B") == size,
            "a size reads differently in bytes");
    auto const simulated = program::parse_sim_time(text);
    require_amount(count_of(simulated), plain_quantity(with_seconds(text), time_units), a_year,
                   "a time is another one, or out of bounds");
}

/// The number at the beginning of a text; 0 where there is none. Behind it other characters may follow.
[[nodiscard]] std::int64_t leading_number(std::string_view text) {
    return std::strtoll(std::string(text).c_str(), nullptr, 10);
}

void require_group(std::string_view text, ration::sim::node_group const& group, std::vector<std::string> const& types) {
    auto const halves = fuzz::split(text, ':');
    auto const type = halves.size() > 1 ? text.substr(halves[0].size() + 1) : "gpu";
    auto const node = halves[0].substr(std::min(halves[0].find('x') + 1, halves[0].size()));
    auto const parts = fuzz::split(node, '+');
    bool const has_cores = parts.back().ends_with("core") || parts.back().ends_with("cores"),
               has_devices = parts.size() > 1 || !has_cores;
    auto const cores = has_cores ? leading_number(parts.back()) : 0, devices = has_devices ? leading_number(node) : 0;
    require(static_cast<std::int64_t>(group.nodes) == leading_number(text), "a group has another number of nodes");
    require(group.devices == devices && group.cores == static_cast<double>(cores),
            "a node has another number of devices or cores");
    require(group.nodes >= 1 && group.nodes <= 100'000, "a group has no nodes, or too many");
    require(has_devices == (devices >= 1) && devices <= 1000, "a node has no devices, or too many");
    require(has_cores == (cores >= 1) && cores <= 10'000, "a node has no cores, or too many");
    require(group.type < types.size() && types[group.type] == type, "a node has another type");
}

void read_cluster(std::string_view text) {
    auto const read = program::parse_cluster(text);
    if (!read) return fuzz::require_sentence(read.failure().text);
    auto const& machines = *read;
    auto const groups = fuzz::split(text, ',');
    std::size_t nodes = 0;
    require(machines.groups.size() == groups.size(), "a cluster has another number of groups");
    for (std::size_t i = 0; i < groups.size(); ++i) {
        nodes += machines.groups[i].nodes;
        require_group(groups[i], machines.groups[i], machines.types);
    }
    require(nodes <= 100'000, "a cluster has too many nodes");
}

/// The last value of a key behind the colon, as in "kind:key=value,key=value"; nothing where the key is not there.
[[nodiscard]] std::optional<std::string> value_of(std::string_view text, std::string_view key) {
    std::optional<std::string> value;
    auto const colon = std::min(text.find(':'), text.size());
    for (auto const part : fuzz::split(text.substr(std::min(colon + 1, text.size())), ','))
        if (part.starts_with(key) && part.substr(key.size()).starts_with('=')) value = part.substr(key.size() + 1);
    return value;
}

void read_generator(std::string_view text) {
    auto const read = program::parse_generator(text);
    if (!read) return fuzz::require_sentence(read.failure().text);
    auto const& how = read->how;
    require(how.jobs >= 1 && how.jobs <= 1'000'000, "a workload has no jobs, or too many");
    require(how.jobs_per_hour >= 0.001 && how.jobs_per_hour <= 1e6, "jobs come at an impossible rate");
    auto const jobs = value_of(text, "jobs"), rate = value_of(text, "per_hour");
    require(!jobs || static_cast<std::int64_t>(how.jobs) == leading_number(*jobs),
            "a workload has another number of jobs");
    require(!rate || how.jobs_per_hour == std::strtod(rate->c_str(), nullptr), "jobs come at another rate");
}

void require_value(std::string const& text, program::parameter const& read) {
    bool const is_word = text == "true" || text == "false";
    require(std::holds_alternative<bool>(read.value) == is_word, "a truth is read as something else");
    auto const digits = std::string_view(text).substr(text.starts_with('-') ? 1 : 0);
    errno = 0;
    auto const whole = std::strtoll(text.c_str(), nullptr, 10);
    bool const is_whole = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos && errno == 0;
    auto const* const number = std::get_if<std::int64_t>(&read.value);
    require((number != nullptr) == is_whole && (number == nullptr || *number == whole),
            "a whole number is read as something else");
    auto const* const real = std::get_if<double>(&read.value);
    require(real == nullptr || std::isnan(*real) || *real == std::strtod(text.c_str(), nullptr),
            "a number is read as another one");
    auto const* const word = std::get_if<std::string>(&read.value);
    require(word == nullptr || *word == text, "a text is read as another one");
}

void read_setting(std::string_view text) {
    program::run_config config;
    if (auto const added = program::add_setting(text, config); !added)
        return fuzz::require_sentence(added.failure().text);
    require(config.parameters.size() == 1 && config.parameters[0].parameters.size() == 1,
            "a setting is not one parameter");
    auto const& set = config.parameters[0];
    auto const name = set.policy + "." + set.parameters[0].name;
    bool const is_split = set.policy.find('.') == set.policy.npos && name.find('=') == name.npos;
    require(text.starts_with(name + "=") && is_split, "a setting is of another parameter");
    require_value(std::string(text.substr(name.size() + 1)), set.parameters[0]);
    auto const twice = program::add_setting(text, config);
    require(!twice, "a parameter can be set twice");
    fuzz::require_sentence(program::printable(twice.failure().text), 100'000);
}

/// As the command line splits the value of --compare.
void read_policies(std::string_view text) {
    std::vector<std::string> words;
    for (auto const word : fuzz::split(text, ',')) words.emplace_back(word);
    auto const read = program::read_choices(words);
    if (!read) return fuzz::require_sentence(program::printable(read.failure().text), 100'000);
    std::string joined;
    std::size_t parameters = 0;
    for (auto const& choice : *read) {
        joined += (&choice == &read->front() ? "" : ",") + choice.label;
        parameters += choice.parameters.size();
        require(choice.label.starts_with(choice.policy), "a label begins with another policy");
    }
    require(joined == text, "the labels of the policies are not the words of the list");
    require(parameters <= static_cast<std::size_t>(std::ranges::count(text, '=')), "a list has too many parameters");
}

void read_faults(std::string_view text) {
    ration::sim::fault_rates rates;
    if (auto const added = program::add_fault_kind(text, rates); !added)
        return fuzz::require_sentence(added.failure().text);
    auto const require_seconds = [text](double seconds, char const* key) {
        auto const given = value_of(text, key);
        if (!given) return;
        require(seconds >= 1 && seconds <= 365 * 86400, "faults come at an impossible rate");
        require(std::abs(seconds - plain_quantity(with_seconds(*given), time_units) / 1e9) <= 1e-8,
                "a time of faults is another one");
    };
    auto const kind = fuzz::split(text, ':')[0];
    require_seconds(kind == "losses"    ? rates.loss_every
                    : kind == "crashes" ? rates.crash_every
                                        : rates.slow_every,
                    "every");
    require_seconds(rates.repair, "repair");
    require_seconds(rates.slow_lasts, "lasts");
    require_seconds(rates.startup, "startup");
    require((rates.loss_every > 0) == (kind == "losses") && (rates.crash_every > 0) == (kind == "crashes"),
            "faults of another kind come");
    require((rates.slow_every > 0) == (kind == "stragglers") && rates.lifetime.has_value() == (kind == "revocations"),
            "faults of another kind come");
    require(rates.slow_speed >= 0.01 && rates.slow_speed <= 0.99, "a straggler has an impossible speed");
}

void read_price(std::string_view text) {
    auto const read = program::parse_price(text);
    if (!read) return fuzz::require_sentence(read.failure().text);
    require(text.starts_with(read->type + '=') && !read->type.empty(), "a price is of another type");
    require(read->on_demand >= 0 && read->on_demand <= 1e6, "a price is impossible");
    require(read->transient.has_value() == (text.find(',', read->type.size()) != text.npos),
            "a price of transient servers is lost, or made up");
}

/// Whether at most `slips` insertions, deletions, replacements and swaps of neighbours turn `a` into `b`.
[[nodiscard]] bool is_within(std::string_view a, std::string_view b, std::size_t slips) {
    if (!a.empty() && !b.empty() && a[0] == b[0]) return is_within(a.substr(1), b.substr(1), slips);
    if (a.empty() || b.empty()) return a.size() + b.size() <= slips;
    if (slips == 0) return false;
    bool const is_swap = a.size() > 1 && b.size() > 1 && a[0] == b[1] && a[1] == b[0];
    return is_within(a.substr(1), b, slips - 1) || is_within(a, b.substr(1), slips - 1) ||
           is_within(a.substr(1), b.substr(1), slips - 1) ||
           (is_swap && is_within(a.substr(2), b.substr(2), slips - 1));
}

void require_nearest(std::string_view word) {
    std::vector<std::string_view> const names{"tradl", "equal_share", "loss_delta_ratio"};
    if (word.size() > 64) return;
    std::size_t const allowed = std::clamp<std::size_t>(word.size() / 3, 1, 3);
    auto const found = program::nearest(word, names);
    for (auto const name : names)
        require(!found.empty() || !is_within(word, name, allowed), "a slip is not understood");
    require(found.empty() || (std::ranges::find(names, found) != names.end() && is_within(word, found, allowed)),
            "a word is taken for another one");
}

/// Character by character: what is shown is the same, or '?'. Letters and digits are always the same.
void require_printable(std::string_view text, std::string_view shown) {
    require(fuzz::is_one_line(shown), "a printable text is not printable");
    while (!text.empty()) {
        auto const length = std::max<std::size_t>(fuzz::character_length(text), 1);
        bool const same = shown.starts_with(text.substr(0, length)) && fuzz::is_one_line(text.substr(0, length));
        bool const is_plain = text[0] >= ' ' && text[0] <= '~';
        require(same || (!is_plain && shown.starts_with('?')), "a character is shown as another one");
        shown.remove_prefix(same ? length : 1);
        text.remove_prefix(length);
    }
    require(shown.empty(), "a text is shown with more behind it");
}

void read_texts(std::string_view text) {
    auto const shown = program::printable(text), quoted = program::quoted(text);
    require_printable(text, shown);
    require(program::printable(shown) == shown, "a printable text changes when it is made printable");
    require(quoted.size() <= 70 && quoted.starts_with('\''), "a quoted text is not a short one in quotes");
    require(quoted.ends_with(text.size() > 60 ? "...'" : "'"), "a quoted text has another end");
    auto const inside = std::string_view(quoted).substr(1, quoted.size() - (text.size() > 60 ? 5 : 2));
    require(text.size() > 60 ? shown.starts_with(inside) : shown == inside,
            "a quoted text is another one, or ends within a character");
    fuzz::require_sentence(program::printable(to_text(ration::diagnostic{std::string(text), 1, 2, quoted})), 10'000);
    auto const seed = program::parse_seed(text);
    bool const is_number =
        !text.empty() && text.find_first_not_of("0123456789") == text.npos && (text[0] != '0' || text.size() == 1);
    bool const fits = text.size() < 20 || (text.size() == 20 && text <= "18446744073709551615");
    require(static_cast<bool>(seed) == (is_number && fits), "a seed is refused, or something else is taken for one");
    if (!seed) fuzz::require_sentence(seed.failure().text);
    require_nearest(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::input in(data, size);
    char const which = in.take<char>();
    switch (which) {
        case 'q': read_quantity(std::string(in.rest())); break;
        case 'c': read_cluster(in.rest()); break;
        case 'g': read_generator(in.rest()); break;
        case 's': read_setting(in.rest()); break;
        case 'p': read_policies(in.rest()); break;
        case 'f': read_faults(in.rest()); break;
        case 'm': read_price(in.rest()); break;
        case 't': read_texts(in.rest()); break;
        default: break;
    }
    return 0;
}
