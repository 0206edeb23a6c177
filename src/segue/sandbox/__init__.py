"""Runs a command in a sandbox of the kernel, which restricts its files, its network and its processes.

Read `policy` (what a command may access, and what this kernel can enforce), then `launcher`, the program that sets the
sandbox up and starts the command in it, with `namespaces`, `landlock` and `seccomp` for the parts of the kernel. The
launcher is a process of its own and uses the standard library only.
"""
