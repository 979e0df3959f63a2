// SPDX-License-Identifier: BSL-1.0
#include "command_line.hpp"

#include <CLI/CLI.hpp>
#include <vector>

#include "recipes.hpp"

namespace trainers {
namespace {

void describe(CLI::App& app, options& asked) {
    std::vector<std::string> names;
    std::string models = "What to train:";
    for (auto const& r : recipes()) {
        names.emplace_back(r.name);
        models += "\n" + std::string(r.name) + ": " + std::string(r.about) + ", batch " + std::to_string(r.batch) +
                  ", " + std::to_string(r.steps) + " steps";
    }
    app.add_option("model", asked.model, models)->required()->check(CLI::IsMember(names));
    CLI::Range const positive(1, 1'000'000'000);
    app.add_option("--seed", asked.seed, "The same seed gives the same losses")
        ->check(CLI::Range(0, 1'000'000'000))  // without it CLI11 takes -1 for 2^64 - 1
        ->capture_default_str();
    app.add_option("--steps", asked.steps, "Steps to take (default: see the model)")->check(positive);
    app.add_option("--batch", asked.batch, "Images per step (default: see the model)")->check(CLI::Range(1, 60'000));
    app.add_option("--data", asked.data, "Folder of the data set")->capture_default_str();
    app.add_option("--report-every", asked.report_every, "Steps from one printed loss to the next")
        ->check(positive)
        ->capture_default_str();
}

}  // namespace

std::optional<int> read_command_line(int argc, char** argv, options& asked) {
    CLI::App app("Trains one model on Fashion-MNIST on one thread.", "train");
    describe(app, asked);
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& e) {
        return app.exit(e) == 0 ? succeeded : wrong_command_line;
    }
    return std::nullopt;
}

}  // namespace trainers
