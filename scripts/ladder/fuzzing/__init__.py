"""Mutated texts, programs and fat binaries, and what becomes of them.

    mutations     changes to a line and to a text of PTX, from a seed
    seeds         the texts and lines that they start from
    judges        the two judges of a text: ptxas, and the simulated device
    differences   where the two differ, and which of that is known
    fatbins       damaged fat binaries of programs
    values        what instructions give, compared with the exact model (ladder.exact)
    trial         many mutants, a shard of them or all, and their record
"""
