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

constexpr double answer_parts = 20;  // of the whole, in an answer

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

spare_cpu::spare_cpu(process::cpu_set const& cpus, millicores most) noexcept
    : cpus_(cpus), most_(most), niced_(::getpriority(PRIO_PROCESS, 0) <= 0) {}

void spare_cpu::read(nanoseconds now, nanoseconds used_by_jobs) {
    if (last_ && now - last_->at < least_interval) return;
    if (auto const text = process::read_input("/proc/stat", {}))
        take({now, used_by_jobs, spare_ticks(*text, cpus_, niced_)});
}

/// Both counters over the same time: CPU time that moves from one to the other does not show.
void spare_cpu::take(cpu_reading const& now) noexcept {
    if (last_) {
        double const elapsed = to_seconds(now.at - last_->at),
                     used = to_seconds(now.used_by_jobs - last_->used_by_jobs);
        double const spare =
            static_cast<double>(now.spare_ticks - last_->spare_ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
        double const cores = (used + spare) / elapsed;
        follow(std::clamp(cores * 1000 / static_cast<double>(most_.count) * answer_parts, 1.0, answer_parts), elapsed);
    }
    if (!first_) first_ = now;
    last_ = now;
}

void spare_cpu::follow(double twentieths, double elapsed_seconds) noexcept {
    constexpr double memory_seconds = 2, rounding = 0.75, patience = 10;
    double const weight = elapsed_seconds / (memory_seconds + elapsed_seconds);
    smoothed_ = smoothed_ ? *smoothed_ + weight * (twentieths - *smoothed_) : twentieths;
    if (!answer_) answer_ = std::round(*smoothed_);
    double const deviation = *smoothed_ - *answer_;
    deviated_ = std::abs(deviation) > rounding ? deviated_ + deviation * elapsed_seconds : 0;
    if (std::abs(deviated_) < patience) return;
    answer_ = std::round(*smoothed_);
    deviated_ = 0;
}

millicores spare_cpu::available() const noexcept {
    if (!answer_) return most_;
    return {static_cast<std::int64_t>(*answer_ / answer_parts * static_cast<double>(most_.count))};
}

std::optional<double> spare_cpu::mean_cores() const noexcept {
    if (!answer_ || !first_ || !last_ || last_->spare_ticks == 0) return std::nullopt;
    return static_cast<double>(last_->spare_ticks - first_->spare_ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK)) /
           to_seconds(last_->at - first_->at);
}

}  // namespace ration::program
