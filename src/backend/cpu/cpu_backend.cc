#include "backend/cpu/cpu_backend.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "backend/cpu/isa/isa.h"
#include "backend/cpu/isa/kernel_config.h"
#include "backend/cpu/pack/packed_weight.h"
#include "base/available_cores.h"

namespace foretoken {

Result<std::unique_ptr<CpuBackend>> CpuBackend::Create(const Kernels& kernels,
                                                       const KernelConfig& config, int threads) {
  FT_RETURN_IF_ERROR(CheckConfig(kernels, config));
  if (threads == 0) threads = AvailableCores();
  auto prefetch = std::make_unique<WeightPrefetch>(threads);
  FT_ASSIGN_OR_RETURN(auto pool, ThreadPool::Create(threads, prefetch.get()));
  return std::unique_ptr<CpuBackend>(
      new CpuBackend(kernels, config, std::move(prefetch), std::move(pool)));
}

CpuBackend::CpuBackend(const Kernels& kernels, const KernelConfig& config,
                       std::unique_ptr<WeightPrefetch> prefetch, std::unique_ptr<ThreadPool> pool)
    : kernels_(kernels),
      config_(config),
      prefetch_(std::move(prefetch)),
      pool_(std::move(pool)),
      shares_(pool_->threads()),
      tiles_(kernels, config, *pool_),
      inner_tiles_(kernels, config) {
  attention_scratch_.resize(static_cast<size_t>(pool_->threads()));
}

std::string CpuBackend::Name() const { return std::string("cpu/") + kernels_.name; }

void CpuBackend::Watch(Profile* profile) {
  profile_ = profile;
  pool_->Watch(profile);
}

bool CpuBackend::RecordStatus(const Status& status) {
  if (failure_.ok()) failure_ = status;
  return status.ok();
}

Status CpuBackend::TakeFailure() { return std::exchange(failure_, Status()); }

Result<Buffer> CpuBackend::Allocate(DType type, int64_t rows, int64_t cols) {
  Buffer buffer;
  buffer.tensor = {.type = type,
                   .rows = rows,
                   .cols = cols,
                   .row_bytes = static_cast<int64_t>(RowBytes(type, cols))};
  const auto bytes = static_cast<size_t>(rows * buffer.tensor.row_bytes);
  PageMemory memory = AllocatePages(bytes);
  if (memory == nullptr) return OutOfMemory(bytes);
  buffer.tensor.data = memory.get();
  buffer.owner = std::make_shared<PageMemory>(std::move(memory));
  return buffer;
}

void CpuBackend::Upload(const void* host, Tensor dst) {
  FT_CHECK(dst.type == DType::kF32 || dst.type == DType::kI32);
  const auto host_row_bytes = static_cast<size_t>(dst.cols) * 4;
  for (int64_t r = 0; r < dst.rows; ++r) {
    std::memcpy(dst.data + r * dst.row_bytes,
                static_cast<const std::byte*>(host) + r * host_row_bytes, host_row_bytes);
  }
}

void CpuBackend::Download(Tensor src, float* host) {
  for (int64_t r = 0; r < src.rows; ++r) {
    Dequantize(src.type, src.data + r * src.row_bytes,
               {host + r * src.cols, static_cast<size_t>(src.cols)});
  }
}

Result<Backend::LoadedWeight> CpuBackend::LoadWeight(DType type, int64_t rows, int64_t cols,
                                                     const std::byte* data) {
  FT_ASSIGN_OR_RETURN(
      std::unique_ptr<PackedWeight> packed,
      PackedWeight::Pack(type, rows, cols, data, config_.interleaved_panels, *pool_, arena_));
  const bool finite = packed->is_finite();
  return LoadedWeight{std::move(packed), /*keeps_source=*/false, finite};
}

void CpuBackend::Embed(const Weight& table, std::span<const Token> tokens, Tensor out) {
  const Profile::Scope scope(profile_, "embedding");
  const auto& packed = static_cast<const PackedWeight&>(table);
  FT_CHECK(out.rows == static_cast<int64_t>(tokens.size()) && out.cols == table.cols());
  EachRow(out.rows, out.cols,
          [&](int64_t r) { packed.ReadRow(tokens[static_cast<size_t>(r)], FloatRow(out, r)); });
}

void CpuBackend::RmsNorm(Tensor x, Tensor gain, float eps, Tensor out) {
  const Profile::Scope scope(profile_, kNorms);
  const int64_t n = gain.cols;
  FT_CHECK(x.cols % n == 0 && out.rows == x.rows && out.cols == x.cols);
  EachRow(x.rows, x.cols, [&](int64_t r) {
    for (int64_t i = 0; i < x.cols; i += n) {
      kernels_.rms_norm(FloatRow(x, r) + i, FloatRow(gain, 0), eps, n, FloatRow(out, r) + i);
    }
  });
}

void CpuBackend::UpdateAngles(std::span<const Pos> positions, const RopeTable& table) {
  if (std::equal(positions.begin(), positions.end(), angles_.positions.begin(),
                 angles_.positions.end()) &&
      table.inv_freq == angles_.table.inv_freq && table.magnitude == angles_.table.magnitude) {
    return;
  }
  angles_.table = table;
  angles_.positions.assign(positions.begin(), positions.end());
  const size_t half = table.inv_freq.size();
  angles_.cos.resize(positions.size() * half);
  angles_.sin.resize(positions.size() * half);
  for (size_t r = 0; r < positions.size(); ++r) {
    for (size_t i = 0; i < half; ++i) {
      const float angle = static_cast<float>(positions[r]) * table.inv_freq[i];
      angles_.cos[r * half + i] = std::cos(angle) * table.magnitude;
      angles_.sin[r * half + i] = std::sin(angle) * table.magnitude;
    }
  }
}

void CpuBackend::Rope(Tensor x, std::span<const Pos> positions, int head_dim,
                      const RopeTable& table) {
  const Profile::Scope scope(profile_, "RoPE");
  const size_t half = table.inv_freq.size();
  FT_CHECK(x.rows == static_cast<int64_t>(positions.size()) && x.cols % head_dim == 0 &&
           static_cast<int>(2 * half) <= head_dim);
  UpdateAngles(positions, table);
  EachRow(x.rows, x.cols, [&](int64_t r) {
    const size_t at = static_cast<size_t>(r) * half;
    kernels_.rope(FloatRow(x, r), x.cols / head_dim, head_dim, static_cast<int>(2 * half),
                  table.interleaved, angles_.cos.data() + at, angles_.sin.data() + at);
  });
}

void CpuBackend::SiluMul(Tensor gate, Tensor up) {
  const Profile::Scope scope(profile_, kActivations);
  FT_CHECK(gate.rows == up.rows && gate.cols == up.cols);
  EachRow(gate.rows, gate.cols,
          [&](int64_t r) { kernels_.silu_mul(FloatRow(gate, r), FloatRow(up, r), gate.cols); });
}

void CpuBackend::Add(Tensor x, Tensor y) {
  const Profile::Scope scope(profile_, "additions");
  FT_CHECK(x.rows == y.rows && x.cols == y.cols);
  EachRow(x.rows, x.cols, [&](int64_t r) { kernels_.add(FloatRow(x, r), FloatRow(y, r), x.cols); });
}

void CpuBackend::ArgMax(Tensor logits, std::span<Token> out) {
  const Profile::Scope scope(profile_, "argmax and top-k");
  FT_CHECK(logits.rows == static_cast<int64_t>(out.size()));
  EachRow(logits.rows, logits.cols, [&](int64_t r) {
    out[static_cast<size_t>(r)] =
        static_cast<Token>(kernels_.arg_max(FloatRow(logits, r), logits.cols));
  });
}

void CpuBackend::TopK(Tensor logits, int count, std::span<RankedToken> out) {
  const Profile::Scope scope(profile_, "argmax and top-k");
  FT_CHECK(count >= 1 && logits.rows * count == static_cast<int64_t>(out.size()));
  EachRow(logits.rows, logits.cols, [&](int64_t r) {
    const auto top = out.subspan(static_cast<size_t>(r * count), static_cast<size_t>(count));
    const float sum = kernels_.top_k(FloatRow(logits, r), logits.cols, count, top.data());
    const float log_sum_exp = top[0].log_share + std::log(sum);
    for (RankedToken& ranked : top) {
      ranked.log_share -= log_sum_exp;
      if (sum == 0) ranked.token = kNoToken;
    }
  });
}

Result<std::unique_ptr<Backend>> NewCpuBackend(const CpuOptions& options) {
  FT_ASSIGN_OR_RETURN(const Kernels* kernels, KernelsFor(options.isa));
  FT_ASSIGN_OR_RETURN(std::unique_ptr<CpuBackend> backend,
                      CpuBackend::Create(*kernels, BestConfig(*kernels), options.threads));
  return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace foretoken
