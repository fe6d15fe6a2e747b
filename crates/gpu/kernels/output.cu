// From samples to the requested output.

FD_KERNEL(pixels, PIXEL_THREADS, PixelShared) {
    const Image& image = batch.images[block.image];
    const u32 flags = batch.states[block.image].flags;
    (void)shared;
    FD_PHASE(PIXEL_THREADS, write_pixel(batch, image, flags, block.item, thread));
}

FD_KERNEL(across, RESIZE_THREADS, ResizeShared) {
    const Image& image = batch.images[block.image];
    (void)shared;
    FD_PHASE(RESIZE_THREADS, resize_across(batch, image, block.item, thread));
}

FD_KERNEL(down, RESIZE_THREADS, ResizeShared) {
    const Image& image = batch.images[block.image];
    const u32 flags = batch.states[block.image].flags;
    (void)shared;
    FD_PHASE(RESIZE_THREADS, resize_down(batch, image, flags, block.item, thread));
}
