// SPDX-License-Identifier: BSL-1.0
#include "sim/fault_options.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "problem.hpp"
#include "quantity.hpp"

namespace ration::program {
namespace {

constexpr double most_faults = 1e6;  // of one sample

/// A key of a kind, and where its value goes.
struct fault_key {
    std::string_view name;
    double sim::fault_rates::*into;
};

/// One kind of faults: that it is given at all is seen in `given`, whose key has no default.
struct fault_words {
    std::string_view name;
    double sim::fault_rates::*given;
    std::string_view of;  // what is struck every so often
    std::vector<fault_key> times;
};

[[nodiscard]] std::vector<fault_words> const& kinds_of_faults() {
    using rates = sim::fault_rates;
    static std::vector<fault_words> const all{
        {"losses", &rates::loss_every, "node", {{"every", &rates::loss_every}, {"repair", &rates::repair}}},
        {"revocations", nullptr, "", {{"startup", &rates::startup}}},
        {"crashes", &rates::crash_every, "device", {{"every", &rates::crash_every}}},
        {"stragglers", &rates::slow_every, "node", {{"every", &rates::slow_every}, {"lasts", &rates::slow_lasts}}},
    };
    return all;
}

[[nodiscard]] std::string take_region(std::string_view value, sim::fault_rates& into) {
    std::vector<std::string_view> names;
    for (auto const& region : sim::transient_regions) {
        if (region.region == value) return into.lifetime = region, std::string();
        names.push_back(region.region);
    }
    return fmt::format("there are no lifetimes of servers in {}{}", quoted(value), suggestion(value, names));
}

[[nodiscard]] std::string take_speed(std::string_view value, sim::fault_rates& into) {
    auto const [end, failed] = std::from_chars(value.data(), value.data() + value.size(), into.slow_speed);
    bool const good = failed == std::errc{} && end == value.data() + value.size() && into.slow_speed >= 0.01 && into.slow_speed <= 0.99;
    return good ? std::string() : fmt::format("speed is a part of the usual one from 0.01 to 0.99, not {}", quoted(value));
}

/// Takes "every=20h" in; a sentence when that cannot be.
[[nodiscard]] std::string take_fault_key(std::string_view text, fault_words const& kind, sim::fault_rates& into) {
    std::size_t const equals = std::min(text.find('='), text.size());
    auto const key = text.substr(0, equals), value = text.substr(std::min(equals + 1, text.size()));
    if (key == "region" && kind.name == "revocations") return take_region(value, into);
    if (key == "speed" && kind.name == "stragglers") return take_speed(value, into);
    std::vector<std::string_view> names;
    for (auto const& one : kind.times) {
        names.push_back(one.name);
        if (one.name != key) continue;
        auto const time = parse_sim_time(value);
        if (!time || *time < seconds(1)) return fmt::format("{} is a time from 1 s to 365 days, not {}", key, quoted(value));
        into.*one.into = to_seconds(*time);
        return {};
    }
    if (kind.name == "revocations") names.emplace_back("region");
    if (kind.name == "stragglers") names.emplace_back("speed");
    return fmt::format("there is nothing called {} to set of {}{}", quoted(key), kind.name, suggestion(key, names));
}

[[nodiscard]] bool is_given(fault_words const& kind, sim::fault_rates const& rates) noexcept {
    return kind.given == nullptr ? rates.lifetime.has_value() : rates.*kind.given > 0;
}

/// Long enough for policies that are ten times slower than need be, and a week at least: a trace may be shorter than one outage.
[[nodiscard]] nanoseconds horizon_of(simulation_options const& options, sample const& of) noexcept {
    if (options.until) return *options.until;
    constexpr double week = 7 * 86400, century = 100 * 365 * 86400.0;
    return seconds(std::min(to_seconds(of.jobs.jobs.front().submitted) + std::max(10 * of.bounds.makespan, week), century));
}

[[nodiscard]] double expected(sim::fault_rates const& rates, sim::cluster const& machines, nanoseconds horizon) noexcept {
    double nodes = 0;
    for (auto const& group : machines.groups) nodes += static_cast<double>(group.nodes);
    auto const per_second = [](double every) { return every > 0 ? 1 / every : 0; };
    double const each = per_second(rates.loss_every) + per_second(rates.slow_every) + per_second(rates.lifetime ? rates.lifetime->mean() : 0);
    return to_seconds(horizon) * (nodes * each + static_cast<double>(devices_of(machines)) * per_second(rates.crash_every));
}

}  // namespace

std::string add_fault_kind(std::string_view text, sim::fault_rates& into) {
    std::size_t const colon = std::min(text.find(':'), text.size());
    auto const name = text.substr(0, colon);
    auto const& kinds = kinds_of_faults();
    auto const kind = std::ranges::find(kinds, name, &fault_words::name);
    if (kind == kinds.end()) {
        std::vector<std::string_view> names;
        for (auto const& one : kinds) names.push_back(one.name);
        return fmt::format("there is no kind of faults {}{}", quoted(name), suggestion(name, names));
    }
    if (is_given(*kind, into)) return fmt::format("{} are given twice: say all of them at once", name);
    for (std::size_t from = colon + 1; from <= text.size();) {
        std::size_t const to = std::min(text.find(',', from), text.size());
        if (auto wrong = take_fault_key(text.substr(from, to - from), *kind, into); !wrong.empty()) return wrong;
        from = to + 1;
    }
    if (is_given(*kind, into)) return {};
    if (kind->given == nullptr) return "revocations need the region whose servers live as long, as in revocations:region=us-east1";
    return fmt::format("{0} need every=TIME, the mean time between two on one {1}, as in {0}:every=200h", name, kind->of);
}

void draw_faults(simulation_options const& options, simulation_input& input, std::vector<std::string>& problems) {
    sim::fault_rates rates;
    for (auto const& kind : options.faults)
        if (auto const wrong = add_fault_kind(kind, rates); !wrong.empty()) return problems.push_back("--faults: " + wrong);
    for (auto& s : input.samples) {
        s.faults_until = horizon_of(options, s);
        if (double const many = expected(rates, input.machines, s.faults_until); many > most_faults)
            return problems.push_back(fmt::format("--faults: that makes about {:.0f} faults within {}, of {:.0f} that there may be: let them come less often, or end the "
                                                  "runs earlier with --until", many, duration_text(s.faults_until), most_faults));
        s.faults = make_faults(rates, input.machines, s.seed, s.faults_until);
    }
}

}  // namespace ration::program
