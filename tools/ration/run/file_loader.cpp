// SPDX-License-Identifier: BSL-1.0
#include "run/file_loader.hpp"

#include <utility>

#include <ration/process/input_file.hpp>
#include <ration/process/proc.hpp>

#include "common/error_text.hpp"

namespace ration::program {
namespace {

[[nodiscard]] std::string lock_file(process::page_cache& cache, file_loader::order const& what) {
    {
        process::file_rights const rights(what.owner ? &*what.owner : nullptr);
        if (auto const added = cache.add(what.item, what.path); !added) return process::input_sentence(added.failure());
    }
    process::page_cache::operation const whole{.item = what.item, .before = 0, .after = what.after};
    if (*cache.size(what.item) != what.after) return "has another size than at its choice; it can be chosen again";
    auto done = cache.apply(whole);
    if (done) done = cache.verify(whole);
    return done ? std::string() : to_text(done.failure());
}

[[nodiscard]] std::string carry_out(process::page_cache& cache, file_loader::order const& what) {
    cache.remove(what.item);
    if (what.after == 0) return {};
    auto problem = lock_file(cache, what);
    if (!problem.empty()) cache.remove(what.item);
    return problem;
}

}  // namespace

void file_loader::give(order what) {
    std::scoped_lock const lock(mutex_);
    orders_.push_back(std::move(what));
    if (!thread_.joinable()) thread_ = std::jthread([this](std::stop_token const& stop) { work(stop); });
    changed_.notify_one();
}

std::vector<file_loader::outcome> file_loader::take() {
    std::scoped_lock const lock(mutex_);
    return std::exchange(outcomes_, {});
}

void file_loader::work(std::stop_token const& stop) {
    process::page_cache cache(stop);
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !orders_.empty(); }) && !stop.stop_requested()) {
        auto const next = std::move(orders_.front());
        orders_.pop_front();
        lock.unlock();
        auto const start = process::now();
        auto problem = carry_out(cache, next);
        lock.lock();
        outcomes_.push_back({.item = next.item,
                             .before = next.before,
                             .after = next.after,
                             .took = process::now() - start,
                             .problem = std::move(problem)});
    }
}

}  // namespace ration::program
