// The sums of a convolution, for four outputs of four cells at a time: `plainSums` of convolve.js, which says what each
// argument is, in WebAssembly with SIMD. `python tools/wasm.py` compiles it.

#include <wasm_simd128.h>

typedef float four __attribute__((vector_size(16)));

__attribute__((export_name("convolve"))) void convolve(
    const float *input, const four *kernel, const four *bias, const float *added, four *output, int height, int width,
    int side, int stride, int step, int line, int blocks, int outputLine, int addedLine, int zoom, float lowest) {
  const four least = {lowest, lowest, lowest, lowest};
  const int hop = stride * step, across = side * step;
  for (int y = 0; y < height; y++) {
    for (int start = 0; start < width; start += 4) {
      const int x = start < width - 4 ? start : width - 4; // the last four may overlap those before
      const four *weights = kernel;
      for (int block = 0; block < blocks; block++) {
        four sums[4], *to = output + y * outputLine + x * blocks + block;
        for (int cell = 0; cell < 4; cell++) {
          sums[cell] = bias[block];
          if (added) sums[cell] += ((const four *)added)[(y >> zoom) * addedLine + ((x + cell) >> zoom) * blocks + block];
        }
        for (int row = 0; row < side; row++) {
          const float *from = input + (y * stride + row) * line + x * hop;
          for (int at = 0; at < across; at++, from++) { // the taps of a row lie side by side, as their cells do
            const four weight = *weights++;
            for (int cell = 0; cell < 4; cell++) sums[cell] += from[cell * hop] * weight;
          }
        }
        for (int cell = 0; cell < 4; cell++) to[cell * blocks] = (four)wasm_f32x4_pmax((v128_t)sums[cell], (v128_t)least);
      }
    }
  }
}
