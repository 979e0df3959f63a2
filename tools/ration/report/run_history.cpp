// SPDX-License-Identifier: BSL-1.0
#include "report/run_history.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ration::program {
namespace {

constexpr std::size_t most_segments = 600, most_points = 512;  // even

[[nodiscard]] double cell(std::vector<double> const& of, std::size_t place) noexcept {
    return place < of.size() ? of[place] : 0;
}

[[nodiscard]] job_series::segment joined(job_series::segment const& a, job_series::segment const& b) {
    auto const first = static_cast<double>(a.to - a.from), second = static_cast<double>(b.to - b.from);
    double const part = first + second > 0 ? second / (first + second) : 0.5;
    job_series::segment both{a.from, b.to, std::vector<double>(std::max(a.of.size(), b.of.size()))};
    for (std::size_t i = 0; i < both.of.size(); ++i) {
        double const x = cell(a.of, i), y = cell(b.of, i);
        both.of[i] =
            std::isinf(x) || std::isinf(y) ? std::numeric_limits<double>::infinity() : x * (1 - part) + y * part;
    }
    return both;
}

}  // namespace

void job_series::add(std::int64_t to, std::vector<double> of) {
    std::int64_t const from = segments_.empty() ? 0 : segments_.back().to;
    segment next{from, std::max(from, to), std::move(of)};
    if (in_last_ < in_each_) {
        ++in_last_;
        segments_.back() = joined(segments_.back(), next);
        return;
    }
    in_last_ = 1;
    segments_.push_back(std::move(next));
    if (segments_.size() < most_segments) return;
    fold();
    in_each_ *= 2;
    in_last_ = in_each_ / 2 + 1;
}

void job_series::fold() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < segments_.size(); i += 2, ++kept)
        segments_[kept] = i + 1 < segments_.size() ? joined(segments_[i], segments_[i + 1]) : std::move(segments_[i]);
    segments_.resize(kept);
}

void job_series::fold_to(std::size_t most) {
    while (segments_.size() > std::max<std::size_t>(most, 1)) fold();
}

void progress_curve::add(progress_point const& point) {
    last_ = point;
    if (seen_++ % every_ != 0) return;
    points_.push_back(point);
    if (points_.size() < most_points) return;
    for (std::size_t i = 0; i < points_.size(); i += 2) points_[i / 2] = points_[i];
    points_.resize(points_.size() / 2);
    every_ *= 2;
}

std::vector<progress_point> progress_curve::points(std::size_t most) const {
    std::vector<progress_point> all;
    std::size_t const step = points_.size() / std::max<std::size_t>(most, 2) + 1;
    for (std::size_t i = 0; i < points_.size(); i += step) all.push_back(points_[i]);
    bool const has_last = !all.empty() && all.back().t == last_.t && all.back().step == last_.step;
    if (seen_ > 0 && !has_last) all.push_back(last_);
    return all;
}

bool entry_list::counted(log_entry const& entry) {
    constexpr std::size_t near = 16;
    auto const same = [&](log_entry const& e) {
        return e.what == entry.what && e.job == entry.job && e.resource == entry.resource && e.from == entry.from &&
               e.to == entry.to && e.why == entry.why;
    };
    auto const count_in = [&](auto& all) {
        for (std::size_t i = 0; i < std::min(near, all.size()); ++i) {
            auto& e = all[all.size() - 1 - i];
            if (!same(e)) continue;
            ++e.times;
            e.last = entry.t;
            return true;
        }
        return false;
    };
    return last_.empty() ? count_in(first_) : count_in(last_);
}

void entry_list::add(log_entry entry) {
    entry.last = entry.t;
    if (entry.what != "change" && counted(entry)) return;
    ++seen_;
    if (first_.size() < half) return first_.push_back(std::move(entry));
    last_.push_back(std::move(entry));
    if (last_.size() > half) last_.pop_front();
}

std::vector<log_entry> entry_list::cut_to(std::size_t most) const {
    std::vector<log_entry> all = first_;
    all.insert(all.end(), last_.begin(), last_.end());
    if (all.size() <= most) return all;
    std::size_t const head = most / 2, tail = most - head;
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(head), all.end() - static_cast<std::ptrdiff_t>(tail));
    return all;
}

}  // namespace ration::program
