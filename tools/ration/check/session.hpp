// SPDX-License-Identifier: BSL-1.0
/// A plugin at work in the synthetic cluster.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ration/testing/found_changes.hpp>
#include <ration/testing/synthetic_life.hpp>

#include "answer_checker.hpp"
#include "plugin_instance.hpp"
#include "tables.hpp"

namespace ration::conformance {

struct session_options {
    std::uint64_t seed = 1;
    std::size_t nodes = 2;
    bool lock_inputs = false;    ///< the plugin cannot write what it is shown
    bool exact_scratch = false;  ///< nor beyond its scratch
    bool bound_before = false;   ///< to a smaller host, whose columns have other slots
    bool lists_changes = false;  ///< of rows, as a host does for a plugin that follows them
    testing::supply nodes_have = testing::supply::usual;
    schema_options schema{};
};

struct answer {
    std::int32_t code = 0;
    std::uint64_t count = 0, needed = 0;
    std::vector<ration_grant> rows;  ///< at most as many as there was space for
    std::string changed_field;       ///< what belongs to the host and was changed
    bool is_estimate = false;        ///< the bytes of the rows are the columns of an estimator
};

/// The space that a plugin writes grants into, ending at a guard.
class output {
    guarded space_{"the output", most_grants * sizeof(ration_grant)};
    ration_out out_{};
    ration_grant* grants_ = nullptr;
    std::uint64_t capacity_ = 0;

public:
    [[nodiscard]] ration_out& offer(std::uint64_t capacity) noexcept;
    [[nodiscard]] answer take(std::int32_t code) const;
    void lock() noexcept { space_.make_read_only(); }
};

class session {
    session_options options_;
    subject const& subject_;
    testing::synthetic_cluster cluster_;
    testing::synthetic_life life_;
    testing::found_changes found_{true};
    table_changes const* const* changes_ = nullptr;  // since the last tick
    std::uint64_t tick_ = 0;
    std::unique_ptr<tables> tables_, former_tables_;
    guest guest_;
    classify checker_;
    output output_;

public:
    session(library const& l, subject const& s, session_options const& options = {});

    /// One second passes, the plugin receives the events and decides. Its grants come into force if it keeps the
    /// rules.
    answer tick();
    /// `tick` in two parts: the tables are those of the new second, and `ask` may be repeated.
    void advance();
    [[nodiscard]] answer ask(std::uint64_t capacity, output& into, bool cancelled = false);
    [[nodiscard]] answer ask(std::uint64_t capacity = most_grants) { return ask(capacity, output_); }
    void apply(answer const& a);

    /// From now on the tables are elsewhere, and their former memory cannot be read.
    void move_tables();

    [[nodiscard]] std::string fault(answer const& a);
    [[nodiscard]] guest& instance() noexcept { return guest_; }
    [[nodiscard]] testing::synthetic_cluster const& cluster() const noexcept { return cluster_; }
    [[nodiscard]] std::uint64_t tick_number() const noexcept { return tick_; }
};

/// Throws "tick 7: decide returned RATION_E_INTERNAL" as a broken rule, unless the code of `a` is RATION_OK.
void expect_answer(session const& s, answer const& a);

[[nodiscard]] bool same_bytes(std::vector<ration_grant> const& a, std::vector<ration_grant> const& b) noexcept;

}  // namespace ration::conformance
