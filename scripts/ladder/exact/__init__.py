"""An exact model of PTX instructions, written from the ISA's text in whole numbers: what they must give, bit for bit.

    number        floating-point formats: their bits, exact values, rounding
    form          a spelling of an instruction with its operands and its model; values for them from a seed
    integers      integers, bits, carries, logic
    floating      floating-point arithmetic, comparisons, selections
    conversions   cvt between all types
    warps         shuffles, votes, matches, reductions over a warp
    atomics       atom and red
    device        runs kernels through the driver API, on the simulated device or a GPU

It shares nothing with the simulated device but the instructions' names.
"""
