// SPDX-License-Identifier: BSL-1.0
/// The operations of the process backend, their texts, and the choice of CPUs for whole-core jobs.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>

#include <ration/host/plan.hpp>
#include <ration/process/cpus.hpp>
#include <ration/resource.hpp>
#include <ration/text.hpp>
#include <ration/units.hpp>

namespace ration::process {

/// The attribute that an operation changes: the CPUs of a job, or its CPU time.
enum class attribute : std::uint8_t { cpus, limit };

/// One change, with the values to roll back.
struct operation {
    /// The job.
    job_id job{};
    /// The attribute that changes.
    attribute what = attribute::limit;
    std::int64_t old_amount = unlimited, new_amount = unlimited;  ///< of `limit`: millicores
    cpu_set old_cpus{}, new_cpus{};                               ///< of `cpus`
};

namespace detail {

/// An amount for people.
[[nodiscard]] inline text<64> amount_text(std::int64_t amount) noexcept {
    std::array<char, 48> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%lld millicores", static_cast<long long>(amount));
    return amount == unlimited ? text<64>("unlimited") : amount == 0 ? text<64>("stopped") : text<64>(buffer.data());
}

/// The job for messages.
[[nodiscard]] inline text<120> job_text(job_id job) noexcept {
    std::array<char, 32> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "job %llu", static_cast<unsigned long long>(job.value));
    return buffer.data();
}

/// The operation for the event log.
[[nodiscard]] inline operation_text describe(operation const& op) noexcept {
    operation_text out{.job = op.job,
                       .resource = resource_id::cpu,
                       .when = timing::live,
                       .subject = {},
                       .old_value = {},
                       .new_value = {}};
    if (op.what == attribute::cpus) {
        out.subject = "affinity of all threads";
        out.old_value = op.old_cpus.list();
        out.new_value = op.new_cpus.list();
    } else {
        out.subject = "CPU time (SIGSTOP, SIGCONT)";
        out.old_value = amount_text(op.old_amount);
        out.new_value = amount_text(op.new_amount);
    }
    return out;
}

/// The number of whole-core jobs on each CPU.
using cpu_claims = std::array<std::uint16_t, cpu_set::capacity>;

/// The `count` least claimed CPUs of `all`. Ties go to CPUs that the job has already, then to the
/// lowest numbers.
[[nodiscard]] inline cpu_set least_claimed(cpu_set const& all, unsigned count, cpu_claims const& claims,
                                           cpu_set const& present) noexcept {
    cpu_set out;
    for (; count > 0; --count) {
        unsigned best = cpu_set::capacity;
        auto const cost = [&](unsigned cpu) { return 2U * claims[cpu] + (present.contains(cpu) ? 0U : 1U); };
        all.for_each([&](unsigned cpu) {
            if (!out.contains(cpu) && (best == cpu_set::capacity || cost(cpu) < cost(best))) best = cpu;
        });
        out.insert(best);
    }
    return out;
}

}  // namespace detail

}  // namespace ration::process
