#include "glide/cross_attention.h"

#include <torch/autograd.h>

#include <cmath>
#include <limits>

#include "op_dispatch.h"
#include "ops_plain.h"

namespace foretoken::train {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Attention in blocks of query positions, like AttentionFn (ops.cc), with gradients for queries
// only.
class CrossAttentionFn : public Function<CrossAttentionFn> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& q, const Tensor& keys_values,
                        const AttentionShape& s, const Tensor& rope, const Tensor& first_key,
                        const Tensor& last_key) {
    Tensor out;
    Dispatch(q.scalar_type(), [&](auto tag) {
      out = Forward<decltype(tag)>(ctx, torch::cat({q, keys_values}, 1), s, rope, first_key,
                                   last_key);
    });
    ctx->saved_data["shape"] = Packed(s);
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const AttentionShape s = Unpacked(ctx->saved_data["shape"].toIntVector());
    variable_list result(6);
    Dispatch(grads[0].scalar_type(), [&](auto tag) {
      result[0] = Backward<decltype(tag)>(ctx->get_saved_variables(), s, grads[0].contiguous());
    });
    return result;
  }

 private:
  template <typename T>
  static Tensor Forward(AutogradContext* ctx, const Tensor& qkv, const AttentionShape& s,
                        const Tensor& rope, const Tensor& first_key, const Tensor& last_key) {
    const int64_t rows = s.batch * s.length, matrices = s.batch * s.kv_heads;
    const int64_t queries = s.group() * s.block;
    Tensor q = torch::empty({s.blocks(), matrices, queries, s.head_dim}, qkv.options());
    Tensor k = torch::empty({matrices, s.length, s.head_dim}, qkv.options());
    Tensor v = torch::empty_like(k), context = torch::empty_like(q);
    ForRows(rows, [&](int64_t begin, int64_t end) {
      KernelsFor<T>().split_heads(begin, end, s, Data<T>(qkv), Data<float>(rope), Data<T>(q),
                                  Data<T>(k), Data<T>(v));
    });
    variable_list saved = {k, v, rope};
    for (int64_t i = 0; i < s.blocks(); ++i) {
      const int64_t keys = (i + 1) * s.block;
      Tensor p = at::bmm(q[i], k.narrow(1, 0, keys).transpose(1, 2));
      ForRows(matrices * queries, [&](int64_t begin, int64_t end) {
        KernelsFor<T>().causal_softmax(begin, end, s, i, keys, Data<int32_t>(first_key),
                                       Data<int32_t>(last_key), Data<T>(p));
      });
      Tensor block = context[i];
      at::bmm_out(block, p, v.narrow(1, 0, keys));
      saved.push_back(p);
    }
    Tensor out = torch::empty({rows, s.heads * s.head_dim}, qkv.options());
    ForRows(rows, [&](int64_t begin, int64_t end) {
      KernelsFor<T>().scatter_blocks(begin, end, s, Data<T>(context), Data<T>(out));
    });
    ctx->save_for_backward(saved);
    return out;
  }

  template <typename T>
  static Tensor Backward(const variable_list& saved, const AttentionShape& s, const Tensor& dout) {
    const Tensor &k = saved[0], &v = saved[1], &rope = saved[2];
    const int64_t rows = s.batch * s.length, matrices = s.batch * s.kv_heads;
    const int64_t queries = s.group() * s.block;
    Tensor dcontext = torch::empty({s.blocks(), matrices, queries, s.head_dim}, dout.options());
    Tensor dq = torch::empty_like(dcontext);
    ForRows(rows, [&](int64_t begin, int64_t end) {
      KernelsFor<T>().gather_blocks(begin, end, s, Data<T>(dout), Data<T>(dcontext));
    });
    for (int64_t i = 0; i < s.blocks(); ++i) {
      const int64_t keys = (i + 1) * s.block;
      Tensor ds = at::bmm(dcontext[i], v.narrow(1, 0, keys).transpose(1, 2));
      ForRows(matrices * queries, [&](int64_t begin, int64_t end) {
        KernelsFor<T>().softmax_backward(begin, end, keys, Data<T>(saved[3 + i]), Data<T>(ds));
      });
      Tensor block = dq[i];
      at::bmm_out(block, ds, k.narrow(1, 0, keys));
    }
    const Tensor zeros = torch::zeros(k.sizes(), rope.options());  // gradients of keys and values
    Tensor dqkv = torch::empty({rows, s.width()}, dout.options());
    ForRows(rows, [&](int64_t begin, int64_t end) {
      KernelsFor<T>().merge_heads(begin, end, s, Data<T>(dq), Data<float>(zeros),
                                  Data<float>(zeros), Data<float>(rope), Data<T>(dqkv));
    });
    return dqkv.narrow(1, 0, s.heads * s.head_dim).contiguous();
  }
};

// Returns the positions of a sequence, [length], in the type of `like` [batch, length].
Tensor Positions(const Tensor& like) { return torch::arange(like.size(1), like.options()); }

}  // namespace

Tensor CrossAttention(const Tensor& q, const Tensor& keys_values, const AttentionShape& s,
                      const Tensor& rope, const Tensor& first_key, const Tensor& last_key) {
  if (!UsesKernels(q)) {
    return PlainCrossAttention(q, keys_values, s, rope, first_key, last_key);
  }
  return CrossAttentionFn::apply(q, keys_values, s, rope, first_key, last_key);
}

Tensor PlainCrossAttention(const Tensor& q, const Tensor& keys_values, const AttentionShape& s,
                           const Tensor& rope, const Tensor& first_key, const Tensor& last_key) {
  const auto heads = [&](const Tensor& x, int64_t count) {
    return x.reshape({s.batch, s.length, count, s.head_dim}).transpose(1, 2);
  };
  const int64_t width = s.kv_heads * s.head_dim;
  const auto repeat = [&](const Tensor& x) { return x.repeat_interleave(s.group(), 1); };
  const Tensor queries = PlainRotated(heads(q, s.heads), rope);
  const Tensor keys =
      repeat(PlainRotated(heads(keys_values.narrow(1, 0, width), s.kv_heads), rope));
  const Tensor values = repeat(heads(keys_values.narrow(1, width, width), s.kv_heads));
  const Tensor scores = torch::matmul(queries, keys.transpose(-1, -2)).to(torch::kFloat32) /
                        std::sqrt(static_cast<double>(s.head_dim));
  const Tensor position = Positions(first_key).view({1, 1, -1});
  const Tensor hidden = (position < first_key.unsqueeze(-1))
                            .logical_or(position > last_key.unsqueeze(-1))
                            .unsqueeze(1);
  const Tensor masked = scores.masked_fill(hidden, -std::numeric_limits<float>::infinity());
  return torch::matmul(torch::softmax(masked, -1).to(q.scalar_type()), values)
      .transpose(1, 2)
      .reshape({s.batch * s.length, s.heads * s.head_dim});
}

Tensor BlockKeys(const Tensor& first_key, int64_t block) {
  const Tensor in_document = Positions(first_key) - first_key;
  const Tensor start = in_document - in_document.remainder(block);
  return (first_key + torch::where(start.eq(0), in_document, start - 1)).contiguous();
}

Tensor StepKeys(const Tensor& first_key, int64_t step) {
  const Tensor in_document = Positions(first_key) - first_key;
  return (first_key + (in_document - step - 1).clamp_min(0)).contiguous();
}

}  // namespace foretoken::train
