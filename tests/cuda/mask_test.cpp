// SPDX-License-Identifier: BSL-1.0
// Device masks: what is inherited is read as the driver reads it, what is emitted is read back as exactly what was
// meant.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ration/cuda/device_mask.hpp>

#include "driver_rules.hpp"
#include "support/catch.hpp"
#include "synthetic.hpp"

using namespace ration;
using namespace ration::cuda;
using ration::test::maker;
using ration::test::names;
using ration::test::text_of;

namespace {

[[nodiscard]] device_id id_of(char const* name) { return device_id::parse(name).value(); }

/// Three GPUs as in the driver's documentation, the second and the third with a common beginning.
[[nodiscard]] std::vector<gpu> three_gpus() {
    return {{.id = id_of("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6")},
            {.id = id_of("GPU-ab12f937-d72c-4106-c12f-20bd9faed9f6")},
            {.id = id_of("GPU-ab34f937-d72c-4106-c12f-20bd9faed9f6")}};
}

/// Which of `machine` a mask leaves, as places in its order.
[[nodiscard]] std::vector<int> seen(std::vector<gpu> const& machine, std::optional<std::string_view> mask) {
    std::vector<int> out;
    for (auto const& id : visible_devices(machine, mask))
        out.push_back(static_cast<int>(std::ranges::find(machine, id, &gpu::id) - machine.begin()));
    return out;
}

}  // namespace

TEST_CASE("a device's name is read and written letter by letter") {
    char const* const name = "GPU-4404041a-04cf-1ccf-9e70-f139a9b1e23c";
    CHECK(id_of(name).name() == name);
    CHECK(id_of(name).kind() == device_kind::gpu);
    CHECK(id_of("MIG-4404041a-04cf-1ccf-9e70-f139a9b1e23c").kind() == device_kind::mig);
    CHECK(id_of("MIG-4404041a-04cf-1ccf-9e70-f139a9b1e23c") != id_of(name));
    for (char const* wrong :
         {"", "GPU-", "4404041a-04cf-1ccf-9e70-f139a9b1e23c", "GPU-4404041a", "GPU-4404041a-04cf-1ccf-9e70-f139a9b1e23",
          "GPU-4404041a-04cf-1ccf-9e70-f139a9b1e23c0", "GPU-4404041A-04cf-1ccf-9e70-f139a9b1e23c",
          "GPU-4404041a04cf--1ccf-9e70-f139a9b1e23c", "GPU-4404041a-04cf-1ccf-9e70-f139a9b1e23g",
          "MIG-GPU-4404041a-04cf-1ccf-9e70-f139a9b1e23c/1/0"}) {
        INFO(wrong);
        auto const id = device_id::parse(wrong);
        REQUIRE_FALSE(id);
        CHECK(id.failure().code == errc::invalid_value);
    }
}

TEST_CASE("an inherited mask is read as the driver reads it") {
    auto const machine = three_gpus();
    using places = std::vector<int>;
    CHECK(seen(machine, std::nullopt) == places{0, 1, 2});
    CHECK(seen(machine, "") == places{});
    CHECK(seen(machine, "2,0") == places{2, 0});
    CHECK(seen(machine, "0,2,-1,1") == places{0, 2});
    CHECK(seen(machine, "0,1,8,2") == places{0, 1});
    CHECK(seen(machine, "0,1,2,1") == places{});
    CHECK(seen(machine, "1gpu2,2ampere") == places{1, 2});
    CHECK(seen(machine, "one,two,3") == places{});
    CHECK(seen(machine, " 0 , +1 ") == places{0, 1});
    CHECK(seen(machine, "0,,1") == places{0});
    CHECK(seen(machine, "99999999999999999999,0") == places{});
    CHECK(seen(machine, "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6") == places{0});
    CHECK(seen(machine, "GPU-ab34,GPU-8") == places{2, 0});
    CHECK(seen(machine, "GPU-8,GPU-ab") == places{0});  // two begin so
    CHECK(seen(machine, "GPU-8,GPU-77,GPU-ab1") == places{0});
    CHECK(seen(machine, "GPU-8, 2") == places{0});
    CHECK(seen(machine, "1,GPU-8") == places{1});
    CHECK(seen(machine, "GPU-8,GPU-8932") == places{});
    CHECK(seen(machine, "MIG-8932f937-d72c-4106-c12f-20bd9faed9f6") == places{});
}

TEST_CASE("of a GPU that is cut its instances are used, and an index does not name them") {
    auto machine = three_gpus();
    auto const first = id_of("MIG-00000000-0000-0000-0000-000000000001"),
               second = id_of("MIG-10000000-0000-0000-0000-000000000002");
    machine[1].cut = true;
    machine[1].instances = {first, second};
    CHECK(text_of(visible_devices(machine, std::nullopt)) ==
          text_of(std::array{machine[0].id, first, second, machine[2].id}));
    CHECK(text_of(visible_devices(machine, "MIG-1")) == text_of(std::array{second}));
    CHECK(text_of(visible_devices(machine, "MIG-1,GPU-8")) == text_of(std::array{second}));
    CHECK(text_of(visible_devices(machine, "2,1")) == text_of(std::array{machine[2].id, first, second}));
    machine[1].instances.clear();
    CHECK(text_of(visible_devices(machine, "1,0")) == text_of(std::array{machine[0].id}));
}

TEST_CASE("a mask cannot hold what the driver would read differently") {
    auto machine = three_gpus();
    auto const first = id_of("MIG-00000000-0000-0000-0000-000000000001"),
               second = id_of("MIG-10000000-0000-0000-0000-000000000002");
    std::vector<device_id> const usable{machine[0].id, machine[1].id, first, second};
    auto const refused = [&usable](std::vector<device_id> const& chosen) {
        auto const mask = device_mask::of(chosen, usable);
        return mask ? errc::internal : mask.failure().code;
    };
    CHECK(refused({machine[2].id}) == errc::not_found);
    CHECK(refused({machine[0].id, machine[0].id}) == errc::already_exists);
    CHECK(refused({machine[0].id, first}) == errc::conflict);
    CHECK(refused({first, machine[0].id}) == errc::conflict);
    CHECK(refused({first, second}) == errc::out_of_range);
    std::vector<device_id> const doubled{machine[0].id, machine[1].id, machine[0].id};
    CHECK(device_mask::of(std::array{machine[0].id}, doubled).failure().code == errc::conflict);
    CHECK(device_mask::of(std::array{machine[1].id}, doubled));
    CHECK(device_mask::of(std::array{first}, usable)->value() == first.name().view());

    auto const mask = device_mask::of(std::array{machine[1].id, machine[0].id}, usable);
    REQUIRE(mask);
    CHECK(
        mask->environment() ==
        std::array<std::string, 2>{
            "CUDA_DEVICE_ORDER=PCI_BUS_ID",
            "CUDA_VISIBLE_DEVICES=GPU-ab12f937-d72c-4106-c12f-20bd9faed9f6,GPU-8932f937-d72c-4106-c12f-20bd9faed9f6"});
    CHECK(device_mask().environment()[1] == "CUDA_VISIBLE_DEVICES=");
}

TEST_CASE("what a job says it sees is compared with its mask") {
    auto const machine = three_gpus();
    std::vector const usable{machine[0].id, machine[1].id, machine[2].id};
    auto const mask = device_mask::of(std::array{machine[1].id, machine[0].id}, usable).value();
    std::string const one(machine[0].id.name().view()), other(machine[1].id.name().view()),
        third(machine[2].id.name().view());
    CHECK(mask.verify(other + ',' + one));
    for (auto const& seen : {std::string(), one, other, one + ',' + other, other + ',' + one + ',' + third,
                             other + ',' + third, other.substr(0, 39) + ',' + one}) {
        INFO(seen);
        REQUIRE_FALSE(mask.verify(seen));
        CHECK(mask.verify(seen).failure().code == errc::unverified);
    }
    CHECK(device_mask().verify(""));
    CHECK_FALSE(device_mask().verify(one));
}

namespace {

/// Whether the driver gives a process exactly these, if they are named in full.
[[nodiscard]] bool can_be_masked(std::vector<device_id> const& chosen, std::vector<device_id> const& usable) {
    names const all = text_of(usable);
    std::map<std::string, int> times;
    bool mixed = false, known = true;
    for (auto const& name : text_of(chosen)) {
        mixed = mixed || name.substr(0, 4) != text_of(chosen)[0].substr(0, 4);
        known = known && std::ranges::count(all, name) == 1 && ++times[name] == 1;
    }
    bool const several = chosen.size() > 1 && chosen[0].kind() == device_kind::mig;
    return known && !mixed && !several;
}

}  // namespace

TEST_CASE("what 100 000 masks leave, and what is made of it, is what the driver's rules say") {
    maker make(20'261'122);
    int narrowed = 0, emitted = 0, refused = 0;
    for (int round = 0; round < 100'000; ++round) {
        auto const machine = make.machine();
        names gpus, instances;
        for (auto const& one : machine) {
            gpus.emplace_back(one.id.name().view());
            for (auto const& instance : one.instances) instances.emplace_back(instance.name().view());
        }
        auto const mask = make.mask(gpus, instances);
        names meant;
        for (auto const& name : ration::test::driver_reads(gpus, instances, mask)) {
            auto const whole = std::ranges::find(gpus, name);
            auto const* cut = whole == gpus.end() ? nullptr : &machine[static_cast<std::size_t>(whole - gpus.begin())];
            if (cut == nullptr || !cut->cut) meant.push_back(name);
            if (cut != nullptr && cut->cut) std::ranges::copy(text_of(cut->instances), std::back_inserter(meant));
        }
        auto const usable = visible_devices(machine, mask);
        CAPTURE(round, mask.value_or("(not set)"));
        REQUIRE(text_of(usable) == meant);
        narrowed += usable.size() < gpus.size();

        auto const chosen = make.request(usable);
        auto const made = device_mask::of(chosen, usable);
        REQUIRE(static_cast<bool>(made) == can_be_masked(chosen, usable));
        if (!made) {
            ++refused;
            continue;
        }
        emitted += !chosen.empty();
        REQUIRE(ration::test::driver_reads(gpus, instances, made->value()) == text_of(chosen));
    }
    CHECK(narrowed > 20'000);
    CHECK(emitted > 20'000);
    CHECK(refused > 5'000);
}
