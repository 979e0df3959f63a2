// SPDX-License-Identifier: BSL-1.0
// Fitted loss curves: against what was recorded, and wrong files.
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ration/sim/cpu_files.hpp>
#include <ration/sim/trace/read.hpp>

#include "support/catch.hpp"

using namespace ration::sim;
using Catch::Approx;

namespace {

[[nodiscard]] std::string file(char const* name) {
    auto const text = trace::contents((RATION_BENCH_DATA "/loss/" + std::string(name)).c_str());
    REQUIRE(text);
    return *text;
}
[[nodiscard]] model_library fits() {
    auto const library = read_cpu_models(file("fits.csv"));
    INFO((library ? std::string() : to_text(in_file("fits.csv", library.failure()))));
    REQUIRE(library);
    return *library;
}
[[nodiscard]] cpu_model const& curve_of(named_model const& m) { return static_cast<cpu_model const&>(*m.model); }

}  // namespace

TEST_CASE("fits are near what was recorded, at every tenth of a run", "[loss]") {
    auto const library = fits();
    std::string const text = file("curves.csv");
    trace::row_scanner rows(text, ',');
    REQUIRE(rows.next());
    std::map<std::string, std::vector<double>> off;  // by model: |relative error|
    for (std::int64_t before = 0; rows.next();) {
        auto const f = rows.fields();
        double batch = 0, step = 0, loss = 0;
        REQUIRE((trace::to_number(f[1], batch) && trace::to_number(f[3], step) && trace::to_number(f[4], loss)));
        auto const last = static_cast<std::int64_t>(step);
        double const middle = static_cast<double>((before < last ? before : 0) + last + 1) / 2;
        before = last;
        for (auto const& m : library) {
            bool const same = m.name == f[0] || m.name == std::string(f[0]) + '-' + std::string(f[1]);
            if (same && m.usual.batch == static_cast<std::int64_t>(batch))
                off[m.name].push_back(std::fabs(curve_of(m).curve().at(middle) / loss - 1));
        }
    }
    CHECK(off.size() == library.size());
    for (auto& [name, errors] : off) {
        double sum = 0;
        for (double const e : errors) sum += e;
        INFO(name);
        CHECK(errors.size() >= 20);
        CHECK(sum / static_cast<double>(errors.size()) < .12);
    }
}

TEST_CASE("models of the usual batches reach their Objective, after their Acceptable", "[loss]") {
    auto const library = fits();
    std::size_t reached = 0;
    for (auto const& m : library) {
        auto const& model = curve_of(m);
        INFO(m.name);
        REQUIRE(model.tiers().size() == 2);
        double const acceptable = model.curve().step_at(model.tiers()[0]),
                     objective = model.curve().step_at(model.tiers()[1]);
        CHECK(acceptable > 0);
        CHECK(acceptable < objective);
        CHECK(m.usual.length > acceptable);
        CHECK(m.model->at(m.usual, {.cores = .5}, 0).steps_per_second ==
              Approx(.5 * m.model->at(m.usual, {.cores = 3}, 0).steps_per_second));
        if (std::isinf(objective)) continue;
        ++reached;
        CHECK(m.usual.length >= objective);
        CHECK(m.model->loss(m.usual, m.usual.length) == Approx(model.tiers()[1]).epsilon(.01));
    }
    for (char const* const name : {"softmax", "mlp", "vae", "rnn"}) {
        named_model const* const m = find_model(library, name);
        REQUIRE(m != nullptr);
        CHECK(std::isfinite(curve_of(*m).curve().step_at(curve_of(*m).tiers()[1])));
    }
    CHECK(reached >= 4);
}

TEST_CASE("a wrong file of fits is refused with its line", "[loss]") {
    std::string const titles =
        "name,batch,floor,power,power_steps,exponent,fast,fast_steps,noise,steps_per_core_second,acceptable,objective,steps,error\n";
    auto const error_of = [&](std::string const& text) {
        auto const read = read_cpu_models(text);
        return read ? std::string() : to_text(in_file("f", read.failure()));
    };
    CHECK(error_of(titles + "m,64,0.1,2,10,1,0,1,0.1,50,0.5,0.3,700,0.01\n").empty());
    CHECK(error_of("name\n").starts_with("f:1: the columns have to be name,batch,floor"));
    auto const never = read_cpu_models(titles + "m,64,0.1,2,10,1,0,1,0.1,50,0.5,0.1,700,0.01\n");
    REQUIRE(never);
    CHECK((*never)[0].usual.length == 700);
    CHECK(error_of(titles + "m,64,0.1,2,10,1,0,1,0.1,50,9,8,700,0.01\n") ==
          "f:2: this curve begins below its Objective; write a harder one");
    for (char const* const row :
         {"m,64,0.1,2,10,1,0,1,0.1,50,0.5,0.6,700,0.01", "m,64,0.1,2,0,1,0,1,0.1,50,0.5,0.3,700,0.01",
          "m,0,0.1,2,10,1,0,1,0.1,50,0.5,0.3,700,0.01", "m,64,-0.1,2,10,1,0,1,0.1,50,0.5,0.3,700,0.01",
          "m,64,0.1,2,10,1,0,1,0.1,0,0.5,0.3,700,0.01", "m,64,0.1,2,10,1,0,1",
          "m,64,0.1,2,10,1,0,1,0.1,50,0.5,0.3,0,0.01", "m,64,nan,2,10,1,0,1,0.1,50,0.5,0.3,700,0.01"})
        CHECK(error_of(titles + row).starts_with("f:2: a row has a unique name and thirteen numbers"));
    CHECK(
        error_of(titles + "m,64,0.1,2,10,1,0,1,0.1,50,0.5,0.3,700,0.01\nm,64,0.1,2,10,1,0,1,0.1,50,0.5,0.3,700,0.01\n")
            .starts_with("f:3: a row has a unique name"));
}
