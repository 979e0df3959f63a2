// SPDX-License-Identifier: BSL-1.0
/// The description and the outcome of each live job.
///
/// Part of simulation.hpp. For a workload in memory both are in its vectors, by id. For a stream they are in rows
/// parallel to the jobs table, and gone with the job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <ration/buffer.hpp>
#include <ration/sim/job_source.hpp>
#include <ration/sim/outcome.hpp>

namespace ration::sim {

/// Descriptions and outcomes, found by the row and the id of a live job. O(1).
class job_records {
    workload const* kept_;                    // nullptr for a stream
    std::span<job_outcome> outcomes_;         // by id - 1, if the workload is in memory
    buffer<job_description> descriptions_{};  // by row, if it is not
    buffer<job_outcome> rows_{};

public:
    /// `source` has to outlive the object.
    explicit job_records(job_source const& source) noexcept : kept_(source.is_kept() ? &source.kinds() : nullptr) {}

    /// Where to keep the outcomes of a workload in memory: one for each job.
    void keep(std::span<job_outcome> outcomes) noexcept { outcomes_ = outcomes; }

    /// Adds a row for a job that has arrived.
    void arrive(job_description const& job) noexcept {
        if (kept_ != nullptr) return;
        descriptions_.push_back(job);
        rows_.push_back({.submitted = job.submitted});
    }
    /// Removes the rows for which `gone[row]` is true. O(rows).
    void remove(bool const* gone) noexcept {
        std::size_t kept = 0;
        for (std::size_t row = 0; row < rows_.size(); ++row) {
            if (gone[row]) continue;
            descriptions_[kept] = descriptions_[row];
            rows_[kept++] = rows_[row];
        }
        descriptions_.resize(kept);
        rows_.resize(kept);
    }

    /// The job in its trace.
    [[nodiscard]] job_description const& description(std::size_t row, std::uint64_t id) const noexcept {
        return kept_ != nullptr ? kept_->jobs[id - 1] : descriptions_[row];
    }
    /// The outcome of the job so far.
    [[nodiscard]] job_outcome& outcome(std::size_t row, std::uint64_t id) noexcept {
        return kept_ != nullptr ? outcomes_[id - 1] : rows_[row];
    }
};

}  // namespace ration::sim
