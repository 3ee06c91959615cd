// AVX-512 with dot products of bytes (VNNI).
#define FT_ISA avx512
#include "backend/cpu/attention/byte_attention.h"
#include "backend/cpu/attention/query_lanes.h"
#include "backend/cpu/rows/row_kernels.h"

namespace foretoken {
namespace avx512 {

void FillLinear(Kernels& k);  // linear_avx512.cc

namespace {

AttentionOp OpOf(const AttentionUnit& u) {
  if (ByteAttention::Takes(u)) return EngineOp<ByteAttention>();
  const auto is_short = [](CacheType type) {
    return type == CacheType::kF16 || type == CacheType::kBF16;
  };
  if (u.key_type == CacheType::kF32 && u.value_type == CacheType::kF32) {
    return QueryLanesOpOr<FloatWords<FloatNumbers, CacheType::kF32>, VectorAttention<FloatNumbers>>(
        u);
  }
  if (is_short(u.key_type) && is_short(u.value_type)) {
    return QueryLanesOpOr<FloatWords<ShortNumbers, CacheType::kF16, CacheType::kBF16>,
                          VectorAttention<ShortNumbers>>(u);
  }
  if (u.key_type == CacheType::kF32 || u.value_type == CacheType::kF32) {
    return EngineOp<VectorAttention<FloatNumbers>>();
  }
  return EngineOp<VectorAttention<ShortNumbers>>();
}

}  // namespace

}  // namespace avx512

const Kernels& Avx512VnniKernels() {
  static const Kernels kernels = [] {
    Kernels k{};
    k.name = "avx512vnni";
    k.crossover_rows = 11;
    avx512::FillLinear(k);
    avx512::FillRows(k);
    avx512::FillAttention(k);
    k.attention = avx512::ChosenOp<avx512::OpOf>();
    k.few_queries = 4;
    return k;
  }();
  return kernels;
}

}  // namespace foretoken
