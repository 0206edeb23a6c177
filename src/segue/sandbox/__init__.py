"""A command that the kernel itself holds in its place: files, network, processes.

Read `box` (what a command may touch, and what this kernel can enforce of it), then the
program that puts it up and starts the command: `launcher`, with `namespaces`, `landlock` and `seccomp`, one for each
part of the kernel. The launcher runs as a process of its own and needs nothing but the standard library.
"""
