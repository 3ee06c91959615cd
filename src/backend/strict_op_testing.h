// The arguments of one op of the strict backend: checked, accessible while the op runs,
// inaccessible afterwards.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backend/paged_rows.h"
#include "backend/strict_memory_testing.h"

namespace foretoken {

class StrictOp {
 public:
  StrictOp(const char* name, int backend) : name_(name), backend_(backend) {}
  ~StrictOp();
  StrictOp(const StrictOp&) = delete;
  StrictOp& operator=(const StrictOp&) = delete;

  // Ends the process with the op's name and `sentence`, unless `holds`.
  void Expect(bool holds, std::string_view sentence) const;

  // Registers an argument, called `label` in messages. Empty tensors are refused: an optional
  // argument that is absent must not be registered.
  void Reads(std::string_view label, const Tensor& tensor);
  void Writes(std::string_view label, const Tensor& tensor);
  // Registers an output whose rows are exactly those of `input`, or share no byte with them.
  void WritesInPlace(std::string_view label, const Tensor& tensor, const Tensor& input);
  // Registers rows [first, first + count) of a cache as an argument.
  void Reads(std::string_view label, const PagedRows& rows, int64_t first, int64_t count);
  void Writes(std::string_view label, const PagedRows& rows, int64_t first, int64_t count);

  // Makes the registered arguments accessible until the op is destroyed. Checks that outputs
  // overlap nothing else.
  void Begin();

 private:
  struct Bytes {
    const std::byte *begin, *end;
  };
  struct Argument {
    std::string name;
    std::vector<Bytes> pieces;  // one for each row and group, ascending
    bool is_output;
    const std::byte* may_overlap;  // beginning of the input that this output may overlap, or null
  };
  struct Grant {
    const StrictAllocation* allocation;
    bool may_write;
  };
  static std::vector<Bytes> PiecesOf(const Tensor& t);
  static bool Overlap(const Argument& a, const Argument& b);
  void Register(std::string_view label, const Tensor& tensor, bool is_output,
                const std::byte* may_overlap);
  void Register(std::string_view label, const PagedRows& rows, int64_t first, int64_t count,
                bool is_output);
  // Returns the live allocation of this backend that holds `at`, and makes it accessible from Begin
  // on.
  const StrictAllocation& Open(std::string_view label, const std::byte* at, bool may_write);
  void CheckOverlaps() const;

  const char* const name_;
  const int backend_;
  std::vector<Argument> arguments_;
  std::vector<Grant> grants_;
  bool begun_ = false;
};

}  // namespace foretoken
