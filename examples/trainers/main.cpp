// SPDX-License-Identifier: BSL-1.0
/// `train MODEL`: trains one model on Fashion-MNIST on one thread, and says on its way how far it is.
/// With devices of ration it saves and stops on command, and continues from its checkpoint.
/// Exit status: 0 all steps done or stopped by SIGTERM or Ctrl-C, 1 the data set cannot be read, 2 wrong command line,
/// 3 the loss was not finite.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cinttypes>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <ration/progress/client_commands.h>

#include "checkpoint.hpp"
#include "fashion_mnist.hpp"
#include "recipes.hpp"
#include "training.hpp"

namespace {

using namespace trainers;

enum exit_status : int { succeeded = 0, no_data = 1, wrong_command_line = 2, not_finite = 3 };

struct options {
    std::string model;
    std::uint64_t seed = 1;
    std::uint64_t steps = 0;  // 0: as the recipe says
    std::uint64_t batch = 0;  // 0: as the recipe says
    std::uint64_t report_every = 20;
    std::string data = fashion_mnist::default_folder;
};

struct closer {
    void operator()(ration_progress* p) const { ration_progress_close(p); }
};
using progress_handle = std::unique_ptr<ration_progress, closer>;

std::sig_atomic_t volatile stop_asked = 0;

void ask_to_stop(int) { stop_asked = 1; }

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

/// Where a job with devices saves; nothing for any other.
std::optional<checkpoint> checkpoint_of_job() {
    char const* const folder = std::getenv("RATION_CHECKPOINT");
    if (folder == nullptr || std::getenv("RATION_DEVICES") == nullptr) return std::nullopt;
    return checkpoint(folder);
}

/// Does what ration asks for after a step. True: the training stops.
bool obey(ration_progress* progress, checkpoint const& file, std::uint64_t step, adam<float>& optimiser) {
    double by = 0;
    int hold = 0;
    bool saved = false;
    int asked = ration_progress_command(progress, &by, &hold);
    while (asked == RATION_PROGRESS_SAVE || asked == RATION_PROGRESS_STOP) {
        if (asked == RATION_PROGRESS_SAVE || !saved) {
            saved = saved || file.save(step, optimiser);
            ration_progress_checkpoint(progress, step, saved ? 1 : 0);
        }
        if (asked == RATION_PROGRESS_STOP) return true;
        asked = saved && hold != 0 ? ration_progress_hold(progress, by, &by, &hold)
                                   : ration_progress_command(progress, &by, &hold);
    }
    return false;
}

/// The devices are parts of cores, which one process uses all.
void say_hello(ration_progress* progress, bool has_checkpoint) {
    if (!has_checkpoint) return ration_progress_hello(progress, 1, 1);
    std::string const devices = std::getenv("RATION_DEVICES");
    ration_progress_listen(progress);
    ration_progress_hello_on(progress, static_cast<std::uint32_t>(1 + std::ranges::count(devices, ',')), 1,
                             devices.c_str());
}

/// One generator for the weights and one for the batches: a model of another size sees the same images.
outcome run(options const& asked, recipe const& chosen, fashion_mnist const& data,
            std::optional<checkpoint> const& file, ration_progress* progress) {
    std::uint64_t const steps = asked.steps != 0 ? asked.steps : chosen.steps;
    rng weights(2 * asked.seed);
    auto const trained = chosen.build(weights);
    batch_source source(data, asked.batch != 0 ? asked.batch : chosen.batch, trained->noise_columns(),
                        rng(2 * asked.seed + 1));
    return train(
        *trained, chosen.rate, {steps, asked.report_every},
        {.next_batch = [&]() -> batch<float> const& { return source.next(); },
         .stop_asked = [] { return stop_asked != 0; },
         .at_step = [&](std::uint64_t step, double loss) { ration_progress_step(progress, step, loss, steps); },
         .at_report =
             [](std::uint64_t step, double loss) {
                 std::printf("step=%" PRIu64 " loss=%.6g\n", step, loss);
                 std::fflush(stdout);
             },
         .resume =
             [&](adam<float>& optimiser) {
                 std::uint64_t const before = file ? file->load(optimiser) : 0;
                 for (std::uint64_t step = 0; step < before; ++step) static_cast<void>(source.next());
                 return before;
             },
         .obey = [&](std::uint64_t step,
                     adam<float>& optimiser) { return file && obey(progress, *file, step, optimiser); }});
}

int finish(outcome how, ration_progress* progress) {
    if (how == outcome::diverged) {
        std::fputs("train: the loss is not finite; try another --seed or a larger --batch\n", stderr);
        ration_progress_bye(progress, not_finite, "diverged");
        return not_finite;
    }
    ration_progress_bye(progress, succeeded, how == outcome::stopped ? "stop" : "done");
    return succeeded;
}

int train_as(options const& asked) {
    progress_handle const progress(ration_progress_open());
    auto const file = checkpoint_of_job();
    say_hello(progress.get(), file.has_value());
    ration_progress_phase(progress.get(), "init");
    auto const data = load_fashion_mnist(asked.data);
    if (auto const* problem = std::get_if<std::string>(&data)) {
        std::fprintf(
            stderr,
            "train: cannot read the data set: %s; install it (apt-get install dataset-fashion-mnist) or name its folder "
            "with --data\n",
            problem->c_str());
        ration_progress_bye(progress.get(), no_data, "error");
        return no_data;
    }
    ration_progress_phase(progress.get(), "train");
    return finish(run(asked, *find_recipe(asked.model), std::get<fashion_mnist>(data), file, progress.get()),
                  progress.get());
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGTERM, ask_to_stop);
    std::signal(SIGINT, ask_to_stop);
    options asked;
    CLI::App app("Trains one model on Fashion-MNIST on one thread.", "train");
    describe(app, asked);
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& e) {
        return app.exit(e) == 0 ? succeeded : wrong_command_line;
    }
    return train_as(asked);
}
