// SPDX-License-Identifier: Apache-2.0
#include "common/input.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>
#include <zlib.h>
#include <zstd.h>

#include "common/failure.h"

namespace cli {

struct Input::Codec {
    virtual ~Codec() = default;
    virtual ssize_t read(char *out, size_t wanted) = 0; // 0 at the end, -1 on damage
    virtual uint64_t position_bytes() const = 0;
};

namespace {

std::string ending(const std::string &path) {
    return std::filesystem::path(path).extension().string();
}

Failure open_failure(const std::string &path) {
    if (errno == ENOENT)
        return Failure(EXIT_RUNTIME, "no trace at '" + path + "'; check the path");
    return Failure(EXIT_RUNTIME, "cannot read '" + path + "': " + std::strerror(errno));
}

} // namespace

namespace {

struct Zstandard : Input::Codec {
    FILE *raw;
    ZSTD_DStream *stream = ZSTD_createDStream();
    std::vector<char> buffer = std::vector<char>(ZSTD_DStreamInSize());
    ZSTD_inBuffer in = {buffer.data(), 0, 0};
    bool frame_open = false; // a file that ends inside a frame is cut

    explicit Zstandard(FILE *file) : raw(file) {
    }
    ~Zstandard() override {
        ZSTD_freeDStream(stream);
        std::fclose(raw);
    }
    ssize_t read(char *out, size_t wanted) override {
        ZSTD_outBuffer to = {out, wanted, 0};
        while (to.pos == 0) {
            if (in.pos == in.size) {
                in = {buffer.data(), std::fread(buffer.data(), 1, buffer.size(), raw), 0};
                if (in.size == 0)
                    return frame_open || std::ferror(raw) ? -1 : 0;
            }
            size_t left = ZSTD_decompressStream(stream, &to, &in);
            if (ZSTD_isError(left))
                return -1;
            frame_open = left != 0;
        }
        return static_cast<ssize_t>(to.pos);
    }
    uint64_t position_bytes() const override {
        long at = std::ftell(raw);
        return at < 0 ? 0 : static_cast<uint64_t>(at);
    }
};

struct Gzip : Input::Codec {
    gzFile file;

    explicit Gzip(FILE *raw) : file(gzdopen(dup(fileno(raw)), "rb")) {
        std::fclose(raw);
    }
    ~Gzip() override {
        if (file)
            gzclose(file);
    }
    ssize_t read(char *out, size_t wanted) override {
        int got = file ? gzread(file, out, static_cast<unsigned>(wanted)) : -1, error = Z_OK;
        if (got == 0) // a cut file ends like a whole one, but for this
            gzerror(file, &error);
        return error == Z_OK || error == Z_STREAM_END ? got : -1;
    }
    uint64_t position_bytes() const override {
        return file ? static_cast<uint64_t>(gzoffset(file)) : 0;
    }
};

ssize_t read_codec(void *codec, char *out, size_t wanted) {
    ssize_t got = static_cast<Input::Codec *>(codec)->read(out, wanted);
    if (got < 0)
        errno = EIO;
    return got;
}

} // namespace

bool is_compressed(const std::string &path) {
    return ending(path) == ".zst" || ending(path) == ".gz";
}

Input::Input(const std::string &path) {
    FILE *raw = std::fopen(path.c_str(), "rbe");
    struct stat status = {};
    if (!raw || fstat(fileno(raw), &status)) {
        Failure failure = open_failure(path);
        if (raw)
            std::fclose(raw);
        throw failure;
    }
    if (!S_ISREG(status.st_mode)) {
        std::fclose(raw);
        throw Failure(EXIT_RUNTIME, "'" + path +
                                        "' is no regular file; a trace is read more than "
                                        "once, so save it to a file");
    }
    size_bytes_ = static_cast<uint64_t>(status.st_size);
    if (!is_compressed(path)) {
        stream_ = raw;
        return;
    }
    if (ending(path) == ".zst")
        codec_ = std::make_unique<Zstandard>(raw);
    else
        codec_ = std::make_unique<Gzip>(raw);
    cookie_io_functions_t functions = {};
    functions.read = read_codec;
    stream_ = fopencookie(codec_.get(), "rb", functions);
    if (!stream_)
        throw Failure(EXIT_RUNTIME, "out of memory");
}

Input::~Input() {
    if (stream_)
        std::fclose(stream_);
}

uint64_t Input::position_bytes() const {
    if (codec_)
        return codec_->position_bytes();
    long at = std::ftell(stream_);
    return at < 0 ? 0 : static_cast<uint64_t>(at);
}

PlainPath::PlainPath(const std::string &path) : path_(path) {
    if (!is_compressed(path))
        return;
    Input input(path);
    descriptor_ = memfd_create("trace", MFD_CLOEXEC);
    if (descriptor_ < 0)
        throw open_failure(path);
    std::vector<char> buffer(1 << 20);
    while (size_t got = std::fread(buffer.data(), 1, buffer.size(), input.stream())) {
        if (write(descriptor_, buffer.data(), got) != static_cast<ssize_t>(got)) {
            close(descriptor_);
            throw Failure(EXIT_RUNTIME, "no memory to decompress '" + path + "'");
        }
    }
    if (std::ferror(input.stream())) {
        close(descriptor_);
        throw Failure(EXIT_RUNTIME, "'" + path + "' is damaged or cut: it cannot be decompressed");
    }
    path_ = "/proc/self/fd/" + std::to_string(descriptor_);
}

PlainPath::~PlainPath() {
    if (descriptor_ >= 0)
        close(descriptor_);
}

} // namespace cli
