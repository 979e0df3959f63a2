// SPDX-License-Identifier: BSL-1.0
/// A backend in memory for tests of the layers above backends: usage and failures are scripted, and
/// every call is recorded.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <ration/host/backend.hpp>
#include <ration/host/no_memory.hpp>
#include <ration/host/plan.hpp>
#include <ration/resource.hpp>
#include <ration/result.hpp>

namespace ration::fake {

/// The calls that can be made to fail.
enum class call : std::uint8_t { observe, plan, apply, verify, undo };

/// A change of one amount of one job, from `old_value` to `new_value`.
struct operation {
    /// The job.
    job_id job{};
    /// The resource.
    resource_id resource{};
    std::int64_t old_value = unlimited, new_value = unlimited;
    friend bool operator==(operation const&, operation const&) noexcept = default;
};

/// Jobs are rows of numbers. Nothing runs, no clock: a test states what a job has used and reads back what it was
/// given. The calls of a backend return `errc::no_memory` where memory runs out; those of the test end the program.
class backend {
public:
    /// Declares the class as a backend.
    using backend_concept = backend_tag;
    /// A change of one amount.
    using operation = fake::operation;

    /// One call, in the order of the calls.
    struct record {
        call what;
        operation op;
        friend bool operator==(record const&, record const&) noexcept = default;
    };

private:
    struct row {
        job_id job;
        observation used{};
        std::uint32_t observations = 0;
        std::vector<std::pair<resource_id, std::int64_t>> amounts;  ///< absent: unlimited
    };
    struct scripted {
        call what;
        std::uint32_t countdown;
        error failure;
    };

    std::vector<resource_id> resources_{resource_id::cpu};
    std::vector<row> jobs_;
    std::vector<scripted> script_;
    std::vector<record> history_;

public:
    /// A backend for `cpu` only.
    backend() noexcept = default;
    /// A backend for these resources.
    explicit backend(std::vector<resource_id> resources) noexcept : resources_(std::move(resources)) {}

    // --- the test's side
    // -------------------------------------------------------------------------------------------------------

    /// Adds a job without limits.
    void add(job_id job) noexcept {
        jobs_.push_back({.job = job,
                         .used = {.cpu_time = {}, .memory = {}, .throttled = {}, .processes = 1},
                         .observations = 0,
                         .amounts = {}});
    }
    /// Removes a job as if its group had vanished: every call about it returns `errc::not_found`
    /// from now on.
    void remove(job_id job) noexcept {
        std::erase_if(jobs_, [job](row const& r) { return r.job == job; });
    }
    /// Sets the result of `observe`. Precondition: the job was added.
    void set_usage(job_id job, observation used) noexcept { find(job)->used = used; }
    /// Changes an amount without a record, as another program would. Precondition: the job was
    /// added.
    void tamper(job_id job, resource_id resource, std::int64_t amount) noexcept {
        amount_of(*find(job), resource) = amount;
    }
    /// Makes the n-th call of this kind fail, 1 being the next one. The call has no effect. Several
    /// can be pending.
    void fail(call what, std::uint32_t nth, error failure) noexcept { script_.push_back({what, nth, failure}); }

    /// The present amount; empty for an unknown job.
    [[nodiscard]] std::optional<std::int64_t> amount(job_id job, resource_id resource) noexcept {
        row* const found = find(job);
        return found != nullptr ? std::optional(amount_of(*found, resource)) : std::nullopt;
    }
    /// Every apply, verify and undo so far, including failed ones.
    [[nodiscard]] std::uint32_t observations(job_id job) noexcept { return find(job)->observations; }
    /// Every apply, verify and undo so far, the failed ones included.
    [[nodiscard]] std::span<record const> history() const noexcept { return history_; }
    /// Forgets the records.
    void clear_history() noexcept { history_.clear(); }

    // --- Backend
    // ---------------------------------------------------------------------------------------------------------------

    /// The resources of the constructor.
    [[nodiscard]] std::span<resource_id const> resources() const noexcept { return resources_; }

    /// The scripted usage. Error: `not_found`.
    [[nodiscard]] result<observation> observe(job_id job) noexcept {
        row* const found = find(job);
        if (found != nullptr) ++found->observations;
        if (auto const scripted = due(call::observe)) return *scripted;
        return found != nullptr ? result<observation>(found->used) : unknown("observe", job);
    }

    /// Plans one operation if the amount differs. Errors: `not_found`, `not_supported`.
    [[nodiscard]] result<void> plan(setting const& wanted, ration::plan<operation>& out) noexcept {
        if (auto const scripted = due(call::plan)) return *scripted;
        row* const found = find(wanted.job);
        if (found == nullptr) return unknown("plan", wanted.job);
        return or_no_memory("plan", {}, [&] { return plan_change(*found, wanted, out); });
    }

    /// Sets the new amount.
    [[nodiscard]] result<void> apply(operation const& op) noexcept { return put(call::apply, op, op.new_value); }
    /// Sets the old amount.
    [[nodiscard]] result<void> undo(operation const& op) noexcept { return put(call::undo, op, op.old_value); }

    /// Compares with the new amount. Error: `unverified`.
    [[nodiscard]] result<void> verify(operation const& op) noexcept {
        if (auto const recorded = record_call(call::verify, op); !recorded) return recorded;
        if (auto const scripted = due(call::verify)) return *scripted;
        row* const found = find(op.job);
        if (found == nullptr) return unknown("verify", op.job);
        return or_no_memory("verify", {}, [&]() -> result<void> {
            if (amount_of(*found, op.resource) == op.new_value) return {};
            return failed(errc::unverified, "verify", op.job);
        });
    }

    /// The operation for the event log.
    [[nodiscard]] operation_text describe(operation const& op) const noexcept {
        auto const number = [](std::int64_t value) {
            std::array<char, 24> buffer{};
            std::snprintf(buffer.data(), buffer.size(), "%lld", static_cast<long long>(value));
            return value == unlimited ? text<64>("unlimited") : text<64>(buffer.data());
        };
        return {.job = op.job,
                .resource = op.resource,
                .when = timing::live,
                .subject = "fake amount",
                .old_value = number(op.old_value),
                .new_value = number(op.new_value)};
    }

private:
    [[nodiscard]] row* find(job_id job) noexcept {
        auto const at = std::ranges::find(jobs_, job, &row::job);
        return at != jobs_.end() ? &*at : nullptr;
    }

    [[nodiscard]] static std::int64_t& amount_of(row& job, resource_id resource) {
        auto const at = std::ranges::find(job.amounts, resource, &std::pair<resource_id, std::int64_t>::first);
        return at != job.amounts.end() ? at->second : job.amounts.emplace_back(resource, unlimited).second;
    }

    [[nodiscard]] result<void> plan_change(row& found, setting const& wanted, ration::plan<operation>& out) {
        if (std::ranges::find(resources_, wanted.resource) == resources_.end())
            return failed(errc::not_supported, "plan", wanted.job);
        if (std::int64_t const present = amount_of(found, wanted.resource); present != wanted.amount) {
            out.push_back(
                {.job = wanted.job, .resource = wanted.resource, .old_value = present, .new_value = wanted.amount});
        }
        return {};
    }

    [[nodiscard]] result<void> record_call(call what, operation const& op) noexcept {
        return or_no_memory("record a call", {}, [&]() -> result<void> {
            history_.push_back({what, op});
            return {};
        });
    }

    [[nodiscard]] result<void> put(call what, operation const& op, std::int64_t value) noexcept {
        if (auto const recorded = record_call(what, op); !recorded) return recorded;
        if (auto const scripted = due(what)) return *scripted;
        row* const found = find(op.job);
        if (found == nullptr) return unknown(what == call::apply ? "apply" : "undo", op.job);
        return or_no_memory("change an amount", {}, [&]() -> result<void> {
            amount_of(*found, op.resource) = value;
            return {};
        });
    }

    /// The scripted failure that is due; counts the call for all others of its kind.
    [[nodiscard]] std::optional<error> due(call what) noexcept {
        std::optional<error> out;
        for (scripted& s : script_)
            if (s.what == what && --s.countdown == 0) out = s.failure;
        std::erase_if(script_, [](scripted const& s) { return s.countdown == 0; });
        return out;
    }

    [[nodiscard]] static error failed(errc code, char const* operation, job_id job) noexcept {
        std::array<char, 32> buffer{};
        std::snprintf(buffer.data(), buffer.size(), "job %llu", static_cast<unsigned long long>(job.value));
        return {.code = code, .operation = operation, .subject = buffer.data(), .remedy = "a fake: see the test"};
    }
    [[nodiscard]] static error unknown(char const* operation, job_id job) noexcept {
        return failed(errc::not_found, operation, job);
    }
};

static_assert(Backend<backend>);

}  // namespace ration::fake
