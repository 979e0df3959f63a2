// SPDX-License-Identifier: BSL-1.0
#include "sim/fault_options.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

#include "common/diagnostics.hpp"
#include "common/printable.hpp"
#include "common/quantity.hpp"
#include "common/suggestion.hpp"

namespace ration::program {
namespace {

constexpr double most_faults = 1e6;  // of one sample

/// A key of a kind, and where its value goes.
struct fault_key {
    std::string_view name;
    double sim::fault_rates::* into;
};

/// One kind of faults: that it is given at all is seen in `given`, whose key has no default.
struct fault_words {
    std::string_view name;
    double sim::fault_rates::* given;
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

/// Which transient servers the nodes are, as "region=us-east1,gpu=P100" names them.
struct servers_asked {
    std::string_view gpu = "K80", region;
};

/// Finds the lifetimes of the servers once all keys are read.
[[nodiscard]] result<void, diagnostic> take_servers(servers_asked const& asked, sim::fault_rates& into) {
    if (asked.region.empty())
        return diagnostic{
            .text = "revocations need the region whose servers live as long, as in revocations:region=us-east1"};
    std::vector<std::string_view> types, regions;
    for (auto const& servers : sim::transient_servers) {
        if (std::ranges::find(types, servers.gpu) == types.end()) types.push_back(servers.gpu);
        if (servers.gpu == asked.gpu) regions.push_back(servers.region);
    }
    if (regions.empty())
        return diagnostic{.text = fmt::format("lifetimes of servers with the GPU {} are not known{}", quoted(asked.gpu),
                                              suggestion(asked.gpu, types))};
    auto const* const found = sim::find_transient_servers(asked.gpu, asked.region);
    if (found == nullptr)
        return diagnostic{.text = fmt::format("lifetimes of {} servers in {} are not known{}", asked.gpu,
                                              quoted(asked.region), suggestion(asked.region, regions))};
    if (into.startup == 0 && sim::measured_startup(asked.gpu) == 0)
        return diagnostic{
            .text = fmt::format(
                "the startup of {0} servers was not measured: add startup=TIME, as in revocations:region={1},gpu={0},startup=90s",
                asked.gpu, asked.region)};
    into.lifetime = *found;
    return {};
}

[[nodiscard]] result<void, diagnostic> take_speed(std::string_view value, sim::fault_rates& into) {
    auto const [end, failed] = std::from_chars(value.data(), value.data() + value.size(), into.slow_speed);
    bool const good = failed == std::errc{} && end == value.data() + value.size() && into.slow_speed >= 0.01 &&
                      into.slow_speed <= 0.99;
    if (good) return {};
    return diagnostic{.text = "speed is a part of the usual one from 0.01 to 0.99, not " + quoted(value)};
}

/// Takes "every=20h" in.
[[nodiscard]] result<void, diagnostic> take_fault_key(std::string_view text, fault_words const& kind,
                                                      sim::fault_rates& into, servers_asked& servers) {
    std::size_t const equals = std::min(text.find('='), text.size());
    auto const key = text.substr(0, equals), value = text.substr(std::min(equals + 1, text.size()));
    bool const revokes = kind.name == "revocations";
    if (revokes && (key == "region" || key == "gpu")) {
        (key == "gpu" ? servers.gpu : servers.region) = value;
        return {};
    }
    if (key == "speed" && kind.name == "stragglers") return take_speed(value, into);
    std::vector<std::string_view> names;
    for (auto const& one : kind.times) {
        names.push_back(one.name);
        if (one.name != key) continue;
        auto const time = parse_sim_time(value);
        if (!time || *time < seconds(1))
            return diagnostic{.text = fmt::format("{} is a time from 1 s to 365 days, not {}", key, quoted(value))};
        into.*one.into = to_seconds(*time);
        return {};
    }
    if (revokes) names.insert(names.end(), {"region", "gpu"});
    if (kind.name == "stragglers") names.emplace_back("speed");
    return diagnostic{
        .text = fmt::format("unknown option {} for fault kind {}{}", quoted(key), kind.name, suggestion(key, names))};
}

[[nodiscard]] bool is_given(fault_words const& kind, sim::fault_rates const& rates) noexcept {
    return kind.given == nullptr ? rates.lifetime.has_value() : rates.*kind.given > 0;
}

/// Long enough for policies that are ten times slower than need be, and a week at least: a trace may be shorter than
/// one outage.
[[nodiscard]] nanoseconds horizon_of(simulation_options const& options, sample const& of) noexcept {
    if (options.until) return *options.until;
    constexpr double week = 7 * 86400, century = 100 * 365 * 86400.0;
    return seconds(
        std::min(to_seconds(of.jobs.jobs.front().submitted) + std::max(10 * of.bounds.makespan, week), century));
}

[[nodiscard]] double expected(sim::fault_rates const& rates, sim::cluster const& machines,
                              nanoseconds horizon) noexcept {
    auto const nodes = static_cast<double>(nodes_of(machines));
    auto const per_second = [](double every) { return every > 0 ? 1 / every : 0; };
    double const each = per_second(rates.loss_every) + per_second(rates.slow_every) +
                        per_second(rates.lifetime ? rates.lifetime->mean() : 0);
    return to_seconds(horizon) *
           (nodes * each + static_cast<double>(devices_of(machines)) * per_second(rates.crash_every));
}

}  // namespace

result<void, diagnostic> add_fault_kind(std::string_view text, sim::fault_rates& into) {
    std::size_t const colon = std::min(text.find(':'), text.size());
    auto const name = text.substr(0, colon);
    auto const& kinds = kinds_of_faults();
    auto const kind = std::ranges::find(kinds, name, &fault_words::name);
    if (kind == kinds.end()) {
        std::vector<std::string_view> names;
        names.reserve(kinds.size());
        for (auto const& one : kinds) names.push_back(one.name);
        return diagnostic{.text = fmt::format("unknown kind of faults {}{}", quoted(name), suggestion(name, names))};
    }
    if (is_given(*kind, into))
        return diagnostic{.text = fmt::format("{} are given twice: say all of them at once", name)};
    servers_asked servers;
    for (std::size_t from = colon + 1; from <= text.size();) {
        std::size_t const to = std::min(text.find(',', from), text.size());
        if (auto taken = take_fault_key(text.substr(from, to - from), *kind, into, servers); !taken) return taken;
        from = to + 1;
    }
    if (kind->given == nullptr) return take_servers(servers, into);
    if (is_given(*kind, into)) return {};
    return diagnostic{.text =
                          fmt::format("{0} need every=TIME, the mean time between two on one {1}, as in {0}:every=200h",
                                      name, kind->of)};
}

void draw_faults(simulation_options const& options, simulation_input& input, diagnostics& problems) {
    sim::fault_rates& rates = input.rates;
    for (auto const& kind : options.faults)
        if (auto const added = add_fault_kind(kind, rates); !added)
            return problems.add(in_file("--faults", added.failure()));
    for (auto& s : input.samples) {
        s.faults_until = horizon_of(options, s);
        if (double const many = expected(rates, input.machines, s.faults_until); many > most_faults)
            return problems.add(
                {.file = "--faults",
                 .text = fmt::format(
                     "that makes about {:.0f} faults within {}, of {:.0f} that there may be: let them come less often, or end the "
                     "runs earlier with --until",
                     many, duration_text(s.faults_until), most_faults)});
        s.faults = make_faults(rates, input.machines, s.seed, s.faults_until);
    }
}

}  // namespace ration::program
