// 8-bit images: drawn, changed, and written to the output.

FD_KERNEL(expand, ROW_THREADS, RowShared) {
    const Drawing& drawing = batch.drawings[block.image];
    const FractalImage& drawn = batch.drawn[block.image];
    State& state = batch.states[batch.n_decoded + block.image];
    (void)shared;
    FD_PHASE(ROW_THREADS, expand_pixel(batch, drawing, drawn, state, block.item, thread));
}

// One item per image, because its changes follow each other.
FD_KERNEL(change, CHANGE_THREADS, ChangeShared) {
    const Row& row = batch.row_table[block.image];
    u8* image = batch.rows + block.image * row_bytes(batch);
    u8* other = batch.spare_rows + block.image * row_bytes(batch);
    for (u32 number = 0; number < row.n_changes; ++number) {
        const Change& change = batch.changes[row.first_change + number];
        if (change.kind == CHANGE_COLOR) {
            FD_PHASE(CHANGE_THREADS, color(batch, change, image, thread));
            continue;
        }
        if (change.kind == CHANGE_WARP || change.kind == CHANGE_SHARPNESS) {
            if (change.kind == CHANGE_WARP) {
                FD_PHASE(CHANGE_THREADS, warp(batch, change, image, other, thread));
            } else {
                FD_PHASE(CHANGE_THREADS, sharpness(batch, change, image, other, thread));
            }
            u8* const changed = other;
            other = image, image = changed;
            continue;
        }
        if (is_counted(change.kind)) {
            FD_PHASE(CHANGE_THREADS, clear_counts(shared, thread));
            FD_PHASE(CHANGE_THREADS, count_levels(shared, batch, change, image, thread));
            FD_PHASE(CHANGE_THREADS, sum_counts(shared, batch, thread));
        }
        FD_PHASE(CHANGE_THREADS, make_table(shared, change, thread));
        FD_PHASE(CHANGE_THREADS, apply_table(shared, batch, image, thread));
    }
}

FD_KERNEL(write, ROW_THREADS, RowShared) {
    const Row& row = batch.row_table[block.image];
    (void)shared;
    FD_PHASE(ROW_THREADS, write_row(batch, row, block.image, block.item, thread));
}
