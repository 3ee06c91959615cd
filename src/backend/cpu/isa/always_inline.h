// FT_INLINE: marks functions of headers that are shared by files compiled for different
// instruction sets.
//
// The linker keeps one copy of an inline function, and it must not be the one that needs AVX-512.
// So those files include only headers whose functions either are always inlined, so that no copy
// exists, or lie in a namespace of the set (FT_ISA). They never include a header with inline
// functions of the standard library. tools/isa_symbols.py checks their objects.
#pragma once

#define FT_INLINE [[gnu::always_inline]] inline
