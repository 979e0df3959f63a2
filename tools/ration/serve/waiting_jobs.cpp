// SPDX-License-Identifier: BSL-1.0
#include "serve/waiting_jobs.hpp"

#include <algorithm>
#include <ranges>
#include <tuple>

namespace ration::program {

void ready_jobs::add(std::int64_t priority, std::int64_t id) {
    auto& list = lists_[-priority];
    list.insert(std::ranges::lower_bound(list, id), id);
}

void ready_jobs::remove(std::int64_t priority, std::int64_t id) {
    auto const found = lists_.find(-priority);
    if (found == lists_.end()) return;
    auto& list = found->second;
    auto const at = std::ranges::lower_bound(list, id);
    if (at == list.end() || *at != id) return;
    list.erase(at);
    if (list.empty()) lists_.erase(found);
}

bool ready_jobs::contains(std::int64_t priority, std::int64_t id) const {
    auto const found = lists_.find(-priority);
    return found != lists_.end() && std::ranges::binary_search(found->second, id);
}

void start_order::add(ready_jobs const& ready, double share, double running) {
    tenants_.push_back({.lists = &ready.all(), .list = ready.all().begin(), .share = share, .jobs = running});
}

std::optional<std::int64_t> start_order::next() noexcept {
    auto const rank = [](tenant const& t) { return std::tuple(t.list->first, t.turn(0), t.list->second[t.index]); };
    tenant* best = nullptr;
    for (auto& t : tenants_)
        if (t.list != t.lists->end() && (best == nullptr || rank(t) < rank(*best))) best = &t;
    if (best == nullptr) return std::nullopt;
    ++best->jobs;
    auto const id = best->list->second[best->index++];
    if (best->index == best->list->second.size()) {
        ++best->list;
        best->index = 0;
    }
    return id;
}

/// In a list, turns and ids both ascend, so that its jobs before a given one come first.
std::size_t start_order::jobs_before(ready_jobs const& ready, std::int64_t priority, std::int64_t id) const {
    auto const more_urgent = [&](tenant const& t) {
        std::size_t jobs = 0;
        for (auto list = t.lists->begin(); list != t.lists->lower_bound(-priority); ++list) jobs += list->second.size();
        return jobs;
    };
    auto const own = std::ranges::find(tenants_, &ready.all(), &tenant::lists);
    auto const& list = own->lists->at(-priority);
    auto const index = static_cast<std::size_t>(std::ranges::lower_bound(list, id) - list.begin());
    auto const wanted = std::pair(own->turn(more_urgent(*own) + index), id);
    std::size_t before = 0;
    for (auto const& t : tenants_) {
        auto const first = more_urgent(t);
        before += first;
        auto const equal = t.lists->find(-priority);
        if (equal == t.lists->end()) continue;
        auto const numbers = std::views::iota(std::size_t{0}, equal->second.size());
        auto const comes_first = [&](std::size_t n) { return std::pair(t.turn(first + n), equal->second[n]) < wanted; };
        before += static_cast<std::size_t>(std::ranges::partition_point(numbers, comes_first) - numbers.begin());
    }
    return before;
}

result<void> waiting_jobs::refresh(job_store& store, clock_reading const& now) {
    auto const changed = store.take_changed();
    auto done = loaded_ ? result<void>() : load(store, now);
    for (auto const id : changed)
        if (done) done = read_again(store, id, now);
    loaded_ = static_cast<bool>(done);
    while (!resting_.empty() && resting_.begin()->first <= now.boot_ms) {
        auto const id = resting_.extract(resting_.begin()).value().second;
        auto const& job = jobs_.at(id);
        ready_[job.tenant].add(job.priority, id);
    }
    return done;
}

result<void> waiting_jobs::load(job_store& store, clock_reading const& now) {
    auto due = std::move(due_);
    *this = {};
    due_ = std::move(due);
    auto all = store.brief();
    if (!all) return all.failure();
    for (auto& job : *all)
        if (auto added = add(store, std::move(job), now); !added) return added;
    return {};
}

/// And the jobs that come after it.
result<void> waiting_jobs::read_again(job_store& store, std::int64_t id, clock_reading const& now) {
    remove(id);
    auto found = store.brief(id);
    if (!found) return found.failure();
    bool const open = !found->empty() && !is_final(found->front().now);
    if (found->empty() || found->front().now != stage::queued)
        due_.erase(id);
    else if (auto added = add(store, std::move(found->front()), now); !added)
        return added;
    auto const after = successors_.find(id);
    if (open || after == successors_.end()) return {};
    for (auto const other : std::set(after->second))
        if (auto again = read_again(store, other, now); !again) return again;
    return {};
}

result<void> waiting_jobs::add(job_store& store, brief_job job, clock_reading const& now) {
    auto const id = job.id;
    bool is_free = true;
    for (auto const other : job.after) {
        auto const found = store.brief(other);
        if (!found) return found.failure();
        auto const now = found->empty() ? stage::failed : found->front().now;
        if (now == stage::completed) continue;
        if (is_final(now)) lost_.insert({id, other});
        successors_[other].insert(id);
        is_free = false;
    }
    auto const& added = jobs_.insert_or_assign(id, std::move(job)).first->second;
    if (is_free && !added.paused) resting_.emplace(due_of(added, now), id);
    return {};
}

/// The rest counts from the moment in which it is seen first, so that a clock that is set changes nothing. After a
/// restart the wall clock shows how much of it is over, and it is never longer than it was.
std::int64_t waiting_jobs::due_of(brief_job const& job, clock_reading const& now) {
    if (job.rest_ms == 0 || job.not_before_ms == 0) return 0;
    auto& due = due_[job.id];
    if (due.not_before_ms != job.not_before_ms)
        due = {job.not_before_ms,
               now.boot_ms + std::clamp<std::int64_t>(job.not_before_ms - now.wall_ms, 0, job.rest_ms)};
    return due.boot_ms;
}

std::int64_t waiting_jobs::rest_left_ms(std::int64_t job, std::int64_t boot_ms) const {
    auto const found = due_.find(job);
    return found == due_.end() ? 0 : std::max<std::int64_t>(0, found->second.boot_ms - boot_ms);
}

void waiting_jobs::remove(std::int64_t id) {
    lost_.erase(id);
    auto const found = jobs_.find(id);
    if (found == jobs_.end()) return;
    auto const& job = found->second;
    for (auto const other : job.after) {
        auto const at = successors_.find(other);
        if (at == successors_.end()) continue;
        at->second.erase(id);
        if (at->second.empty()) successors_.erase(at);
    }
    auto const due = due_.find(id);
    resting_.erase({due == due_.end() ? 0 : due->second.boot_ms, id});
    auto const ready = ready_.find(job.tenant);
    if (ready != ready_.end()) {
        ready->second.remove(job.priority, id);
        if (ready->second.empty()) ready_.erase(ready);
    }
    jobs_.erase(found);
}

std::vector<lost_job> waiting_jobs::lost() const {
    std::vector<lost_job> out;
    out.reserve(lost_.size());
    for (auto const& [job, predecessor] : lost_) out.push_back({job, predecessor});
    return out;
}

start_order waiting_jobs::order(std::map<std::string, double> const& running,
                                std::function<double(std::string_view)> const& share_of) const {
    start_order out;
    for (auto const& [tenant, ready] : ready_) {
        auto const found = running.find(tenant);
        out.add(ready, share_of(tenant), found == running.end() ? 0 : found->second);
    }
    return out;
}

std::optional<std::size_t> waiting_jobs::jobs_before(std::int64_t job, start_order const& order) const {
    auto const found = jobs_.find(job);
    if (found == jobs_.end()) return std::nullopt;
    auto const& [id, brief] = *found;
    auto const ready = ready_.find(brief.tenant);
    if (ready == ready_.end() || !ready->second.contains(brief.priority, id)) return std::nullopt;
    return order.jobs_before(ready->second, brief.priority, id);
}

}  // namespace ration::program
