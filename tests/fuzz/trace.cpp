// SPDX-License-Identifier: BSL-1.0
// Traces for `ration sim`: the first letter chooses the format. A workload is within its bounds, and reads the same
// after it was written.
#include <cmath>
#include <memory>
#include <string>

#include <ration/sim/cpu_files.hpp>
#include <ration/sim/parametric_model.hpp>
#include <ration/sim/trace/read.hpp>
#include <ration/sim/trace/write.hpp>

#include "support.hpp"

namespace sim = ration::sim;
namespace trace = ration::sim::trace;
using fuzz::require;

namespace {

/// A model for processors, one for devices: what a trace may name.
[[nodiscard]] sim::model_library make_library() {
    auto read = sim::read_cpu_models(
        "name,batch,floor,power,power_steps,exponent,fast,fast_steps,noise,steps_per_core_second,acceptable,objective,steps,error\n"
        "mnist,64,0.2,1.5,100,0.7,0.5,20,0.05,110,0.9,0.5,3000,0.01\n");
    auto library = *read;
    library.push_back({.name = "resnet",
                       .model = std::make_shared<sim::rigid_model>(),
                       .usual = {.least = 1, .most = 8, .batch = 32, .length = 100}});
    return library;
}

void require_sound(sim::workload const& made, sim::job_description const& job) {
    constexpr std::int64_t longest = 9'000'000'000'000'000'000;
    require(job.submitted.count >= 0 && job.submitted.count <= longest, "a job is submitted at an impossible time");
    require(job.deadline.count <= longest, "a deadline is at an impossible time");
    require(job.least >= 0 && job.least <= job.request && job.request <= job.most && job.most <= 1'000'000,
            "devices are out of bounds");
    require(std::isfinite(job.length) && job.length > 0, "a job has no length");
    require(std::isfinite(job.weight) && job.weight > 0 && job.restart_cost >= 0 && job.restart_cost <= 9e9,
            "a weight or a cost is out of bounds");
    require(job.model < made.models.size() && job.tenant < made.tenants.size(), "a job has no model or no tenant");
}

void require_sound(sim::workload const& made) {
    require(made.models.size() == made.model_names.size() && !made.tenants.empty() && !made.models.empty(),
            "models have no names, or nobody is a tenant");
    require(made.job_names.empty() || made.job_names.size() == made.jobs.size(), "some jobs have no name");
    for (auto const& name : made.job_names) require(!name.empty() && name.size() <= 256, "a name is out of bounds");
    for (std::size_t j = 0; j < made.jobs.size(); ++j) {
        require_sound(made, made.jobs[j]);
        require(j == 0 || made.jobs[j - 1].submitted <= made.jobs[j].submitted,
                "jobs are not in the order in which they are submitted");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    static auto const library = make_library();
    fuzz::input in(data, size);
    auto const as = static_cast<trace::format>(in.take<std::uint8_t>() % trace::format_names.size());
    auto const read = trace::read(in.rest(), library, "fuzzed", as);
    if (!read) {
        fuzz::require_sentence(to_text(in_file("trace.csv", read.failure())));
        return 0;
    }
    require_sound(*read);
    auto const text = trace::written(*read);
    auto const again = trace::read(text, library, "fuzzed", trace::format::ration);
    require(static_cast<bool>(again) || read->jobs.empty(), "a workload cannot be read after it was written");
    require(!again || trace::written(*again) == text, "a workload reads differently after it was written");
    return 0;
}
