#include "ops.h"

#include <torch/autograd.h>

#include <cmath>

#include "op_dispatch.h"
#include "ops_plain.h"

namespace foretoken::train {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

Tensor EmptyRows(const Tensor& like, int64_t rows, int64_t width) {
  return torch::empty({rows, width}, like.options());
}

// A product with up to three concatenated master weights, for example q, k and v of a Llama block.
class LinearFn : public Function<LinearFn> {
 public:
  using Optional = c10::optional<Tensor>;
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& compute,
                        const Tensor& w0, const Optional& w1, const Optional& w2) {
    ctx->save_for_backward({x, compute});
    std::vector<int64_t> rows = {w0.size(0)};
    if (w1) rows.push_back(w1->size(0));
    if (w2) rows.push_back(w2->size(0));
    ctx->saved_data["rows"] = rows;
    return at::mm(x, compute.t());
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &compute = saved[1];
    const Tensor dy = grads[0].contiguous();
    variable_list result = {ctx->needs_input_grad(0) ? at::mm(dy, compute) : Tensor(), Tensor()};
    const Tensor dw = at::mm(dy.t(), x).to(torch::kFloat32);
    int64_t first = 0;
    for (int64_t count : ctx->saved_data["rows"].toIntVector()) {
      result.push_back(dw.narrow(0, first, count));
      first += count;
    }
    result.resize(5);
    return result;
  }
};

class AddRmsNormFn : public Function<AddRmsNormFn> {
 public:
  static variable_list forward(AutogradContext* ctx, const Tensor& h,
                               const c10::optional<Tensor>& added, const Tensor& weight, double eps,
                               torch::ScalarType type) {
    const Tensor delta = added.value_or(Tensor());
    const int64_t rows = h.size(0), width = h.size(1);
    Tensor out = torch::empty_like(h), rstd = torch::empty({rows}, h.options());
    Tensor y = torch::empty({rows, width}, h.options().dtype(type));
    Dispatch(type, [&](auto tag) {
      using T = decltype(tag);
      ForRows(rows, [&](int64_t begin, int64_t end) {
        KernelsFor<T>().add_rms_norm(begin, end, width, Data<float>(h), Data<T>(delta),
                                     Data<float>(weight), static_cast<float>(eps), Data<float>(out),
                                     Data<T>(y), Data<float>(rstd));
      });
    });
    ctx->save_for_backward({out, weight, rstd});
    ctx->saved_data["has_delta"] = delta.defined();
    ctx->set_materialize_grads(false);
    return {out, y};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &out = saved[0], &weight = saved[1], &rstd = saved[2];
    const Tensor dy = grads[1].contiguous();
    const Tensor dresidual = grads[0].defined() ? grads[0].contiguous() : Tensor();
    const int64_t rows = out.size(0), width = out.size(1);
    Tensor dh = torch::empty_like(out);
    Tensor ddelta = ctx->saved_data["has_delta"].toBool() ? torch::empty_like(dy) : Tensor();
    Tensor parts = torch::zeros({kReduceParts, width}, out.options());
    Dispatch(dy.scalar_type(), [&](auto tag) {
      using T = decltype(tag);
      at::parallel_for(0, kReduceParts, 1, [&](int64_t first, int64_t last) {
        for (int64_t part = first; part < last; ++part) {
          KernelsFor<T>().add_rms_norm_backward(
              rows * part / kReduceParts, rows * (part + 1) / kReduceParts, width, Data<float>(out),
              Data<float>(weight), Data<float>(rstd), Data<T>(dy), Data<float>(dresidual),
              Data<float>(dh), Data<T>(ddelta), Data<float>(parts) + part * width);
        }
      });
    });
    return {dh, ddelta, parts.sum(0), Tensor(), Tensor()};
  }
};

class SwiGluFn : public Function<SwiGluFn> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& gate_up) {
    const int64_t rows = gate_up.size(0), width = gate_up.size(1) / 2;
    Tensor out = EmptyRows(gate_up, rows, width);
    Dispatch(gate_up.scalar_type(), [&](auto tag) {
      using T = decltype(tag);
      ForRows(rows, [&](int64_t begin, int64_t end) {
        KernelsFor<T>().swiglu(begin, end, width, Data<T>(gate_up), Data<T>(out));
      });
    });
    ctx->save_for_backward({gate_up});
    return out;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const Tensor gate_up = ctx->get_saved_variables()[0];
    const Tensor dout = grads[0].contiguous();
    Tensor dgate_up = torch::empty_like(gate_up);
    Dispatch(gate_up.scalar_type(), [&](auto tag) {
      using T = decltype(tag);
      ForRows(gate_up.size(0), [&](int64_t begin, int64_t end) {
        KernelsFor<T>().swiglu_backward(begin, end, dout.size(1), Data<T>(gate_up), Data<T>(dout),
                                        Data<T>(dgate_up));
      });
    });
    return {dgate_up};
  }
};

// Attention by blocks of query positions. Block i needs only keys [0, (i + 1) * block), which saves
// nearly half of the arithmetic. Besides q, k and v, the backward pass keeps the blocks'
// probabilities.
class AttentionFn : public Function<AttentionFn> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& qkv, const std::vector<int64_t>& shape,
                        const Tensor& rope, const Tensor& first_key) {
    const AttentionShape s = Unpacked(shape);
    const int64_t rows = s.batch * s.length, matrices = s.batch * s.kv_heads;
    const int64_t queries = s.group() * s.block;
    Tensor q = torch::empty({s.blocks(), matrices, queries, s.head_dim}, qkv.options());
    Tensor k = torch::empty({matrices, s.length, s.head_dim}, qkv.options());
    Tensor v = torch::empty_like(k), context = torch::empty_like(q);
    Tensor out = EmptyRows(qkv, rows, s.heads * s.head_dim);
    variable_list saved = {q, k, v, rope};
    Dispatch(qkv.scalar_type(), [&](auto tag) {
      using T = decltype(tag);
      const Kernels<T>& kernels = KernelsFor<T>();
      ForRows(rows, [&](int64_t begin, int64_t end) {
        kernels.split_heads(begin, end, s, Data<T>(qkv), Data<float>(rope), Data<T>(q), Data<T>(k),
                            Data<T>(v));
      });
      for (int64_t i = 0; i < s.blocks(); ++i) {
        const int64_t keys = (i + 1) * s.block;
        Tensor p = at::bmm(q[i], k.narrow(1, 0, keys).transpose(1, 2));
        ForRows(matrices * queries, [&](int64_t begin, int64_t end) {
          kernels.causal_softmax(begin, end, s, i, keys, Data<int32_t>(first_key), nullptr,
                                 Data<T>(p));
        });
        Tensor block = context[i];
        at::bmm_out(block, p, v.narrow(1, 0, keys));
        saved.push_back(p);
      }
      ForRows(rows, [&](int64_t begin, int64_t end) {
        kernels.scatter_blocks(begin, end, s, Data<T>(context), Data<T>(out));
      });
    });
    ctx->save_for_backward(saved);
    ctx->saved_data["shape"] = shape;
    return out;
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const AttentionShape s = Unpacked(ctx->saved_data["shape"].toIntVector());
    const auto saved = ctx->get_saved_variables();
    const Tensor &q = saved[0], &k = saved[1], &v = saved[2], &rope = saved[3];
    const Tensor dout = grads[0].contiguous();
    const int64_t rows = s.batch * s.length, matrices = s.batch * s.kv_heads;
    Tensor dcontext = torch::empty_like(q), dq = torch::empty_like(q);
    Tensor dk = torch::zeros(k.sizes(), k.options().dtype(torch::kFloat32));
    Tensor dv = torch::zeros_like(dk);
    Tensor dqkv = EmptyRows(dout, rows, s.width());
    Dispatch(q.scalar_type(), [&](auto tag) {
      using T = decltype(tag);
      const Kernels<T>& kernels = KernelsFor<T>();
      ForRows(rows, [&](int64_t begin, int64_t end) {
        kernels.gather_blocks(begin, end, s, Data<T>(dout), Data<T>(dcontext));
      });
      for (int64_t i = 0; i < s.blocks(); ++i) {
        const int64_t keys = (i + 1) * s.block;
        const Tensor& p = saved[4 + i];
        AddKeys<T>(at::bmm(p.transpose(1, 2), dcontext[i]), dv);
        Tensor ds = at::bmm(dcontext[i], v.narrow(1, 0, keys).transpose(1, 2));
        ForRows(matrices * s.group() * s.block, [&](int64_t begin, int64_t end) {
          kernels.softmax_backward(begin, end, keys, Data<T>(p), Data<T>(ds));
        });
        Tensor block = dq[i];
        at::bmm_out(block, ds, k.narrow(1, 0, keys));
        AddKeys<T>(at::bmm(ds.transpose(1, 2), q[i]), dk);
      }
      ForRows(rows, [&](int64_t begin, int64_t end) {
        kernels.merge_heads(begin, end, s, Data<T>(dq), Data<float>(dk), Data<float>(dv),
                            Data<float>(rope), Data<T>(dqkv));
      });
    });
    return {dqkv, Tensor(), Tensor(), Tensor()};
  }
};

class EmbedFn : public Function<EmbedFn> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& table, const Tensor& ids) {
    ctx->save_for_backward({ids});
    ctx->saved_data["rows"] = table.size(0);
    return table.index_select(0, ids);
  }
  // Each thread owns columns, so that every sum is taken in row order for any thread count.
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const Tensor ids = ctx->get_saved_variables()[0].to(torch::kInt64).contiguous();
    const Tensor dout = grads[0].contiguous();
    const int64_t rows = dout.size(0), width = dout.size(1);
    Tensor dtable = torch::zeros({ctx->saved_data["rows"].toInt(), width}, dout.options());
    const float* from = Data<float>(dout);
    float* to = Data<float>(dtable);
    const int64_t* id = Data<int64_t>(ids);
    at::parallel_for(0, width, 16, [&](int64_t begin, int64_t end) {
      for (int64_t r = 0; r < rows; ++r) {
        KernelsFor<float>().add_to_float(begin, end, from + r * width, to + id[r] * width);
      }
    });
    return {dtable, Tensor()};
  }
};

// Replaces logits by their gradient and returns the loss of each row.
Tensor CrossEntropy(Tensor logits, const Tensor& targets, const Tensor& weights, double scale) {
  if (!UsesKernels(logits)) return PlainCrossEntropy(logits, targets, weights, scale);
  Tensor losses = torch::empty({logits.size(0)}, weights.options());
  Dispatch(logits.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    ForRows(logits.size(0), [&](int64_t begin, int64_t end) {
      KernelsFor<T>().cross_entropy(begin, end, logits.size(1), Data<int32_t>(targets),
                                    Data<float>(weights), static_cast<float>(scale),
                                    Data<T>(logits), Data<float>(losses));
    });
  });
  return losses;
}

// sum += part, where sum is f32.
void Accumulate(const Tensor& part, Tensor sum) {
  if (!UsesKernels(sum)) {
    sum.add_(part);
    return;
  }
  Dispatch(part.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    at::parallel_for(0, part.numel(), 4096, [&](int64_t begin, int64_t end) {
      KernelsFor<T>().add_to_float(begin, end, Data<T>(part), Data<float>(sum));
    });
  });
}

class LossOfLogitsFn : public Function<LossOfLogitsFn> {
 public:
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const c10::optional<Tensor>& master,
                        const Tensor& compute, const LogitsLoss& loss, double scale, int64_t chunk,
                        bool wants_grad) {
    const int64_t rows = x.size(0);
    Tensor dx = wants_grad ? torch::empty_like(x) : Tensor();
    Tensor dw = wants_grad && master ? torch::zeros_like(*master) : Tensor();
    Tensor total = torch::zeros({}, x.options().dtype(torch::kFloat64));
    for (int64_t first = 0; first < rows; first += chunk) {
      const int64_t count = std::min(chunk, rows - first);
      const Tensor part = x.narrow(0, first, count);
      Tensor logits = at::mm(part, compute.t());
      total += loss(logits, first).to(torch::kFloat64).sum();
      if (!wants_grad) continue;
      Tensor dpart = dx.narrow(0, first, count);
      at::mm_out(dpart, logits, compute);
      if (dw.defined()) Accumulate(at::mm(logits.t(), part), dw);
    }
    if (wants_grad) ctx->save_for_backward({dx, dw});
    return total.to(torch::kFloat32) * scale;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    variable_list result = {saved[0], saved[1]};
    const double factor = grads[0].item<double>();
    if (factor != 1.0) {
      for (Tensor& gradient : result) {
        if (gradient.defined()) gradient = gradient * factor;
      }
    }
    result.resize(7);
    return result;
  }
};

}  // namespace

Tensor RopeTable(int64_t length, int64_t rope_dim, double base) {
  const auto f64 = torch::TensorOptions().dtype(torch::kFloat64);
  const Tensor exponent = torch::arange(0, rope_dim, 2, f64) / static_cast<double>(rope_dim);
  return RopeTable(length, torch::pow(base, -exponent), 1.0);
}

Tensor RopeTable(int64_t length, const Tensor& frequencies, double magnitude) {
  const Tensor pos = torch::arange(0, length, frequencies.options());
  const Tensor angle = pos.unsqueeze(1) * frequencies.unsqueeze(0);
  const Tensor table = torch::stack({angle.cos(), angle.sin()}) * magnitude;
  return table.to(torch::kFloat32).contiguous();
}

Tensor Linear(const Tensor& x, const Matrix& matrix) {
  const std::vector<Tensor>& masters = matrix.masters;
  if (masters.empty()) return at::mm(x, matrix.compute.t());
  TORCH_CHECK(masters.size() <= 3, "a product has at most three weights");
  const auto master_at = [&](size_t i) {
    return i < masters.size() ? c10::optional<Tensor>(masters[i]) : c10::nullopt;
  };
  return LinearFn::apply(x, matrix.compute, masters[0], master_at(1), master_at(2));
}

NormResult AddRmsNorm(const Tensor& h, const Tensor& delta, const Tensor& weight, double eps,
                      torch::ScalarType compute) {
  if (!UsesKernels(h)) return PlainAddRmsNorm(h, delta, weight, eps, compute);
  const auto added = delta.defined() ? c10::optional<Tensor>(delta) : c10::nullopt;
  const variable_list out = AddRmsNormFn::apply(h, added, weight, eps, compute);
  return {out[0], out[1]};
}

Tensor SwiGlu(const Tensor& gate_up) {
  return UsesKernels(gate_up) ? SwiGluFn::apply(gate_up) : PlainSwiGlu(gate_up);
}

Tensor Attention(const Tensor& qkv, const AttentionShape& s, const Tensor& rope,
                 const Tensor& first_key) {
  if (!UsesKernels(qkv)) return PlainAttention(qkv, s, rope, first_key);
  TORCH_CHECK(s.length % s.block == 0, "sequence length must be a multiple of the query block");
  return AttentionFn::apply(qkv, Packed(s), rope, first_key);
}

Tensor Embed(const Tensor& table, const Tensor& ids) {
  return UsesKernels(table) ? EmbedFn::apply(table, ids) : PlainEmbed(table, ids);
}

Tensor LossOfLogits(const Tensor& x, const Matrix& table, const LogitsLoss& loss, double scale,
                    int64_t chunk) {
  const bool wants_grad = torch::GradMode::is_enabled();
  const auto master =
      table.masters.empty() ? c10::nullopt : c10::optional<Tensor>(table.masters[0]);
  return LossOfLogitsFn::apply(x, master, table.compute, loss, scale, chunk, wants_grad);
}

Tensor LmLoss(const Tensor& x, const Matrix& table, const Tensor& targets, const Tensor& weights,
              double scale, int64_t chunk) {
  const auto loss = [&](const Tensor& logits, int64_t first) {
    const int64_t count = logits.size(0);
    return CrossEntropy(logits, targets.narrow(0, first, count), weights.narrow(0, first, count),
                        scale);
  };
  return LossOfLogits(x, table, loss, scale, chunk);
}

}  // namespace foretoken::train
