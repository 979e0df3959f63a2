// SPDX-License-Identifier: BSL-1.0
#include "sim/price_options.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <limits>

#include "common/printable.hpp"
#include "common/suggestion.hpp"

namespace ration::program {
namespace {

constexpr double most_money = 1e6;
constexpr double no_price = std::numeric_limits<double>::quiet_NaN();

[[nodiscard]] bool is_price(std::string_view text, double& into) noexcept {
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), into);
    return failed == std::errc{} && end == text.data() + text.size() && into >= 0 && into <= most_money;
}

/// True if a group of this type has devices.
[[nodiscard]] bool has_devices(sim::cluster const& machines, std::size_t type) noexcept {
    return std::ranges::any_of(machines.groups, [&](auto const& g) { return g.type == type && g.devices > 0; });
}

/// The price that counts.
[[nodiscard]] result<double, diagnostic> price_of(device_price const& price, bool are_transient) {
    if (!are_transient) return price.on_demand;
    if (price.transient) return *price.transient;
    return diagnostic{.text =
                          fmt::format("nodes with revocations are transient servers, and {0} has no price of these: "
                                      "write {0}={1},PRICE",
                                      printable(price.type), price.on_demand)};
}

}  // namespace

result<device_price, diagnostic> parse_price(std::string_view text) {
    std::size_t const equals = text.find('='),
                      comma = std::min(text.find(',', std::min(equals, text.size())), text.size());
    device_price price;
    double transient = 0;
    bool const has_type = equals != text.npos && equals > 0;
    bool const is_right = has_type && is_price(text.substr(equals + 1, comma - equals - 1), price.on_demand) &&
                          (comma == text.size() || is_price(text.substr(comma + 1), transient));
    if (!is_right)
        return diagnostic{
            .text = fmt::format(
                "{} is not a price: write TYPE=ON_DEMAND or TYPE=ON_DEMAND,TRANSIENT, as in v100=2.48,0.74, "
                "with numbers from 0 to {:.0f} for an hour of a device",
                quoted(text), most_money)};
    price.type = text.substr(0, equals);
    if (comma < text.size()) price.transient = transient;
    return price;
}

result<std::vector<double>, diagnostic> prices_by_type(std::span<std::string const> texts, sim::cluster const& machines,
                                                       bool are_transient) {
    std::vector<double> prices(texts.empty() ? 0 : machines.types.size(), no_price);
    for (auto const& text : texts) {
        auto const price = parse_price(text);
        if (!price) return price.failure();
        auto const type = static_cast<std::size_t>(
            std::distance(machines.types.begin(), std::ranges::find(machines.types, price->type)));
        if (type == machines.types.size() || !has_devices(machines, type))
            return diagnostic{.text =
                                  fmt::format("--cluster has no devices of type {}{}", quoted(price->type),
                                              suggestion(price->type, {machines.types.begin(), machines.types.end()}))};
        if (prices[type] == prices[type])
            return diagnostic{.text = fmt::format("{} has two prices: name one of them", quoted(price->type))};
        auto const counted = price_of(*price, are_transient);
        if (!counted) return counted.failure();
        prices[type] = *counted;
    }
    for (std::size_t type = 0; type < prices.size(); ++type) {
        if (prices[type] == prices[type]) continue;
        if (has_devices(machines, type))
            return diagnostic{.text = fmt::format("devices of type {0} have no price: add --price {1}=PRICE",
                                                  quoted(machines.types[type]), printable(machines.types[type]))};
        prices[type] = 0;
    }
    return prices;
}

}  // namespace ration::program
