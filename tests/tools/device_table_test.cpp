// SPDX-License-Identifier: BSL-1.0
// Who has which device, and which one a job gets.
#include "run/device_table.hpp"

#include <algorithm>

#include "resize_support.hpp"
#include "support/catch.hpp"

using namespace ration;
using namespace ration::program;

TEST_CASE("a chooser says which devices, and hears when a job has none any more") {
    struct highest final : device_chooser {
        std::vector<job_id> forgotten;
        device_list choose(job_id, device_list const& held, device_list const& free, std::int64_t count) override {
            device_list out(held.rbegin(), held.rbegin() + std::min<std::ptrdiff_t>(count, std::ssize(held)));
            for (std::size_t i = free.size(); std::ssize(out) < count; --i) out.push_back(free[i - 1]);
            return out;
        }
        void forget(job_id job) override { forgotten.push_back(job); }
    } by;
    auto const devices = names(5);
    device_table table(devices);
    table.choose_by(by);
    CHECK(table.take(job_id{1}, 2) == device_list{4, 3});
    CHECK(table.take(job_id{2}, 4).empty());
    CHECK(table.change(job_id{1}, {4, 3}, 3) == device_list{3, 4, 2});
    CHECK(table.change(job_id{1}, {4, 3, 2}, 1) == device_list{2});
    table.keep_only(job_id{1}, device_list{2});
    CHECK(by.forgotten.empty());
    CHECK(table.free() == 4);
    table.release(job_id{1});
    CHECK(by.forgotten == std::vector{job_id{1}});
}

TEST_CASE("of shares a job sees the one device that they are shares of, once") {
    auto const devices = names(3);
    device_table table(devices);
    CHECK(table.devices().seen(device_list{0, 2}) == table.devices().names(device_list{0, 2}));
    CHECK(table.devices().ranks(device_list{0, 2}) == 2);
    CHECK(table.devices().parts_of(devices[1]) == device_list{1});
    table.devices().are_shares_of("GPU-1");
    CHECK(table.devices().seen(device_list{0, 2}) == "GPU-1");
    CHECK(table.devices().seen(device_list{}).empty());
    CHECK((table.devices().ranks(device_list{0, 2}) == 1 && table.devices().ranks(device_list{}) == 0));
    CHECK(table.devices().parts_of("GPU-1") == device_list{0, 1, 2});
    CHECK(table.devices().names(device_list{0, 2}) == devices[0] + ',' + devices[2]);  // the records distinguish shares
}

TEST_CASE("a job takes only devices with enough memory, and others leave these to it") {
    auto const devices = names(6);
    device_table table(devices);
    std::vector<bytes> const memory{{80}, {16}, {80}, {40}, {16}};  // the memory of the last one is unknown
    table.devices().set_memory(memory);
    table.needs(job_id{1}, {60});
    table.needs(job_id{2}, {20});
    table.needs(job_id{3}, {0});
    CHECK(table.large_enough(job_id{1}) == 2);
    CHECK(table.large_enough(job_id{2}) == 3);
    CHECK(table.large_enough(job_id{3}) == 6);
    CHECK_FALSE(table.has_needs(job_id{3}));
    CHECK(table.take(job_id{3}, 2) == device_list{1, 4});
    CHECK(table.take(job_id{2}, 1) == device_list{3});
    CHECK(table.free(job_id{1}) == 2);
    // There are not enough others: then any will do
    CHECK(table.change(job_id{3}, {1, 4}, 4) == device_list{1, 4, 0, 2});
    CHECK(table.free(job_id{1}) == 0);
    CHECK(table.take(job_id{1}, 1).empty());
    CHECK(table.change(job_id{3}, {0, 1, 2, 4}, 2) == device_list{1, 4});  // it gives back what others need
    table.keep_only(job_id{3}, device_list{1, 4});
    CHECK(table.change(job_id{2}, {3}, 2) == device_list{3, 0});
    CHECK(table.free(job_id{1}) == 1);
    CHECK(table.take(job_id{1}, 2).empty());
    CHECK(table.take(job_id{1}, 1) == device_list{2});
}

TEST_CASE("a device belongs to one job at a time") {
    auto const devices = names(4);
    device_table table(devices);
    CHECK(table.take(job_id{1}, 2) == device_list{0, 1});
    CHECK(table.take(job_id{2}, 3).empty());
    CHECK(table.free() == 2);
    CHECK_FALSE(table.claim(job_id{2}, device_list{1, 2}));
    CHECK(table.free() == 2);
    CHECK(table.claim(job_id{2}, device_list{3}));
    table.keep_only(job_id{1}, device_list{1});
    CHECK(table.take(job_id{2}, 2) == device_list{0, 2});
    CHECK(table.of(job_id{2}) == device_list{0, 2, 3});
    table.release(job_id{1});
    CHECK(table.take(job_id{3}, 1) == device_list{1});
}

TEST_CASE(
    "a device of an earlier run that the machine does not show is left to the job that has it, and is not assigned again after that") {
    auto const devices = names(2);
    device_table table(devices);
    CHECK(table.devices().number("cpu-1") == 1);
    CHECK_FALSE(table.devices().is_cordoned(1));
    CHECK(table.devices().number("gone") == 2);
    CHECK(table.devices().number("gone") == 2);
    REQUIRE(table.claim(job_id{1}, device_list{0, 2}));
    CHECK(table.devices().sound(device_list{0, 2}) == device_list{0});
    CHECK(table.free() == 1);
    table.release(job_id{1});
    CHECK(table.free() == 2);
    CHECK(table.free(job_id{2}) == 2);
    CHECK(table.take(job_id{2}, 3).empty());
    CHECK(table.take(job_id{2}, 2) == device_list{0, 1});
}
