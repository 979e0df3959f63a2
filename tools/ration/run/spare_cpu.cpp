// SPDX-License-Identifier: BSL-1.0
#include "run/spare_cpu.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <sys/resource.h>
#include <unistd.h>

#include <ration/process/input_file.hpp>

namespace ration::program {
namespace {

/// The number at the front of `text`, which is taken away with the spaces before it; 0 when there is none.
[[nodiscard]] std::int64_t take_number(std::string_view& text) noexcept {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    std::int64_t number = 0;
    auto const end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

}  // namespace

std::int64_t spare_ticks(std::string_view proc_stat, process::cpu_set const& cpus, bool niced) noexcept {
    std::int64_t spare = 0;
    auto const add = [&spare](std::int64_t ticks) {
        if (ticks > 0 && spare <= std::numeric_limits<std::int64_t>::max() - ticks) spare += ticks;
    };
    while (!proc_stat.empty()) {
        std::string_view line = proc_stat.substr(0, proc_stat.find('\n'));
        proc_stat.remove_prefix(std::min(line.size() + 1, proc_stat.size()));
        if (!line.starts_with("cpu") || line.starts_with("cpu ")) continue;
        line.remove_prefix(3);
        if (!cpus.contains(static_cast<unsigned>(take_number(line)))) continue;
        static_cast<void>(take_number(line));  // user
        auto const nice = take_number(line);
        if (niced) add(nice);
        static_cast<void>(take_number(line));  // system
        add(take_number(line));
        add(take_number(line));
    }
    return spare;
}

spare_cpu::spare_cpu(process::cpu_set const& cpus) noexcept
    : cpus_(cpus), niced_(::getpriority(PRIO_PROCESS, 0) <= 0) {}

void spare_cpu::read(nanoseconds now) {
    if (at_ && now - *at_ < least_interval) return;
    auto const text = process::read_input("/proc/stat", {});
    if (!text) return;
    std::int64_t const ticks = spare_ticks(*text, cpus_, niced_);
    if (at_) {
        double const elapsed = to_seconds(now - *at_);
        double const rate =
            1000.0 * static_cast<double>(ticks - spare_ticks_) / static_cast<double>(::sysconf(_SC_CLK_TCK)) / elapsed;
        double const weight = known_ ? elapsed / (2 + elapsed) : 1;
        spare_ += weight * (rate - spare_);
        known_ = true;
    }
    if (!first_at_) {
        first_at_ = now;
        first_ticks_ = ticks;
    }
    at_ = now;
    spare_ticks_ = ticks;
}

std::optional<double> spare_cpu::mean_cores() const noexcept {
    if (!known_ || spare_ticks_ == 0) return std::nullopt;
    return static_cast<double>(spare_ticks_ - first_ticks_) / static_cast<double>(::sysconf(_SC_CLK_TCK)) /
           to_seconds(*at_ - *first_at_);
}

millicores spare_cpu::available(double used, millicores most) noexcept {
    if (!known_) return most;
    constexpr double parts = 20;
    double const exact = std::clamp((used + spare_) / static_cast<double>(most.count) * parts, 1.0, parts);
    if (!answer_ || std::abs(exact - *answer_) > 0.75) answer_ = std::round(exact);
    return {static_cast<std::int64_t>(*answer_ / parts * static_cast<double>(most.count))};
}

}  // namespace ration::program
