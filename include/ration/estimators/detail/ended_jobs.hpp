// SPDX-License-Identifier: BSL-1.0
// IWYU pragma: private
/// The times that ended jobs took, by class, behind the estimator `duration`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include <ration/buffer.hpp>
#include <ration/estimators/detail/loss_curve.hpp>
#include <ration/state.hpp>
#include <ration/target.hpp>

namespace ration::estimators::detail {

/// The job as `duration` distinguishes it.
struct job_class {
    std::uint32_t tenant = 0;
    std::int64_t request = 0;  ///< devices; at least 1

    /// Classes of jobs that count alike, the narrowest first: tenant and devices, devices, all.
    static constexpr std::size_t levels = 3;
    /// Distinguishes the classes of one level.
    [[nodiscard]] constexpr std::uint64_t key(std::size_t level) const noexcept {
        constexpr std::int64_t most = 0xFFFF'FFFE;  // so that the next key is larger
        std::uint64_t const devices = static_cast<std::uint64_t>(request < most ? request : most);
        return level == 0 ? std::uint64_t{tenant} << 32 | devices : level == 1 ? devices : 0;
    }
};

/// The times of the last ended jobs, sorted by the classes of one level.
class sorted_times {
    struct entry {
        std::uint64_t key;
        double seconds;
        [[nodiscard]] bool operator<(entry const& other) const noexcept {
            return key != other.key ? key < other.key : seconds < other.seconds;
        }
    };
    buffer<entry> sorted_;
    buffer<double> sums_;  // of the first k times

public:
    /// The times of one class that exceed a certain one.
    struct longer_times {
        std::size_t count = 0, of = 0;  ///< `of`: all times of the class
        double sum = 0;
    };

    void reserve(std::size_t most) noexcept {
        sorted_.reserve(most);
        sums_.reserve(most + 1);
    }
    /// O(times).
    void add(std::uint64_t key, double seconds) noexcept {
        sorted_.insert(first_not_below({key, seconds}), {key, seconds});
        sum_up();
    }
    /// Precondition: the time was added. O(times).
    void remove(std::uint64_t key, double seconds) noexcept {
        std::size_t const at = first_not_below({key, seconds});
        sorted_.erase(at, at + 1);
        sum_up();
    }
    /// O(log times).
    [[nodiscard]] longer_times longer_than(std::uint64_t key, double seconds) const noexcept {
        std::size_t const first = first_not_below({key, 0}), end = first_not_below({key + 1, 0});
        std::size_t const longer = first_not_below({key, seconds});
        return {end - longer, end - first, end > longer ? sums_[end] - sums_[longer] : 0};
    }

private:
    [[nodiscard]] std::size_t first_not_below(entry const& what) const noexcept {
        std::size_t low = 0, high = sorted_.size();
        while (low < high) {
            std::size_t const middle = low + (high - low) / 2;
            if (sorted_[middle] < what)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    }
    void sum_up() noexcept {
        sums_.clear();
        sums_.push_back(0);
        for (std::size_t k = 0; k < sorted_.size(); ++k) sums_.push_back(sums_[k] + sorted_[k].seconds);
    }
};

/// The last ended jobs, and the expected rest of others of their class.
class ended_jobs {
    struct ended_job {
        job_class kind;
        double seconds = 0;
        static auto fields(auto& self) noexcept { return std::tie(self.kind.tenant, self.kind.request, self.seconds); }
        [[nodiscard]] bool sane() const noexcept { return kind.request > 0 && is_finite(seconds) && seconds > 0; }
    };
    buffer<ended_job> seen_;  // once it is full, the oldest is at `oldest_`
    std::size_t oldest_ = 0;
    std::array<sorted_times, job_class::levels> levels_;

public:
    /// Jobs that are remembered.
    static constexpr std::size_t most = 512;
    /// Fewer ended jobs of a class are no distribution: a wider class counts.
    static constexpr std::size_t fewest = 5;

    void reserve() noexcept {
        seen_.reserve(most);
        for (auto& level : levels_) level.reserve(most + 1);
    }
    /// The number of jobs that are remembered.
    [[nodiscard]] std::size_t size() const noexcept { return seen_.size(); }

    /// Takes a job that has taken so long on the devices that it requested. O(`most`).
    void add(job_class const& kind, double seconds) noexcept {
        if (seen_.size() < most) {
            seen_.push_back({kind, seconds});
        } else {
            ended_job const& former = seen_[oldest_];
            for (std::size_t k = 0; k < levels_.size(); ++k) levels_[k].remove(former.kind.key(k), former.seconds);
            seen_[oldest_] = {kind, seconds};
            oldest_ = (oldest_ + 1) % most;
        }
        for (std::size_t k = 0; k < levels_.size(); ++k) levels_[k].add(kind.key(k), seconds);
    }

    /// The expected further seconds of a job that has taken this time: the mean of the longer times of the narrowest
    /// class with enough ended jobs, less the time. One more job counts that takes twice the time, so that a job that
    /// outlasts all others is expected to take as long again. NaN if too few jobs have ended.
    [[nodiscard]] double rest(job_class const& kind, double seconds) const noexcept {
        for (std::size_t k = 0; k < levels_.size(); ++k) {
            auto const longer = levels_[k].longer_than(kind.key(k), seconds);
            if (longer.of < fewest) continue;
            return (longer.sum + 2 * seconds) / static_cast<double>(longer.count + 1) - seconds;
        }
        return unknown;
    }

    /// Writes the jobs, the oldest first.
    void save(state_writer& out) const noexcept {
        out.put(std::uint64_t{seen_.size()});
        for (std::size_t k = 0; k < seen_.size(); ++k) out.put(seen_[(oldest_ + k) % seen_.size()]);
    }
    /// Restores what `save` wrote, into a list without jobs. Returns false for invalid bytes.
    [[nodiscard]] bool load(state_reader& in) noexcept {
        std::uint64_t jobs = 0;
        if (!in.get(jobs) || jobs > most) return false;
        reserve();
        for (ended_job job; jobs > 0; --jobs) {
            if (!in.get(job)) return false;
            add(job.kind, job.seconds);
        }
        return true;
    }
};

}  // namespace ration::estimators::detail
