// SPDX-License-Identifier: BSL-1.0
// The laws of Backend: kept by the fake backend, and each broken by one made for it.
#include <ration/fake/backend.hpp>
#include <ration/testing/archetypes.hpp>
#include <ration/testing/laws.hpp>

#include "broken.hpp"
#include "support/catch.hpp"

using laws::broken;
using ration::errc;
using ration::error;
using ration::job_id;
using ration::resource_id;
using ration::result;
using ration::setting;
using ration::unlimited;
using ration::testing::backend_laws;

namespace {

constexpr job_id known{1}, stranger{2};
constexpr setting settings[] = {{known, 0, resource_id::cpu, 500},
                                {known, 0, resource_id::cpu, 700},
                                {known, 0, resource_id::memory, 5},
                                {known, 0, resource_id::cpu, unlimited}};

/// The fake one with one call bent; what is not bent is as it was.
struct bendable : ration::fake::backend {
    bendable() : ration::fake::backend({resource_id::cpu, resource_id::memory}) { add(known); }
};
template <class Backend>
[[nodiscard]] std::string verdict() {
    Backend backend;
    return broken(backend_laws(backend, stranger, settings));
}

struct forgets_to_apply : bendable {
    result<void> apply(operation const&) noexcept { return {}; }
};
struct rounds_what_it_applies : bendable {
    result<void> apply(operation const& o) noexcept {
        operation rounded = o;
        rounded.new_value = o.new_value / 100 * 100;
        return bendable::apply(rounded);
    }
};
struct forgets_to_undo : bendable {
    result<void> undo(operation const&) noexcept { return {}; }
};
struct undoes_to_no_limit : bendable {
    result<void> undo(operation const& o) noexcept {
        operation other = o;
        other.old_value = unlimited;
        return bendable::undo(other);
    }
};
struct plans_what_is_in_effect : bendable {
    result<void> plan(setting const& s, ration::plan<operation>& out) noexcept {
        auto const was = amount(s.job, s.resource);
        if (!was) return bendable::plan(s, out);
        out.push_back({.job = s.job, .resource = s.resource, .old_value = *was, .new_value = s.amount});
        return {};
    }
};
struct observes_strangers : bendable {
    result<ration::observation> observe(job_id) noexcept { return ration::observation{}; }
};
struct plans_for_strangers : bendable {
    result<void> plan(setting const& s, ration::plan<operation>& out) noexcept {
        return s.job == stranger ? result<void>{} : bendable::plan(s, out);
    }
};
struct is_rude_to_strangers : bendable {
    result<ration::observation> observe(job_id job) noexcept {
        if (job == stranger) return error{.code = errc::gone, .operation = "observe"};
        return bendable::observe(job);
    }
};
struct plans_memory_for_strangers : bendable {
    result<void> plan(setting const& s, ration::plan<operation>& out) noexcept {
        return s.job == stranger && s.resource == resource_id::memory ? result<void>{} : bendable::plan(s, out);
    }
};
struct is_out_of_order : bendable {
    result<void> apply(operation const&) noexcept {
        return error{.code = errc::io, .operation = "write the kernel's file"};
    }
};

}  // namespace

TEST_CASE("the fake backend keeps the laws", "[laws][backend]") {
    CHECK(verdict<bendable>() == "");
    ration::testing::backend_archetype archetype;
    CHECK(broken(backend_laws(archetype, stranger, {})) == "");
}

TEST_CASE("a backend whose values do not read back is caught", "[laws][backend]") {
    CHECK(verdict<forgets_to_apply>() == "Backend law 1");
    CHECK(verdict<rounds_what_it_applies>() == "Backend law 1");
}

TEST_CASE("a backend that does not restore what it found is caught", "[laws][backend]") {
    CHECK(verdict<forgets_to_undo>() == "Backend law 2");
    CHECK(verdict<undoes_to_no_limit>() == "Backend law 2");
}

TEST_CASE("a backend that plans what is in force is caught", "[laws][backend]") {
    CHECK(verdict<plans_what_is_in_effect>() == "Backend law 3");
}

TEST_CASE("a backend that serves strangers is caught", "[laws][backend]") {
    CHECK(verdict<observes_strangers>() == "Backend law 4");
    CHECK(verdict<plans_for_strangers>() == "Backend law 4");
    CHECK(verdict<is_rude_to_strangers>() == "Backend law 4");
    CHECK(verdict<plans_memory_for_strangers>() == "Backend law 4");
}

TEST_CASE("a backend that is out of order breaks no law, and is named", "[laws][backend]") {
    CHECK(verdict<is_out_of_order>() == "write the kernel's file");
}
