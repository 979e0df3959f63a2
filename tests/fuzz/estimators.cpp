// SPDX-License-Identifier: BSL-1.0
// Every estimator over changing columns with any values. What it computes is the same for two instances that saw the
// same, also if one of them starts again with its saved state. A state with other bytes is refused without an effect,
// or the estimator continues from it. The first two bytes choose the estimator and the host; operations on the tables
// follow.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <ration/estimators/bottleneck.hpp>
#include <ration/estimators/duration.hpp>
#include <ration/estimators/nominal_speed.hpp>
#include <ration/estimators/phases.hpp>
#include <ration/estimators/remaining.hpp>
#include <ration/estimators/speed.hpp>
#include <ration/host/any_estimator.hpp>

#include "policy_host.hpp"
#include "support.hpp"

using fuzz::host;
using fuzz::require;
using fuzz::shapes;

namespace {

/// Two phases, one of little and one of much CPU.
[[nodiscard]] std::vector<ration::estimators::phase_model> models() {
    ration::estimators::phase_model model;
    model.count = 2;
    model.phases[1].centre.fill(1);
    model.phases[1].cpu.fill(2000);
    require(model.is_valid(), "the model cannot be applied");
    return {model};
}

/// An estimator that another object holds, so that its state can be saved behind an adapter.
template <class E>
class borrowed {
    E* from_;

public:
    using estimator_concept = ration::estimator_tag;
    using inputs = typename E::inputs;
    using outputs = typename E::outputs;
    static constexpr ration::meta about = E::about;

    explicit borrowed(E& from) noexcept : from_(&from) {}
    [[nodiscard]] ration::status prepare(ration::limits const& most) noexcept { return from_->prepare(most); }
    void estimate(ration::tick<inputs> const& t, ration::estimates<outputs> const& to) noexcept {
        from_->estimate(t, to);
    }
};

/// One instance: an adapted estimator, and its state.
class instance {
public:
    virtual ~instance() = default;
    [[nodiscard]] virtual ration::any_estimator& adapted() = 0;
    [[nodiscard]] virtual std::vector<std::byte> saved() const = 0;
    [[nodiscard]] virtual ration::status load(std::span<std::byte const> state) = 0;
};

template <class E>
class instance_of final : public instance {
    E estimator_;
    ration::estimator_adapter<borrowed<E>> adapted_{borrowed<E>(estimator_)};

    [[nodiscard]] static E made() {
        if constexpr (std::is_constructible_v<E, std::vector<ration::estimators::phase_model>>)
            return E(models());
        else
            return E();
    }

public:
    instance_of() : estimator_(made()) {}
    [[nodiscard]] ration::any_estimator& adapted() override { return adapted_; }
    [[nodiscard]] std::vector<std::byte> saved() const override {
        std::vector<std::byte> state(estimator_.save({}));
        static_cast<void>(estimator_.save(state));
        return state;
    }
    [[nodiscard]] ration::status load(std::span<std::byte const> state) override { return estimator_.load(state); }
};

template <class E>
[[nodiscard]] std::unique_ptr<instance> make() {
    return std::make_unique<instance_of<E>>();
}
constexpr std::unique_ptr<instance> (*makers[])() = {
    make<ration::estimators::remaining>, make<ration::estimators::nominal_speed>, make<ration::estimators::speed>,
    make<ration::estimators::phases>,    make<ration::estimators::bottleneck>,    make<ration::estimators::duration>};

/// What estimators read that is not a standard column.
[[nodiscard]] std::vector<ration::column_description> own_columns() {
    std::vector<ration::column_description> own;
    for (auto* const make_one : makers)
        for (auto const& input : make_one()->adapted().inputs())
            if (ration::index_in_catalogue(input.name) == ration::catalogue_size) own.push_back(input);
    return own;
}

/// Two instances, asked the same.
class asked_estimator {
    std::unique_ptr<instance> first_, second_;
    std::vector<std::byte> written_;

public:
    asked_estimator(std::size_t number, host& on) : first_(makers[number]()), second_(makers[number]()) {
        for (auto* const e : {first_.get(), second_.get()})
            require(static_cast<bool>(e->adapted().bind(on.store(), {.jobs = fuzz::most_jobs, .nodes = on.nodes()})),
                    "an estimator refuses the host");
    }

    /// As in a host that starts again with the saved state.
    void restart() {
        require(first_->load(first_->saved()) == ration::status::ok, "an estimator refuses its own state");
    }

    /// Loads a state that is not its own.
    void load_changed(fuzz::input& in) {
        auto const before = first_->saved(), changed = fuzz::changed_state(before, in);
        bool const is_accepted = first_->load(changed) == ration::status::ok;
        require(is_accepted || first_->saved() == before, "a refused state has an effect");
        require((second_->load(changed) == ration::status::ok) == is_accepted, "two instances differ about a state");
        if (is_accepted) restart();
    }

    void tick(host& on, std::uint64_t number) {
        on.show();
        ration::tick_data const data{
            .number = number, .seed = number, .now = on.now(), .budget = ration::seconds(1), .data = on.store().view()};
        first_->adapted().estimate(data, on.store());
        written_.clear();
        for_each_output(on, [&](std::byte* at, std::size_t size) {
            written_.insert(written_.end(), at, at + size);
            std::memset(at, 0x41, size);
        });
        second_->adapted().estimate(data, on.store());
        std::size_t from = 0;
        for_each_output(on, [&](std::byte const* at, std::size_t size) {
            require(size == 0 || std::memcmp(at, written_.data() + from, size) == 0,
                    "two instances that saw the same differ");
            from += size;
        });
    }

private:
    template <class Visit>
    void for_each_output(host& on, Visit const& visit) const {
        for (auto const& output : first_->adapted().outputs())
            if (auto const* const c = ration::find_column(on.store().schema(), output.name); c != nullptr)
                visit(on.bytes_of(*c), on.jobs() * c->width * ration::size_of(c->type));
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::input in(data, size);
    auto const which = in.take<std::uint8_t>(), how = in.take<std::uint8_t>();
    static auto const more = own_columns();
    static std::array<std::unique_ptr<host>, std::size(shapes)> hosts;
    auto& place = hosts[how % std::size(shapes)];
    if (place == nullptr) place = std::make_unique<host>(shapes[how % std::size(shapes)], more);
    host& on = *place;
    on.reset();
    asked_estimator estimator(which % std::size(makers), on);
    std::uint64_t ticks = 0;
    while (!in.empty() && ticks < 24) {
        auto const operation = in.take<std::uint8_t>() % 16;
        if (operation == 3) {
            in.take<std::uint8_t>() < 128 ? estimator.restart() : estimator.load_changed(in);
        } else if (operation < 3) {
            on.pass(operation * std::int64_t{20'000'000'000});
            estimator.tick(on, ticks++);
        } else {
            fuzz::change(on, operation, in);
        }
    }
    estimator.tick(on, ticks);
    return 0;
}
