// SPDX-License-Identifier: Apache-2.0
#include "compare/drive_dump.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "common/failure.h"
#include "common/json.h"

namespace cli {

void check_dump(const std::string &path, bool has_drive) {
    if (path == "-")
        throw Failure(EXIT_USAGE, "--dump - would mix with the results: give it a file");
    if (!has_drive)
        throw Failure(EXIT_USAGE, "--dump: there is no drive whose state could be written");
}

void dump_drive(trib_pipeline *pipeline, const std::string &path) {
    char *text = nullptr;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        throw Failure(EXIT_RUNTIME, std::string("--dump: ") + std::strerror(errno));
    int rc = trib_pipeline_dump_drive(pipeline, out);
    if (std::fclose(out) != 0 && rc == 0)
        rc = -errno;
    std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
    if (rc == -ENOSYS)
        throw Failure(EXIT_USAGE, "--dump: this drive does not show its state");
    if (rc)
        throw core_failure(rc, "--dump: the drive's state cannot be written");
    write_text(std::string(text, length), path);
}

} // namespace cli
