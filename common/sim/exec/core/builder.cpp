// Turns a kernel into a Program: lays out variables, assigns slots to registers, inlines calls and resolves branches.
// Functions that are called through a pointer, and recursive ones, become routines after the kernel. Instructions are
// decoded by their families (exec/core/families.h).
#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "common/base/align.h"
#include "common/base/text.h"
#include "exec/core/call_graph.h"
#include "exec/core/decoder.h"
#include "exec/core/jump.h"
#include "exec/core/program.h"
#include "exec/core/routine.h"
#include "machine/address.h"
#include "ptx/rules/rules.h"

namespace sim {
namespace {

using ptx::Operand;
using ptx::Type;

constexpr int kScalarSlot = 32 * 4;  // a slot of 32-bit lanes

constexpr size_t kInlinedOps = 200'000;  // from this size on, a kernel does not grow by inlining

// Limits for a kernel, including the functions that it calls: instructions, and bytes of registers per warp.
constexpr size_t kMaxOps = 2'000'000;
constexpr uint32_t kMaxRegisterBytes = 64u << 20;

constexpr uint64_t kNoSharedMemoryHas = uint64_t{1} << 30;  // bytes: more than any launch may have
constexpr uint64_t kNoThreadHas = uint64_t{1} << 30;        // bytes of local memory, the same

/// Executed in place of an instruction that could not be decoded. Only its execution is an error, because a fat binary
/// may contain kernels and branches that never run.
struct UnknownInstruction {
  size_t why;  ///< index into Program::unknown
};
Flow report_unknown(Warp& warp, const UnknownInstruction& unknown, Mask) {
  throw cluster_of(warp).launch->program->unknown[unknown.why];
}

// A function being decoded: the kernel, a routine, or a function inlined into one of them at one call.
struct Frame {
  const ptx::Function* function = nullptr;
  enum class Kind : uint8_t { Kernel, Routine, Inlined } kind = Kind::Kernel;
  std::vector<int32_t> slots;                             // by register, -1: not yet used
  std::map<const ptx::Variable*, uint32_t> local_offset;  // .local and call .param variables, in the stack frame
  std::vector<uint32_t> op_of;                            // by instruction
  std::vector<uint32_t> branches;                         // ops that jump to an instruction of this frame
  std::vector<uint32_t> returns;                          // ops that jump to the end of the call
};

class Builder final : public Decoder {
 public:
  Builder(const ptx::Module& module, const ptx::Function& kernel, const Placement& placement)
      : placement_(placement), graph_(module), result_(std::make_unique<Program>()), track_(placement.keeps_uses) {
    result_->module = &module;
    result_->kernel = &kernel;
  }

  std::unique_ptr<Program> run() {
    const ptx::Function& kernel = *result_->kernel;
    for (const ptx::Variable* parameter : kernel.parameters) {
      result_->parameter_bytes =
          std::max(result_->parameter_bytes, static_cast<uint32_t>(parameter->offset + parameter->bytes));
    }
    lay_out_shared();
    Frame frame;
    frame.function = &kernel;
    translate(frame);
    // A kernel's body may end without `ret`; running off its end exits.
    append_exit();
    result_->kernel_end = static_cast<uint32_t>(result_->ops.size());
    const uint32_t kernel_frame = local_peak_;
    // Routines may call others.
    for (size_t i = 0; i < result_->routines.size() && result_->ops.size() <= kMaxOps; ++i) translate_routine(i);
    if (result_->ops.size() > kMaxOps || cursor_ > kMaxRegisterBytes) {
      result_->impossible.emplace(faults::too_large_program,
                                  std::vector<Detail>{kMaxOps, base::in_bytes(kMaxRegisterBytes)});
    }
    result_->register_bytes = base::round_up(cursor_, 64u);
    result_->local_bytes = base::round_up(kernel_frame, 16u);
    result_->static_smem =
        static_cast<uint32_t>(std::min<uint64_t>(shared_cursor_ - Gpu::smem_reserved, kNoSharedMemoryHas));
    result_->traits.reserve(result_->ops.size());
    for (const Op& each : result_->ops) {
      const ptx::Instruction& in = *result_->instructions[each.source];
      result_->traits.push_back(traits_of(in, manner_of(in), each.pure));
    }
    return std::move(result_);
  }

  // ---- Decoder
  int32_t source(const Operand& operand, Type type) override {
    switch (operand.kind) {
      case Operand::Kind::Register:
        require_width(operand, ptx::bits(type));
        return read(slot_of(operand.reg), slot_bytes(operand.reg));
      case Operand::Kind::Immediate: return constant(literal(operand, type), std::max(ptx::bits(type), 32) / 8);
      case Operand::Kind::Special: return special(special_register(operand.text));
      case Operand::Kind::Variable: return variable_address(operand, type);
      case Operand::Kind::Function: {
        const auto found = placement_.functions.find(find_body(*result_->module, operand.text));
        if (found == placement_.functions.end()) unsupported(faults::missing_function, {operand.text});
        return constant(found->second, 8);
      }
      default: unsupported(faults::kind_of_operand);
    }
  }

  int32_t destination(const Operand& operand, int bytes) override {
    if (operand.kind == Operand::Kind::Sink) return scratch(std::max(bytes, 4));
    if (operand.kind != Operand::Kind::Register) unsupported(faults::destination_is_no_register);
    require_width(operand, 8 * bytes);
    const int32_t slot = slot_of(operand.reg);
    if (track_) uses().write({slot, static_cast<uint16_t>(slot_bytes(operand.reg))});
    return slot;
  }

  PredicateOperand predicate_source(const Operand& operand) override {
    const Mask flip = operand.negated ? kAllLanes : 0;
    if (operand.kind == Operand::Kind::Immediate) return {predicate_constant(operand.value != 0), flip};
    if (operand.kind == Operand::Kind::Special) {
      const SpecialRegister which = special_register(operand.text);
      if (is_predicate(which.kind)) return {special(which), flip};
      unsupported(faults::not_a_predicate, {operand.text});
    }
    if (operand.kind != Operand::Kind::Register || frame_->function->registers[operand.reg].type != Type::Pred) {
      unsupported(faults::predicate_required);
    }
    return {read(slot_of(operand.reg), sizeof(Mask)), flip};
  }

  int register_bits(const Operand& operand) const override {
    if (operand.kind != Operand::Kind::Register) return 0;
    return ptx::bits(frame_->function->registers[operand.reg].type);
  }

  int32_t constant(uint64_t value, int bytes) override {
    bytes = std::max(bytes, 4);
    const auto key = std::make_pair(value, bytes);
    if (const auto known = constants_.find(key); known != constants_.end()) return known->second;
    const int32_t slot = allocate(32 * bytes);
    result_->constants.push_back({slot, static_cast<uint8_t>(bytes), value});
    constants_[key] = slot;
    return slot;
  }

  int32_t scratch(int bytes) override { return allocate_own(std::max(bytes, 4)); }

  Address address(const Operand& operand) override {
    const Operand& base = operand.kind == Operand::Kind::Address ? operand.elements[0] : operand;
    const int64_t offset = operand.kind == Operand::Kind::Address ? operand.value : 0;
    switch (base.kind) {
      case Operand::Kind::Register: {
        const int bits = ptx::bits(frame_->function->registers[base.reg].type);
        return {read(slot_of(base.reg), slot_bytes(base.reg)), bits == 64, offset};
      }
      case Operand::Kind::Variable: {
        // The slot holds the variable's own offset; `offset` remains the immediate of the PTX text.
        Operand start = base;
        start.value = 0;
        return {variable_address(start, Type::B64), true, base.value + offset};
      }
      case Operand::Kind::Immediate: return {constant(static_cast<uint64_t>(base.value), 8), true, offset};
      default: unsupported(faults::kind_of_address);
    }
  }

  bool is_kernel_parameter(const ptx::Variable* variable) const override {
    const auto& list = result_->kernel->parameters;
    return frame_->kind == Frame::Kind::Kernel && std::find(list.begin(), list.end(), variable) != list.end();
  }

  uint32_t local_offset(const ptx::Variable* variable) override {
    const auto [entry, is_new] = frame_->local_offset.try_emplace(variable, 0);
    if (is_new) entry->second = allocate_local(variable->bytes, variable->align);
    return entry->second;
  }

  const ptx::BranchTargets* branch_targets(std::string_view name) const override {
    for (const ptx::BranchTargets& table : frame_->function->branch_targets) {
      if (table.name == name) return &table;
    }
    return nullptr;
  }

  RegisterUse& uses() override {
    if (op->uses == nullptr) {
      result_->uses.push_back(std::make_unique<RegisterUse>());
      op->uses = result_->uses.back().get();
    }
    return *op->uses;
  }
  Program& program() override { return *result_; }

 private:
  // ---- slots
  int32_t allocate(int bytes) {
    const auto slot = static_cast<int32_t>(cursor_);
    cursor_ += base::round_up(static_cast<uint32_t>(bytes), 64u);
    return slot;
  }
  int32_t allocate_predicate() {
    if (predicates_left_ == 0) {
      predicate_cursor_ = allocate(kScalarSlot);
      predicates_left_ = 32;
    }
    --predicates_left_;
    predicate_cursor_ += 4;
    return predicate_cursor_ - 4;
  }
  /// Slots of the function that is being decoded: a routine saves its own where it is entered again.
  int32_t allocate_own(int lane_bytes) {
    const int32_t slot = allocate(32 * lane_bytes);
    if (routine_ == nullptr) return slot;
    constexpr int kWord = 8;  // longer values consist of consecutive words
    for (int at = 0; at < lane_bytes; at += kWord)
      routine_->registers.push_back({slot + 32 * at, static_cast<uint8_t>(std::min(lane_bytes - at, kWord))});
    return slot;
  }
  int32_t allocate_own_predicate() {
    const int32_t slot = allocate_predicate();
    if (routine_ != nullptr) routine_->registers.push_back({slot, 0});
    return slot;
  }
  uint32_t allocate_local(uint64_t bytes, uint32_t align) {
    align = std::max(align, 8u);
    const uint64_t begin = std::min(base::round_up<uint64_t>(local_cursor_, align), kNoThreadHas);
    local_cursor_ = static_cast<uint32_t>(std::min(begin + bytes, kNoThreadHas));
    local_peak_ = std::max(local_peak_, local_cursor_);
    if (routine_ != nullptr) routine_->frame_align = std::max(routine_->frame_align, align);
    return static_cast<uint32_t>(begin);
  }
  int32_t predicate_constant(bool value) {
    int32_t& slot = predicate_constants_[value ? 1 : 0];
    if (slot < 0) {
      slot = allocate_predicate();
      result_->constants.push_back({slot, 0, value ? uint64_t{kAllLanes} : 0});
    }
    return slot;
  }
  /// Slots have 32 bits a lane or more: wider operands need a wider register.
  void require_width(const Operand& operand, int bits) const {
    const ptx::Register& named = frame_->function->registers[operand.reg];
    const int has = ptx::bits(named.type);
    if ((bits > 32 || has > 32) && has != std::max(bits, 32)) {
      unsupported(faults::width_of_register, {named.name, has, bits});
    }
  }
  int slot_bytes(uint32_t reg) const {
    const Type type = frame_->function->registers[reg].type;
    if (type == Type::Pred) return sizeof(Mask);
    const int bits = ptx::bits(type);
    return bits <= 32 ? kScalarSlot : bits * 4;
  }
  int32_t slot_of(uint32_t reg) {
    int32_t& slot = frame_->slots[reg];
    if (slot < 0) {
      slot = frame_->function->registers[reg].type == Type::Pred ? allocate_own_predicate()
                                                                 : allocate_own(slot_bytes(reg) / 32);
    }
    return slot;
  }
  int32_t read(int32_t slot, int bytes) {
    if (track_) uses().read({slot, static_cast<uint16_t>(bytes)});
    return slot;
  }
  int32_t special(const SpecialRegister& which) override {
    if (const auto known = specials_.find(which); known != specials_.end()) return known->second;
    const int32_t slot = is_predicate(which.kind) ? allocate_predicate() : allocate(32 * 8);
    result_->specials.push_back({slot, which});
    if (which.kind == SpecialKind::ReservedSmem) result_->smem_begin = 0;
    specials_[which] = slot;
    return slot;
  }

  static uint64_t literal(const Operand& operand, Type type) {
    if (!operand.is_float_literal) return static_cast<uint64_t>(operand.value);
    if (operand.literal_bits == 32 || ptx::bits(type) != 32) return static_cast<uint64_t>(operand.value);
    return std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(operand.value)));
  }

  // ---- variables
  void lay_out_shared() {
    const ptx::Function& kernel = *result_->kernel;
    const auto place = [&](const ptx::Variable* variable) {
      if (variable->space != ptx::Space::Shared || variable->external || shared_offset_.count(variable)) return;
      shared_cursor_ = base::round_up<uint64_t>(shared_cursor_, variable->align);
      shared_offset_[variable] = static_cast<uint32_t>(shared_cursor_);
      result_->shared_names.emplace_back(variable->name, static_cast<uint32_t>(shared_cursor_));
      shared_cursor_ += variable->bytes;
    };
    // Of the module-scope variables, a kernel needs only those that it, or a function it calls, mentions.
    for (const ptx::Function* function : graph_.reachable(kernel)) {
      for (const ptx::Variable* variable : function->variables) place(variable);
      for (const ptx::Instruction& instruction : function->instructions) {
        track_ |= instruction.opcode == "wgmma" || instruction.opcode == "tcgen05";
        for (const Operand& operand : instruction.operands)
          visit(operand, [&](const Operand& leaf) {
            if (leaf.kind != Operand::Kind::Variable) return;
            place(leaf.variable);
            if (leaf.variable->space == ptx::Space::Shared && leaf.variable->external) {
              result_->dynamic_align = std::max(result_->dynamic_align, leaf.variable->align);
              result_->dynamic_smem_used = true;
            }
          });
      }
    }
  }
  template <class F>
  static void visit(const Operand& operand, F f) {
    f(operand);
    for (const Operand& element : operand.elements) visit(element, f);
  }

  /// The address as `mov` would give it: in the variable's own space, generic for .global and .const (where the two are
  /// the same).
  int32_t variable_address(const Operand& operand, Type type) {
    const ptx::Variable& variable = *operand.variable;
    const int bytes = std::max(ptx::bits(type), 32) / 8;
    switch (variable.space) {
      case ptx::Space::Global:
      case ptx::Space::Const: {
        const auto found = placement_.address.find(&variable);
        if (found == placement_.address.end()) unsupported(faults::missing_variable, {variable.name});
        return constant(found->second + static_cast<uint64_t>(operand.value), 8);
      }
      case ptx::Space::Shared: {
        const uint32_t offset =
            variable.external ? static_cast<uint32_t>(base::round_up<uint64_t>(shared_cursor_, result_->dynamic_align))
                              : shared_offset_.at(&variable);
        // The address includes the CTA's rank: a special slot, filled per CTA.
        return special({bytes == 8 ? SpecialKind::SharedAddress64 : SpecialKind::SharedAddress32,
                        offset + static_cast<uint32_t>(operand.value)});
      }
      case ptx::Space::Local:
        return frame_address(local_offset(&variable) + static_cast<uint64_t>(operand.value), bytes);
      case ptx::Space::Param: {
        if (is_kernel_parameter(&variable)) {
          return constant(variable.offset + static_cast<uint64_t>(operand.value), bytes);
        }
        return frame_address(local_offset(&variable) + static_cast<uint64_t>(operand.value), bytes);
      }
      default: unsupported(faults::space_of_variable, {variable.name});
    }
  }
  /// A slot with the address of a byte of the stack frame. The kernel's frame begins at 0; a routine's is known only
  /// when it is called.
  int32_t frame_address(uint64_t offset, int bytes) {
    if (routine_ == nullptr) return constant(offset, bytes);
    const auto [known, is_new] = frame_addresses_.try_emplace({offset, bytes}, 0);
    if (is_new) {
      known->second = allocate_own(bytes);
      routine_->addresses.push_back({known->second, static_cast<uint32_t>(offset), bytes == 8});
    }
    return known->second;
  }

  // ---- instructions
  Op& append(const ptx::Instruction& instruction) {
    Op added;
    added.source = static_cast<uint32_t>(result_->instructions.size());
    result_->instructions.push_back(&instruction);
    result_->ops.push_back(added);
    in = &instruction;
    forget_modifiers();
    op = &result_->ops.back();
    return *op;
  }

  void append_exit() {
    static const ptx::Instruction exit = [] {
      ptx::Instruction instruction;
      instruction.opcode = "exit";
      return instruction;
    }();
    append(exit);
    decode_instruction(*this);
  }

  void set_guard(const ptx::Instruction& instruction) {
    if (instruction.guard < 0) return;
    op->guard = slot_of(static_cast<uint32_t>(instruction.guard));
    op->guard_flip = instruction.guard_negated ? kAllLanes : 0;
  }

  /// Appends the ops of the frame's function.
  void translate(Frame& frame) {
    Frame* const caller = frame_;
    frame_ = &frame;
    const ptx::Function& function = *frame.function;
    // All variables are placed before any call: functions inlined at one call reuse the local memory of those inlined
    // at the previous one.
    for (const ptx::Variable* each : function.variables) {
      if (each->space == ptx::Space::Local || each->space == ptx::Space::Param) local_offset(each);
    }
    frame.slots.assign(function.registers.size(), -1);
    frame.op_of.assign(function.instructions.size() + 1, 0);
    const std::map<size_t, std::string>& problems = problems_of(function);
    for (size_t i = 0; i < function.instructions.size(); ++i) {
      const ptx::Instruction& instruction = function.instructions[i];
      frame.op_of[i] = static_cast<uint32_t>(result_->ops.size());
      if (const auto problem = problems.find(i); problem != problems.end()) {
        append(instruction);
        set_guard(instruction);
        emit_unknown({faults::not_ptx, {problem->second}});
        continue;
      }
      if (instruction.opcode == "call" && translate_call(instruction)) continue;
      append(instruction);
      set_guard(instruction);
      if (instruction.opcode == "ret" && frame.kind != Frame::Kind::Kernel) {
        if (frame.kind == Frame::Kind::Routine) {
          emit<return_from_routine>({});
        } else {
          emit<jump>({});
          frame.returns.push_back(static_cast<uint32_t>(result_->ops.size() - 1));
        }
        continue;
      }
      decode_one();
      if (instruction.opcode == "bra" || instruction.opcode == "brx") {
        frame.branches.push_back(static_cast<uint32_t>(result_->ops.size() - 1));
      }
    }
    const auto end = static_cast<uint32_t>(result_->ops.size());
    frame.op_of[function.instructions.size()] = end;
    for (const uint32_t branch : frame.branches) {
      const Op& op = result_->ops[branch];
      if (op.run == execute<jump>) set_target(branch, frame.op_of[operands<Jump>(op).target]);
      if (op.run != execute<indexed_branch>) continue;
      for (uint32_t& target : result_->branch_tables[operands<IndexedBranch>(op).table]) target = frame.op_of[target];
    }
    for (const uint32_t jump : frame.returns) set_target(jump, end);
    frame_ = caller;
  }

  /// Violations of the rules of PTX in a function, by the instruction's index.
  const std::map<size_t, std::string>& problems_of(const ptx::Function& function) {
    const auto [known, is_new] = problems_.try_emplace(&function);
    if (is_new) {
      for (ptx::RuleViolation& finding : ptx::check(*result_->module, function))
        known->second.emplace(finding.instruction, std::move(finding.message));
    }
    return known->second;
  }

  void emit_unknown(Fault why) {
    emit<report_unknown>({result_->unknown.size()});
    result_->unknown.push_back(std::move(why));
  }

  /// Sets the target of an op that jumps.
  void set_target(uint32_t index, uint32_t target) {
    const Jump where{target};
    std::memcpy(result_->ops[index].operands, &where, sizeof where);
  }

  void decode_one() {
    attempt([&] {
      decode_instruction(*this);
      if (op->run == nullptr) unsupported(faults::unknown_form);
      if (const std::string* modifier = unknown_modifier()) unsupported(faults::unknown_modifier, {*modifier});
    });
  }
  /// Runs `decode` on the op appended last. If it throws Fault, the op reports that when it is executed.
  template <class F>
  void attempt(F decode) {
    try {
      decode();
    } catch (const Fault& problem) { decode_as_unknown(problem); } catch (const std::out_of_range&) {
      decode_as_unknown(faults::other_operands);
    }
  }
  void decode_as_unknown(const Fault& why) {
    Op fresh;
    fresh.source = op->source;
    fresh.guard = op->guard;
    fresh.guard_flip = op->guard_flip;
    *op = fresh;
    emit_unknown(why);
  }

  // ---- calls

  /// False: the call is to a system function (vprintf, ...), which exec/control/call.cpp handles.
  bool translate_call(const ptx::Instruction& instruction) {
    const CallOperands operands(instruction);
    if (operands.target == nullptr) return false;
    if (operands.target->kind == Operand::Kind::Register) {
      for (const ptx::Function* taken : graph_.address_taken()) routine_of(*taken);
      call_for_real(instruction, operands, nullptr);
      return true;
    }
    const ptx::Function* const callee = graph_.callee(instruction);
    if (callee == nullptr) return false;
    if (graph_.calls_itself(*callee) || result_->ops.size() > kInlinedOps)
      call_for_real(instruction, operands, callee);
    else
      inline_call(instruction, operands, *callee);
    return true;
  }

  void inline_call(const ptx::Instruction& instruction, const CallOperands& operands, const ptx::Function& callee) {
    Frame inner;
    inner.function = &callee;
    inner.kind = Frame::Kind::Inlined;
    const uint32_t callers_end = local_cursor_;

    // Lanes whose guard is false jump over the body.
    uint32_t skip = 0;
    const bool guarded = instruction.guard >= 0;
    if (guarded) {
      append(instruction);
      set_guard(instruction);
      op->guard_flip ^= kAllLanes;
      emit<jump>({});
      skip = static_cast<uint32_t>(result_->ops.size() - 1);
    }
    const auto place_in_callee = [&](const ptx::Variable* variable) {
      Frame* const outer = std::exchange(frame_, &inner);
      const uint32_t offset = local_offset(variable);
      frame_ = outer;
      return offset;
    };
    for (size_t i = 0; i < operands.arguments.size() && i < callee.parameters.size(); ++i) {
      const ptx::Variable& parameter = *callee.parameters[i];
      if (operands.arguments[i].kind == Operand::Kind::Variable) {
        const uint32_t from = local_offset(operands.arguments[i].variable), to = place_in_callee(&parameter);
        append(instruction);
        emit<copy_in_frame>({to, from, parameter.bytes});
      } else {
        put_into_frame(instruction, operands.arguments[i], parameter, place_in_callee(&parameter));
      }
    }
    for (const ptx::Variable* each : callee.results) place_in_callee(each);
    translate(inner);
    for (size_t i = 0; i < operands.results.size() && i < callee.results.size(); ++i) {
      const ptx::Variable& result = *callee.results[i];
      const uint32_t from = place_in_callee(&result);
      if (operands.results[i].kind == Operand::Kind::Variable) {
        const uint32_t to = local_offset(operands.results[i].variable);
        append(instruction);
        emit<copy_in_frame>({to, from, result.bytes});
      } else {
        take_from_frame(instruction, operands.results[i], result, from);
      }
    }
    if (guarded) set_target(skip, static_cast<uint32_t>(result_->ops.size()));
    local_cursor_ = callers_end;
  }

  /// `callee` is nullptr for a call through a pointer, whose prototype defines arguments and results.
  void call_for_real(const ptx::Instruction& instruction, const CallOperands& operands, const ptx::Function* callee) {
    const std::vector<ptx::Variable*>* results = callee != nullptr ? &callee->results : nullptr;
    const std::vector<ptx::Variable*>* parameters = callee != nullptr ? &callee->parameters : nullptr;
    if (callee == nullptr) {
      for (const ptx::CallPrototype& prototype : frame_->function->prototypes) {
        if (prototype.name != instruction.operands.back().text) continue;
        const ptx::Function* const target =
            prototype.is_target_list ? result_->module->find(prototype.targets[0]) : nullptr;
        results = target != nullptr ? &target->results : &prototype.results;
        parameters = target != nullptr ? &target->parameters : &prototype.parameters;
      }
    }
    RoutineCall call;
    for (size_t i = 0; i < operands.arguments.size(); ++i) {
      const ptx::Variable& parameter = *(*parameters)[i];
      const bool is_variable = operands.arguments[i].kind == Operand::Kind::Variable;
      const uint32_t at =
          is_variable ? local_offset(operands.arguments[i].variable) : allocate_local(parameter.bytes, parameter.align);
      if (!is_variable) put_into_frame(instruction, operands.arguments[i], parameter, at);
      call.arguments.push_back({at, static_cast<uint32_t>(parameter.bytes)});
    }
    for (size_t i = 0; i < operands.results.size(); ++i) {
      const ptx::Variable& result = *(*results)[i];
      const bool is_variable = operands.results[i].kind == Operand::Kind::Variable;
      call.results.push_back(
          {is_variable ? local_offset(operands.results[i].variable) : allocate_local(result.bytes, result.align),
           static_cast<uint32_t>(result.bytes)});
    }
    append(instruction);
    set_guard(instruction);
    const std::vector<Passed> returned = call.results;
    attempt([&] {
      if (callee != nullptr)
        call.routine = routine_of(*callee);
      else
        call.pointer = source(*operands.target, Type::B64);
      emit<call_routine>(std::move(call));
    });
    for (size_t i = 0; i < operands.results.size(); ++i) {
      if (operands.results[i].kind != Operand::Kind::Variable)
        take_from_frame(instruction, operands.results[i], *(*results)[i], returned[i].offset);
    }
  }

  void put_into_frame(const ptx::Instruction& call, const Operand& value, const ptx::Variable& parameter,
                      uint32_t offset) {
    append(call);
    set_guard(call);
    const auto bytes = static_cast<uint32_t>(parameter.bytes);
    const Type as = bytes == 8                    ? (parameter.type == Type::F64 ? Type::F64 : Type::B64)
                    : parameter.type == Type::F32 ? Type::F32
                                                  : Type::B32;
    attempt([&] {
      if (bytes > 8) unsupported(faults::wide_argument);
      emit<register_to_frame>({source(value, as), offset, bytes});
    });
  }
  void take_from_frame(const ptx::Instruction& call, const Operand& target, const ptx::Variable& result,
                       uint32_t offset) {
    if (target.kind == Operand::Kind::Sink) return;
    append(call);
    set_guard(call);
    const auto bytes = static_cast<uint32_t>(result.bytes);
    attempt([&] {
      if (bytes > 8) unsupported(faults::wide_result);
      emit<frame_to_register>({destination(target, std::max(static_cast<int>(bytes), 4)), offset, bytes});
    });
  }

  /// The index of the routine that this function becomes.
  uint32_t routine_of(const ptx::Function& function) {
    const auto [known, is_new] = routine_index_.try_emplace(&function, static_cast<uint32_t>(result_->routines.size()));
    if (is_new) {
      Routine routine;
      routine.function = &function;
      result_->routines.push_back(std::move(routine));
      if (const auto at = placement_.functions.find(&function); at != placement_.functions.end())
        result_->routine_at[at->second] = known->second;
    }
    return known->second;
  }

  void translate_routine(size_t index) {
    Routine routine;
    routine.function = result_->routines[index].function;
    routine.entry = static_cast<uint32_t>(result_->ops.size());
    routine_ = &routine;
    frame_addresses_.clear();
    local_cursor_ = local_peak_ = 0;
    Frame frame;
    frame.function = routine.function;
    frame.kind = Frame::Kind::Routine;
    frame_ = &frame;
    for (const ptx::Variable* each : routine.function->parameters)
      routine.parameters.push_back({local_offset(each), static_cast<uint32_t>(each->bytes)});
    for (const ptx::Variable* each : routine.function->results)
      routine.results.push_back({local_offset(each), static_cast<uint32_t>(each->bytes)});
    translate(frame);
    append_exit();
    emit<return_from_routine>({});     // a function's body may end without `ret`
    constexpr uint32_t kLinkage = 16;  // the return address and the caller's frame
    routine.frame_bytes = base::round_up(local_peak_ + kLinkage, 16u);
    frame_ = nullptr, routine_ = nullptr;
    result_->routines[index] = std::move(routine);
  }

  const Placement& placement_;
  CallGraph graph_;
  std::unique_ptr<Program> result_;
  Frame* frame_ = nullptr;
  Routine* routine_ = nullptr;                                   // the routine being decoded; nullptr: the kernel
  std::map<std::pair<uint64_t, int>, int32_t> frame_addresses_;  // of that routine
  std::map<const ptx::Function*, uint32_t> routine_index_;
  std::map<const ptx::Function*, std::map<size_t, std::string>> problems_;
  bool track_;

  uint32_t cursor_ = 0;
  int32_t predicate_cursor_ = 0;
  int predicates_left_ = 0;
  int32_t predicate_constants_[2] = {-1, -1};
  uint32_t local_cursor_ = 0, local_peak_ = 0;
  uint64_t shared_cursor_ = Gpu::smem_reserved;
  std::map<const ptx::Variable*, uint32_t> shared_offset_;
  std::map<std::pair<uint64_t, int>, int32_t> constants_;
  std::map<SpecialRegister, int32_t> specials_;
};

}  // namespace

std::unique_ptr<Program> decode(const ptx::Module& module, const ptx::Function& kernel, const Placement& placement) {
  auto program = Builder(module, kernel, placement).run();
  program->find_body();
  return program;
}

}  // namespace sim
