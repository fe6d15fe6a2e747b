// Images made by formulas; no JPEG is involved.

FD_KERNEL_OF(fractal, FRACTAL_THREADS, FractalShared, Fractals) {
    FractalImage& image = batch.images[block.image];
    const u64 first_word = (u64)block.image * fractal_n_words(batch);
    u32* coverage = batch.coverage + first_word;
    FD_PHASE(FRACTAL_THREADS, fractal_load(shared, batch, image, coverage, thread));
    FD_PHASE(FRACTAL_THREADS, fractal_lead(shared, image, thread));
    FD_PHASE(FRACTAL_THREADS, fractal_bounds(shared, batch, image, thread));
    FD_PHASE(FRACTAL_THREADS, fractal_map(shared, batch, image, thread));
    FD_PHASE(FRACTAL_THREADS, fractal_draw(shared, batch, image, coverage, thread));
    FD_PHASE(FRACTAL_THREADS, fractal_write(shared, batch, coverage, thread));
    FD_PHASE(FRACTAL_THREADS, fractal_judge(shared, image, thread));
    if (batch.patches != nullptr) {
        u32* patches = batch.patches + first_word;
        FD_PHASE(FRACTAL_THREADS, fractal_patch(batch, image, coverage, patches, thread));
    }
}
