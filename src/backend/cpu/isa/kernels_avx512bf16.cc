// AVX-512 with products of bf16 pairs in one instruction.
#define FT_ISA avx512bf16
#include "backend/cpu/attention/attention_kernels.h"
#include "backend/cpu/attention/pair_numbers.h"
#include "backend/cpu/linear/linear_table.h"

namespace foretoken {
namespace avx512bf16 {
namespace {

AttentionOp OpOf(const AttentionUnit& u) {
  if (u.key_type == CacheType::kBF16 && u.value_type == CacheType::kBF16) {
    return QueryLanesOpOr<PairWords, VectorAttention<PairNumbers>>(u);
  }
  return Avx512VnniKernels().attention;
}

}  // namespace
}  // namespace avx512bf16

const Kernels& Avx512Kernels() {
  static const Kernels kernels = [] {
    Kernels k = Avx512VnniKernels();
    k.name = "avx512";
    avx512bf16::FillBf16(k);
    k.attention = avx512bf16::ChosenOp<avx512bf16::OpOf>();
    return k;
  }();
  return kernels;
}

}  // namespace foretoken
