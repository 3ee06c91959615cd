#include "backend/strict_op_testing.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace foretoken {

std::vector<StrictOp::Bytes> StrictOp::PiecesOf(const Tensor& t) {
  std::vector<Bytes> pieces;
  const auto bytes = static_cast<int64_t>(RowBytes(t.type, t.cols));
  for (int64_t r = 0; r < t.rows; ++r) {
    const std::byte* begin = t.data + r * t.row_bytes;
    pieces.push_back({begin, begin + bytes});
  }
  return pieces;
}

bool StrictOp::Overlap(const Argument& a, const Argument& b) {
  for (auto x = a.pieces.begin(), y = b.pieces.begin();
       x != a.pieces.end() && y != b.pieces.end();) {
    if (x->end <= y->begin) {
      ++x;
    } else if (y->end <= x->begin) {
      ++y;
    } else {
      return true;
    }
  }
  return false;
}

void StrictOp::Expect(bool holds, std::string_view sentence) const {
  if (holds) return;
  std::fprintf(stderr, "strict backend: %s: %.*s\n", name_, static_cast<int>(sentence.size()),
               sentence.data());
  std::abort();
}

void StrictOp::Reads(std::string_view label, const Tensor& tensor) {
  Register(label, tensor, false, nullptr);
}

void StrictOp::Writes(std::string_view label, const Tensor& tensor) {
  Register(label, tensor, true, nullptr);
}

void StrictOp::WritesInPlace(std::string_view label, const Tensor& tensor, const Tensor& input) {
  const bool same = tensor.data == input.data && tensor.row_bytes == input.row_bytes;
  Register(label, tensor, true, same ? input.data : nullptr);
}

void StrictOp::Reads(std::string_view label, const PagedRows& rows, int64_t first, int64_t count) {
  Register(label, rows, first, count, false);
}

void StrictOp::Writes(std::string_view label, const PagedRows& rows, int64_t first, int64_t count) {
  Register(label, rows, first, count, true);
}

const StrictAllocation& StrictOp::Open(std::string_view label, const std::byte* at,
                                       bool may_write) {
  const std::string name(label);
  const StrictAllocation* a = StrictMemory::Get().Find(at);
  Expect(a != nullptr, name + " does not lie in a live buffer of a strict backend");
  Expect(a->owner == backend_, name + " lies in the memory of another backend");
  const auto known = std::ranges::find(grants_, a, &Grant::allocation);
  if (known == grants_.end()) {
    grants_.push_back({a, may_write});
  } else {
    known->may_write |= may_write;
  }
  return *a;
}

void StrictOp::Register(std::string_view label, const Tensor& t, bool is_output,
                        const std::byte* may_overlap) {
  const std::string name(label);
  Expect(!t.empty(), name + " has no memory");
  const StrictAllocation& a = Open(label, t.data, is_output);
  Expect(t.type == a.description.type, name + " has a different type from its memory");
  Expect(t.rows >= 0 && t.cols > 0, name + " has an invalid shape");
  Expect(t.row_bytes >= static_cast<int64_t>(RowBytes(t.type, t.cols)),
         name + " has rows that overlap");
  Argument argument{name, PiecesOf(t), is_output, may_overlap};
  Expect(t.rows == 0 || argument.pieces.back().end <= a.begin + a.bytes,
         name + " reaches beyond its buffer");
  arguments_.push_back(std::move(argument));
}

void StrictOp::Register(std::string_view label, const PagedRows& rows, int64_t first, int64_t count,
                        bool is_output) {
  const std::string name(label);
  Expect(first >= 0 && count >= 0 && first + count <= rows.rows(), name + " has too few rows");
  Expect(rows.group_cols > 0 && rows.cols % rows.group_cols == 0, name + " has an invalid shape");
  const auto bytes = static_cast<int64_t>(RowBytes(rows.type, rows.group_cols));
  Expect(rows.row_bytes >= bytes, name + " has rows that overlap");
  Expect(rows.groups() == 1 || rows.group_bytes >= (kPageRows - 1) * rows.row_bytes + bytes,
         name + " has groups that overlap");
  Argument argument{name, {}, is_output, nullptr};
  const StrictAllocation* a = nullptr;
  for (int64_t row = first; row < first + count; ++row) {
    if (a == nullptr || row % kPageRows == 0) {
      a = &Open(label, rows.Row(row), is_output);
      Expect(rows.type == a->description.type, name + " has a different type from its memory");
    }
    for (int64_t g = 0; g < rows.groups(); ++g) {
      const std::byte* begin = rows.Row(row, g);
      Expect(a->begin <= begin && begin + bytes <= a->begin + a->bytes,
             name + " reaches beyond its buffer");
      argument.pieces.push_back({begin, begin + bytes});
    }
  }
  std::ranges::sort(argument.pieces, {}, &Bytes::begin);
  for (size_t i = 1; is_output && i < argument.pieces.size(); ++i) {
    Expect(argument.pieces[i - 1].end <= argument.pieces[i].begin, name + " contains a page twice");
  }
  arguments_.push_back(std::move(argument));
}

void StrictOp::CheckOverlaps() const {
  for (size_t o = 0; o < arguments_.size(); ++o) {
    const Argument& output = arguments_[o];
    if (!output.is_output || output.pieces.empty()) continue;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const Argument& other = arguments_[i];
      if (i == o || other.pieces.empty()) continue;
      if (!other.is_output && output.may_overlap == other.pieces[0].begin) continue;
      Expect(!Overlap(output, other), output.name + " overlaps " + other.name);
    }
  }
}

void StrictOp::Begin() {
  CheckOverlaps();
  for (const Grant& g : grants_) StrictMemory::Get().Open(*g.allocation, g.may_write);
  StrictMemory::Get().NameOp(name_);
  begun_ = true;
}

StrictOp::~StrictOp() {
  if (!begun_) return;
  StrictMemory::Get().NameOp(nullptr);
  for (const Grant& g : grants_) StrictMemory::Get().Close(*g.allocation);
}

}  // namespace foretoken
