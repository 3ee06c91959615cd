#include "draft_ops.h"

#include <torch/autograd.h>

#include <cmath>

#include "draft_kernels.h"
#include "op_dispatch.h"
#include "ops.h"

namespace foretoken::train {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Queries, keys and values of the alignment passes (the sources of AlignedAttention), split by head
// into the kernels' layout (AttentionShape).
struct Heads {
  Tensor q;     // [blocks, matrices, group * block, head_dim]; of the last source only
  Tensor k, v;  // [sources, matrices, length, head_dim]
};

AlignedShape ShapeOf(const AttentionShape& s, int64_t sources, int64_t block) {
  return {s, block, (block + 1) * s.block, sources - 1};
}

template <typename T>
Heads Split(const Tensor& qkv, int64_t sources, const AttentionShape& s, const Tensor& rope) {
  const int64_t rows = s.batch * s.length, matrices = s.batch * s.kv_heads;
  Heads heads;
  heads.q = torch::empty({s.blocks(), matrices, s.group() * s.block, s.head_dim}, qkv.options());
  heads.k = torch::empty({sources, matrices, s.length, s.head_dim}, qkv.options());
  heads.v = torch::empty_like(heads.k);
  // Each source overwrites heads.q, so the last source's queries remain.
  for (int64_t i = 0; i < sources; ++i) {
    const Tensor part = qkv.narrow(0, i * rows, rows), k = heads.k[i], v = heads.v[i];
    ForRows(rows, [&](int64_t begin, int64_t end) {
      KernelsFor<T>().split_heads(begin, end, s, Data<T>(part), Data<float>(rope), Data<T>(heads.q),
                                  Data<T>(k), Data<T>(v));
    });
  }
  return heads;
}

// Attention by blocks of query positions, like AttentionFn (ops.cc). A query row attends to a
// single key of each source after the first. The softmax kernel computes these scores itself; only
// the scores of the first source need a matrix product.
class AlignedAttentionFn : public Function<AlignedAttentionFn> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& qkv, int64_t sources,
                        const AttentionShape& s, const Tensor& rope, const Tensor& first_key) {
    Tensor out;
    Dispatch(qkv.scalar_type(), [&](auto tag) {
      out = Forward<decltype(tag)>(ctx, qkv, sources, s, rope, first_key);
    });
    ctx->saved_data["sources"] = sources;
    ctx->saved_data["shape"] = Packed(s);
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const AttentionShape s = Unpacked(ctx->saved_data["shape"].toIntVector());
    Tensor dqkv;
    Dispatch(grads[0].scalar_type(),
             [&](auto tag) { dqkv = Backward<decltype(tag)>(ctx, s, grads[0].contiguous()); });
    return {dqkv, Tensor(), Tensor(), Tensor(), Tensor()};
  }

 private:
  template <typename T>
  static Tensor Forward(AutogradContext* ctx, const Tensor& qkv, int64_t sources,
                        const AttentionShape& s, const Tensor& rope, const Tensor& first_key) {
    const Heads heads = Split<T>(qkv, sources, s, rope);
    const Tensor late_k = heads.k.narrow(0, 1, sources - 1);
    const Tensor late_v = heads.v.narrow(0, 1, sources - 1);
    const int64_t rows = heads.q.size(1) * heads.q.size(2);
    Tensor context = torch::empty_like(heads.q);
    Tensor out = torch::empty({s.batch * s.length, s.heads * s.head_dim}, qkv.options());
    variable_list saved = {heads.q, heads.k, heads.v, rope};
    for (int64_t i = 0; i < s.blocks(); ++i) {
      const AlignedShape shape = ShapeOf(s, sources, i);
      const Tensor q = heads.q[i], block = context[i];
      // Scores of the first source, which aligned_softmax turns into probabilities.
      Tensor p = at::bmm(q, heads.k[0].narrow(1, 0, shape.keys).transpose(1, 2));
      Tensor late_probs = torch::empty({rows, shape.late}, rope.options());
      ForRows(rows, [&](int64_t begin, int64_t end) {
        DraftKernelsFor<T>().aligned_softmax(begin, end, shape, Data<int32_t>(first_key),
                                             Data<T>(q), Data<T>(late_k), Data<T>(p),
                                             Data<float>(late_probs));
      });
      Tensor product = block;
      at::bmm_out(product, p, heads.v[0].narrow(1, 0, shape.keys));
      ForRows(rows, [&](int64_t begin, int64_t end) {
        DraftKernelsFor<T>().add_late_values(begin, end, shape, Data<float>(late_probs),
                                             Data<T>(late_v), Data<T>(block));
      });
      saved.insert(saved.end(), {p, late_probs});
    }
    ForRows(s.batch * s.length, [&](int64_t begin, int64_t end) {
      KernelsFor<T>().scatter_blocks(begin, end, s, Data<T>(context), Data<T>(out));
    });
    ctx->save_for_backward(saved);
    return out;
  }

  // Gradients with respect to Heads.
  struct HeadGradients {
    Tensor q;     // as Heads::q
    Tensor k, v;  // as Heads::k, f32
  };

  // Computes the gradients of one query block: stores d.q[shape.index], and adds to d.k and d.v.
  template <typename T>
  static void BlockBackward(const AlignedShape& shape, const Heads& heads, const Tensor& p,
                            const Tensor& late_probs, const Tensor& dcontext,
                            const HeadGradients& d) {
    const Tensor late_k = heads.k.narrow(0, 1, shape.late),
                 late_v = heads.v.narrow(0, 1, shape.late);
    const Tensor late_dk = d.k.narrow(0, 1, shape.late), late_dv = d.v.narrow(0, 1, shape.late);
    const Tensor q = heads.q[shape.index];
    const int64_t rows = q.size(0) * q.size(1);
    const int64_t position_pairs = q.size(0) * shape.attention.block;  // (matrix, position)
    AddKeys<T>(at::bmm(p.transpose(1, 2), dcontext), d.v[0]);
    Tensor ds = at::bmm(dcontext, heads.v[0].narrow(1, 0, shape.keys).transpose(1, 2));
    Tensor late_dscores = torch::empty_like(late_probs);
    const DraftKernels<T>& kernels = DraftKernelsFor<T>();
    ForRows(rows, [&](int64_t begin, int64_t end) {
      kernels.aligned_softmax_backward(begin, end, shape, Data<T>(p), Data<float>(late_probs),
                                       Data<T>(late_v), Data<T>(dcontext), Data<T>(ds),
                                       Data<float>(late_dscores));
    });
    Tensor dq = d.q[shape.index];
    at::bmm_out(dq, ds, heads.k[0].narrow(1, 0, shape.keys));
    AddKeys<T>(at::bmm(ds.transpose(1, 2), q), d.k[0]);
    ForRows(position_pairs, [&](int64_t begin, int64_t end) {
      kernels.late_backward(begin, end, shape, Data<T>(q), Data<T>(late_k), Data<T>(dcontext),
                            Data<float>(late_probs), Data<float>(late_dscores), Data<T>(dq),
                            Data<float>(late_dk), Data<float>(late_dv));
    });
  }

  template <typename T>
  static Tensor Backward(AutogradContext* ctx, const AttentionShape& s, const Tensor& dout) {
    const int64_t sources = ctx->saved_data["sources"].toInt(), rows = s.batch * s.length;
    const auto saved = ctx->get_saved_variables();
    const Heads heads{saved[0], saved[1], saved[2]};
    const Tensor& rope = saved[3];
    Tensor dcontext = torch::empty_like(heads.q);
    ForRows(rows, [&](int64_t begin, int64_t end) {
      KernelsFor<T>().gather_blocks(begin, end, s, Data<T>(dout), Data<T>(dcontext));
    });
    const HeadGradients d{torch::empty_like(heads.q), torch::zeros(heads.k.sizes(), rope.options()),
                          torch::zeros(heads.v.sizes(), rope.options())};
    for (int64_t i = 0; i < s.blocks(); ++i) {
      BlockBackward<T>(ShapeOf(s, sources, i), heads, saved[4 + 2 * i], saved[5 + 2 * i],
                       dcontext[i], d);
    }
    const Tensor zero_dq = sources > 1 ? torch::zeros_like(d.q) : Tensor();
    Tensor dqkv = torch::empty({sources * rows, s.width()}, dout.options());
    for (int64_t i = 0; i < sources; ++i) {
      const Tensor &q = i + 1 == sources ? d.q : zero_dq, part = dqkv.narrow(0, i * rows, rows);
      const Tensor dk = d.k[i], dv = d.v[i];
      ForRows(rows, [&](int64_t begin, int64_t end) {
        KernelsFor<T>().merge_heads(begin, end, s, Data<T>(q), Data<float>(dk), Data<float>(dv),
                                    Data<float>(rope), Data<T>(part));
      });
    }
    return dqkv;
  }
};

class AddBiasFn : public Function<AddBiasFn> {
 public:
  static variable_list forward(AutogradContext*, const Tensor& x, const Tensor& bias) {
    Tensor wide = torch::empty(x.sizes(), bias.options()), narrow = torch::empty_like(x);
    Dispatch(x.scalar_type(), [&](auto tag) {
      using T = decltype(tag);
      ForRows(x.size(0), [&](int64_t begin, int64_t end) {
        DraftKernelsFor<T>().add_bias(begin, end, x.size(1), Data<T>(x), Data<float>(bias),
                                      Data<float>(wide), Data<T>(narrow));
      });
    });
    return {wide, narrow};
  }
  static variable_list backward(AutogradContext*, variable_list grads) {
    const Tensor dwide = grads[0].contiguous(), dnarrow = grads[1].contiguous();
    const int64_t rows = dwide.size(0), width = dwide.size(1);
    Tensor dx = torch::empty_like(dnarrow);
    Tensor parts = torch::zeros({kReduceParts, width}, dwide.options());
    Dispatch(dnarrow.scalar_type(), [&](auto tag) {
      using T = decltype(tag);
      at::parallel_for(0, kReduceParts, 1, [&](int64_t first, int64_t last) {
        for (int64_t part = first; part < last; ++part) {
          DraftKernelsFor<T>().add_bias_backward(
              rows * part / kReduceParts, rows * (part + 1) / kReduceParts, width,
              Data<float>(dwide), Data<T>(dnarrow), Data<T>(dx), Data<float>(parts) + part * width);
        }
      });
    });
    return {dx, parts.sum(0)};
  }
};

}  // namespace

Biased AddBias(const Tensor& x, const Tensor& bias) {
  if (!UsesKernels(x)) {
    const Tensor wide = x.to(torch::kFloat32) + bias;
    return {wide, wide.to(x.scalar_type())};
  }
  const variable_list out = AddBiasFn::apply(x, bias);
  return {out[0], out[1]};
}

Tensor GatherRows(const Tensor& values, const Tensor& rows, torch::ScalarType type) {
  if (!UsesKernels(values)) return values.index_select(0, rows).to(type);
  Tensor out = torch::empty({rows.size(0), values.size(1)}, values.options().dtype(type));
  Dispatch(type, [&](auto tag) {
    using T = decltype(tag);
    ForRows(rows.size(0), [&](int64_t begin, int64_t end) {
      DraftKernelsFor<T>().gather_rows(begin, end, values.size(1), Data<int64_t>(rows),
                                       Data<float>(values), Data<T>(out));
    });
  });
  return out;
}

Tensor SmoothL1(const Tensor& predictions, const Tensor& rows, const Tensor& targets,
                const Tensor& other_gradient, double scale, Tensor gradient) {
  if (!UsesKernels(predictions)) {
    const Tensor difference = predictions.index_select(0, rows) - targets.to(torch::kFloat32);
    const Tensor slope = difference.clamp(-1.0, 1.0);
    const double slope_scale = scale / static_cast<double>(predictions.size(1));
    gradient.index_copy_(0, rows, other_gradient.to(torch::kFloat32) + slope * slope_scale);
    return (slope * (difference - 0.5 * slope)).mean(1);
  }
  Tensor losses = torch::empty({rows.size(0)}, predictions.options());
  Dispatch(targets.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    ForRows(rows.size(0), [&](int64_t begin, int64_t end) {
      DraftKernelsFor<T>().smooth_l1(begin, end, predictions.size(1), Data<int64_t>(rows),
                                     Data<float>(predictions), Data<T>(targets),
                                     Data<T>(other_gradient), static_cast<float>(scale),
                                     Data<float>(gradient), Data<float>(losses));
    });
  });
  return losses;
}

Tensor AlignedAttention(const Tensor& qkv, int64_t sources, const AttentionShape& s,
                        const Tensor& rope, const Tensor& first_key) {
  if (!UsesKernels(qkv)) return PlainAlignedAttention(qkv, sources, s, rope, first_key);
  return AlignedAttentionFn::apply(qkv, sources, s, rope, first_key);
}

Tensor DistillationTargets(const Tensor& logits, double soft, double hard, int64_t top) {
  TORCH_CHECK(top <= kMostTopTokens, "top must be at most ", kMostTopTokens);
  if (!UsesKernels(logits)) {
    const Tensor p = torch::softmax(logits.to(torch::kFloat32), -1);
    const auto [best, ids] = p.topk(std::min(top, p.size(1)), -1);
    return (p * soft).scatter_add(1, ids, best * hard);
  }
  Tensor targets = torch::empty(logits.sizes(), logits.options().dtype(torch::kFloat32));
  Dispatch(logits.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    ForRows(logits.size(0), [&](int64_t begin, int64_t end) {
      DraftKernelsFor<T>().distillation_targets(begin, end, logits.size(1),
                                                static_cast<float>(soft), static_cast<float>(hard),
                                                top, Data<T>(logits), Data<float>(targets));
    });
  });
  return targets;
}

Tensor SoftCrossEntropy(Tensor logits, const Tensor& targets, double scale) {
  if (!UsesKernels(logits)) {
    const Tensor log_probs = torch::log_softmax(logits, -1, torch::kFloat32);
    const Tensor losses = -at::bmm(targets.unsqueeze(1), log_probs.unsqueeze(2)).view({-1});
    Tensor gradient = log_probs.exp_();
    gradient.mul_(targets.sum(-1, true) * scale).sub_(targets, scale);
    logits.copy_(gradient);
    return losses;
  }
  Tensor losses = torch::empty({logits.size(0)}, targets.options());
  Dispatch(logits.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    ForRows(logits.size(0), [&](int64_t begin, int64_t end) {
      DraftKernelsFor<T>().soft_cross_entropy(begin, end, logits.size(1), Data<float>(targets),
                                              static_cast<float>(scale), Data<T>(logits),
                                              Data<float>(losses));
    });
  });
  return losses;
}

Tensor DistillationLoss(const Tensor& x, const Matrix& table, const Tensor& features,
                        const Tensor& teacher, double scale, int64_t chunk) {
  const auto loss = [&](const Tensor& logits, int64_t first) {
    const Tensor teacher_logits = at::mm(features.narrow(0, first, logits.size(0)), teacher.t());
    const Tensor targets = DistillationTargets(teacher_logits, 1.0, 0.0, 1);
    const Tensor negative_entropy = at::xlogy(targets, targets).sum(1);
    return SoftCrossEntropy(logits, targets, scale) + negative_entropy;
  };
  return LossOfLogits(x, table, loss, scale, chunk);
}

}  // namespace foretoken::train
