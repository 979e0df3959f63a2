// SPDX-License-Identifier: BSL-1.0
// An estimator as a plugin: the steps that a job still has, where all jobs have the same number of them. Use it with
// `ration sim --estimate ./steps_left.so --set steps_left.total=5000`.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ration/adapt/adapt.hpp>
#include <ration/plugin/export.hpp>

namespace example {

struct steps_left_parameters {
    double total = 1000;
    static constexpr ration::parameter_note notes[] = {
        {.name = "total", .meaning = "steps of each job, 0 to 1e9", .least = 0, .most = 1e9}};
    [[nodiscard]] static constexpr std::string_view problem() noexcept { return {}; }
};

class steps_left {
public:
    using estimator_concept = ration::estimator_tag;
    using parameters = steps_left_parameters;
    using inputs = ration::columns<ration::in<std::uint64_t, "jobs/step">>;
    using outputs = ration::columns<ration::out<double, "jobs/remaining">>;
    static constexpr ration::meta about{.id = "org.example.steps-left",
                                        .version = "1.0.0",
                                        .summary = "steps that are left of a number that all jobs have",
                                        .vendor = "an example",
                                        .license = "BSL-1.0"};

    explicit steps_left(steps_left_parameters const& p) noexcept : total_(p.total) {}

    void estimate(ration::tick<inputs> const& t, ration::estimates<outputs> const& to) const noexcept {
        for (std::size_t row = 0; row < t.jobs(); ++row) {
            double const left = total_ - static_cast<double>(t.get<"jobs/step">()[row]);
            to.get<"jobs/remaining">()[row] = left > 0 ? left : 0;
        }
    }

private:
    double total_;
};

}  // namespace example

BOOST_HANA_ADAPT_STRUCT(example::steps_left_parameters, total);
RATION_EXPORT_ESTIMATOR(example::steps_left)
