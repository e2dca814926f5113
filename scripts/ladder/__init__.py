"""What stands behind the commands in scripts/: they read their arguments, and this package does the work.

    command   what all commands share: arguments, exit codes, how failures become sentences
    files     the repository: where things are, its commit, files that are replaced in one step
    levels/   which levels there are, what their kernels say of themselves, their labs; programs and GPUs that run them
    results/  docs/results: figures as data and as tables; measuring them
    sim/      what levels do on the simulated device: counters, traces
    tune/     parameter spaces, and sweeping them
    model/    the timing model: its constants, what it predicts, and what GPUs say of that
    draw/     pictures and charts
    pages/    the marked blocks of the Markdown files

`context` gathers for pages and pictures what they are made of. Plain Python; charts alone need matplotlib.
"""
