// SPDX-License-Identifier: BSL-1.0
// The host's copy of an answer against a worker that writes anything at any time.
#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <ration/plugin/host/worker_answer.hpp>

#include "support/catch.hpp"

using namespace ration;

namespace {

/// The worker's file, in the hands of the test.
struct forged {
    static constexpr std::size_t most = 64;
    plugin::output_layout const places{most, 64};
    std::byte* const shared = static_cast<std::byte*>(
        ::mmap(nullptr, places.size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    plugin::worker_answer answer;

    forged() {
        new (shared) plugin::worker_reply;
        answer.reserve(most);
    }
    forged(forged const&) = delete;
    ~forged() { ::munmap(shared, places.size()); }

    [[nodiscard]] plugin::worker_reply& reply() { return *reinterpret_cast<plugin::worker_reply*>(shared); }
    [[nodiscard]] grant* rows() { return reinterpret_cast<grant*>(shared + places.grants); }
    [[nodiscard]] std::uint32_t* list() { return reinterpret_cast<std::uint32_t*>(shared + places.changed); }

    [[nodiscard]] std::string_view take(std::uint32_t sequence, std::uint64_t count, std::uint64_t changed,
                                        std::size_t space = most) {
        reply().count = count;
        reply().changed_rows = changed;
        return answer.take(shared, places, sequence, space);
    }
    void fetch(std::uint64_t written, std::size_t space = most) {
        reply().written = written;
        answer.fetch(shared, places, space);
    }
    void answer_whole(std::size_t count) {
        for (std::size_t i = 0; i < most; ++i) rows()[i] = {.job = static_cast<std::uint32_t>(i), .amount = 100};
        REQUIRE(take(5, count, plugin::all_rows).empty());
    }
};

}  // namespace

TEST_CASE("an answer is copied whole, and then row by row as they change", "[plugin]") {
    forged f;
    f.answer_whole(10);
    REQUIRE(f.answer.rows().size() == 10);
    CHECK(f.answer.await() == 5);
    f.rows()[3].amount = 7;
    f.rows()[4].amount = 8;
    CHECK(f.answer.rows()[3].amount == 100);  // a copy
    f.list()[0] = 3;
    REQUIRE(f.take(6, 9, 1).empty());
    CHECK(f.answer.rows().size() == 9);
    CHECK(f.answer.await() == 6);
    CHECK(f.answer.rows()[3].amount == 7);
    CHECK(f.answer.rows()[4].amount == 100);  // not listed
    REQUIRE(f.take(7, 10, 0).empty());
    CHECK(f.answer.rows().size() == 10);
}

TEST_CASE("numbers that cannot be cost the answer, and the next one is whole", "[plugin]") {
    struct lie {
        std::uint64_t count, changed;
        std::uint32_t row;
        std::size_t space;
    };
    auto const [count, changed, row, space] =
        GENERATE(lie{11, 0, 0, 64}, lie{65, plugin::all_rows, 0, 1000}, lie{10, plugin::all_rows, 0, 9},
                 lie{~0ULL, plugin::all_rows, 0, 64}, lie{10, 1, 10, 64}, lie{10, 2, ~0U, 64}, lie{10, 1000, 0, 64},
                 lie{10, plugin::all_rows - 1, 0, 64});
    forged f;
    f.answer_whole(10);
    f.list()[0] = 0;
    f.list()[1] = row;
    f.list()[0] = row;
    CHECK_FALSE(f.take(6, count, changed, space).empty());
    CHECK(f.answer.await() == 0);
    CHECK(f.answer.rows().empty());
    f.rows()[2].amount = 55;
    REQUIRE(f.take(7, 10, 0).empty());  // lists nothing against an answer that is not here: so all of it is taken
    CHECK(f.answer.rows()[2].amount == 55);
}

TEST_CASE("what an earlier worker had space for is not what this one has", "[plugin]") {
    forged f;
    f.answer_whole(forged::most);
    f.answer.reserve(8);
    CHECK_FALSE(f.take(1, 9, plugin::all_rows).empty());
    CHECK(f.take(2, 8, plugin::all_rows).empty());
}

TEST_CASE("rows that are written already are fetched before the answer is there", "[plugin]") {
    forged f;
    f.answer_whole(10);
    REQUIRE(f.answer.await() == 5);
    for (std::size_t i = 0; i < 30; ++i) f.rows()[i].amount = 200;
    f.fetch(20);
    CHECK(f.answer.rows().empty());  // neither the last answer nor the next
    f.rows()[3].amount = 300;
    f.rows()[20].amount = 300;
    f.fetch(10);  // less than before
    SECTION("and not again") {
        REQUIRE(f.take(6, 30, plugin::all_rows).empty());
        REQUIRE(f.answer.rows().size() == 30);
        CHECK((f.answer.rows()[3].amount == 200 && f.answer.rows()[19].amount == 200));
        CHECK((f.answer.rows()[20].amount == 300 && f.answer.rows()[29].amount == 200));
        CHECK(f.answer.await() == 6);
        f.rows()[3].amount = 400;
        REQUIRE(f.take(7, 30, plugin::all_rows).empty());  // of another answer
        CHECK(f.answer.rows()[3].amount == 400);
    }
    SECTION("an answer that is shorter than what was fetched") {
        REQUIRE(f.take(6, 2, plugin::all_rows).empty());
        CHECK((f.answer.rows().size() == 2 && f.answer.rows()[1].amount == 200));
    }
    SECTION("unless they were written again") {
        f.reply().written_again = 1;
        REQUIRE(f.take(6, 30, plugin::all_rows).empty());
        CHECK((f.answer.rows()[3].amount == 300 && f.answer.rows()[29].amount == 200));
    }
    SECTION("of an answer that never came they are nobody's") {
        CHECK(f.answer.await() == 0);
        f.list()[0] = 3;
        REQUIRE(f.take(7, 30, 1).empty());  // lists a change against the answer before it
        CHECK((f.answer.rows()[3].amount == 300 && f.answer.rows()[20].amount == 300 &&
               f.answer.rows()[0].amount == 200));
    }
}

TEST_CASE("more rows than there can be are not fetched", "[plugin]") {
    auto const [written, space] = GENERATE(std::pair{65, 1000}, std::pair{9, 8}, std::pair{-1, 64});
    forged f;
    f.answer_whole(10);
    f.fetch(static_cast<std::uint64_t>(written), static_cast<std::size_t>(space));
    CHECK(f.answer.rows().size() == 10);
}

TEST_CASE("a worker that writes while its answer is read gains nothing by it", "[plugin]") {
    forged f;
    f.answer_whole(forged::most);
    pid_t const other = ::fork();
    if (other == 0)
        for (std::uint32_t i = 1;; ++i) {
            f.reply().count = i % 3 == 0 ? ~0ULL : i % 70;
            f.reply().changed_rows = i % 5 == 0 ? plugin::all_rows : i % 40;
            f.reply().written = i % 7 == 0 ? ~0ULL : i % 70;
            f.reply().written_again = i % 2;
            f.list()[i % 8] = i % 2 == 0 ? i : i % 64;
            f.rows()[i % 64] = {.job = i, .node = i, .resource = 0, .reason = 0, .group = i, .amount = i};
            asm volatile("" ::: "memory");
        }
    REQUIRE(other > 0);
    int good = 0;
    // On a busy machine the other one may not run at all during the first rounds.
    for (std::uint32_t i = 6; i < 20000 || (good == 0 && i < 2'000'000); ++i) {
        if (good == 0 && i % 1000 == 0) ::usleep(1000);
        if (i % 3 != 0) static_cast<void>(f.answer.await());
        for (int times = 0; times < 3; ++times) f.answer.fetch(f.shared, f.places, forged::most);
        bool const taken = f.answer.take(f.shared, f.places, i, forged::most).empty();
        good += taken;
        auto const rows = f.answer.rows();
        if (rows.size() > forged::most || (!taken && !rows.empty())) FAIL("more rows than there can be");
        std::vector<grant> const now(rows.begin(), rows.end());
        if (!std::equal(now.begin(), now.end(), rows.begin())) FAIL("the copy has changed");
    }
    ::kill(other, SIGKILL);
    ::waitpid(other, nullptr, 0);
    CHECK(good > 0);
}
