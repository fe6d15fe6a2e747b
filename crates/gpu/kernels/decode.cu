// From codes to samples.

FD_KERNEL(huffman, HUFFMAN_THREADS, HuffmanShared) {
    const Image& image = batch.images[block.image];
    State& state = batch.states[block.image];
    i16* coefficients = batch.coefficients + (u64)image.coefficients_at * 64;
    FD_PHASE(HUFFMAN_THREADS, huffman_load(shared, batch, image, thread));
    FD_PHASE(HUFFMAN_THREADS, huffman_decode(shared, batch, image, coefficients, state, thread));
    FD_PHASE(HUFFMAN_THREADS, huffman_sum(shared, image, thread));
    FD_PHASE(HUFFMAN_THREADS, huffman_add(shared, batch, image, coefficients, thread));
}

FD_KERNEL(idct, IDCT_THREADS, IdctShared) {
    const Image& image = batch.images[block.image];
    FD_PHASE(IDCT_THREADS, idct_columns(shared, batch, image, block.item, thread));
    FD_PHASE(IDCT_THREADS, idct_rows(shared, batch, image, block.item, thread));
}
