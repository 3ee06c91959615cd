#include "draft/chimera/ngram_cache.h"

#include <algorithm>

namespace foretoken {
namespace {

constexpr int kSlabRows = 256;  // rows by which memory grows

}  // namespace

Tensor NgramCache::Row(int row) const {
  return slabs_[static_cast<size_t>(row / kSlabRows)].tensor.Rows(row % kSlabRows, 1);
}

Result<bool> NgramCache::Find(const Ngram& ngram, Tensor out) {
  ++lookups_.total;
  if (const auto found = places_.find(ngram); found != places_.end()) {
    ++lookups_.from_memory;
    used_.splice(used_.begin(), used_, found->second);
    backend_.StoreRows(Row(found->second->row), out);
    return true;
  }
  if (spill_ == nullptr) return false;
  scratch_.resize(static_cast<size_t>(width_));
  if (!spill_->Get(ngram, scratch_)) return false;
  ++lookups_.from_file;
  backend_.Upload(scratch_.data(), out);
  FT_RETURN_IF_ERROR(Keep(ngram, out));
  return true;
}

Status NgramCache::Keep(const Ngram& ngram, Tensor row) {
  if (entries_ == 0 || places_.contains(ngram)) return {};
  FT_ASSIGN_OR_RETURN(const int place, FreeRow());
  backend_.StoreRows(row, Row(place));
  used_.push_front({ngram, place});
  places_.emplace(ngram, used_.begin());
  return {};
}

Result<int> NgramCache::FreeRow() {
  const int held = static_cast<int>(places_.size());
  if (held < entries_) {
    if (held == std::ssize(slabs_) * kSlabRows) {
      FT_ASSIGN_OR_RETURN(
          Buffer slab,
          backend_.Allocate(DType::kF32, std::min(kSlabRows, entries_ - held), width_));
      slabs_.push_back(std::move(slab));
    }
    return held;
  }
  const Entry oldest = used_.back();
  if (spill_ != nullptr && !spill_->Has(oldest.ngram)) {
    scratch_.resize(static_cast<size_t>(width_));
    backend_.Download(Row(oldest.row), scratch_.data());
    spill_->Put(oldest.ngram, scratch_);
  }
  used_.pop_back();
  places_.erase(oldest.ngram);
  return oldest.row;
}

}  // namespace foretoken
