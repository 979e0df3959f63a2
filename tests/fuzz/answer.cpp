// SPDX-License-Identifier: BSL-1.0
// Answers of policies: what the checker accepts fits, and a slow checker that shares no code with it comes to the same.
#include <limits>
#include <vector>

#include "support.hpp"
#include "unit/slow_checker.hpp"

using fuzz::require;
using ration::grant;
using ration::job_state;
using ration::resource_id;
using ration::unlimited;

namespace {

constexpr std::size_t most_jobs = 6, most_nodes = 2, most_rows = 64;

/// A few small numbers, and those at which sums and comparisons go wrong.
[[nodiscard]] std::int64_t amount_of(std::uint8_t code) {
    constexpr std::int64_t odd[] = {unlimited,
                                    unlimited - 1,
                                    -1,
                                    std::numeric_limits<std::int64_t>::min(),
                                    std::int64_t{1} << 53,
                                    (std::int64_t{1} << 53) + 1,
                                    std::int64_t{1} << 60,
                                    1000,
                                    1001,
                                    1};
    return code < 240 ? code * 5 : odd[(code - 240) % std::size(odd)];
}

[[nodiscard]] unit::host make_host(fuzz::input& in) {
    auto const shape = in.take<std::uint8_t>();
    unit::host host(1 + shape % most_jobs, 1 + shape / most_jobs % most_nodes);
    std::size_t const jobs = 1 + shape % most_jobs;
    for (std::size_t row = 0; row < jobs; ++row) {
        auto const which = in.take<std::uint8_t>();
        host.set_state(row, static_cast<job_state>(which % 8 < 5 ? which % 8 : 1));
        std::int64_t const least = in.take<std::uint8_t>() / 4;
        auto const most = in.take<std::uint8_t>();
        host.set_bounds(row, static_cast<resource_id>(which / 8 % 3), least, most < 128 ? least + most * 4 : unlimited);
        if (which >= 128) host.hold(row, static_cast<resource_id>(which / 32 % 3), 1 + most % 100);
    }
    host.set_capacity(static_cast<resource_id>(shape % 3), 100 + 8 * in.take<std::uint8_t>());
    return host;
}

[[nodiscard]] grant take_row(fuzz::input& in) {
    auto const place = in.take<std::uint8_t>(), more = in.take<std::uint8_t>();
    grant row{.job = place % 8U,
              .node = place / 8U % 3U,
              .resource = static_cast<std::uint16_t>(place / 32 % 4),
              .group = more % 4U};
    row.amount = amount_of(in.take<std::uint8_t>());
    if (more < 8) row.group = 0;
    if (more == 255) row.job = in.take<std::uint32_t>();
    if (more == 254) row.node = in.take<std::uint32_t>();
    if (more == 253) row.resource = in.take<std::uint16_t>();
    if (more == 252) row.group = in.take<std::uint32_t>();
    return row;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::input in(data, size);
    auto const host = make_host(in);
    unit::answer answer(host, most_rows);
    std::vector<grant> rows;
    while (!in.empty() && rows.size() < most_rows) rows.push_back(take_row(in));
    answer.check(rows);
    auto const fault = unit::slow_checker(host, answer.asked).fault(answer);
    require(fault.empty(), fault.data() != nullptr ? fault.data() : "");
    return 0;
}
