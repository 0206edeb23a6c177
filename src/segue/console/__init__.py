"""What every command shares, whichever tool it speaks for: the streams, tables and times, and how a command ends."""
