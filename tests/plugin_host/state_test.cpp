// SPDX-License-Identifier: BSL-1.0
#include <array>
#include <vector>

#include <ration/host/any_policy.hpp>
#include <ration/job_memory.hpp>
#include <ration/policies/tradl.hpp>
#include <ration/state.hpp>

#include "support/catch.hpp"

using namespace ration;

namespace {

template <class Kept>
[[nodiscard]] std::vector<std::byte> saved(Kept const& kept) {
    state_writer measure({});
    kept.save(measure);
    std::vector<std::byte> bytes(measure.needed());
    state_writer out(bytes);
    kept.save(out);
    return bytes;
}

}  // namespace

TEST_CASE("a writer without room measures and writes nothing beyond its space", "[state]") {
    std::array<std::byte, 5> space{};
    space[4] = std::byte{77};
    state_writer out({space.data(), 4});
    out.put(std::uint32_t{1});
    out.put(std::uint8_t{2});
    CHECK(out.needed() == 5);
    CHECK(space[4] == std::byte{77});
}

TEST_CASE("a reader gives back what was put, and nothing after the end", "[state]") {
    std::array<std::byte, 12> space{};
    state_writer out(space);
    out.put(std::uint32_t{7});
    out.put(2.5);
    state_reader in(space);
    std::uint32_t whole = 0;
    double real = 0;
    REQUIRE((in.get(whole) && in.get(real)));
    CHECK((whole == 7 && real == 2.5 && in.finished()));
    CHECK_FALSE(in.get(whole));
    CHECK_FALSE(in.finished());
}

TEST_CASE("what was remembered of each job comes back to it", "[state]") {
    job_memory<double> kept, loaded;
    std::vector<std::uint64_t> const ids{3, 5, 9};
    kept.follow(ids);
    for (std::size_t i = 0; i < 3; ++i) kept[i] = static_cast<double>(ids[i]) / 2;
    auto bytes = saved(kept);
    state_reader in(bytes);
    REQUIRE(loaded.load(in));
    CHECK(in.finished());
    std::vector<std::uint64_t> const later{5, 6, 9};
    loaded.follow(later);
    CHECK((loaded[0] == 2.5 && loaded[1] == 0 && loaded[2] == 4.5));

    for (std::size_t size = 0; size < bytes.size(); ++size) {  // cut short anywhere
        state_reader cut({bytes.data(), size});
        CHECK_FALSE(loaded.load(cut));
    }
    CHECK(loaded.size() == 3);
    bytes[0] = std::byte{255};  // claims more rows than there are bytes
    state_reader many(bytes);
    CHECK_FALSE(loaded.load(many));
    bytes[0] = std::byte{3};
    std::swap(bytes[8], bytes[24]);  // ids 5, 3, 9
    state_reader unordered(bytes);
    CHECK_FALSE(loaded.load(unordered));
}

TEST_CASE("TRADL refuses every state that is not one of its own", "[state]") {
    policies::tradl policy;
    std::vector<std::byte> bytes(policy.save({}));
    REQUIRE(policy.save(bytes) == bytes.size());
    CHECK(policy.load(bytes) == status::ok);
    for (std::size_t size = 0; size < bytes.size(); ++size) CHECK(policy.load({bytes.data(), size}) == status::state);
    auto longer = bytes;
    longer.push_back(std::byte{0});
    CHECK(policy.load(longer) == status::state);
    auto odd = bytes;
    odd[odd.size() - 1] = std::byte{0x7F};  // an absurd wait
    CHECK(policy.load(odd) == status::state);
    policy_adapter<policies::tradl> bound;
    CHECK(bound.save({}) == bytes.size());
    CHECK(bound.load({}) == status::state);
}
