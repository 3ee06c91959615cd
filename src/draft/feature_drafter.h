// Drafters whose network reads the target's last feature of every token, over keys and values of
// its own (EAGLE, HASS, Hydra).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "draft/drafter.h"
#include "draft/levels.h"
#include "draft/text_state.h"
#include "model/kv_cache.h"

namespace foretoken {

// Row i is the target's feature of token i, and token i + 1. Thread-safety: one thread.
class FeatureNet {
 public:
  virtual ~FeatureNet() = default;
  virtual Backend& backend() const = 0;
  virtual int hidden() const = 0;
  virtual int max_rows() const = 0;
  virtual std::unique_ptr<KvCache> NewCache(int capacity, DType type) const = 0;
  // Where the features of the next pass's rows are to be put: [rows, hidden].
  virtual Tensor Features(int rows) = 0;
  // Appends the rows (Features, batch.token) to the caches as provisional rows. Returns their
  // outputs [rows, hidden], valid until the next pass. REQUIRES: 1 <= rows <= max_rows().
  virtual Tensor Forward(const RowBatch& batch, std::span<KvCache* const> caches) = 0;
};

class FeatureDrafter : public Drafter {
 public:
  TapSpec Needs() const final { return {.hidden = {layers_}}; }
  void Observe(std::span<const Observation> seen) final;
  void Truncate(DraftState& state, int length) final;

 protected:
  static constexpr int kRoomForDrafts = 256;  // provisional rows a cache has room for

  // The cache's committed rows are of true features and nothing else. Row i needs token i + 1, so a
  // text that is cut to n tokens keeps n features but n - 1 rows.
  struct State : TextState {
    std::unique_ptr<KvCache> cache;
    Buffer features;  // [capacity, hidden] the target's, of the committed tokens
    Buffer root;      // [1, hidden] output of the last row, once CatchUp has fed it
    int rows() const { return cache->length(); }
  };

  // `layers`: the target's. `capacity`: longest sequence. `net` outlives this.
  FeatureDrafter(FeatureNet& net, int layers, int capacity, DType cache_type)
      : net_(net), layers_(layers), capacity_(capacity), cache_type_(cache_type) {}

  // Makes what is common to the states.
  void Prepare(State& state) const;
  // Drops what the last draft fed.
  static void Forget(std::span<const DraftSlot> batch);
  // Feeds the rows that the caches of those `levels` lack whose nodes are roots, several sequences
  // together: where no draft is asked for, nothing is fed. REQUIRES: forgotten.
  void CatchUp(std::span<const DraftSlot> batch, std::span<const DraftLevel> levels);

 private:
  void Feed(std::span<State* const> states, int rows);

  FeatureNet& net_;
  int layers_;
  int capacity_;
  DType cache_type_;
};

}  // namespace foretoken
