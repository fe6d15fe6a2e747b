// Before decoding: removes stuffing from each scan, and makes decoding tables from those of the
// file.

FD_KERNEL(unstuff, UNSTUFF_THREADS, UnstuffShared) {
    const Image& image = batch.images[block.image];
    State& state = batch.states[block.image];
    const u32 n_tiles = divide_up(image.scan_bytes, UNSTUFF_TILE);
    FD_PHASE(UNSTUFF_THREADS, unstuff_begin(shared, thread));
    // The same for all threads: `n_kept` changes only where a tile ends.
    for (u32 tile = 0; tile < n_tiles && shared.n_kept < image.needed_bytes; ++tile) {
        FD_PHASE(UNSTUFF_THREADS, unstuff_count(shared, image, tile, thread));
        FD_PHASE(UNSTUFF_THREADS, unstuff_sum_groups(shared, thread));
        FD_PHASE(UNSTUFF_THREADS, unstuff_sum_tile(shared, thread));
        FD_PHASE(UNSTUFF_THREADS, unstuff_write(shared, batch, image, state, tile, thread));
        FD_PHASE(UNSTUFF_THREADS, unstuff_next_tile(shared, thread));
    }
    FD_PHASE(UNSTUFF_THREADS, unstuff_end(shared, batch, image, state, thread));
}

// Here an item is a table of the batch, independent of the image.
FD_KERNEL(tables, TABLE_THREADS, TableShared) {
    const RawTable& table = batch.tables[block.item];
    u32* lookup = batch.lookups + (u64)block.item * FIRST_ENTRIES;
    FD_PHASE(TABLE_THREADS, table_load(shared, table, thread));
    FD_PHASE(TABLE_THREADS, table_codes(shared, thread));
    FD_PHASE(TABLE_THREADS, table_first(shared, table, lookup, thread));
    FD_PHASE(TABLE_THREADS, table_second(shared, table, batch.second, thread));
}
