// All kernels as one program: what becomes fdconvert.ptx.
#include "base.cuh"
#include "layout.cuh"
#include "unstuff.cuh"
#include "tables.cuh"
#include "huffman.cuh"
#include "idct.cuh"
#include "pixels.cuh"
#include "resize.cuh"

#include "prepare.cu"
#include "decode.cu"
#include "output.cu"
