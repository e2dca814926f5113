# Included by LLVM's project: what makes its compilation with emscripten three times shorter.

# emscripten's own compiler, without the Python before it, and with inlining, which emcc switches off at -Os.
find_program(CLANG NAMES clang++-14 clang++ REQUIRED)
execute_process(COMMAND ${CMAKE_CXX_COMPILER} --cflags OUTPUT_VARIABLE EMSCRIPTEN_FLAGS OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REPLACE " -fno-inline-functions" "" EMSCRIPTEN_FLAGS "${EMSCRIPTEN_FLAGS}")
set(CMAKE_CXX_COMPILE_OBJECT
  "${CLANG} ${EMSCRIPTEN_FLAGS} <DEFINES> <INCLUDES> <FLAGS> -o <OBJECT> -c <SOURCE>")

# The headers that most files of a library include, compiled once for it.
function(precompile_headers)
  set(ir <llvm/IR/IRBuilder.h> <llvm/IR/IntrinsicInst.h> <llvm/IR/Module.h> <llvm/IR/PassManager.h>
    <llvm/Support/CommandLine.h>)
  set(passes ${ir} <llvm/Analysis/AssumptionCache.h> <llvm/Analysis/LoopInfo.h> <llvm/Analysis/MemorySSA.h>
    <llvm/Analysis/ScalarEvolution.h> <llvm/Analysis/TargetTransformInfo.h> <llvm/IR/PatternMatch.h>)
  set(machine ${ir} <llvm/CodeGen/MachineFunctionPass.h> <llvm/CodeGen/MachineRegisterInfo.h>
    <llvm/CodeGen/TargetLowering.h> <llvm/CodeGen/TargetPassConfig.h> <llvm/CodeGen/SelectionDAG.h>)
  set(ast <clang/AST/ASTContext.h> <clang/AST/DeclCXX.h> <clang/AST/DeclObjC.h> <clang/AST/DeclTemplate.h>
    <clang/AST/ExprCXX.h> <clang/AST/StmtVisitor.h>)
  target_precompile_headers(LLVMCore PRIVATE ${ir})
  foreach(library Analysis TransformUtils InstCombine ScalarOpts)
    target_precompile_headers(LLVM${library} PRIVATE ${passes})
  endforeach()
  foreach(library CodeGen SelectionDAG AsmPrinter NVPTXCodeGen)
    target_precompile_headers(LLVM${library} PRIVATE ${machine})
  endforeach()
  foreach(library AST Analysis Parse Frontend)
    target_precompile_headers(obj.clang${library} PRIVATE ${ast})
  endforeach()
  # This one has a name of its own that the headers have, too.
  cmake_path(GET CMAKE_SOURCE_DIR PARENT_PATH sources)
  set_source_files_properties(${sources}/clang/lib/Frontend/TextDiagnostic.cpp TARGET_DIRECTORY obj.clangFrontend
    PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  target_precompile_headers(obj.clangSema PRIVATE ${ast} <clang/Sema/Sema.h>)
  target_precompile_headers(obj.clangCodeGen PRIVATE ${ast} ${ir})
endfunction()
cmake_language(DEFER CALL precompile_headers)
