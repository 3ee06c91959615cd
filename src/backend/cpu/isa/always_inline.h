// FT_INLINE: marks functions of headers that are shared by files compiled for different
// instruction sets.
//
// The linker keeps one copy of an inline function. If the compiler made that copy for AVX-512, CPUs
// without AVX-512 could not run it. Files compiled for one instruction set therefore include only
// headers whose functions either are always inlined, so that no copy exists, or lie in a namespace
// of the set (FT_ISA). Such files never include a header with inline functions of the standard
// library. tools/isa_symbols.py checks their objects.
#pragma once

#define FT_INLINE [[gnu::always_inline]] inline
