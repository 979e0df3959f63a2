// SPDX-License-Identifier: BSL-1.0
#include "common/exit_code.hpp"

#include <cstdio>

#include "common/printable.hpp"

namespace ration::program {

exit_code fail(exit_code code, std::string_view sentence) {
    std::fprintf(stderr, "ration: %s\n", printable(sentence).c_str());
    return code;
}

}  // namespace ration::program
