// Draws systems of arbitrary numbers, on any canvas that the host allows.
//
//     fractal SEED N
//
// Built with the address and undefined-behaviour sanitizers by `cargo xtask kernels`. Bitmaps have
// the host's exact size.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "fdconvert.cu"

namespace {

std::mt19937_64 generator;

u32 below(u32 bound) { return (u32)(generator() % bound); }
bool one_in(u32 n) { return below(n) == 0; }

// Mostly contracting values; also huge numbers, infinities and NaN.
f32 parameter() {
    const u32 bits = (u32)generator();
    if (!one_in(100)) return (f32)((double)(i32)bits / 2147483648.0);
    f32 value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

FractalSystem make_system() {
    FractalSystem system;
    for (auto& parameters : system.map) {
        for (f32& value : parameters) value = parameter();
    }
    for (u32& word : system.words) word = (u32)generator();
    return system;
}

}  // namespace

int main(int n_arguments, char** arguments) {
    if (n_arguments != 3) return 2;
    generator.seed(std::strtoull(arguments[1], nullptr, 10));
    const unsigned long n = std::strtoul(arguments[2], nullptr, 10);
    unsigned long n_drawn = 0, n_left = 0;
    while (n_drawn < n) {
        const std::vector<FractalSystem> systems = {make_system(), make_system()};
        std::vector<FractalImage> images(1 + below(3));
        for (FractalImage& image : images) {
            image = {below(2), {(u32)generator(), (u32)generator()}, below(200), 9};
        }
        const u32 pad = 4 + below(10);
        // Some exceed the shared memory.
        const u32 size = 2 * pad + 1 + below(one_in(50) ? 600 : 120);
        std::vector<u32> coverage(images.size() * divide_up(size, 64) * 2 * size);
        std::vector<u32> patches(coverage);
        u32* const wanted = one_in(4) ? nullptr : patches.data();
        const Fractals batch = {systems.data(), images.data(), coverage.data(), wanted,
                                0,              size,          pad,             below(40)};
        fdconvert_fractal(&batch, 1, (u32)images.size());
        for (const FractalImage& image : images) {
            if (image.left > FRACTAL_EMPTY) return 1;
            n_left += image.left != 0;
        }
        n_drawn += images.size();
    }
    std::printf("%lu fractals: %lu left to the CPU\n", n_drawn, n_left);
    return 0;
}
