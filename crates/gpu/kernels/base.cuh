// What all kernels share: number types, and how one source becomes two programs.
//
// The same text is compiled for the GPU and, with any C++ compiler, for the CPU, where tests,
// sanitizers and a stand-in driver run it. Nothing is included, no library is called.
//
// A kernel is a sequence of phases with a barrier between them. Within a phase, a thread reads
// nothing that another thread writes in the same phase. On the GPU the threads of a phase run in
// parallel, on the CPU one after the other. State that a thread needs in a later phase goes into
// the shared memory of its block. A condition that selects the next phase must have the same value
// for all threads of the block.
//
//     FD_KERNEL(name, n_threads, Shared)          // { shared, batch, block } are given
//     {
//         FD_PHASE(n_threads, first_part(shared, batch, block, thread));
//         FD_PHASE(n_threads, second_part(shared, batch, block, thread));
//     }
//
// `block.item` is the part of an image that a block works on, `block.image` the position of the
// image in the batch. Every kernel takes one argument: the `Batch` of layout.cuh, or the type named
// by FD_KERNEL_OF.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;
typedef float f32;
typedef double f64;

struct Block {
    u32 item;
    u32 image;
};

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)

#define FD_DEVICE static __device__ __forceinline__
#define FD_METHOD __device__ __forceinline__
#define FD_CONSTANT static __constant__
#define FD_UNROLL _Pragma("unroll")

#define FD_PHASE(n_threads, call) \
    do {                          \
        call;                     \
        __syncthreads();          \
    } while (0)

#define FD_KERNEL_OF(name, n_threads, Shared, Argument)                                      \
    FD_DEVICE void name##_block(Shared& shared, const Argument& batch, Block block, u32 thread); \
    extern "C" __global__ void __launch_bounds__(n_threads) fdconvert_##name(const Argument batch) { \
        __shared__ Shared shared;                                                            \
        const Block block = {blockIdx.x, batch.first_image + blockIdx.y};                    \
        name##_block(shared, batch, block, threadIdx.x);                                     \
    }                                                                                        \
    FD_DEVICE void name##_block(Shared& shared, const Argument& batch, Block block, u32 thread)

FD_DEVICE u32 swap_bytes(u32 word) { return __byte_perm(word, 0, 0x0123); }
// The upper 32 bits of `high:low` shifted left by 0 to 31.
FD_DEVICE u32 shift_pair(u32 high, u32 low, u32 shift) { return __funnelshift_l(low, high, shift); }
FD_DEVICE f32 multiply_add(f32 a, f32 b, f32 c) { return __fmaf_rn(a, b, c); }
FD_DEVICE u32 f32_bits(f32 value) { return __float_as_uint(value); }
FD_DEVICE void set_flags(u32* word, u32 flags) { atomicOr(word, flags); }
FD_DEVICE void add_to(u32* word, u32 n) { atomicAdd(word, n); }
FD_DEVICE u32 count_bits(u32 word) { return (u32)__popc((int)word); }

#else

#define FD_DEVICE static inline
#define FD_METHOD inline
#define FD_CONSTANT static const
#define FD_UNROLL

// Within a phase the order of the threads must not matter. Tests compare a build that runs them
// backwards with one that does not.
#ifdef FD_BACKWARDS
#define FD_THREAD(turn, n_threads) ((n_threads) - 1 - (turn))
#else
#define FD_THREAD(turn, n_threads) (turn)
#endif

#define FD_PHASE(n_threads, call)                              \
    do {                                                       \
        for (u32 turn = 0; turn < (n_threads); ++turn) {       \
            const u32 thread = FD_THREAD(turn, n_threads);     \
            call;                                              \
        }                                                      \
    } while (0)

// Shared memory starts out as garbage, as on the GPU, so that no kernel relies on zeros.
#define FD_KERNEL_OF(name, n_threads, Shared, Argument)                            \
    FD_DEVICE void name##_block(Shared& shared, const Argument& batch, Block block); \
    extern "C" void fdconvert_##name(const Argument* batch, u32 n_items, u32 n_images) { \
        static thread_local Shared shared;                                         \
        for (u32 image = 0; image < n_images; ++image) {                           \
            for (u32 item = 0; item < n_items; ++item) {                           \
                __builtin_memset(&shared, 0xA5, sizeof shared);                    \
                const Block block = {item, batch->first_image + image};            \
                name##_block(shared, *batch, block);                               \
            }                                                                      \
        }                                                                          \
    }                                                                              \
    FD_DEVICE void name##_block(Shared& shared, const Argument& batch, Block block)

FD_DEVICE u32 swap_bytes(u32 word) { return __builtin_bswap32(word); }
FD_DEVICE u32 shift_pair(u32 high, u32 low, u32 shift) {
    return (u32)(((((u64)high << 32) | low) << shift) >> 32);
}
FD_DEVICE f32 multiply_add(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
FD_DEVICE u32 f32_bits(f32 value) {
    u32 bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}
FD_DEVICE void set_flags(u32* word, u32 flags) { *word |= flags; }
FD_DEVICE void add_to(u32* word, u32 n) { *word += n; }
FD_DEVICE u32 count_bits(u32 word) { return (u32)__builtin_popcount(word); }

#endif

#define FD_KERNEL(name, n_threads, Shared) FD_KERNEL_OF(name, n_threads, Shared, Batch)

FD_DEVICE u32 smaller(u32 a, u32 b) { return a < b ? a : b; }
FD_DEVICE u32 divide_up(u32 a, u32 b) { return a / b + (a % b != 0); }
FD_DEVICE u32 clamp_u8(i32 value) { return (u32)(value < 0 ? 0 : value > 255 ? 255 : value); }
