// The playground's compiler: Clang's front end and LLVM's back end for PTX, without a driver, an assembler or a linker.
//
//   compiler UNIT.cu OUTPUT.ptx 90|100 INCLUDE...
//
// Compiles the device code of a unit; standard error has the diagnostics. Exit codes: 0 done; 1 there are errors; 2
// wrong command line. The passes are few on purpose: the module stays small, and code stays where the source has it,
// which is what the order checker judges.
#include <clang/AST/ASTConsumer.h>
#include <clang/CodeGen/BackendUtil.h>
#include <clang/CodeGen/ModuleBuilder.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/FrontendAction.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/AlwaysInliner.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar.h>
#include <llvm/Transforms/Utils.h>

#include <memory>
#include <string>
#include <vector>

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

/// Of Clang's back end, which is not linked: objects for the host's code, which there is none of.
void clang::EmbedObject(llvm::Module*, const CodeGenOptions&, DiagnosticsEngine&) {}

namespace {

using namespace llvm;

/// Parses a unit and leaves its device code as a module.
class Parse : public clang::ASTFrontendAction {
 public:
  explicit Parse(LLVMContext& context) : context_(context) {}
  std::unique_ptr<Module> module;

 protected:
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler, StringRef name) override {
    generator_ = clang::CreateLLVMCodeGen(compiler.getDiagnostics(), name, &compiler.getVirtualFileSystem(),
                                          compiler.getHeaderSearchOpts(), compiler.getPreprocessorOpts(),
                                          compiler.getCodeGenOpts(), context_);
    return std::unique_ptr<clang::ASTConsumer>(generator_);
  }
  void EndSourceFileAction() override { module.reset(generator_->ReleaseModule()); }

 private:
  LLVMContext& context_;
  clang::CodeGenerator* generator_ = nullptr;
};

StringRef text_of(const Value* constant) {
  const auto* string = cast<GlobalVariable>(constant->stripPointerCasts());
  return cast<ConstantDataSequential>(string->getInitializer())->getAsCString();
}

/// Makes of the annotations that our cuda_runtime.h has for __cluster_dims__ and __grid_constant__ what NVPTX reads.
void take_annotations(Module& module) {
  LLVMContext& context = module.getContext();
  const auto number = [&](uint64_t value) {
    return ConstantAsMetadata::get(ConstantInt::get(Type::getInt32Ty(context), value));
  };
  const auto note = [&](Function* kernel, StringRef name, Metadata* value) {
    module.getOrInsertNamedMetadata("nvvm.annotations")
        ->addOperand(MDNode::get(context, {ValueAsMetadata::get(kernel), MDString::get(context, name), value}));
  };

  if (GlobalVariable* all = module.getGlobalVariable("llvm.global.annotations")) {
    for (const Use& use : all->getInitializer()->operands()) {
      const auto* entry = cast<ConstantStruct>(use.get());
      auto* kernel = dyn_cast<Function>(entry->getOperand(0)->stripPointerCasts());
      if (!kernel || text_of(entry->getOperand(1)) != "cluster_dims") continue;
      const Constant* given = cast<GlobalVariable>(entry->getOperand(4)->stripPointerCasts())->getInitializer();
      for (unsigned i = 0; i < 3; ++i) {
        const Constant* extent = given->getAggregateElement(i);
        note(kernel, std::string("cluster_dim_") + "xyz"[i],
             number(extent ? cast<ConstantInt>(extent)->getZExtValue() : 1));
      }
    }
    all->eraseFromParent();
  }

  for (Function& kernel : module) {
    SmallVector<Metadata*> constant;
    for (Instruction& instruction : make_early_inc_range(instructions(kernel))) {
      auto* call = dyn_cast<IntrinsicInst>(&instruction);
      if (!call || call->getIntrinsicID() != Intrinsic::var_annotation) continue;
      const auto* parameter = dyn_cast<Argument>(call->getArgOperand(0)->stripPointerCasts());
      if (parameter && text_of(call->getArgOperand(1)) == "grid_constant")
        constant.push_back(number(parameter->getArgNo() + 1));
      call->eraseFromParent();
    }
    if (!constant.empty()) note(&kernel, "grid_constant", MDNode::get(context, constant));
  }
}

/// Optimises a module and writes it as PTX. All functions go into the kernels that call them, as nvcc has it.
SmallString<0> generate(Module& module, TargetMachine& target) {
  for (Function& function : module)
    if (!function.isDeclaration() && !function.hasFnAttribute(Attribute::NoInline))
      function.addFnAttr(Attribute::AlwaysInline);
  SmallString<0> text;
  raw_svector_ostream stream(text);
  legacy::PassManager passes;
  passes.add(createTargetTransformInfoWrapperPass(target.getTargetIRAnalysis()));
  passes.add(createAlwaysInlinerLegacyPass(/*InsertLifetime=*/false));
  const auto simplify = [&passes] {
    passes.add(createSROAPass(/*PreserveCFG=*/false));
    passes.add(createEarlyCSEPass(/*UseMemorySSA=*/true));
    passes.add(createCFGSimplificationPass());
    passes.add(createInstructionCombiningPass());
  };
  simplify();
  passes.add(createLICMPass());
  passes.add(createLoopUnrollPass());
  simplify();
  passes.add(createDeadCodeEliminationPass());
  if (target.addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::AssemblyFile)) return {};
  passes.run(module);
  return text;
}

/// As ptxas has it: the real architecture, and no branch to the next line, which the order checker would take for one.
std::string finished(StringRef ptx, bool is_blackwell) {
  std::string text;
  while (!ptx.empty()) {
    auto [line, rest] = ptx.split('\n');
    ptx = rest;
    StringRef target = line.trim();
    if (target.consume_front("bra.uni") && target.consume_back(";") &&
        rest.ltrim().starts_with((target.trim() + ":").str()))
      continue;
    if (line.starts_with(".version")) line = ".version 9.0";  // of the instructions in inline assembly
    if (is_blackwell && line.starts_with(".target")) line = ".target sm_100a";
    text += line;
    text += '\n';
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();

  // A lane's own block, moved behind the loop, would leave its warp diverged there.
  const char* const back_end[] = {"compiler", "-disable-block-placement"};
  cl::ParseCommandLineOptions(std::size(back_end), back_end);

  // What a kernel has of the tensor core is inline assembly, so that sm_90a, the last one that Clang 19 knows, will do.
  const char* const triple = "nvptx64-nvidia-cuda";
  std::vector<const char*> arguments = {
      "-triple", triple, "-aux-triple", "x86_64-unknown-linux-gnu", "-target-cpu", "sm_90a", "-target-feature",
      "+ptx85", "-target-sdk-version=12.5", "-fcuda-is-device", "-x", "cuda", "-std=c++20", "-fdeclspec",
      "-fgnuc-version=4.2.1", "-nostdsysteminc", "-nobuiltininc", "-O3", "-ffp-contract=fast",
      "-fno-threadsafe-statics",
      // places of instructions, as nvcc -lineinfo gives them
      "-debug-info-kind=line-directives-only", "-dwarf-version=2", "-debugger-tuning=gdb",
      // what a template, a constant expression and a mistake may cost: a worker's stack is small
      "-ftemplate-depth=64", "-fconstexpr-depth=64", "-fbracket-depth", "64", "-fconstexpr-steps=1000000",
      "-ferror-limit", "20", "-fno-caret-diagnostics"};
  for (int i = 4; i < argc; ++i) arguments.insert(arguments.end(), {"-I", argv[i]});
  arguments.push_back(argv[1]);

  clang::CompilerInstance compiler;
  IntrusiveRefCntPtr<clang::DiagnosticOptions> options = new clang::DiagnosticOptions;
  clang::DiagnosticsEngine diagnostics(new clang::DiagnosticIDs, options,
                                       new clang::TextDiagnosticPrinter(errs(), options.get()));
  if (!clang::CompilerInvocation::CreateFromArgs(compiler.getInvocation(), arguments, diagnostics)) return 1;
  compiler.getLangOpts().Modules = false;  // C++20 has them, the playground does not
  compiler.createDiagnostics();
  LLVMContext context;
  Parse parse(context);
  if (!compiler.ExecuteAction(parse) || !parse.module) return 1;
  take_annotations(*parse.module);

  std::string problem;
  const Target* nvptx = TargetRegistry::lookupTarget(triple, problem);
  TargetOptions code;
  code.AllowFPOpFusion = FPOpFusion::Fast;
  code.MCOptions.MCUseDwarfDirectory = MCTargetOptions::DisableDwarfDirectory;  // the simulated device wants one path
  const std::unique_ptr<TargetMachine> target(nvptx->createTargetMachine(triple, "sm_90a", "+ptx85", code, std::nullopt,
                                                                         std::nullopt, CodeGenOptLevel::Aggressive));
  std::error_code error;
  raw_fd_ostream output(argv[2], error);
  output << finished(generate(*parse.module, *target), StringRef(argv[3]) == "100");
  return error ? 1 : 0;
}
