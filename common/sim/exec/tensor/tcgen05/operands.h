// The operands of tcgen05.mma: rows of A and columns of B, as tiles for the multiplication kernels, with the metadata
// of a sparse A and the factors of blocks.
#pragma once

#include <vector>

#include "exec/tensor/descriptor.h"
#include "exec/tensor/tcgen05/factors.h"
#include "exec/tensor/tcgen05/group.h"

namespace sim::tcgen05 {

/// The part of D of 32 rows of A and a range of columns, in one CTA's tensor memory.
struct Strip {
  int first_row;  // of this CTA's rows of A
  int first_n, count_n;
  int lane, column;  // of the first cell
  uint32_t mask;     // which of the 32 lanes are written
};

/// The strips of one CTA, for D at this address.
std::vector<Strip> strips_of(const InstructionDescriptor& in, int group, bool stationary, uint32_t address);

/// Columns of tensor memory that an operand takes.
struct Columns {
  const char* operand;
  int first, count;
};

/// The operands of one instruction.
struct Operands {
  InstructionDescriptor in{};
  int group = 1;
  bool a_in_tmem = false;
  uint32_t a_tmem = 0;  ///< addresses in tensor memory
  uint32_t metadata = 0;
  uint32_t a_factors = 0, b_factors = 0;
  tensor::Descriptor a, b;

  int rows() const { return in.m / group; }     ///< of A, in each CTA
  int columns() const { return in.n / group; }  ///< of B
  /// The descriptors of B for 32 bytes of K each: a sparse instruction takes 64 bytes of a column of B.
  std::vector<tensor::Descriptor> b_parts() const;
  /// The columns that it reads in the tensor memory of each CTA, besides D.
  std::vector<Columns> sources() const;
  int metadata_column() const { return tmem_column(metadata) + in.selector; }
  int metadata_columns() const { return in.a == tensor::Format::TF32 || tensor::stored_bits(in.a) == 16 ? 1 : 2; }
};

/// The 32 bytes of each row of A in the strip, in the lanes that hold them; other lanes get zeros.
void read_a(Cta& cta, const Operands& o, const Strip& strip, tensor::Row* lanes);

// ---- tiles for instructions with a sparse A or with factors; the factors are separate

void pack_a(Cta& cta, const Operands& o, const Strip& strip, tensor::LaneTile* out);
void pack_a(Cta& cta, const Operands& o, const Strip& strip, tensor::DeepLaneTile* out);
void pack_a(Cta& cta, const Operands& o, const Strip& strip, tensor::Fp4Lanes* out);
/// All columns of B that the CTA holds.
void pack_b(Cta& cta, const Operands& o, tensor::ColumnTile* out);
void pack_b(Cta& cta, const Operands& o, tensor::DeepColumnTile* out);
void pack_b(Cta& cta, const Operands& o, tensor::Fp4Column* out);

// ---- their factors: of 32 rows of A, of one column of B

void apply_factors(const InstructionDescriptor& in, const FactorCodes* codes, tensor::LaneTile* tile);
void apply_factors(const InstructionDescriptor& in, const FactorCodes* codes, tensor::DeepLaneTile* tile);
void apply_factors(const InstructionDescriptor& in, const FactorCodes* codes, tensor::Fp4Lanes* tile);
void apply_factors(const InstructionDescriptor& in, const FactorCodes& codes, tensor::ColumnTile* tile);
void apply_factors(const InstructionDescriptor& in, const FactorCodes& codes, tensor::DeepColumnTile* tile);
void apply_factors(const InstructionDescriptor& in, const FactorCodes& codes, tensor::Fp4Column* tile);

}  // namespace sim::tcgen05
