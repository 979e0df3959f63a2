// SPDX-License-Identifier: BSL-1.0
/// The options of `ration twin`.
#pragma once

#include <string>
#include <vector>

namespace ration::program {

struct twin_options {
    std::string log;                    ///< a run of `ration runs`, `latest`, or an event log
    std::string against;                ///< the same, of the run that is predicted; empty: that of `log`
    std::vector<std::string> policies;  ///< besides that of the predicted run
    std::vector<std::string> settings;  ///< as `add_setting` takes them
    bool json = false;
};

}  // namespace ration::program
