// SPDX-License-Identifier: BSL-1.0
#include "sim/cluster_option.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>

#include "common/printable.hpp"
#include "common/quantity.hpp"

namespace ration::program {
namespace {

constexpr std::size_t most_nodes = 100'000;
constexpr std::int64_t most_devices = 1'000, most_cores = 10'000;  // of one node

[[nodiscard]] diagnostic bad_group(std::string_view group) {
    return {
        .text = fmt::format(
            "{} is not a group of nodes: write NODESxDEVICES, as in 16x4, up to {} nodes with up to {} devices each, and a name behind "
            "a colon if they are of several types: 16x4:v100,8x8:a100; a node with cores is 1x8cores, or 1x4+8cores, up to {} cores",
            program::quoted(group), most_nodes, most_devices, most_cores)};
}

/// "8cores", "1core".
[[nodiscard]] std::optional<std::int64_t> number_of_cores(std::string_view text) noexcept {
    for (std::string_view const word : {"cores", "core"})
        if (text.ends_with(word)) return parse_count(text.substr(0, text.size() - word.size()), most_cores);
    return std::nullopt;
}

/// "4", "8cores" or "4+8cores" of each node; false when it is none of these.
[[nodiscard]] bool take_node(std::string_view text, sim::node_group& into) noexcept {
    std::size_t const plus = text.find('+');
    auto const cores = number_of_cores(text.substr(plus == text.npos ? 0 : plus + 1));
    if (plus != text.npos && !cores) return false;
    into.cores = static_cast<double>(cores.value_or(0));
    if (plus == text.npos && cores) return true;
    auto const devices = parse_count(text.substr(0, plus), most_devices);
    into.devices = devices.value_or(0);
    return devices.has_value();
}

/// Adds one group; false when it is none.
[[nodiscard]] bool add_group(std::string_view text, sim::cluster& to) {
    std::size_t const colon = std::min(text.find(':'), text.size()), x = text.find('x');
    if (x >= colon || colon + 1 == text.size()) return false;
    auto const nodes = parse_count(text.substr(0, x), most_nodes);
    sim::node_group group;
    if (!nodes || !take_node(text.substr(x + 1, colon - x - 1), group)) return false;
    std::string const type(colon == text.size() ? "gpu" : text.substr(colon + 1));
    auto found = std::ranges::find(to.types, type);
    if (found == to.types.end()) found = to.types.insert(to.types.end(), type);
    group.nodes = static_cast<std::size_t>(*nodes);
    group.type = static_cast<std::uint32_t>(found - to.types.begin());
    to.groups.push_back(group);
    return true;
}

}  // namespace

result<sim::cluster, diagnostic> parse_cluster(std::string_view text) {
    sim::cluster machines{.groups = {}, .types = {}};
    std::size_t nodes = 0;
    for (std::size_t from = 0; from <= text.size();) {
        std::size_t const to = std::min(text.find(',', from), text.size());
        if (!add_group(text.substr(from, to - from), machines)) return bad_group(text.substr(from, to - from));
        nodes += machines.groups.back().nodes;
        from = to + 1;
    }
    if (nodes > most_nodes)
        return diagnostic{
            .text = fmt::format("the groups have {} nodes together, of {} that there may be", nodes, most_nodes)};
    return machines;
}

}  // namespace ration::program
