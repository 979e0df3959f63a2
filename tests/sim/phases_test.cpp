// SPDX-License-Identifier: BSL-1.0
// Jobs with phases in traces and from a seed.
#include <string>

#include <ration/sim/phase_generator.hpp>

#include "support/catch.hpp"
#include "traces.hpp"

using namespace ration;
using namespace ration::sim;

namespace {

constexpr std::string_view trace_of_two =
    "job_id,submit_time,num_gpus,duration,model,restart_cost,phases\n"
    "a,0,,,vae,5,60:0.5:1e8 400:2:1.5e9:0.05\n"
    "b,10,0,,vae,,60:0.5:1e8 400:2:1.5e9:0.05\n"
    "c,20,,,,,30:1:5\n"
    "d,30,1,50,,,\n";

[[nodiscard]] std::string phases_refusal(std::string const& cells) {
    auto const read =
        trace::read("job_id,submit_time,num_gpus,phases,duration,length,requests\na,0," + cells + '\n', {}, "t");
    return read ? "" : read.failure().text;
}

}  // namespace

TEST_CASE("a trace gives the phases of a job", "[trace][phases]") {
    auto const read = trace::read(trace_of_two, {}, "t");
    REQUIRE(read);
    auto const& a = read->jobs[0];
    CHECK((a.request == 0 && a.least == 0 && a.most == 0 && a.length == 460 && a.restart_cost == 5));
    auto const model_of = [&](std::size_t job) -> job_model const& { return *read->models[read->jobs[job].model]; };
    CHECK(read->runs_on_cpu(a));
    CHECK((model_of(0).demand(a, 59).cores == 0.5 && model_of(0).demand(a, 59).bytes == 1e8));
    CHECK(model_of(0).demand(a, 60).bytes > 1e9);
    CHECK(model_of(0).phase_at(a, 60).number == 1);
    // One class, each with its own noise; and another class for the model without a name
    CHECK((model_of(0).phase_at(a, 0).kind == 0 && model_of(1).phase_at(a, 0).kind == 0));
    CHECK(model_of(2).phase_at(a, 0).kind == 1);
    CHECK(model_of(0).demand(a, 70).cores != model_of(1).demand(a, 70).cores);
    CHECK_FALSE(model_of(3).has_phases());
    auto const again = trace::read(trace::written(*read), {}, "t");
    REQUIRE(again);
    CHECK(trace::written(*again) == trace::written(*read));
    // A class may have the name of a model
    auto const named =
        trace::read("job_id,submit_time,num_gpus,duration,model,phases\na,0,,,rigid,9:1:1\nb,1,1,5,rigid,\n", {}, "t");
    REQUIRE(named);
    CHECK((named->models[named->jobs[0].model]->has_phases() && !named->models[named->jobs[1].model]->has_phases()));
    auto const renamed = trace::read(trace::written(*named), {}, "t");
    REQUIRE(renamed);
    CHECK(renamed->jobs[1].length == 5);
    CHECK(again->models[again->jobs[1].model]->demand(a, 70).cores == model_of(1).demand(a, 70).cores);
}

TEST_CASE("phases that are none are refused", "[trace][phases]") {
    std::string const remedy =
        "; write seconds, cores, bytes and the noise of each phase, as in 60:0.5:1e8 400:2:1e9:0.05";
    for (std::string const wrong : {"60",
                                    "60:1",
                                    "60:1:",
                                    "60:1:9:",
                                    "60:1:9:0:0",
                                    "0:1:9",
                                    "60:0:9",
                                    "60:1:0",
                                    "60:1:9:1.1",
                                    "60:1:9:-0.1",
                                    "-1:1:9",
                                    "nan:1:9",
                                    "60:inf:9",
                                    "60:1:1e16",
                                    "60:1:9  60:1:9",
                                    "60:1:9x",
                                    "60:10001:9",
                                    "2592001:1:9",
                                    "2000000:1:9 2000000:1:9",
                                    "60;1;9"})
        CHECK(phases_refusal("0," + wrong + ",,,") == "phases is '" + wrong + "'" + remedy);
    std::string many;
    for (int i = 0; i < 1000; ++i) many += "1:1:1 ";
    CHECK(phases_refusal("0," + many + "1:1:1,,,").starts_with("phases is '1:1:1 1:1:1"));
    many.pop_back();
    CHECK(phases_refusal("0," + many + ",,,").empty());
    CHECK(phases_refusal("0,60:1:9,5,,") ==
          "duration is '5'; write nothing: the phases determine the length of the job");
    CHECK(phases_refusal("0,60:1:9,,5,") == "length is '5'; write nothing: the phases determine the length of the job");
    CHECK(phases_refusal("0,60:1:9,,,0:1") ==
          "requests is '0:1'; write nothing: the phases determine the length of the job");
    CHECK(phases_refusal("2,60:1:9,,,") ==
          "num_gpus is '2'; write 0, or leave it empty: jobs of this model run on processors");
}

TEST_CASE("generated containers load, train and save, and are the same for the same seed", "[generator][phases]") {
    auto const made = make_phased({.seed = 2, .jobs = 50}), same = make_phased({.seed = 2, .jobs = 50}),
               other = make_phased({.seed = 3, .jobs = 50});
    CHECK(trace::written(made) == trace::written(same));
    CHECK(trace::written(made) != trace::written(other));
    for (auto const& job : made.jobs) {
        auto const& model = *made.models[job.model];
        CHECK((job.length >= 20 * (3 + 10 + 4 * 27 + 3) && job.length <= 20 * (12 + 30 + 10 * 55 + 8)));
        auto const most = model.most_demand(job);
        CHECK((most.cores > 1.5 && most.cores < 3 && most.bytes > 2e9 && most.bytes < 3.6e9));
        CHECK(model.demand(job, 0).cores < 0.15);
        CHECK(made.runs_on_cpu(job));
    }
}
