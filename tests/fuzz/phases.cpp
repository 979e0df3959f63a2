// SPDX-License-Identifier: BSL-1.0
// Files of phase models, and logs from which they are learned: the first byte of an input chooses, the rest is the
// file.
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

#include <ration/estimators/phase_fit.hpp>

#include "measure/usage_recording.hpp"
#include "run/phase_models.hpp"
#include "support.hpp"

namespace estimators = ration::estimators;
namespace program = ration::program;
using fuzz::require;

namespace {

void check_models(std::string_view text) {
    auto const read = program::parse_phase_models(text);
    if (!read) {
        require(!read.failure().text.empty() && read.failure().text.size() < text.size() + 1000, "a sentence is long");
        return;
    }
    auto const written = program::phase_models_json(*read);
    auto const again = program::parse_phase_models(written);
    require(again && program::phase_models_json(*again) == written, "models differ after they were written and read");
    for (auto const& model : read->models) {
        require(model.is_valid(), "a model cannot be applied");
        auto const phase = model.phase_of({});
        require(phase < model.count || phase == estimators::no_phase, "a phase has no model");
    }
}

void check_log(std::string_view text) {
    int const file = ::memfd_create("log", MFD_CLOEXEC);
    require(file >= 0, "a file in memory can be made");
    require(::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "the file can grow");
    program::usage_by_job usage;
    static_cast<void>(program::add_usage("/proc/self/fd/" + std::to_string(file), ration::seconds(1), usage));
    ::close(file);
    for (auto const& [job, runs] : usage)
        require(estimators::fit_phases(runs, {.phases = 3}).is_valid(), "a learned model cannot be applied");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    fuzz::input in(data, size);
    bool const is_log = in.take<std::uint8_t>() == 'l';
    if (is_log)
        check_log(in.rest());
    else
        check_models(in.rest());
    return 0;
}
