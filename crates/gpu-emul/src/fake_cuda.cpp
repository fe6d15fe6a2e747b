// A library that replaces the CUDA driver, with memory of the host and kernels on the CPU.
//
// It is strict where a GPU would only probably fail. Work is deferred, stream by stream, until
// something waits for it, so that a missing wait shows. Memory starts out with garbage, and ranges
// are checked. Allocations are counted, and any call can be made to fail.
//
// It has only the functions that fdconvert-gpu calls. Failing calls do nothing. A failing wait
// discards all queued work, as a lost context does.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

// The other direction than in emulator.cpp, which must give the same results.
#define FD_BACKWARDS
#include "fdconvert.cu"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100;
constexpr int INVALID_DEVICE = 101, INVALID_CONTEXT = 201, INVALID_PTX = 218, NOT_FOUND = 500;
constexpr int INVALID_HANDLE = 400, NOT_READY = 600, ILLEGAL_ADDRESS = 700;
constexpr unsigned DISABLE_TIMING = 2;
constexpr uintptr_t CONTEXT = 0xC0;

struct Counters {
    u32 device_memory, host_memory, streams, events, modules, contexts, pushed;
    u32 calls, launches, violations;
};

struct Work {
    std::deque<std::function<void()>> waiting;
    u64 n_issued = 0, n_done = 0;
};

typedef std::chrono::steady_clock Clock;
struct Mark {
    std::shared_ptr<Work> work;
    u64 position = 0;
    bool is_timed = false;
    std::shared_ptr<Clock::time_point> passed;  // Null before it is reached.
};

struct Everything {
    std::recursive_mutex lock;
    Counters counters = {};
    u32 fail_at = 0;  // 0: never.
    int fail_with = 0;
    int version = 12040, n_devices = 1, major = 9, minor = 0;
    u64 memory_bytes = u64(8) << 30;
    u64 next_handle = 0x1000;
    // 1 and 2 are the default streams, which exist without being created.
    std::map<u64, std::shared_ptr<Work>> streams = {{1, std::make_shared<Work>()},
                                                    {2, std::make_shared<Work>()}};
    std::map<u64, Mark> events;
    std::map<u64, std::string> modules;
    std::map<u64, size_t> device_memory, host_memory;
};

Everything& state() {
    static Everything* only = new Everything;
    return *only;
}

thread_local std::vector<uintptr_t> contexts;

// A kernel with its argument, which is copied as by the driver.
typedef std::function<void()> (*Bind)(const void* argument, u32 x, u32 y);
template <typename Argument, void (*kernel)(const Argument*, u32, u32)>
std::function<void()> bind(const void* argument, u32 x, u32 y) {
    const Argument copy = *(const Argument*)argument;
    return [=] { kernel(&copy, x, y); };
}
struct Named {
    const char* name;
    Bind bind;
    u32 n_threads;
};
const Named KERNELS[] = {
    {"fdconvert_tables", bind<Batch, fdconvert_tables>, TABLE_THREADS},
    {"fdconvert_unstuff", bind<Batch, fdconvert_unstuff>, UNSTUFF_THREADS},
    {"fdconvert_huffman", bind<Batch, fdconvert_huffman>, HUFFMAN_THREADS},
    {"fdconvert_idct", bind<Batch, fdconvert_idct>, IDCT_THREADS},
    {"fdconvert_pixels", bind<Batch, fdconvert_pixels>, PIXEL_THREADS},
    {"fdconvert_across", bind<Batch, fdconvert_across>, RESIZE_THREADS},
    {"fdconvert_down", bind<Batch, fdconvert_down>, RESIZE_THREADS},
    {"fdconvert_expand", bind<Batch, fdconvert_expand>, ROW_THREADS},
    {"fdconvert_change", bind<Batch, fdconvert_change>, CHANGE_THREADS},
    {"fdconvert_write", bind<Batch, fdconvert_write>, ROW_THREADS},
    {"fdconvert_fractal", bind<Fractals, fdconvert_fractal>, FRACTAL_THREADS},
};

void run_to(Work& work, u64 position) {
    while (work.n_done < position && !work.waiting.empty()) {
        std::function<void()> next = std::move(work.waiting.front());
        work.waiting.pop_front();
        work.n_done += 1;
        next();
    }
}

void run_all() {
    for (auto& stream : state().streams) run_to(*stream.second, stream.second->n_issued);
}

void lose_all() {
    for (auto& stream : state().streams) {
        stream.second->n_done = stream.second->n_issued;
        stream.second->waiting.clear();
    }
}

bool inside(const std::map<u64, size_t>& memory, u64 address, size_t n_bytes) {
    auto next = memory.upper_bound(address);
    if (next == memory.begin()) return false;
    --next;
    return address - next->first <= next->second && n_bytes <= next->second - (address - next->first);
}

// Counts the call, and returns an error if it is to fail.
int enter(bool in_context, bool is_wait = false) {
    Everything& all = state();
    all.counters.calls += 1;
    if (all.fail_at != 0 && all.counters.calls == all.fail_at) {
        if (is_wait) lose_all();
        return all.fail_with;
    }
    return in_context && contexts.empty() ? INVALID_CONTEXT : SUCCESS;
}

Work* issue(u64 stream, std::function<void()> work) {
    auto found = state().streams.find(stream);
    if (found == state().streams.end()) return nullptr;
    found->second->waiting.push_back(std::move(work));
    found->second->n_issued += 1;
    return found->second.get();
}

// A copy or fill. Its memory is checked when it is queued and again when it runs.
int issue_access(u64 stream, u64 device, const void* host, size_t n_bytes, std::function<void()> work) {
    auto good = [=] {
        return inside(state().device_memory, device, n_bytes) &&
               (host == nullptr || inside(state().host_memory, (u64)(uintptr_t)host, n_bytes));
    };
    if (!good()) return ILLEGAL_ADDRESS;
    auto checked = [=] {
        if (good()) {
            work();
        } else {
            state().counters.violations += 1;
        }
    };
    return issue(stream, checked) ? SUCCESS : INVALID_HANDLE;
}

void* allocate(std::map<u64, size_t>& memory, size_t n_bytes) {
    size_t in_use = 0;
    for (auto& block : memory) in_use += block.second;
    if (n_bytes > state().memory_bytes || in_use > state().memory_bytes - n_bytes) return nullptr;
    void* start = std::aligned_alloc(512, (n_bytes + 511) / 512 * 512);
    if (start == nullptr) return nullptr;
    std::memset(start, 0xCD, n_bytes);
    memory[(u64)(uintptr_t)start] = n_bytes;
    return start;
}

int release(std::map<u64, size_t>& memory, u64 address, u32& count) {
    auto found = memory.find(address);
    if (found == memory.end()) return INVALID_VALUE;
    std::memset((void*)(uintptr_t)address, 0xDD, found->second);
    memory.erase(found);
    std::free((void*)(uintptr_t)address);
    count -= 1;
    return SUCCESS;
}

}  // namespace

#define ENTER(...)                                            \
    std::lock_guard<std::recursive_mutex> guard(state().lock); \
    Everything& all = state();                                     \
    (void)all;                                                \
    if (int code = enter(__VA_ARGS__)) return code

// Releases a resource. Never made to fail, because no caller could react.
#define LEAVE()                                               \
    std::lock_guard<std::recursive_mutex> guard(state().lock); \
    Everything& all = state();                                     \
    (void)all

EXPORT void fake_cuda_reset() {
    LEAVE();
    lose_all();
    all.fail_at = 0;
    all.counters.calls = all.counters.launches = all.counters.violations = 0;
    all.version = 12040, all.n_devices = 1, all.major = 9, all.minor = 0;
    all.memory_bytes = u64(8) << 30;
}
EXPORT void fake_cuda_fail(u32 call, int code) {
    LEAVE();
    all.fail_at = call, all.fail_with = code;
}
EXPORT void fake_cuda_machine(int version, int n_devices, int major, int minor, u64 memory_bytes) {
    LEAVE();
    all.version = version, all.n_devices = n_devices, all.major = major, all.minor = minor;
    all.memory_bytes = memory_bytes;
}
EXPORT void fake_cuda_counters(Counters* counters) {
    LEAVE();
    *counters = all.counters;
}

// Used by fake_nvjpeg.cpp.
EXPORT int fake_cuda_in_context() { return !contexts.empty(); }
EXPORT int fake_cuda_is_device_memory(u64 address, size_t n_bytes) {
    LEAVE();
    return inside(all.device_memory, address, n_bytes);
}
EXPORT int fake_cuda_issue(u64 stream, void (*work)(void*), void (*forget)(void*), void* data) {
    LEAVE();
    // Forgotten after it has run, or when it is discarded.
    const std::shared_ptr<void> kept(data, forget);
    return issue(stream, [=] { work(kept.get()); }) ? SUCCESS : INVALID_HANDLE;
}

EXPORT int cuInit(unsigned) {
    ENTER(false);
    return all.n_devices == 0 ? NO_DEVICE : SUCCESS;
}
EXPORT int cuDriverGetVersion(int* version) {
    ENTER(false);
    *version = all.version;
    return SUCCESS;
}
EXPORT int cuGetErrorName(int code, const char** name) {
    switch (code) {
        case ILLEGAL_ADDRESS: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; return SUCCESS;
        case 719: *name = "CUDA_ERROR_LAUNCH_FAILED"; return SUCCESS;
        default: return INVALID_VALUE;
    }
}
EXPORT int cuDeviceGetCount(int* count) {
    ENTER(false);
    *count = all.n_devices;
    return SUCCESS;
}
EXPORT int cuDeviceGet(int* device, int ordinal) {
    ENTER(false);
    *device = ordinal;
    return ordinal >= 0 && ordinal < all.n_devices ? SUCCESS : INVALID_DEVICE;
}
EXPORT int cuDeviceGetName(char* name, int n_bytes, int) {
    ENTER(false);
    std::strncpy(name, "Made of tests", (size_t)n_bytes);
    return SUCCESS;
}
EXPORT int cuDeviceTotalMem_v2(size_t* n_bytes, int) {
    ENTER(false);
    *n_bytes = all.memory_bytes;
    return SUCCESS;
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
    ENTER(false);
    *value = attribute == 75 ? all.major : attribute == 76 ? all.minor : 2;
    return SUCCESS;
}
EXPORT int cuDevicePrimaryCtxRetain(uintptr_t* context, int) {
    ENTER(false);
    *context = CONTEXT;
    all.counters.contexts += 1;
    return SUCCESS;
}
EXPORT int cuDevicePrimaryCtxRelease_v2(int) {
    LEAVE();
    all.counters.contexts -= 1;
    return SUCCESS;
}
EXPORT int cuCtxPushCurrent_v2(uintptr_t context) {
    ENTER(false);
    if (context != CONTEXT || all.counters.contexts == 0) return INVALID_CONTEXT;
    contexts.push_back(context);
    all.counters.pushed += 1;
    return SUCCESS;
}
EXPORT int cuCtxPopCurrent_v2(uintptr_t* context) {
    LEAVE();
    if (contexts.empty()) return INVALID_CONTEXT;
    *context = contexts.back();
    contexts.pop_back();
    all.counters.pushed -= 1;
    return SUCCESS;
}
EXPORT int cuModuleLoadData(u64* module, const void* text) {
    ENTER(true);
    const std::string ptx = (const char*)text;
    if (ptx.find(".version 8.4") == std::string::npos) return INVALID_PTX;
    *module = all.next_handle++;
    all.modules[*module] = ptx;
    all.counters.modules += 1;
    return SUCCESS;
}
EXPORT int cuModuleUnload(u64 module) {
    LEAVE();
    if (all.modules.erase(module) == 0) return INVALID_HANDLE;
    all.counters.modules -= 1;
    return SUCCESS;
}
EXPORT int cuModuleGetFunction(uintptr_t* function, u64 module, const char* name) {
    ENTER(true);
    const auto found = all.modules.find(module);
    if (found == all.modules.end()) return INVALID_HANDLE;
    if (found->second.find(".entry " + std::string(name) + "(") == std::string::npos) return NOT_FOUND;
    for (const Named& kernel : KERNELS) {
        if (std::strcmp(kernel.name, name) == 0) {
            *function = (uintptr_t)&kernel;
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}
EXPORT int cuMemAlloc_v2(u64* address, size_t n_bytes) {
    ENTER(true);
    void* start = allocate(all.device_memory, n_bytes);
    if (start == nullptr) return OUT_OF_MEMORY;
    *address = (u64)(uintptr_t)start;
    all.counters.device_memory += 1;
    return SUCCESS;
}
EXPORT int cuMemFree_v2(u64 address) {
    LEAVE();
    run_all();
    return release(all.device_memory, address, all.counters.device_memory);
}
EXPORT int cuMemHostAlloc(void** start, size_t n_bytes, unsigned) {
    ENTER(true);
    *start = allocate(all.host_memory, n_bytes);
    if (*start == nullptr) return OUT_OF_MEMORY;
    all.counters.host_memory += 1;
    return SUCCESS;
}
EXPORT int cuMemFreeHost(void* start) {
    LEAVE();
    return release(all.host_memory, (u64)(uintptr_t)start, all.counters.host_memory);
}
EXPORT int cuMemcpyHtoDAsync_v2(u64 to, const void* from, size_t n_bytes, u64 stream) {
    ENTER(true);
    return issue_access(stream, to, from, n_bytes,
                        [=] { std::memcpy((void*)(uintptr_t)to, from, n_bytes); });
}
EXPORT int cuMemcpyDtoHAsync_v2(void* to, u64 from, size_t n_bytes, u64 stream) {
    ENTER(true);
    return issue_access(stream, from, to, n_bytes,
                        [=] { std::memcpy(to, (const void*)(uintptr_t)from, n_bytes); });
}
struct Copy2d {
    size_t from_x_bytes, from_y;
    unsigned from_type;
    const void* from_host;
    u64 from_device;
    void* from_array;
    size_t from_pitch, to_x_bytes, to_y;
    unsigned to_type;
    void* to_host;
    u64 to_device;
    void* to_array;
    size_t to_pitch, row_bytes, n_rows;
};
static_assert(sizeof(Copy2d) == 128 && offsetof(Copy2d, row_bytes) == 112, "as in cuda.h");
EXPORT int cuMemcpy2DAsync_v2(const Copy2d* asked, u64 stream) {
    ENTER(true);
    const Copy2d copy = *asked;
    const bool is_plain = copy.from_x_bytes == 0 && copy.from_y == 0 && copy.to_x_bytes == 0 &&
                          copy.to_y == 0 && copy.from_type == 2 && copy.to_type == 2;
    if (!is_plain || copy.row_bytes > copy.from_pitch || copy.row_bytes > copy.to_pitch) {
        return INVALID_VALUE;
    }
    if (copy.row_bytes == 0 || copy.n_rows == 0) return SUCCESS;
    const size_t n_to = copy.to_pitch * (copy.n_rows - 1) + copy.row_bytes;
    const size_t n_from = copy.from_pitch * (copy.n_rows - 1) + copy.row_bytes;
    auto from_is_good = [=] { return inside(state().device_memory, copy.from_device, n_from); };
    if (!from_is_good()) return ILLEGAL_ADDRESS;
    return issue_access(stream, copy.to_device, nullptr, n_to, [=] {
        if (!from_is_good()) {
            state().counters.violations += 1;
            return;
        }
        for (size_t row = 0; row < copy.n_rows; ++row) {
            std::memcpy((u8*)(uintptr_t)copy.to_device + row * copy.to_pitch,
                        (const u8*)(uintptr_t)copy.from_device + row * copy.from_pitch,
                        copy.row_bytes);
        }
    });
}
EXPORT int cuMemsetD8Async(u64 to, u8 value, size_t n_bytes, u64 stream) {
    ENTER(true);
    return issue_access(stream, to, nullptr, n_bytes,
                        [=] { std::memset((void*)(uintptr_t)to, value, n_bytes); });
}
EXPORT int cuStreamCreate(u64* stream, unsigned) {
    ENTER(true);
    *stream = all.next_handle++;
    all.streams[*stream] = std::make_shared<Work>();
    all.counters.streams += 1;
    return SUCCESS;
}
EXPORT int cuStreamDestroy_v2(u64 stream) {
    LEAVE();
    auto found = all.streams.find(stream);
    if (found == all.streams.end()) return INVALID_HANDLE;
    run_to(*found->second, found->second->n_issued);
    all.streams.erase(found);
    all.counters.streams -= 1;
    return SUCCESS;
}
EXPORT int cuStreamSynchronize(u64 stream) {
    ENTER(true, true);
    auto found = all.streams.find(stream);
    if (found == all.streams.end()) return INVALID_HANDLE;
    run_to(*found->second, found->second->n_issued);
    return SUCCESS;
}
EXPORT int cuStreamWaitEvent(u64 stream, u64 event, unsigned) {
    ENTER(true);
    auto found = all.events.find(event);
    if (found == all.events.end()) return INVALID_HANDLE;
    const Mark mark = found->second;
    auto wait = [mark] {
        if (mark.work) run_to(*mark.work, mark.position);
    };
    return issue(stream, wait) ? SUCCESS : INVALID_HANDLE;
}
EXPORT int cuEventCreate(u64* event, unsigned flags) {
    ENTER(true);
    *event = all.next_handle++;
    all.events[*event] = Mark();
    all.events[*event].is_timed = (flags & DISABLE_TIMING) == 0;
    all.counters.events += 1;
    return SUCCESS;
}
EXPORT int cuEventDestroy_v2(u64 event) {
    LEAVE();
    if (all.events.erase(event) == 0) return INVALID_HANDLE;
    all.counters.events -= 1;
    return SUCCESS;
}
EXPORT int cuEventRecord(u64 event, u64 stream) {
    ENTER(true);
    auto found = all.streams.find(stream);
    if (found == all.streams.end() || all.events.count(event) == 0) return INVALID_HANDLE;
    Mark& mark = all.events[event];
    mark.passed = nullptr;
    if (mark.is_timed) {
        issue(stream, [event] {
            auto passed = state().events.find(event);
            if (passed == state().events.end()) return;
            passed->second.passed = std::make_shared<Clock::time_point>(Clock::now());
        });
    }
    mark.work = found->second;
    mark.position = found->second->n_issued;
    return SUCCESS;
}
EXPORT int cuEventElapsedTime(float* milliseconds, u64 from, u64 to) {
    ENTER(true);
    auto start = all.events.find(from), end = all.events.find(to);
    if (start == all.events.end() || end == all.events.end()) return INVALID_HANDLE;
    const Mark &first = start->second, &last = end->second;
    if (!first.is_timed || !last.is_timed) return INVALID_HANDLE;
    if (!first.passed || !last.passed) return NOT_READY;
    *milliseconds = std::chrono::duration<float, std::milli>(*last.passed - *first.passed).count();
    return SUCCESS;
}
EXPORT int cuEventSynchronize(u64 event) {
    ENTER(true, true);
    auto found = all.events.find(event);
    if (found == all.events.end()) return INVALID_HANDLE;
    if (found->second.work) run_to(*found->second.work, found->second.position);
    return SUCCESS;
}
EXPORT int cuLaunchKernel(uintptr_t function, unsigned x, unsigned y, unsigned z, unsigned threads,
                          unsigned threads_y, unsigned threads_z, unsigned shared_bytes, u64 stream,
                          void** arguments, void** extra) {
    ENTER(true);
    const Named* kernel = (const Named*)function;
    const bool good = kernel >= KERNELS && kernel < KERNELS + sizeof KERNELS / sizeof KERNELS[0];
    if (!good || extra != nullptr || arguments == nullptr) return INVALID_VALUE;
    if (x == 0 || x > 0x7FFFFFFF || y == 0 || y > 65535 || z != 1) return INVALID_VALUE;
    if (threads != kernel->n_threads || threads_y != 1 || threads_z != 1 || shared_bytes != 0) {
        return INVALID_VALUE;
    }
    all.counters.launches += 1;
    return issue(stream, kernel->bind(arguments[0], x, y)) ? SUCCESS : INVALID_HANDLE;
}
