// SPDX-License-Identifier: BSL-1.0
/// Jobs that a simulation reads one after another, so that only the active ones are in memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ration/sim/workload.hpp>

namespace ration::sim {

/// A stream of jobs in the order of their submission. One run reads it once; the run does not own it.
class job_source {
public:
    /// Models and tenants of the jobs. Its `jobs` are not read, unless `is_kept()`.
    [[nodiscard]] virtual workload const& kinds() const noexcept = 0;
    /// Properties that all jobs have in common.
    [[nodiscard]] virtual workload_shape shape() const noexcept = 0;
    /// The next job, valid until the next call; nullptr after the last one. Times never decrease. Ids are counted from
    /// 1 in the order of the calls.
    [[nodiscard]] virtual job_description const* next() noexcept = 0;
    /// True if the jobs are `kinds().jobs`. A run then keeps no copies, and returns all outcomes at its end.
    [[nodiscard]] virtual bool is_kept() const noexcept { return false; }

protected:
    job_source() = default;
    job_source(job_source const&) = default;
    job_source& operator=(job_source const&) = default;
    ~job_source() = default;
};

/// The jobs of a workload in memory.
class workload_source final : public job_source {
    workload const& jobs_;
    std::size_t next_ = 0;

public:
    /// `jobs` has to outlive the object.
    explicit workload_source(workload const& jobs) noexcept : jobs_(jobs) {}

    /// The workload.
    [[nodiscard]] workload const& kinds() const noexcept override { return jobs_; }
    /// Computed from all jobs. O(jobs).
    [[nodiscard]] workload_shape shape() const noexcept override { return shape_of(jobs_); }
    /// The next job of the workload.
    [[nodiscard]] job_description const* next() noexcept override {
        return next_ < jobs_.jobs.size() ? &jobs_.jobs[next_++] : nullptr;
    }
    /// Yes.
    [[nodiscard]] bool is_kept() const noexcept override { return true; }
};

/// The front of a stream: it holds the next job, so that a run has its arrival time.
class job_feed {
    job_source& source_;
    job_description const* next_ = nullptr;
    std::uint64_t arrived_ = 0;

public:
    /// `source` has to outlive the object.
    explicit job_feed(job_source& source) noexcept : source_(source) {}

    /// Reads the first job.
    void start() noexcept { next_ = source_.next(); }
    /// The next job; nullptr after the last one.
    [[nodiscard]] job_description const* next() const noexcept { return next_; }
    /// True if the next job arrives by `now`.
    [[nodiscard]] bool is_due(nanoseconds now) const noexcept { return next_ != nullptr && next_->submitted <= now; }
    /// Passes the next job. Precondition: there is one.
    void pass() noexcept {
        ++arrived_;
        next_ = source_.next();
    }
    /// The number of jobs that were passed: the id of the last one.
    [[nodiscard]] std::uint64_t arrived() const noexcept { return arrived_; }
};

}  // namespace ration::sim
