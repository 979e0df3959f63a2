// SPDX-License-Identifier: BSL-1.0
#include <initializer_list>
#include <vector>

#include <ration/process/cpus.hpp>
#include <ration/process/detail/operation.hpp>

#include "support/catch.hpp"

using ration::process::cpu_set;
namespace detail = ration::process::detail;

namespace {

cpu_set of(std::initializer_list<unsigned> cpus) {
    cpu_set out;
    for (unsigned const cpu : cpus) out.insert(cpu);
    return out;
}

}  // namespace

TEST_CASE("a set of CPUs is written as the kernel writes it") {
    CHECK(of({}).list() == std::string_view(""));
    CHECK(of({3}).list() == std::string_view("3"));
    CHECK(of({0, 1, 2, 5}).list() == std::string_view("0-2,5"));
    CHECK(of({63, 64, 8191}).list() == std::string_view("63-64,8191"));
    cpu_set many;
    for (unsigned cpu = 0; cpu < 200; cpu += 2) many.insert(cpu);
    CHECK(many.list().view().size() == 64);
    CHECK(many.list().view().back() == '~');
}

TEST_CASE("numbers beyond the set are in no set") {
    cpu_set s = of({0});
    s.insert(cpu_set::capacity);
    CHECK(s.size() == 1);
    CHECK_FALSE(s.contains(cpu_set::capacity));
    s.erase(cpu_set::capacity);
    s.erase(0);
    CHECK(s.empty());
}

TEST_CASE("intersection and order") {
    CHECK((of({0, 1, 64}) & of({1, 64, 65})) == of({1, 64}));
    std::vector<unsigned> seen;
    of({64, 0, 127, 5}).for_each([&](unsigned cpu) { seen.push_back(cpu); });
    CHECK(seen == std::vector<unsigned>{0, 5, 64, 127});
}

TEST_CASE("our own affinity can be read, and a dead thread's is empty") {
    CHECK_FALSE(cpu_set::of_thread(0).empty());
    CHECK(cpu_set::of_thread(0x7ffffff0).empty());
}

TEST_CASE("a thread that narrowed itself keeps its choice as far as it can") {
    cpu_set const all = of({0, 1, 2, 3});
    CHECK(detail::rebound(all, all, of({2})) == of({2}));  // bound as the job was: follows the job
    // Its own choice, where that is still allowed
    CHECK(detail::rebound(of({1, 2}), all, of({2, 3})) == of({2}));
    CHECK(detail::rebound(of({0}), all, of({2, 3})) == of({2, 3}));  // nothing left of it
    CHECK(detail::rebound(of({2}), of({2}), all) == all);            // the limit is lifted
    CHECK(detail::rebound(of({1}), of({1, 2}), all) == of({1}));
}

TEST_CASE("whole cores go where the fewest claims are, and stay where they are between equals") {
    detail::cpu_claims claims{};
    cpu_set const all = of({0, 1, 2, 3});
    CHECK(detail::least_claimed(all, 2, claims, all) == of({0, 1}));
    CHECK(detail::least_claimed(all, 1, claims, of({2})) == of({2}));  // its present place is as good as any
    claims[2] = 1;
    CHECK(detail::least_claimed(all, 1, claims, of({2})) == of({0}));  // but not when another claim is there
    claims[0] = claims[1] = 1;
    CHECK(detail::least_claimed(all, 2, claims, of({1})) == of({1, 3}));
    CHECK(detail::least_claimed(of({1, 3}), 2, claims, {}) == of({1, 3}));  // never outside
}
