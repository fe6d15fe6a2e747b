//! Taking a code of a stream. For all functions here: the pointers are those of [`Bases::new`] for the
//! stream, and an x86-64 processor has BMI1 and BMI2.
use super::{Bases, Now, Stream};
use crate::plans::Way;
#[cfg(target_arch = "x86_64")]
use crate::{plans::Plan, table::Entry};
#[cfg(target_arch = "x86_64")]
use std::arch::asm;
use std::ptr::with_exposed_provenance_mut;

/// Loads the next bits, at least [`LOADED_BITS`](crate::plans::LOADED_BITS).
#[inline(always)]
pub(super) unsafe fn load(at: &Bases, now: &mut Now) {
    let n_used = now.bits.trailing_zeros();
    now.byte = (now.byte + u64::from(n_used / 8)).min(at.limit);
    // SAFETY: 8 bytes from `limit` are in the data.
    let word = unsafe { at.data.add(now.byte as usize).cast::<[u8; 8]>().read() };
    now.bits = (u64::from_be_bytes(word) | 1) << (n_used % 8);
}

/// Takes one code: for a whole entry the same as [`step_long`], in 16 instructions. The compiler
/// needs 24, and runs out of registers for five streams.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn step<W: Way>(at: &Bases, now: &mut Now, stream: &mut Stream<'_>) {
    if cfg!(sanitized) {
        // Sanitizers do not check the accesses of assembly.
        // SAFETY: passed on.
        *now = unsafe { step_long::<W>(at, *now, stream) };
        return;
    }
    let half: u64;
    let entry: u32;
    // SAFETY: a place in the cells has a plan, and a plan has as many entries as N bits can index;
    // the place that is written to is in the cells as long as the stream was stopped in time.
    unsafe {
        asm!(
            "mov {half}, {place}",
            "shr {half}, {part}",
            "mov {entry:r}, {bits}",
            "shr {entry:r}, {shift}",
            "add {entry:e}, dword ptr [{plans} + {half}*8]",
            "mov {entry:e}, dword ptr [{entries} + {entry:r}*4]",
            half = out(reg) half,
            entry = out(reg) entry,
            place = in(reg) now.place,
            bits = in(reg) now.bits,
            plans = in(reg) at.plans,
            entries = in(reg) at.entries,
            shift = const 64 - W::INDEX_BITS,
            part = const W::PLAN_SHIFT,
            options(pure, readonly, nostack),
        );
        let entry = Entry::of_bits(entry);
        if !entry.is_whole() {
            *now = step_long::<W>(at, *now, stream);
            return;
        }
        asm!(
            "shlx {bits}, {bits}, {entry:r}",
            "or {place:l}, byte ptr [{plans} + {half}*8 + {mask}]",
            "movzx {half:e}, {entry:h}",
            "shr {entry:e}, 16",
            "add {place}, {half}",
            "mov word ptr [{place} - 2], {entry:x}",
            bits = inout(reg) now.bits,
            place = inout(reg) now.place,
            entry = inout(reg_abcd) entry.bits() => _,
            half = inout(reg_abcd) half => _,
            plans = in(reg) at.plans,
            mask = const Plan::MASK_BYTE,
            options(nostack),
        );
    }
}

/// Takes one code. The compiler makes 10 instructions of it for aarch64.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) unsafe fn step<W: Way>(at: &Bases, now: &mut Now, stream: &mut Stream<'_>) {
    // SAFETY: a place in the cells has a plan, and a plan has as many entries as N bits can index;
    // the place that is written to is in the cells as long as the stream was stopped in time.
    unsafe {
        let plan = *at.plans.wrapping_add((now.place >> W::PLAN_SHIFT) as usize);
        let entry = *at.entries.add(plan.index(now.bits >> (64 - W::INDEX_BITS)));
        if !entry.is_whole() {
            *now = step_long::<W>(at, *now, stream);
            return;
        }
        // A shift uses the lowest six bits, which are those of `total_bits`.
        now.bits = now.bits.wrapping_shl(entry.bits());
        now.place = (now.place | plan.mask()) + u64::from(entry.advance());
        with_exposed_provenance_mut::<i16>(now.place as usize).sub(1).write(entry.value_here());
    }
}

/// Takes a code that is longer than the index, or has a longer value.
#[cold]
#[inline(never)]
#[cfg_attr(target_arch = "x86_64", target_feature(enable = "bmi1,bmi2"))]
unsafe fn step_long<W: Way>(at: &Bases, mut now: Now, stream: &mut Stream<'_>) -> Now {
    // SAFETY: as for `step`; a plan has its codes.
    unsafe {
        load(at, &mut now);
        let plan = *at.plans.wrapping_add((now.place >> W::PLAN_SHIFT) as usize);
        let mut entry = *at.entries.add(plan.index(now.bits >> (64 - W::INDEX_BITS)));
        if !entry.has_code() {
            let Some(found) = (*at.codes.add(plan.codes())).find(now.bits) else {
                // The block ends, and the next one starts a bit later. A stream with a guessed
                // start may still resynchronise.
                now.bits <<= 1;
                now.place = (now.place | 255) + 1;
                stream.failed = at.place(now.place);
                return now;
            };
            entry = found;
        }
        let value = entry.value(now.bits) & plan.kept();
        now.bits <<= entry.total_bits();
        now.place = (now.place | plan.mask()) + u64::from(entry.advance());
        with_exposed_provenance_mut::<i16>(now.place as usize).sub(1).write(value);
        load(at, &mut now);
    }
    now
}
