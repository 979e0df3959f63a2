// SPDX-License-Identifier: BSL-1.0
#include "run/run_output.hpp"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "common/error_text.hpp"
#include "common/printable.hpp"
#include "run/run_folder.hpp"

namespace ration::program {
namespace {

namespace fs = std::filesystem;

void warn_of(error const& why) { std::fprintf(stderr, "ration: warning: %s\n", printable(to_text(why)).c_str()); }

void warn_if_failed(result<void> const& done) {
    if (!done) warn_of(done.failure());
}

[[nodiscard]] std::int64_t wall_clock_ms() {
    using namespace std::chrono;
    return duration_cast<std::chrono::milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string open_output_folder(planned_run const& planned, std::string const* reattached) {
    std::error_code failure;
    if (reattached != nullptr) fs::create_directories(*reattached, failure);  // it may have been removed since
    if (reattached != nullptr && !failure) return *reattached;
    auto made = make_run_folder(planned.folder, std::time(nullptr));
    if (made) return std::move(made).value();
    warn_of(made.failure());
    return {};
}

run_output::run_output(run_output_request const& request, reporter& out)
    : folder_(request.folder.empty() ? request.private_folder : request.folder),
      summary_(start_of_run(request.run, request.config, request.planned.choice.label, wall_clock_ms())),
      is_new_(request.is_new) {
    if (!request.folder.empty() && is_new_) warn_if_failed(point_latest_to(folder_));
    if (request.folder.empty())
        std::fprintf(stderr, "ration: warning: the output of the jobs is in %s, which the end of the run removes\n",
                     printable(folder_).c_str());
    if (auto const earlier = load_kept_run(folder_); earlier && !is_new_) summary_.started_ms = earlier->started_ms;
    warn_if_failed(replace_private_file(folder_ + "/jobs.toml", request.config.source));
    if (request.log.empty()) {
        auto const path = folder_ + "/events.jsonl";
        auto file = open_private_log(path);
        if (file)
            out.use_log(event_log(path, std::move(file).value()));
        else
            warn_of(file.failure());
    } else {
        summary_.log = fs::absolute(request.log).string();
    }
    save();
}

run_output::~run_output() {
    if (!is_new_ || summary_.has_ended()) return;
    summary_.ended_ms = wall_clock_ms();
    save();
}

void run_output::end(run_summary const& summary) {
    add_end(summary, wall_clock_ms(), summary_);
    save();
}

void run_output::save() const { warn_if_failed(replace_private_file(summary_in(folder_), to_json(summary_))); }

}  // namespace ration::program
