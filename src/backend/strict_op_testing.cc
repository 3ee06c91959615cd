#include "backend/strict_op_testing.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace foretoken {
namespace {

struct Bytes {
  const std::byte *begin, *end;
};

// A piece of a row for each group, in order of address.
std::vector<Bytes> PiecesOf(const Tensor& t) {
  std::vector<Bytes> pieces;
  for (int64_t g = 0; g < t.groups(); ++g) {
    const Tensor group = t.Group(g);
    const auto bytes = static_cast<int64_t>(RowBytes(t.type, group.cols));
    for (int64_t r = 0; r < t.rows; ++r) {
      const std::byte* begin = group.data + r * group.row_bytes;
      pieces.push_back({begin, begin + bytes});
    }
  }
  std::ranges::sort(pieces, {}, &Bytes::begin);
  return pieces;
}

Bytes Extent(const Tensor& t) {
  const int64_t last_row = std::max<int64_t>(t.rows - 1, 0) * t.row_bytes;
  const Tensor last = t.Group(t.groups() - 1);
  const auto bytes = static_cast<int64_t>(t.rows == 0 ? 0 : RowBytes(t.type, last.cols));
  return {t.data, last.data + last_row + bytes};
}

}  // namespace

bool TensorsOverlap(const Tensor& a, const Tensor& b) {
  const Bytes whole_a = Extent(a), whole_b = Extent(b);
  if (whole_a.end <= whole_b.begin || whole_b.end <= whole_a.begin) return false;
  const std::vector<Bytes> ours = PiecesOf(a), theirs = PiecesOf(b);
  for (auto x = ours.begin(), y = theirs.begin(); x != ours.end() && y != theirs.end();) {
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

void StrictOp::Reads(std::string_view what, const Tensor& tensor) {
  Note({std::string(what), tensor, false, nullptr});
}

void StrictOp::Writes(std::string_view what, const Tensor& tensor) {
  Note({std::string(what), tensor, true, nullptr});
}

void StrictOp::WritesInPlace(std::string_view what, const Tensor& tensor, const Tensor& input) {
  const bool same = tensor.data == input.data && tensor.row_bytes == input.row_bytes;
  Note({std::string(what), tensor, true, same ? input.data : nullptr});
}

void StrictOp::Note(const Argument& argument) {
  const auto expect = [&](bool holds, const char* sentence) {
    Expect(holds, argument.what + " " + sentence);
  };
  const Tensor& t = argument.tensor;
  expect(!t.empty(), "has no memory");
  const StrictAllocation* a = StrictMemory::Get().Find(t.data);
  expect(a != nullptr, "lies in no live buffer of a strict backend");
  expect(a->owner == backend_, "lies in the memory of another backend");
  expect(t.type == a->description.type, "is of another type than its memory");
  expect(t.rows >= 0 && t.cols > 0 && t.cols % (t.group_cols == 0 ? t.cols : t.group_cols) == 0,
         "has a shape that is none");
  expect(t.row_bytes >= static_cast<int64_t>(RowBytes(t.type, t.Group(0).cols)),
         "has rows that overlap");
  expect(Extent(t).end <= a->begin + a->bytes, "reaches beyond its buffer");
  arguments_.push_back(argument);
  const auto known = std::ranges::find(grants_, a, &Grant::allocation);
  if (known == grants_.end()) {
    grants_.push_back({a, argument.is_output});
  } else {
    known->may_write |= argument.is_output;
  }
}

void StrictOp::CheckOverlaps() const {
  for (size_t o = 0; o < arguments_.size(); ++o) {
    const Argument& output = arguments_[o];
    if (!output.is_output) continue;
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const Argument& other = arguments_[i];
      if (i == o || (!other.is_output && output.may_overlap == other.tensor.data)) continue;
      Expect(!TensorsOverlap(output.tensor, other.tensor), output.what + " overlaps " + other.what);
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
