// SPDX-License-Identifier: BSL-1.0
// Sequences of changing snapshots for every policy: bounds, requests, capacities and holdings change between ticks, and
// columns have any values. Each tick has an answer, no grant of it is refused, and the list of changes makes no
// difference, nor does a restart with the saved state. A state with other bytes is refused without an effect, or the
// policy keeps all this with it. The first two bytes choose the policy, its parameters and the host; operations follow.
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ration/host/any_policy.hpp>
#include <ration/host/check.hpp>
#include <ration/policies/equal_share.hpp>
#include <ration/policies/none.hpp>
#include <ration/policies/shared_cache.hpp>

#include "policy_host.hpp"
#include "shipped_policies.hpp"
#include "support.hpp"

using fuzz::host;
using fuzz::host_shape;
using fuzz::most_jobs;
using fuzz::require;
using fuzz::resources;
using fuzz::shapes;
using fuzz::tenants;

namespace {

/// A policy with a list of changes beside the same without one.
class asked_policy {
    std::unique_ptr<ration::any_policy> plain_, listed_;
    std::vector<std::byte> fresh_;
    std::vector<ration::grant> space_, more_space_;
    ration::checker check_;
    ration::buffer<ration::checked_grant> accepted_;
    ration::buffer<ration::rejection> rejected_;

public:
    asked_policy(std::unique_ptr<ration::any_policy> plain, std::unique_ptr<ration::any_policy> listed, host& on)
        : plain_(std::move(plain)), listed_(std::move(listed)), space_(most_jobs * on.nodes() * resources.size()),
          more_space_(space_) {
        ration::limits const most{.jobs = most_jobs,
                                  .nodes = on.nodes(),
                                  .resources = resources.size(),
                                  .tenants = tenants,
                                  .resource_table = resources.data()};
        for (auto* const p : {plain_.get(), listed_.get()})
            require(static_cast<bool>(p->bind(on.store().schema(), most)), "a policy refuses the host");
        fresh_ = saved();
        check_.prepare(on.store(), on.columns(), resources, on.nodes(), space_.size());
    }

    /// As after `prepare`, which takes too long for each input. A policy without state continues from another input.
    void reset() {
        if (fresh_.empty()) return;
        for (auto* const p : {plain_.get(), listed_.get()})
            require(p->load(fresh_) == ration::status::ok, "a policy refuses its own state");
    }

    [[nodiscard]] bool names_nodes() const { return plain_->reads("held/node") || plain_->reads("nodes/free.gpu"); }

    /// As a worker that starts again with the state that it has saved.
    void restart() {
        auto const state = saved();
        require(state.empty() || plain_->load(state) == ration::status::ok, about(": refuses its own state").c_str());
    }

    /// Loads a state that is not its own. A policy that accepts it keeps all its promises.
    void load_changed(fuzz::input& in) {
        auto const before = saved();
        if (before.empty()) return;
        auto const changed = fuzz::changed_state(before, in);
        bool const is_accepted = plain_->load(changed) == ration::status::ok;
        require(is_accepted || saved() == before, about(": a refused state has an effect").c_str());
        require((listed_->load(changed) == ration::status::ok) == is_accepted, "two policies differ about a state");
        if (is_accepted) restart();
    }

    /// One tick. `applied`: bits of the groups, by their order, that come into force.
    void tick(host& on, std::uint64_t number, std::uint8_t applied) {
        on.show();
        ration::tick_data data{
            .number = number, .seed = number, .now = on.now(), .budget = ration::seconds(1), .data = on.store().view()};
        ration::grants answer(space_), other(more_space_);
        require(plain_->decide(data, answer) == ration::status::ok && !answer.overflowed(), "a tick has no answer");
        if (listed_->follows_changes()) {
            data.changes = on.store().changes().view();
            require(listed_->decide(data, other) == ration::status::ok, "a tick with a list has no answer");
            require(std::ranges::equal(answer.rows(), other.rows()),
                    about(": the list of changes makes a difference").c_str());
        }
        on.store().changes().clear();
        check_.check(on.held(), answer.rows(), accepted_, rejected_, on.limits_of_tenants());
        for (auto const& r : rejected_) {
            if (r.rule == ration::check_rule::broken_group) continue;  // another one is the reason
            auto const& g = answer.rows()[r.row];
            std::string const text = ": " + std::string(name_of(r.rule)) + ": job " + std::to_string(g.job) +
                                     ", node " + std::to_string(g.node) + ", resource " + std::to_string(g.resource) +
                                     ", amount " + std::to_string(g.amount);
            require(false, about(text).c_str());
        }
        std::size_t nth = 0;
        for (std::size_t first = 0, last = 0; first < accepted_.size(); first = last, ++nth) {
            last = ration::end_of_group(accepted_.view(), first);
            if ((applied >> nth % 8 & 1) == 0) continue;
            for (std::size_t i = first; i < last; ++i) on.held().set(accepted_[i].what(), on.now());
        }
    }

private:
    [[nodiscard]] std::vector<std::byte> saved() {
        std::vector<std::byte> state(plain_->save({}));
        static_cast<void>(plain_->save(state));
        return state;
    }
    [[nodiscard]] std::string about(std::string_view what) const {
        return std::string(plain_->about().id).append(what);
    }
};

/// With the other value of each parameter that is true or false.
template <class P>
[[nodiscard]] std::unique_ptr<ration::any_policy> make(bool other) {
    if constexpr (ration::has_parameters<P>) {
        typename P::parameters chosen{};
        if (other)
            ration::parameter_access<typename P::parameters>::for_each(chosen, [](auto const&, auto& value) {
                if constexpr (std::is_same_v<std::remove_reference_t<decltype(value)>, bool>) value = !value;
            });
        if constexpr (requires { chosen.steps; }) chosen.steps = other ? 100 : 10'000;
        return std::make_unique<ration::policy_adapter<P>>(P(chosen));
    } else {
        return std::make_unique<ration::policy_adapter<P>>();
    }
}

/// The policy that chooses the items of a cache, also one that chooses at each tick.
template <ration::policies::cache_mode Mode>
[[nodiscard]] std::unique_ptr<ration::any_policy> make_cache(bool other) {
    using ration::policies::shared_cache;
    return std::make_unique<ration::policy_adapter<shared_cache>>(
        shared_cache({.mode = Mode, .round = other ? 0.0 : 60.0}));
}

using maker = std::unique_ptr<ration::any_policy> (*)(bool);
[[nodiscard]] std::vector<maker> const& makers() {
    static std::vector<maker> const all = [] {
        std::vector<maker> list{make<ration::policies::none>, make<ration::policies::equal_share>};
        ration::program::for_each_shipped_policy([&]<class P>(std::string_view) { list.push_back(make<P>); });
        using enum ration::policies::cache_mode;
        list.insert(list.end(),
                    {make_cache<pf>, make_cache<mmf>, make_cache<optimum>, make_cache<partition>, make_cache<serial>});
        return list;
    }();
    return all;
}

/// Of hosts whose jobs are the items of a cache.
constexpr ration::column_description columns_of_items[] = {ration::in_rows<double, "jobs/benefit">::description};

/// Everything of one host, made at its first use.
struct world {
    host on;
    explicit world(host_shape const& shape) : on(shape, columns_of_items) {}
    std::vector<std::unique_ptr<asked_policy>> policies =
        std::vector<std::unique_ptr<asked_policy>>(2 * makers().size());

    [[nodiscard]] asked_policy& policy(std::size_t number, bool other) {
        auto& one = policies[2 * number + (other ? 1 : 0)];
        if (one == nullptr) one = std::make_unique<asked_policy>(makers()[number](other), makers()[number](other), on);
        return *one;
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::input in(data, size);
    auto const which = in.take<std::uint8_t>(), how = in.take<std::uint8_t>();
    static std::array<std::unique_ptr<world>, std::size(shapes)> worlds;
    auto& place = worlds[how / 2 % std::size(shapes)];
    if (place == nullptr) place = std::make_unique<world>(shapes[how / 2 % std::size(shapes)]);
    host& on = place->on;
    asked_policy& policy = place->policy(which % makers().size(), how % 2 != 0);
    on.reset();
    policy.reset();
    std::uint64_t ticks = 0;
    while (!in.empty() && ticks < 24) {
        auto const operation = in.take<std::uint8_t>() % 16;
        if (operation >= 4) {
            fuzz::change(on, operation, in, !policy.names_nodes());
            continue;
        }
        auto const applied = in.take<std::uint8_t>();
        if (operation == 2) applied < 128 ? policy.restart() : policy.load_changed(in);
        on.pass(operation * std::int64_t{20'000'000'000});
        policy.tick(on, ticks++, operation == 3 ? applied : 255);
    }
    policy.tick(on, ticks, 255);
    return 0;
}
