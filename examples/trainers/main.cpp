// SPDX-License-Identifier: BSL-1.0
/// `train MODEL`: trains one model on Fashion-MNIST on one thread, and reports its progress.
/// With devices of ration it saves and stops on command, and continues from its checkpoint.
/// Exit status: 0 all steps done or stopped by SIGTERM or Ctrl-C, 1 the data set cannot be read, 2 wrong command line,
/// 3 the loss was not finite.
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

#include <ration/progress/client_commands.h>

#include "checkpoint.hpp"
#include "command_line.hpp"
#include "fashion_mnist.hpp"
#include "recipes.hpp"
#include "training.hpp"

namespace {

using namespace trainers;

struct closer {
    void operator()(ration_progress* p) const { ration_progress_close(p); }
};
using progress_handle = std::unique_ptr<ration_progress, closer>;

std::sig_atomic_t volatile stop_asked = 0;

void ask_to_stop(int) { stop_asked = 1; }

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
    auto const refused = read_command_line(argc, argv, asked);
    return refused ? *refused : train_as(asked);
}
