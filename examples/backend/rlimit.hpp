// SPDX-License-Identifier: BSL-1.0
// A whole backend in one header (docs/backends.md): the memory of one process per job, by its limit of address space
// (RLIMIT_AS).
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string>
#include <sys/resource.h>
#include <sys/types.h>
#include <vector>

#include <ration/host/backend.hpp>

namespace example {

class rlimit_backend {
    struct member {
        ration::job_id job;
        ::pid_t pid;
    };
    std::vector<member> members_;

public:
    using backend_concept = ration::backend_tag;

    struct operation {
        ration::job_id job;
        ::pid_t pid;
        std::int64_t old_value, new_value;  // bytes, or ration::unlimited
    };

    void add(ration::job_id job, ::pid_t pid) { members_.push_back({job, pid}); }
    void remove(ration::job_id job) noexcept {
        std::erase_if(members_, [job](member const& m) { return m.job == job; });
    }

    [[nodiscard]] std::span<ration::resource_id const> resources() const noexcept {
        static constexpr ration::resource_id all[] = {ration::resource_id::memory};
        return all;
    }

    [[nodiscard]] ration::result<ration::observation> observe(ration::job_id job) noexcept {
        member const* const found = find(job);
        if (found == nullptr) return unknown("observe");
        auto const now = read(found->pid, "observe");  // a process that has ended is `gone`, not 0 of everything
        if (!now) return now.failure();
        return ration::observation{.cpu_time = {}, .memory = {}, .throttled = {}, .processes = 1};
    }

    // [plan]
    [[nodiscard]] ration::result<void> plan(ration::setting const& wanted, ration::plan<operation>& out) noexcept {
        member const* const found = find(wanted.job);
        if (found == nullptr) return unknown("plan");
        if (wanted.resource != ration::resource_id::memory)
            return ration::error{.code = ration::errc::not_supported,
                                 .operation = "plan",
                                 .subject = "a resource other than memory",
                                 .remedy = "grant it where a backend lists it in resources()"};
        auto const now = read(found->pid, "plan");
        if (!now) return now.failure();
        // Nothing when it is in force
        if (*now != wanted.amount) out.push_back({wanted.job, found->pid, *now, wanted.amount});
        return {};
    }
    // [plan]

    [[nodiscard]] ration::result<void> apply(operation const& op) noexcept {
        return write(op.pid, op.new_value, "apply");
    }
    [[nodiscard]] ration::result<void> undo(operation const& op) noexcept {
        return write(op.pid, op.old_value, "undo");
    }

    [[nodiscard]] ration::result<void> verify(operation const& op) noexcept {
        auto const now = read(op.pid, "verify");
        if (!now) return now.failure();
        if (*now == op.new_value) return {};
        return ration::error{.code = ration::errc::unverified,
                             .operation = "verify",
                             .subject = "RLIMIT_AS",
                             .remedy = "see who else sets the limits of this process"};
    }

    [[nodiscard]] ration::operation_text describe(operation const& op) const noexcept {
        auto const text = [](std::int64_t bytes) {
            return bytes == ration::unlimited ? ration::text<64>("unlimited") : ration::text<64>(std::to_string(bytes));
        };
        return {.job = op.job,
                .resource = ration::resource_id::memory,
                .when = ration::timing::live,
                .subject = ration::text<160>("RLIMIT_AS of process " + std::to_string(op.pid)),
                .old_value = text(op.old_value),
                .new_value = text(op.new_value)};
    }

private:
    [[nodiscard]] member const* find(ration::job_id job) const noexcept {
        auto const at = std::find_if(members_.begin(), members_.end(), [job](member const& m) { return m.job == job; });
        return at == members_.end() ? nullptr : &*at;
    }

    [[nodiscard]] static ration::result<std::int64_t> read(::pid_t pid, char const* operation) noexcept {
        ::rlimit now{};
        if (::prlimit(pid, RLIMIT_AS, nullptr, &now) != 0) return failed(operation);
        return now.rlim_cur == RLIM_INFINITY ? ration::unlimited : static_cast<std::int64_t>(now.rlim_cur);
    }
    /// The soft limit only: a lowered hard one could not be raised again, and `undo` would restore nothing.
    [[nodiscard]] static ration::result<void> write(::pid_t pid, std::int64_t amount, char const* operation) noexcept {
        ::rlimit now{};
        if (::prlimit(pid, RLIMIT_AS, nullptr, &now) != 0) return failed(operation);
        now.rlim_cur = amount == ration::unlimited ? RLIM_INFINITY : static_cast<::rlim_t>(amount);
        if (::prlimit(pid, RLIMIT_AS, &now, nullptr) != 0) return failed(operation);
        return {};
    }
    [[nodiscard]] static ration::error failed(char const* operation) noexcept {
        auto const code = errno == ESRCH    ? ration::errc::gone
                          : errno == EPERM  ? ration::errc::denied
                          : errno == EINVAL ? ration::errc::conflict
                                            : ration::errc::io;
        return {.code = code,
                .operation = operation,
                .subject = "RLIMIT_AS",
                .system = errno,
                .remedy = "see whether the process is there, and whose it is"};
    }
    [[nodiscard]] static ration::error unknown(char const* operation) noexcept {
        return {.code = ration::errc::not_found,
                .operation = operation,
                .subject = "a job that was never added",
                .remedy = "add() it first"};
    }
};

static_assert(ration::Backend<rlimit_backend>);

}  // namespace example
