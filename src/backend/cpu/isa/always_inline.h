// FT_INLINE, for every function of a header that files compiled for one instruction set include.
//
// The linker keeps one copy of an inline function, and it must not be the one that needs AVX-512.
// So those files include only headers whose functions either are always inlined, so that no copy
// exists, or lie in a namespace of the set (FT_ISA). They never include a header with inline
// functions of the standard library. tools/isa_symbols.py checks their objects.
#pragma once

#define FT_INLINE [[gnu::always_inline]] inline
