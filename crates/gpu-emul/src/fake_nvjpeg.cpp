// A library that replaces nvJPEG and works in the streams of fake_cuda.cpp.
//
// It is strict where the real one would only probably fail. Pixels are written when something waits
// for the stream, not earlier; the memory must be allocated at that time, the context current, and
// the states prepared and idle. Created objects are counted, and any call can be made to fail. One
// bad image fails its batch, with pixels of some images written and garbage in the places of the
// rest. Images of kinds that nvJPEG decodes wrongly count as violations. The hardware engine
// decodes only batches.
//
// It has only the functions that fdconvert-gpu calls. Pixels come from a function that the test
// supplies.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;

namespace {

constexpr int SUCCESS = 0, NOT_INITIALIZED = 1, INVALID_PARAMETER = 2, BAD_JPEG = 3;
constexpr int NOT_SUPPORTED = 4, EXECUTION_FAILED = 6, ARCH_MISMATCH = 7, NOT_IMPLEMENTED = 9;
constexpr int AUTO = 0, HYBRID = 1, GPU_HYBRID = 2, HARDWARE = 3;
constexpr int RGB_INTERLEAVED = 5;
constexpr unsigned SMOOTH_CHROMA = 1 << 5;

struct Image {
    u8* channel[4];
    size_t pitch[4];
};
static_assert(sizeof(Image) == 64, "as in nvjpeg.h");

struct Counters {
    u32 handles, states, headers;
    u32 calls, together, alone, violations;
};

// Functions of fake_cuda.cpp in use.
struct Driver {
    int (*in_context)();
    int (*is_device_memory)(u64 address, size_t n_bytes);
    int (*issue)(u64 stream, void (*work)(void*), void (*forget)(void*), void* data);
};

// Writes width * height * 3 bytes of an image; returns nonzero on failure.
typedef int (*Decode)(const u8* bytes, size_t n_bytes, u32 width, u32 height, u8* rgb);

struct Frame {
    u8 kind = 0, precision = 0, n_components = 0;
    u32 width = 0, height = 0;
};

struct State {
    u64 handle = 0;
    int n_prepared = 0;
    bool is_prepared = false;
    int n_busy = 0;
};

struct Everything {
    Counters counters = {};
    Driver driver = {};
    Decode decode = nullptr;
    u32 fail_at = 0;
    int fail_with = 0;
    int version[3] = {12, 4, 0};
    u32 engines = 0xF;
    u64 next_handle = 0x70000;
    std::map<u64, int> handles;  // By handle: its engine.
    std::map<u64, std::shared_ptr<State>> states;
    std::map<u64, Frame> headers;
};

Everything& all() {
    static Everything* only = new Everything;
    return *only;
}

int enter() {
    all().counters.calls += 1;
    if (all().fail_at != 0 && all().counters.calls == all().fail_at) return all().fail_with;
    return SUCCESS;
}

int enter_with(u64 handle) {
    if (int code = enter()) return code;
    if (all().driver.in_context == nullptr || !all().driver.in_context()) return EXECUTION_FAILED;
    return all().handles.count(handle) ? SUCCESS : NOT_INITIALIZED;
}

// The first frame, of any kind.
bool find_frame(const u8* bytes, size_t n_bytes, Frame& frame) {
    if (n_bytes < 2 || bytes[0] != 0xFF || bytes[1] != 0xD8) return false;
    size_t at = 2;
    while (at + 4 <= n_bytes && bytes[at] == 0xFF) {
        const u8 marker = bytes[at + 1];
        if (marker == 0xFF) {
            at += 1;
            continue;
        }
        const size_t length = (size_t)bytes[at + 2] << 8 | bytes[at + 3];
        const bool is_frame = marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
        if (is_frame && at + 10 <= n_bytes) {
            const u8* it = bytes + at + 4;
            frame.kind = marker, frame.precision = it[0], frame.n_components = it[5];
            frame.height = (u32)it[1] << 8 | it[2], frame.width = (u32)it[3] << 8 | it[4];
            return true;
        }
        at += 2 + length;
    }
    return false;
}

typedef std::function<void()> Work;
bool issue(u64 stream, Work work) {
    auto run = [](void* data) { (*(Work*)data)(); };
    auto forget = [](void* data) { delete (Work*)data; };
    return all().driver.issue(stream, run, forget, new Work(std::move(work))) == 0;
}

// Decodes into private memory, and queues the write of the pixels in the stream.
int decode_one(std::shared_ptr<State> state, int engine, const u8* bytes, size_t n_bytes,
               const Image& to, u64 stream) {
    Frame frame;
    if (bytes == nullptr || !find_frame(bytes, n_bytes, frame)) return BAD_JPEG;
    const bool is_known = frame.kind <= 0xC2 && frame.precision == 8 &&
                          (frame.n_components == 1 || frame.n_components == 3);
    if (!is_known) {
        // This kind must never be passed to nvJPEG.
        all().counters.violations += 1;
        return NOT_SUPPORTED;
    }
    if (engine == HARDWARE && frame.kind != 0xC0) return NOT_SUPPORTED;
    const size_t row = (size_t)3 * frame.width, pitch = to.pitch[0];
    const u64 start = (u64)(uintptr_t)to.channel[0];
    const size_t n_written = pitch * (frame.height - 1) + row;
    if (pitch < row || !all().driver.is_device_memory(start, n_written)) return INVALID_PARAMETER;
    auto pixels = std::make_shared<std::vector<u8>>(row * frame.height, 0x99);
    bool is_good = true;
    if (all().decode != nullptr) {
        is_good = all().decode(bytes, n_bytes, frame.width, frame.height, pixels->data()) == 0;
    } else {
        for (size_t at = 0; at < pixels->size(); ++at) (*pixels)[at] = (u8)(at * 7 + n_bytes);
    }
    state->n_busy += 1;
    // Busy until the work is done or discarded.
    const std::shared_ptr<void> busy(nullptr, [=](void*) { state->n_busy -= 1; });
    const bool issued = issue(stream, [=] {
        (void)busy;
        if (!all().driver.is_device_memory(start, n_written)) {
            all().counters.violations += 1;
            return;
        }
        for (size_t y = 0; y < frame.height; ++y) {
            std::memcpy((u8*)(uintptr_t)start + y * pitch, pixels->data() + y * row, row);
        }
    });
    if (!issued) return EXECUTION_FAILED;
    return is_good ? SUCCESS : BAD_JPEG;
}

}  // namespace

#define ENTER(handle) \
    if (int code = enter_with(handle)) return code

EXPORT void fake_nvjpeg_reset(const Driver* driver) {
    const u32 alive[3] = {all().counters.handles, all().counters.states, all().counters.headers};
    all().counters = Counters{alive[0], alive[1], alive[2], 0, 0, 0, 0};
    all().driver = *driver;
    all().decode = nullptr;
    all().fail_at = 0;
    all().engines = 0xF;
}
EXPORT void fake_nvjpeg_fail(u32 call, int code) {
    all().fail_at = call, all().fail_with = code;
}
EXPORT void fake_nvjpeg_engines(u32 engines) { all().engines = engines; }
EXPORT void fake_nvjpeg_set_decoder(Decode decode) { all().decode = decode; }
EXPORT void fake_nvjpeg_counters(Counters* counters) { *counters = all().counters; }

EXPORT int nvjpegGetProperty(int number, int* value) {
    if (int code = enter()) return code;
    if (number < 0 || number > 2) return INVALID_PARAMETER;
    *value = all().version[number];
    return SUCCESS;
}
EXPORT int nvjpegCreateEx(int engine, const void* device, const void* pinned, unsigned flags,
                          u64* handle) {
    if (int code = enter()) return code;
    if (all().driver.in_context == nullptr || !all().driver.in_context()) return EXECUTION_FAILED;
    if (device != nullptr || pinned != nullptr || (flags & ~SMOOTH_CHROMA) != 0) {
        return INVALID_PARAMETER;
    }
    if (engine != AUTO && engine != HYBRID && engine != GPU_HYBRID && engine != HARDWARE) {
        return INVALID_PARAMETER;
    }
    if ((all().engines >> engine & 1) == 0) return ARCH_MISMATCH;
    *handle = all().next_handle++;
    all().handles[*handle] = engine;
    all().counters.handles += 1;
    return SUCCESS;
}
EXPORT int nvjpegDestroy(u64 handle) {
    // All of its objects must have been destroyed before.
    for (auto& state : all().states) {
        if (state.second->handle == handle) all().counters.violations += 1;
    }
    if (all().handles.erase(handle) == 0) return INVALID_PARAMETER;
    all().counters.handles -= 1;
    return SUCCESS;
}
EXPORT int nvjpegGetHardwareDecoderInfo(u64 handle, unsigned* engines, unsigned* cores) {
    ENTER(handle);
    *engines = 7, *cores = 5;
    return SUCCESS;
}
EXPORT int nvjpegJpegStateCreate(u64 handle, u64* state) {
    ENTER(handle);
    *state = all().next_handle++;
    all().states[*state] = std::make_shared<State>();
    all().states[*state]->handle = handle;
    all().counters.states += 1;
    return SUCCESS;
}
EXPORT int nvjpegJpegStateDestroy(u64 state) {
    auto found = all().states.find(state);
    if (found == all().states.end()) return INVALID_PARAMETER;
    if (found->second->n_busy > 0) all().counters.violations += 1;
    all().states.erase(found);
    all().counters.states -= 1;
    return SUCCESS;
}
EXPORT int nvjpegJpegStreamCreate(u64 handle, u64* headers) {
    ENTER(handle);
    *headers = all().next_handle++;
    all().headers[*headers] = Frame();
    all().counters.headers += 1;
    return SUCCESS;
}
EXPORT int nvjpegJpegStreamDestroy(u64 headers) {
    if (all().headers.erase(headers) == 0) return INVALID_PARAMETER;
    all().counters.headers -= 1;
    return SUCCESS;
}
EXPORT int nvjpegJpegStreamParseHeader(u64 handle, const u8* bytes, size_t n_bytes, u64 headers) {
    ENTER(handle);
    auto found = all().headers.find(headers);
    if (found == all().headers.end() || bytes == nullptr) return INVALID_PARAMETER;
    return find_frame(bytes, n_bytes, found->second) ? SUCCESS : BAD_JPEG;
}
EXPORT int nvjpegJpegStreamGetFrameDimensions(u64 headers, unsigned* width, unsigned* height) {
    if (int code = enter()) return code;
    auto found = all().headers.find(headers);
    if (found == all().headers.end() || found->second.kind == 0) return INVALID_PARAMETER;
    *width = found->second.width, *height = found->second.height;
    return SUCCESS;
}
EXPORT int nvjpegDecodeBatchedSupported(u64 handle, u64 headers, int* is_unsupported) {
    ENTER(handle);
    auto found = all().headers.find(headers);
    if (found == all().headers.end() || found->second.kind == 0) return INVALID_PARAMETER;
    // Progressive images only singly; lossless ones are falsely reported as supported.
    *is_unsupported = found->second.kind == 0xC2;
    return SUCCESS;
}
EXPORT int nvjpegDecodeBatchedInitialize(u64 handle, u64 state, int n_images, int n_threads,
                                         int format) {
    ENTER(handle);
    auto found = all().states.find(state);
    if (found == all().states.end() || found->second->handle != handle) return INVALID_PARAMETER;
    if (n_images < 1 || n_threads < 1 || format != RGB_INTERLEAVED) return INVALID_PARAMETER;
    if (found->second->n_busy > 0) all().counters.violations += 1;
    found->second->n_prepared = n_images;
    found->second->is_prepared = true;
    return SUCCESS;
}
EXPORT int nvjpegDecodeBatched(u64 handle, u64 state, const u8* const* bytes, const size_t* n_bytes,
                               Image* to, u64 stream) {
    ENTER(handle);
    auto found = all().states.find(state);
    if (found == all().states.end() || found->second->handle != handle) return INVALID_PARAMETER;
    std::shared_ptr<State> it = found->second;
    if (!it->is_prepared) return NOT_INITIALIZED;
    if (it->n_busy > 0) all().counters.violations += 1;
    for (int number = 0; number < it->n_prepared; ++number) {
        const int engine = all().handles[handle];
        const int code = decode_one(it, engine, bytes[number], n_bytes[number], to[number], stream);
        if (code != SUCCESS) {
            // Must be prepared again before its next use.
            it->is_prepared = false;
            return code;
        }
    }
    all().counters.together += (u32)it->n_prepared;
    return SUCCESS;
}
EXPORT int nvjpegDecode(u64 handle, u64 state, const u8* bytes, size_t n_bytes, int format,
                        Image* to, u64 stream) {
    ENTER(handle);
    auto found = all().states.find(state);
    if (found == all().states.end() || found->second->handle != handle) return INVALID_PARAMETER;
    if (format != RGB_INTERLEAVED) return INVALID_PARAMETER;
    if (all().handles[handle] == HARDWARE) return NOT_IMPLEMENTED;
    if (found->second->n_busy > 0) all().counters.violations += 1;
    const int code = decode_one(found->second, all().handles[handle], bytes, n_bytes, *to, stream);
    all().counters.alone += code == SUCCESS;
    return code;
}
