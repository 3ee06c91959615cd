#include "packing.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/rng.h"

namespace foretoken::train {
namespace {

constexpr size_t kOpenSequences = 64;  // more would leave less padding, but delay short documents
constexpr int32_t kShortestPiece = 4;

constexpr uint64_t kHeldOutOrder = 0x68656c64;  // "held", the key of the held-out pieces' order

// Shuffles pieces instead of documents, so that a long document is spread over the epoch.
std::vector<Piece> Shuffled(const std::vector<Piece>& pieces, uint64_t key) {
  std::vector<std::pair<uint64_t, size_t>> order;
  for (size_t i = 0; i < pieces.size(); ++i) order.emplace_back(Mix(key ^ Mix(i)), i);
  std::sort(order.begin(), order.end());
  std::vector<Piece> shuffled;
  shuffled.reserve(order.size());
  for (const auto& [unused, index] : order) shuffled.push_back(pieces[index]);
  return shuffled;
}

}  // namespace

Packer::Packer(const Corpus& corpus, std::vector<double> weights, int64_t length, uint64_t seed,
               int64_t target_length)
    : corpus_(corpus),
      weights_(std::move(weights)),
      length_(length),
      target_length_(target_length),
      seed_(seed) {}

bool Packer::empty() {
  if (epoch_ < 0) LoadEpoch(0);
  return sequences_.empty();
}

// Returns whether any target of the piece has a loss.
bool Packer::HasLoss(const Piece& piece) const {
  const auto targets = corpus_.learn.begin() + piece.first + 1;
  return std::any_of(targets, targets + piece.count, [](uint8_t learn) { return learn != 0; });
}

void Packer::AppendPieces(const CorpusDocument& document, std::vector<Piece>& pieces) const {
  const int32_t inputs = document.length - 1;
  const auto longest = static_cast<int32_t>(length_);
  const auto most_read = static_cast<int32_t>(target_length_ > 0 ? target_length_ : length_);
  for (int32_t read = 0; read < inputs; read += most_read) {
    const int32_t read_count = std::min(most_read, inputs - read);
    for (int32_t at = 0; at < read_count; at += longest) {
      Piece piece{document.first + read + at, std::min(longest, read_count - at)};
      if (target_length_ > 0) {
        piece.read_first = document.first + read;
        piece.read_count = read_count;
      }
      const bool is_long_enough = piece.count >= kShortestPiece || read + at == 0;
      if (is_long_enough && HasLoss(piece)) pieces.push_back(piece);
    }
  }
}

std::vector<Sequence> Packer::Pack(const std::vector<Piece>& pieces) const {
  struct Open {
    Sequence sequence;
    int32_t room;
  };
  std::vector<Sequence> done;
  std::vector<Open> open;
  for (const Piece& piece : pieces) {
    const auto tightest = [&](int32_t need) {
      auto best = open.end();
      for (auto o = open.begin(); o != open.end(); ++o) {
        if (o->room >= need && (best == open.end() || o->room < best->room)) best = o;
      }
      return best;
    };
    auto place = tightest(piece.count);
    if (place == open.end()) {
      if (open.size() == kOpenSequences) {
        const auto fullest = tightest(0);
        done.push_back(std::move(fullest->sequence));
        open.erase(fullest);
      }
      open.push_back({{}, static_cast<int32_t>(length_)});
      place = open.end() - 1;
    }
    place->sequence.push_back(piece);
    place->room -= piece.count;
    if (place->room < kShortestPiece) {
      done.push_back(std::move(place->sequence));
      open.erase(place);
    }
  }
  for (Open& o : open) done.push_back(std::move(o.sequence));
  return done;
}

void Packer::LoadEpoch(int64_t epoch) {
  const uint64_t stream = Mix(static_cast<uint64_t>(epoch) + 1);
  std::vector<Piece> pieces;
  for (size_t i = 0; i < corpus_.documents.size(); ++i) {
    const CorpusDocument& d = corpus_.documents[i];
    if (d.heldout || d.length < 2) continue;
    const double weight = weights_[d.source];
    const bool extra = Uniform(seed_, stream, i) < weight - std::floor(weight);
    const int copies = static_cast<int>(weight) + (extra ? 1 : 0);
    for (int c = 0; c < copies; ++c) AppendPieces(d, pieces);
  }
  inputs_ = 0;
  for (const Piece& piece : pieces) inputs_ += piece.count;
  begin_ = epoch == 0 ? 0 : begin_ + static_cast<int64_t>(sequences_.size());
  sequences_ = Pack(Shuffled(pieces, Mix(Mix(seed_) ^ stream)));
  epoch_ = epoch;
}

const Sequence& Packer::At(int64_t counter) {
  FT_CHECK(!empty());
  if (counter < begin_) LoadEpoch(0);
  while (counter >= begin_ + static_cast<int64_t>(sequences_.size())) LoadEpoch(epoch_ + 1);
  return sequences_[counter - begin_];
}

std::span<const Sequence> Packer::Coming(int64_t counter, int64_t count) const {
  const auto size = static_cast<int64_t>(sequences_.size());
  const int64_t first = std::clamp<int64_t>(counter - begin_, 0, size);
  return std::span(sequences_)
      .subspan(static_cast<size_t>(first), static_cast<size_t>(std::min(count, size - first)));
}

std::vector<Sequence> Packer::HeldOut() const {
  std::vector<Piece> pieces;
  for (const CorpusDocument& d : corpus_.documents) {
    if (d.heldout && d.length >= 2) AppendPieces(d, pieces);
  }
  return Pack(Shuffled(pieces, kHeldOutOrder));
}

}  // namespace foretoken::train
