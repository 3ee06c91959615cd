#include "decoding.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/division.h"

namespace foretoken::train {
namespace {

using torch::Tensor;

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
// Column counts are rounded up to a multiple of this, for fewer matrix shapes and aligned masks.
constexpr int64_t kColumns = 16;
constexpr int64_t kCheckIntervalCpu = 1, kCheckIntervalGpu = 16;
constexpr int64_t kPrefillRowsCpu = 4096, kPrefillRowsGpu = 65536;
// Top tokens whose logits are recomputed in f32, because logits in bf16 often tie.
constexpr int64_t kCandidates = 8;

// Returns the mask for MaskedAttention, for prompts that begin at columns `first` [b]. A padding
// position attends to itself only, because every query must attend to at least one key.
Tensor PromptMask(const Tensor& first, int64_t columns, int64_t window) {
  const Tensor position = torch::arange(columns, first.options());
  const Tensor query = position.view({-1, 1}), key = position.view({1, -1});
  Tensor visible = (key <= query).logical_and(key >= first.view({-1, 1, 1, 1}));
  if (window > 0) visible = visible.logical_and(key > query - window);
  return visible.logical_or(key == query);
}

}  // namespace

GreedyDecoder::GreedyDecoder(const Llama& model, DecodingOptions options)
    : model_(model),
      shape_(model.shape()),
      options_(std::move(options)),
      compute_(model.head().compute.scalar_type()),
      device_(model.head().compute.device()),
      ropes_(shape_, device_) {
  const std::vector<int64_t> stop(options_.stop.begin(), options_.stop.end());
  stop_ = torch::tensor(stop, torch::kInt64).to(device_);
  if (options_.check_interval == 0) {
    options_.check_interval = device_.is_cpu() ? kCheckIntervalCpu : kCheckIntervalGpu;
  }
  if (options_.prefill_rows == 0) {
    options_.prefill_rows = device_.is_cpu() ? kPrefillRowsCpu : kPrefillRowsGpu;
  }
}

std::vector<GreedyAnswer> GreedyDecoder::Decode(std::span<const std::vector<Token>> prompts,
                                                const Watch& watch) {
  if (prompts.empty()) return {};
  const torch::NoGradGuard no_grad;
  Live live = Prefill(prompts);
  while (live.steps < options_.new_tokens) {
    if (live.steps % options_.check_interval == 0) {
      const Tensor ended = live.ended.cpu();
      const int64_t left = live.count() - ended.sum().item<int64_t>();
      if (!watch(std::ssize(prompts) - left) || left == 0) break;
      const double share = static_cast<double>(left) / static_cast<double>(live.count());
      if (share < options_.compact_below) Compact(ended, live);
    }
    Step(live);
  }
  return Collect(live);
}

GreedyDecoder::Live GreedyDecoder::Prefill(std::span<const std::vector<Token>> prompts) {
  const int64_t count = std::ssize(prompts);
  size_t longest = 0;
  for (const std::vector<Token>& prompt : prompts) longest = std::max(longest, prompt.size());
  Live live;
  live.columns = RoundUp(static_cast<int64_t>(longest), kColumns);
  const int64_t capacity = RoundUp(live.columns + options_.new_tokens, kColumns);

  Tensor ids = torch::zeros({count, live.columns}, torch::kInt64);
  Tensor first = torch::empty({count}, torch::kInt64);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t length = std::ssize(prompts[i]);
    TORCH_CHECK(length > 0, "an empty prompt has no next token");
    const int64_t begin = live.columns - length;
    first.data_ptr<int64_t>()[i] = begin;
    std::ranges::copy(prompts[i], ids.data_ptr<int64_t>() + i * live.columns + begin);
  }
  ids = ids.to(device_);
  first = first.to(device_);

  live.rotation = FactorsOf(ropes_.For(capacity));
  const auto cache = torch::TensorOptions(device_).dtype(compute_);
  for (int64_t i = 0; i < shape_.layers; ++i) {
    // Zeros, because masked columns must be finite: their weight is 0, but 0 * NaN is NaN.
    live.keys.push_back(torch::zeros({count * shape_.kv_heads, capacity, shape_.head_dim}, cache));
    live.values.push_back(torch::zeros_like(live.keys.back()));
  }
  const Tensor position = torch::arange(capacity, first.options());
  Tensor hidden = (position < first.view({-1, 1})).logical_or(position >= live.columns);
  if (shape_.window > 0) hidden = hidden.logical_or(position <= live.columns - shape_.window);
  live.mask = torch::zeros({count, capacity}, cache)
                  .masked_fill(hidden, kMinusInfinity)
                  .repeat_interleave(shape_.kv_heads, 0)
                  .unsqueeze(1);
  live.ended = torch::zeros({count}, first.options().dtype(torch::kBool));
  live.index = torch::arange(count, first.options());
  live.last = torch::empty_like(live.index);
  const int64_t filler = options_.stop.empty() ? 0 : options_.stop[0];
  live.written = torch::full({count, options_.new_tokens}, filler, first.options());

  const int64_t slice = std::max<int64_t>(1, options_.prefill_rows / live.columns);
  std::vector<Tensor> next;
  for (int64_t at = 0; at < count; at += slice) {
    const int64_t rows = std::min(slice, count - at);
    next.push_back(PrefillSlice(ids.narrow(0, at, rows), first.narrow(0, at, rows), at, live));
  }
  Emit(torch::cat(next), live);
  return live;
}

Tensor GreedyDecoder::PrefillSlice(const Tensor& ids, const Tensor& first, int64_t at,
                                   Live& live) const {
  const LlamaShape& s = shape_;
  const int64_t count = ids.size(0), columns = live.columns, group = s.heads / s.kv_heads;
  const Tensor mask = PromptMask(first, columns, s.window);
  const RotaryFactors rotation = live.rotation.Rows(0, columns);
  const auto store = [&](const Tensor& cache, const Tensor& part) {
    cache.view({-1, s.kv_heads, live.capacity(), s.head_dim})
        .narrow(0, at, count)
        .narrow(2, 0, columns)
        .copy_(part);
  };
  Stream stream{model_.embedding().index_select(0, ids.reshape({-1})), {}};
  for (int64_t i = 0; i < s.layers; ++i) {
    const Block& block = model_.blocks()[i];
    const NormResult a = AddRmsNorm(stream.h, stream.delta, block.input_norm, s.norm_eps, compute_);
    const Tensor heads = model_.Qkv(block, a.normed)
                             .view({count, columns, s.heads + 2 * s.kv_heads, s.head_dim})
                             .transpose(1, 2);
    const Tensor rotated = Rotated(heads.narrow(1, 0, s.heads + s.kv_heads), rotation).to(compute_);
    const Tensor k = rotated.narrow(1, s.heads, s.kv_heads);
    const Tensor v = heads.narrow(1, s.heads + s.kv_heads, s.kv_heads);
    store(live.keys[i], k);
    store(live.values[i], v);
    const Tensor mixed =
        MaskedAttention(rotated.narrow(1, 0, s.heads), k.repeat_interleave(group, 1),
                        v.repeat_interleave(group, 1), mask)
            .transpose(1, 2)
            .reshape({count * columns, s.heads * s.head_dim});
    stream = FeedForward(block, {a.residual, Linear(mixed, *block.out)}, s.norm_eps, compute_);
  }
  const auto ends = [&](const Tensor& rows) {
    return rows.view({count, columns, s.hidden}).select(1, columns - 1).contiguous();
  };
  return Choose({ends(stream.h), ends(stream.delta)});
}

void GreedyDecoder::Step(Live& live) const {
  const int64_t column = live.columns++;
  live.mask.select(2, column).zero_();
  if (shape_.window > 0 && column >= shape_.window) {
    live.mask.select(2, column - shape_.window).fill_(kMinusInfinity);
  }
  const int64_t covered = RoundUp(live.columns, kColumns);
  const Tensor mask =
      live.mask.narrow(2, 0, covered).expand({-1, shape_.heads / shape_.kv_heads, -1});
  Stream stream{model_.embedding().index_select(0, live.last), {}};
  for (size_t i = 0; i < model_.blocks().size(); ++i) {
    const Block& block = model_.blocks()[i];
    const NormResult a =
        AddRmsNorm(stream.h, stream.delta, block.input_norm, shape_.norm_eps, compute_);
    const Tensor mixed = StepAttention(model_.Qkv(block, a.normed), i, mask, live);
    stream = FeedForward(block, {a.residual, Linear(mixed, *block.out)}, shape_.norm_eps, compute_);
  }
  Emit(Choose(stream), live);
}

Tensor GreedyDecoder::StepAttention(const Tensor& qkv, size_t layer, const Tensor& mask,
                                    Live& live) const {
  const LlamaShape& s = shape_;
  const int64_t count = qkv.size(0), column = live.columns - 1;
  const Tensor heads = qkv.view({count, s.heads + 2 * s.kv_heads, s.head_dim});
  const Tensor rotated =
      Rotated(heads.narrow(1, 0, s.heads + s.kv_heads), live.rotation.Rows(column, 1));
  const auto store = [&](const Tensor& cache, const Tensor& part) {
    cache.view({count, s.kv_heads, live.capacity(), s.head_dim}).select(2, column).copy_(part);
  };
  store(live.keys[layer], rotated.narrow(1, s.heads, s.kv_heads));
  store(live.values[layer], heads.narrow(1, s.heads + s.kv_heads, s.kv_heads));
  const Tensor q = rotated.narrow(1, 0, s.heads)
                       .to(compute_)
                       .reshape({count * s.kv_heads, s.heads / s.kv_heads, s.head_dim});
  const Tensor k = live.keys[layer].narrow(1, 0, mask.size(2));
  const Tensor v = live.values[layer].narrow(1, 0, mask.size(2));
  const double scale = 1.0 / std::sqrt(static_cast<double>(s.head_dim));
  const Tensor scores = at::baddbmm(mask, q, k.transpose(1, 2), 1.0, scale);
  // softmax accumulates in f32 whatever the type of its input.
  return at::bmm(torch::softmax(scores, -1), v).view({count, s.heads * s.head_dim});
}

void GreedyDecoder::Emit(const Tensor& next, Live& live) const {
  live.last = options_.stop.empty() ? next : next.masked_fill(live.ended, options_.stop[0]);
  live.written.select(1, live.steps++).index_copy_(0, live.index, live.last);
  if (!options_.stop.empty()) live.ended.logical_or_(at::isin(live.last, stop_));
}

Tensor GreedyDecoder::Choose(const Stream& stream) const {
  const Tensor x =
      AddRmsNorm(stream.h, stream.delta, model_.final_norm(), shape_.norm_eps, compute_).normed;
  const Tensor& head = model_.head().compute;
  const Tensor logits = Linear(x, model_.head());
  if (compute_ == torch::kFloat32) return logits.argmax(1);
  const int64_t candidates = std::min(kCandidates, shape_.vocab);
  const Tensor ids = std::get<1>(torch::topk(logits, candidates, 1));
  const Tensor rows = head.index_select(0, ids.reshape({-1})).to(torch::kFloat32);
  const Tensor exact =
      at::bmm(rows.view({-1, candidates, shape_.hidden}), x.to(torch::kFloat32).unsqueeze(2));
  return ids.gather(1, exact.squeeze(2).argmax(1, /*keepdim=*/true)).squeeze(1);
}

void GreedyDecoder::Compact(const Tensor& ended, Live& live) const {
  const Tensor kept = ended.logical_not().nonzero().squeeze(1).to(device_);
  // Keeps the rows of unfinished sequences of a tensor [B * kv_heads, ...].
  const auto keep = [&](Tensor& part) {
    part = part.view({-1, shape_.kv_heads, part.size(1), part.size(2)})
               .index_select(0, kept)
               .flatten(0, 1);
  };
  for (Tensor& part : live.keys) keep(part);
  for (Tensor& part : live.values) keep(part);
  keep(live.mask);
  live.last = live.last.index_select(0, kept);
  live.ended = live.ended.index_select(0, kept);
  live.index = live.index.index_select(0, kept);
}

std::vector<GreedyAnswer> GreedyDecoder::Collect(const Live& live) const {
  const Tensor written = live.written.cpu();
  std::vector<GreedyAnswer> answers;
  for (int64_t i = 0; i < written.size(0); ++i) {
    const int64_t* row = written.data_ptr<int64_t>() + i * written.size(1);
    GreedyAnswer answer;
    answer.end =
        live.steps < options_.new_tokens ? GreedyAnswer::End::kCut : GreedyAnswer::End::kLimit;
    for (int64_t j = 0; j < live.steps; ++j) {
      const auto token = static_cast<Token>(row[j]);
      if (std::ranges::find(options_.stop, token) != options_.stop.end()) {
        answer.end = GreedyAnswer::End::kStop;
        break;
      }
      answer.tokens.push_back(token);
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace foretoken::train
